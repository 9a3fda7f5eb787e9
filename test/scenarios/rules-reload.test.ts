import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { addTrust } from "../../src/app/commands/trust.ts";
import { loadProjectSettings, openSession, type SessionOptions } from "../../src/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";

const read = { calls: [{ name: "Read", input: { file_path: "notes.md" } }] };
const write = { calls: [{ name: "Write", input: { file_path: "new.md", content: "x" } }] };
const done = { text: "Done." };

const USER = ".retinue/permissions.jsonc";
const PROJECT = "work/.retinue/permissions.jsonc";
const LISTS = "work/.retinue/settings.json";
const denyReading = '{ "read": { "notes.md": "deny" } }';
const allowWriting = '{ "edit": { "*.md": "allow" } }';

interface Begun {
  readonly files?: Readonly<Record<string, string>>;
  readonly child?: readonly ScriptedStep[];
  readonly trust?: boolean;
  readonly approved?: boolean;
  readonly options?: Partial<SessionOptions>;
}

/** Opens a session. `changes`: files to write before the response with this index, counted from 0. */
async function begin(
  main: readonly ScriptedStep[],
  changes: Readonly<Record<number, Readonly<Record<string, string>>>>,
  { files = {}, child, trust = false, approved = false, options = {} }: Begun = {},
) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-rules-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const put = (all: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(all)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
  };
  put({ "work/notes.md": "A note.", ...files });
  const cast = createCast({ MAIN: main, ...(child && { CHILD: child }) });
  let calls = 0;
  const model: typeof cast = {
    ...cast,
    call: async (request, emit) => {
      // Like the answer of a real model, in another turn of the event loop than the calls before it.
      await setImmediate();
      put(changes[calls++] ?? {});
      return cast.call(request, emit);
    },
  };
  const place = {
    home: join(root, ".retinue"),
    cwd: join(root, "work"),
    environment: { HOME: root, PATH: process.env["PATH"] ?? "" },
  };
  if (approved) await addTrust(place);
  const { settings, rules, trusted } = loadProjectSettings({ ...place, trust });
  const told: string[] = [];
  const onTrouble = (message: string) => void told.push(message);
  const session = await openSession({ ...place, settings, rules, trusted, model, onTrouble, ...options });
  onTestFinished(() => session.close());
  const outcomes: string[] = [];
  for await (const update of session.prompt("MAIN: go on.")) {
    const event = update.type === "subagent.event" ? update.event : update;
    if (event.type === "tool.ended" && event.name !== "Task") outcomes.push(event.result.outcome);
  }
  cast.assertDone();
  return { outcomes, told };
}

describe("rule files that change during a run", () => {
  it.each([USER, PROJECT])("apply at once if they became stricter: %s", async (file) => {
    const { outcomes, told } = await begin([read, read, done], { 1: { [file]: denyReading } });
    expect(outcomes).toEqual(["ok", "denied"]);
    expect(told).toEqual([expect.stringContaining("Added: deny Read(notes.md).")]);
  });

  it("apply to subagents too, and lists in settings.json do as well", async () => {
    const task = {
      calls: [{ name: "Task", input: { description: "d", prompt: "CHILD: x", subagent_type: "Explore" } }],
    };
    const lists = '{ "permissions": { "deny": ["Read(notes.md)"] } }';
    const { outcomes } = await begin([read, task, done], { 2: { [LISTS]: lists } }, { child: [read, done] });
    expect(outcomes).toEqual(["ok", "denied"]);
  });

  it("apply at once if the user's own file became looser", async () => {
    const strict = { [USER]: denyReading };
    const { outcomes, told } = await begin(
      [read, read, write, done],
      { 1: { [USER]: allowWriting } },
      { files: strict },
    );
    expect(outcomes).toEqual(["denied", "ok", "ok"]);
    expect(told).toEqual([expect.stringMatching(/Added: allow .*\. Removed: deny Read\(notes\.md\)\./)]);
  });

  it.each([
    ["not trusted", {}],
    ["trusted as it was", { approved: true }],
    ["trusted for this session", { trust: true }],
  ])("grant nothing if the project's file became looser and is %s", async (_, begun) => {
    const { outcomes } = await begin([write, write, done], { 1: { [PROJECT]: allowWriting } }, begun);
    expect(outcomes).toEqual(["denied", "denied"]);
  });

  it.each([{ approved: true }, { trust: true }])("keep what they granted when the session began: %o", async (begun) => {
    const files = { [PROJECT]: allowWriting, [USER]: "{}" };
    const changes = { 1: { [USER]: denyReading } };
    const { outcomes, told } = await begin([write, write, read, done], changes, { ...begun, files });
    expect(outcomes).toEqual(["ok", "ok", "denied"]);
    expect(told).toEqual([expect.stringMatching(/^The permission rules in the settings have changed\./)]);
  });

  it.each([
    ["deny", { [PROJECT]: denyReading }],
    ["ask", { [PROJECT]: '{ "read": { "{notes,other}.md": "ask" } }' }],
    ["deny in a list", { [LISTS]: '{ "permissions": { "deny": ["Read(notes.md)"] } }' }],
  ])("keep restrictions of the project that were removed: %s", async (_, files) => {
    const removed = Object.fromEntries(Object.keys(files).map((name) => [name, "{}"]));
    const allowed = { [USER]: '{ "read": { "*.md": "allow" } }' };
    const { outcomes, told } = await begin([read, read, read, done], { 1: removed, 2: allowed }, { files });
    expect(outcomes).toEqual(["denied", "denied", "denied"]);
    expect(told[0]).toMatch(/changed\. Removed, but in force until the session ends: (deny|ask) Read/);
  });

  it.each([{ approved: true }, { trust: true }])("grant nothing if only their order changed: %o", async (begun) => {
    const lines = ['"*.md": "allow"', '"new.md": "ask"'];
    const text = (all: readonly string[]) => `{ "edit": { ${all.join(", ")} } }`;
    const files = { [PROJECT]: text(lines) };
    const changes = { 1: { [PROJECT]: text(lines.toReversed()) } };
    const { outcomes } = await begin([write, write, done], changes, { ...begun, files });
    expect(outcomes).toEqual(["denied", "denied"]);
  });

  it("lose what they granted if the grant is removed", async () => {
    const files = { [PROJECT]: allowWriting };
    const { outcomes } = await begin([write, write, done], { 1: { [PROJECT]: "{}" } }, { trust: true, files });
    expect(outcomes).toEqual(["ok", "denied"]);
  });

  it("keep their last valid version, and the user is told once what is wrong", async () => {
    const files = { [USER]: denyReading };
    const { outcomes, told } = await begin([read, read, read, done], { 1: { [USER]: '{ "read": ' } }, { files });
    expect(outcomes).toEqual(["denied", "denied", "denied"]);
    expect(told).toEqual([expect.stringContaining(USER)]);
  });

  it("have no effect on a session with rules from elsewhere", async () => {
    const rules = [{ text: "Edit(new.md)", effect: "allow", scope: "user", file: "/elsewhere.json" }] as const;
    const { outcomes } = await begin([write, read, done], { 1: { [USER]: denyReading } }, { options: { rules } });
    expect(outcomes).toEqual(["ok", "ok"]);
  });
});
