import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ResultStore, ToolExecutor } from "../ports/index.ts";
import { type Policy, type Rule, textOf } from "../protocol/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createExecutor } from "./index.ts";

let top = "";
let root = "";
let executor: ToolExecutor;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "executor-real-")));
  root = join(top, "project");
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, "src/a.ts"), "const key = 1;\n");
  writeFileSync(join(root, ".env"), "key=secret\n");
  writeFileSync(join(top, "outside.txt"), "outside\n");
  symlinkSync(join(top, "outside.txt"), join(root, "link"));
  const saved = new Map<string, string>();
  const results: ResultStore = {
    save: async (id, text) => {
      saved.set(`retinue://result/${id}`, text);
      return `retinue://result/${id}`;
    },
    read: async (address) => saved.get(address),
  };
  const workspace = createLocalWorkspace({ root, environment: process.env, home: top });
  const tools = createWorkerTools({ sessionId: "real", workspace, results, outputDirectory: join(top, "out") });
  executor = createExecutor({ tools, workspace, results, home: top, limits: { maxCharacters: 2_000 } });
});
afterEach(async () => {
  await executor.close();
  rmSync(top, { recursive: true, force: true });
});

let calls = 0;

async function call(name: string, input: object, more: Partial<Policy> & { granted?: boolean } = {}) {
  const { granted = false, ...changes } = more;
  const policy: Policy = {
    mode: "default",
    pool: ["Read", "Write", "Grep", "LS"],
    rules: [],
    workspaceRoots: [root],
    readableRoots: [],
    ...changes,
  };
  calls += 1;
  const asked = { callId: `c${calls}`, name, inputJson: JSON.stringify(input) };
  const grant = { callId: asked.callId, inputJson: asked.inputJson, by: "person" } as const;
  const request = { agentId: "main", call: asked, policy, ...(granted && { grant }) };
  const { outcome, content } = await executor.execute(request, () => {}, new AbortController().signal);
  return { outcome, text: textOf(content) };
}

const deny = (text: string): Rule => ({ text, effect: "deny", scope: "user" });

it("reads in the workspace, and outside only with a grant", async () => {
  expect(await call("Read", { file_path: "src/a.ts" })).toMatchObject({
    outcome: "ok",
    text: expect.stringContaining("key"),
  });
  for (const file_path of ["../outside.txt", join(top, "outside.txt"), "~/outside.txt", "link"]) {
    expect(await call("Read", { file_path })).toMatchObject({ outcome: "denied" });
    expect(await call("Read", { file_path }, { granted: true })).toMatchObject({
      outcome: "ok",
      text: expect.stringContaining("outside"),
    });
  }
});

it("hides denied files from searches and listings", async () => {
  const rules = [deny("Read(.env)")];
  expect((await call("Grep", { pattern: "key", output_mode: "content" })).text).toContain("secret");
  const found = await call("Grep", { pattern: "key", output_mode: "content" }, { rules });
  expect(found).toMatchObject({ outcome: "ok", text: expect.stringContaining("a.ts") });
  expect(found.text).not.toContain("secret");
  expect((await call("LS", { path: "." }, { rules })).text).not.toContain(".env");
  expect((await call("Read", { file_path: ".env" }, { rules })).outcome).toBe("denied");
});

it("writes only if the mode allows it", async () => {
  const input = { file_path: "new.txt", content: "x" };
  expect((await call("Write", input)).outcome).toBe("denied");
  expect((await call("Write", input, { mode: "plan", granted: true })).outcome).toBe("denied");
  expect(existsSync(join(root, "new.txt"))).toBe(false);
  expect((await call("Write", input, { mode: "acceptEdits" })).outcome).toBe("ok");
  expect(readFileSync(join(root, "new.txt"), "utf8")).toBe("x");
  expect((await call("Write", { ...input, file_path: ".git/config" }, { mode: "acceptEdits" })).outcome).toBe("denied");
});

it("understands the names that other programs use for its tools", async () => {
  expect((await call("grep_search", { pattern: "key" })).text).toContain("a.ts");
  await call("read_file", { file_path: "src/a.ts" });
  const replaced = { file_path: "src/a.ts", old_string: "key", new_string: "lock" };
  expect(await call("replace", replaced, { mode: "acceptEdits", pool: ["Edit"] })).toMatchObject({ outcome: "ok" });
});

it("ignores a request to leave the sandbox, and needs the same approval", async () => {
  const input = { command: "touch made.txt", dangerouslyDisableSandbox: true };
  expect(await call("Bash", input, { pool: ["Bash"] })).toMatchObject({ outcome: "denied" });
  expect(existsSync(join(root, "made.txt"))).toBe(false);
  expect(await call("Bash", input, { pool: ["Bash"], granted: true })).toMatchObject({
    outcome: "ok",
    text: expect.stringMatching(/\n\[Ignored unknown input: "dangerouslyDisableSandbox"\.\]$/),
  });
});

it("returns the rest of a long result by its address", async () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index}`);
  writeFileSync(join(root, "long.txt"), lines.join("\n"));
  const first = await call("Read", { file_path: "long.txt" });
  const address = /retinue:\/\/result\/\S+/.exec(first.text)?.[0];
  expect(first.text).not.toContain("line 500\n");
  const rest = await call("Read", { file_path: address, offset: 495, limit: 20 });
  expect(rest).toMatchObject({ outcome: "ok", text: expect.stringContaining("line 500\n") });
});
