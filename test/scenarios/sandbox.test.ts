import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { textOf } from "../../src/protocol/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";

let top: string;
let cwd: string;
beforeEach(() => {
  // The directory is not in /tmp, because commands in the sandbox have a private /tmp.
  top = realpathSync(mkdtempSync("/var/tmp/retinue-sandbox-"));
  cwd = join(top, "work");
  mkdirSync(cwd);
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

/** Output of each command in a session, and the messages that the user got. */
async function runCommands(
  commands: readonly string[],
  sandbox: NonNullable<SessionOptions["settings"]>["sandbox"],
  own: { environment?: Record<string, string>; settings?: SessionOptions["settings"] } = {},
) {
  const told: string[] = [];
  const steps = commands.map((command) => ({ calls: [{ name: "Bash", input: { command } }] }));
  const session = await openSession({
    cwd,
    home: join(top, "home"),
    environment: { ...process.env, HOME: top, ...own.environment },
    model: createScriptedModel([...steps, { text: "Done." }]),
    permissionMode: "bypassPermissions",
    settings: { ...own.settings, sandbox: sandbox ?? "auto" },
    onTrouble: (message) => told.push(message),
  });
  const run = session.prompt("Go.");
  const said: string[] = [];
  for await (const event of run) if (event.type === "tool.ended") said.push(textOf(event.result.content));
  await run.result;
  await session.close();
  return { said, told };
}

describe("commands in a session", () => {
  it("run in a sandbox if there is one; otherwise the user is told once", async () => {
    const outside = join(top, "outside");
    const { said, told } = await runCommands(
      [`echo x > ${outside}; echo in > in`, `cat in; ls ${top}/home`],
      undefined,
    );
    expect(readFileSync(join(cwd, "in"), "utf8")).toBe("in\n");
    if (told.length > 0) {
      expect(told).toEqual([expect.stringMatching(/^Commands run without a sandbox: .+\.$/)]);
      expect(existsSync(outside)).toBe(true);
      return;
    }
    expect(existsSync(outside)).toBe(false);
    expect(said[0]).toContain("Read-only file system");
    expect(said[1]).toContain("in\n");
  });

  it("run without a sandbox, and without a message, if the settings disable it", async () => {
    const outside = join(top, "outside");
    expect(await runCommands([`echo x > ${outside}`], "off")).toMatchObject({ told: [] });
    expect(existsSync(outside)).toBe(true);
  });

  it("leave nothing behind that affects the next session if their session is killed", async () => {
    const running = join(top, ".retinue/running-commands");
    mkdirSync(running, { recursive: true });
    mkdirSync(join(cwd, ".agents"));
    const watched = [{ path: join(cwd, ".agents"), critical: true }];
    const killed = {
      process: { host: hostname(), pid: 2 ** 30 },
      directory: join(top, "created"),
      watched,
      reviewed: [],
    };
    writeFileSync(join(running, "one.json"), JSON.stringify(killed));
    const { told } = await runCommands([], "off");
    expect(told).toEqual([expect.stringContaining(`that was killed created ${join(cwd, ".agents")}, which`)]);
    expect(existsSync(join(cwd, ".agents"))).toBe(false);
    expect(readdirSync(join(top, "created"))).toHaveLength(1);
  });

  it("can write where the settings allow it, and can't see sessions' state", async () => {
    mkdirSync(join(top, "cache"));
    const sandbox = { mode: "require", filesystem: { allowWrite: ["~/cache"] } } as const;
    const { said } = await runCommands([`echo x > ${top}/cache/x; cat ${top}/home/projects/*/*.jsonl`], sandbox);
    if (said[0]?.includes("none is available")) return expect(existsSync(join(top, "cache/x"))).toBe(false);
    expect(existsSync(join(top, "cache/x"))).toBe(true);
    expect(said[0]).toContain("No such file");
  });

  it("get only harmless variables and those named in the settings", async () => {
    const { said } = await runCommands(['echo "$DATABASE_URL-$APP_ID-$MODE-$MY_TOKEN-$REDIS_URL-$LANG"'], "off", {
      environment: { DATABASE_URL: "db", APP_ID: "7", REDIS_URL: "redis", LANG: "C" },
      settings: { environment: { pass: ["DATABASE_URL", "APP_*"] }, env: { MODE: "test", MY_TOKEN: "secret" } },
    });
    expect(said).toEqual(["db-7-test---C"]);
  });
});
