import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { addTrust } from "../../src/app/commands/trust.ts";
import { loadProjectSettings, openSession, type SessionOptions } from "../../src/app/index.ts";
import { createCast } from "../../src/testing/index.ts";

/** An agent whose hook leaves a trace. */
const agent = (trace: string) => `---
name: guard
description: Guards. Use when asked.
tools: LS
hooks:
  PreToolUse:
    - command: touch ${trace}
---
Guard.
`;

const task = { name: "Task", input: { description: "work", prompt: "CHILD: work", subagent_type: "guard" } };
const main = [{ calls: [task] }, { text: "Done." }];
const child = [{ calls: [{ name: "LS", input: { path: "." } }] }, { text: "Report." }];

function newPlace() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-agent-trust-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  const place = { cwd, home: join(root, "state"), environment: { HOME: root, PATH: process.env["PATH"] ?? "" } };
  const put = (trace: string): void => {
    mkdirSync(join(cwd, ".agents/agents"), { recursive: true });
    writeFileSync(join(cwd, ".agents/agents/guard.md"), agent(trace));
  };
  /** Opens a session as the command line does. The session's main agent delegates to the agent at every prompt. */
  const open = async ({ trust = false, ...options }: { trust?: boolean } & SessionOptions = {}) => {
    const loaded = loadProjectSettings({ ...place, trust });
    const cast = createCast({ MAIN: [...main, ...main, ...main], CHILD: [...child, ...child, ...child] });
    const { settings, trusted } = loaded;
    const session = await openSession({
      ...place,
      settings,
      catalogSettings: loaded,
      trusted,
      model: cast,
      ...options,
    });
    onTestFinished(() => session.close());
    const ask = async () => {
      const run = session.prompt("MAIN: go on.");
      const notices: string[] = [];
      for await (const update of run) if (update.type === "notice.raised") notices.push(update.message);
      expect((await run.result).outcome).toBe("succeeded");
      return notices;
    };
    return { session, ask };
  };
  const ran = (trace: string): boolean => existsSync(join(cwd, trace));
  return { ...place, put, open, ran };
}

const off = expect.stringMatching(/\/guard\.md:1: The hooks of the agent "guard" are off: .*retinue trust add/);

describe("hooks in an agent file", () => {
  it("run in the trusted version; after a change, they are disabled, the agent still works, and the user gets a notice", async () => {
    const { put, open, ran, ...place } = newPlace();
    put("first");
    await addTrust(place);
    const trusted = await open();
    expect(trusted.session.notices).toEqual([]);
    await trusted.ask();
    expect(ran("first")).toBe(true);
    put("second");
    const changed = await open();
    expect(changed.session.notices).toEqual([off]);
    await changed.ask();
    // The second prompt reads the files again.
    await changed.ask();
    expect(ran("second")).toBe(false);
  });

  it("do not run in a resumed session after they changed", async () => {
    const { put, open, ran, ...place } = newPlace();
    put("first");
    await addTrust(place);
    const { session, ask } = await open();
    await ask();
    await session.close();
    put("second");
    const resumed = await open({ resume: session.id });
    expect(resumed.session.notices).toContainEqual(off);
    await resumed.ask();
    expect(ran("second")).toBe(false);
  });

  it.each([{ trust: false }, { trust: true }])(
    "do not run if they are added while the session is open (%o)",
    async ({ trust }) => {
      const { put, open, ran, ...place } = newPlace();
      put("first");
      if (!trust) await addTrust(place);
      const { ask } = await open({ trust });
      await ask();
      expect(ran("first")).toBe(true);
      put("second");
      expect(await ask()).toContainEqual(off);
      expect(ran("second")).toBe(false);
      await addTrust(place);
      await ask();
      expect(ran("second")).toBe(true);
    },
  );

  it("run in a program: in the trusted version, or in the current version if no version is trusted", async () => {
    const { put, open, ran, ...place } = newPlace();
    put("first");
    const program = { catalogSettings: undefined, trusted: true };
    await (await open(program)).ask();
    expect(ran("first")).toBe(true);
    await addTrust(place);
    put("second");
    await (await open(program)).ask();
    expect(ran("second")).toBe(false);
  });

  it("do not run for the main agent either if they have changed", async () => {
    const { put, open, ran, ...place } = newPlace();
    put("first");
    await addTrust(place);
    put("second");
    const cast = createCast({ MAIN: child });
    const { session, ask } = await open({ agent: "guard", model: cast });
    expect(session.notices).toEqual([off]);
    await ask();
    expect(ran("second")).toBe(false);
  });
});
