import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ToolExecutor } from "../ports/index.ts";
import { type Policy, type Rule, textOf } from "../protocol/index.ts";
import { createTextTools, createWorkerTools } from "../tools/index.ts";
import { createMemoryTranscript } from "../transcript/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { combineExecutors, createExecutor } from "./index.ts";

let top = "";
let root = "";
/** A worker's tools, and the tools that read addresses. */
let executor: ToolExecutor;
let worker: ToolExecutor;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "executor-real-")));
  root = join(top, "project");
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, "src/a.ts"), "const key = 1;\n");
  writeFileSync(join(root, ".env"), "key=secret\n");
  writeFileSync(join(top, "outside.txt"), "outside\n");
  symlinkSync(join(top, "outside.txt"), join(root, "link"));
  const results = createMemoryTranscript().results;
  const workspace = createLocalWorkspace({ root, environment: process.env, home: top });
  const tools = createWorkerTools({ sessionId: basename(top), workspace, results, outputDirectory: join(top, "out") });
  worker = createExecutor({ tools, workspace, results, home: top, limits: { maxCharacters: 2_000 } });
  const texts = createExecutor({ tools: createTextTools({ texts: results, workspace }), results });
  const addresses = { executor: texts, addressOf: () => undefined };
  executor = combineExecutors({ executors: [texts, worker], addresses });
});
afterEach(async () => {
  await executor.close();
  rmSync(top, { recursive: true, force: true });
});

let calls = 0;

interface CallOptions extends Partial<Policy> {
  readonly granted?: boolean;
  readonly on?: ToolExecutor;
}

async function call(name: string, input: object, more: CallOptions = {}) {
  const { granted = false, on = executor, ...changes } = more;
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
  const grant = { callId: asked.callId, inputJson: asked.inputJson };
  const request = { agentId: "main", call: asked, policy, ...(granted && { grant }) };
  const { outcome, content } = await on.execute(request, () => {}, new AbortController().signal);
  return { outcome, text: textOf(content) };
}

const deny = (text: string): Rule => ({ text, effect: "deny", scope: "user" });

it("reports an error at once, without asking for approval, if a change can't succeed", async () => {
  const pool = ["Read", "Write", "Edit", "NotebookEdit"];
  const policy: Policy = { mode: "default", pool, rules: [], workspaceRoots: [root], readableRoots: [] };
  const judge = (name: string, input: object, more: Partial<Policy> = {}) => {
    calls += 1;
    const asked = { callId: `c${calls}`, name, inputJson: JSON.stringify(input) };
    return executor.judge(asked, { ...policy, ...more }, "main");
  };
  const edit = { file_path: "src/a.ts", old_string: "key", new_string: "lock" };
  const invalid = (message: string) => ({ kind: "invalid", message: expect.stringContaining(message) });
  const asked = { kind: "decided", decision: { effect: "ask" } };
  expect(await judge("Edit", edit)).toMatchObject(invalid("You have not read src/a.ts yet."));
  expect(await judge("Write", { file_path: "src/a.ts", content: "" })).toMatchObject(invalid("You have not read"));
  expect(await judge("Write", { file_path: "src/new.ts", content: "" })).toMatchObject(asked);
  expect(await judge("Edit", { ...edit, file_path: "src/b.ts" })).toMatchObject(invalid("Did you mean src/a.ts?"));
  expect(await judge("NotebookEdit", { notebook_path: "src/a.ipynb", new_source: "" })).toMatchObject(
    invalid("src/a.ipynb does not exist."),
  );
  await call("Read", { file_path: "src/a.ts" }, { pool });
  const missing = { ...edit, old_string: "bolt" };
  expect(await judge("Edit", edit)).toMatchObject(asked);
  expect(await judge("Edit", missing)).toMatchObject(invalid("old_string was not found in src/a.ts."));
  // The error would reveal the content of the file.
  expect(await judge("Edit", missing, { rules: [{ ...deny("Read(src/a.ts)"), effect: "ask" }] })).toMatchObject(asked);
  expect(await judge("Edit", missing, { pool: ["Edit"] })).toMatchObject(asked);
  expect(await judge("Edit", missing, { rules: [deny("Edit")] })).toMatchObject({ decision: { effect: "deny" } });
});

it("applies deny rules to a link in the workspace, even if the workspace itself is reached through a link", async () => {
  mkdirSync(join(top, "elsewhere"));
  writeFileSync(join(top, "elsewhere/key.txt"), "hush\n");
  symlinkSync(join(top, "elsewhere"), join(root, "private"));
  symlinkSync(root, join(top, "alias"));
  for (const path of ["private/key.txt", join(root, "private/key.txt"), join(top, "alias/private/key.txt")]) {
    const options = { rules: [deny("Read(private/**)")], mode: "bypassPermissions" } as const;
    expect(await call("Read", { file_path: path }, options), path).toMatchObject({ outcome: "denied" });
  }
});

it("names every path in a tool's input, absolute and with symlinks resolved", async () => {
  mkdirSync(join(root, "sub"));
  symlinkSync("../src", join(root, "sub/linked"));
  const samples: Readonly<Record<string, string>> = { string: "x", boolean: "true", integer: "1" };
  const found: string[] = [];
  for (const { name, inputSchema } of worker.declarations()) {
    const properties = Object.entries(inputSchema["properties"] as Record<string, { readonly type: string }>);
    const required = inputSchema["required"] as readonly string[] | undefined;
    const others = properties.filter(([property]) => required?.includes(property));
    for (const [property] of properties.filter(([each]) => each.includes("path"))) {
      const input = { ...Object.fromEntries(others.map(([each, { type }]) => [each, samples[type]])) };
      const inputJson = JSON.stringify({ ...input, [property]: "sub//./linked/a.ts" });
      const policy: Policy = { mode: "plan", pool: [name], rules: [], workspaceRoots: [root], readableRoots: [] };
      const judged = await worker.judge({ callId: "c", name, inputJson }, policy);
      found.push(`${name} ${property}`);
      expect(judged, `${name} ${property}`).toMatchObject({
        paths: [
          {
            property,
            requested: "sub//./linked/a.ts",
            absolute: join(root, "sub/linked/a.ts"),
            real: join(root, "src/a.ts"),
          },
        ],
      });
    }
  }
  expect(found.sort()).toEqual([
    "Edit file_path",
    "Glob path",
    "Grep path",
    "LS path",
    "NotebookEdit notebook_path",
    "Read file_path",
    "Write file_path",
  ]);
});

it.each([
  ["Glob", { pattern: `/tmp//./x/*.ts` }, ["pattern /tmp//./x"]],
  ["Glob", { pattern: "/*", path: "src" }, ["path src", "pattern /"]],
  ["Glob", { pattern: "~/*.ts" }, []],
  ["Glob", { pattern: "../*.ts" }, []],
  ["Grep", { pattern: "src" }, []],
  ["Grep", { pattern: "x", path: "retinue://result/x" }, []],
  ["Read", { file_path: "retinue://result/x" }, []],
  ["Bash", { command: "cat src/a.ts > b.ts" }, []],
])("in the input of %s %j, the paths are %j", async (name, input, paths) => {
  const policy: Policy = { mode: "default", pool: [name], rules: [], workspaceRoots: [root], readableRoots: [] };
  const judged = await executor.judge({ callId: "c", name, inputJson: JSON.stringify(input) }, policy);
  const named = judged.kind === "decided" ? judged.paths : [];
  expect(named.map(({ property, requested }) => `${property} ${requested}`)).toEqual(paths);
});

it("reads files inside the workspace, and files outside it only with a grant", async () => {
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
  const allowed = [{ ...deny("Read(.env)"), effect: "allow" as const }];
  expect((await call("Grep", { pattern: "key", output_mode: "content" }, { rules: allowed })).text).toContain("secret");
  expect((await call("Read", { file_path: ".env" }, { rules: allowed })).outcome).toBe("ok");
  // Without a rule, .env files are secrets.
  for (const rules of [[], [...allowed, deny("Read(.env)")]]) {
    const found = await call("Grep", { pattern: "key", output_mode: "content" }, { rules });
    expect(found).toMatchObject({ outcome: "ok", text: expect.stringContaining("a.ts") });
    expect(found.text).not.toContain("secret");
    expect((await call("LS", { path: "." }, { rules })).text).not.toContain(".env");
    expect((await call("Read", { file_path: ".env" }, { rules })).outcome).toBe("denied");
  }
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

it("accepts the names that other programs use for its tools", async () => {
  expect((await call("grep_search", { pattern: "key" })).text).toContain("a.ts");
  await call("read_file", { file_path: "src/a.ts" });
  const replaced = { file_path: "src/a.ts", old_string: "key", new_string: "lock" };
  expect(await call("replace", replaced, { mode: "acceptEdits", pool: ["Edit"] })).toMatchObject({ outcome: "ok" });
});

it("ignores a request to disable the sandbox, and still requires approval", async () => {
  const input = { command: "touch made.txt", dangerouslyDisableSandbox: true };
  expect(await call("Bash", input, { pool: ["Bash"] })).toMatchObject({ outcome: "denied" });
  expect(existsSync(join(root, "made.txt"))).toBe(false);
  expect(await call("Bash", input, { pool: ["Bash"], granted: true })).toMatchObject({
    outcome: "ok",
    text: expect.stringMatching(/\n\[Ignored unknown input: "dangerouslyDisableSandbox"\.\]$/),
  });
});

it("returns the rest of a long result when given its address", async () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index}`);
  writeFileSync(join(root, "long.txt"), lines.join("\n"));
  const first = await call("Read", { file_path: "long.txt" });
  const address = /retinue:\/\/result\/\S+/.exec(first.text)?.[0];
  expect(first.text).not.toContain("line 500\n");
  const rest = await call("Read", { file_path: address, offset: 495, limit: 20 });
  expect(rest).toMatchObject({ outcome: "ok", text: expect.stringContaining("line 500\n") });
  const found = await call("Grep", { pattern: "line 50[01]$", path: address, output_mode: "content" });
  expect(found).toMatchObject({ outcome: "ok", text: expect.stringMatching(/^retinue:.*\n501:.*line 500\n502:/) });
});

const addresses = [
  "retinue://result/c1",
  "retinue://output/a1",
  "retinue://output/../../outside.txt",
  "retinue://../outside.txt",
  "retinue://../../../../../../../../../../etc/passwd",
  "retinue://output/%2e%2e/%2e%2e/outside.txt",
  "retinue://output/..%2foutside.txt",
  "retinue://result/c1\0.txt",
  "Retinue://result/c1",
  `retinue://result/${"../".repeat(1_000)}etc/passwd`,
];

it.each(addresses)("opens no file for the address %j, whichever executor gets the call", async (address) => {
  mkdirSync(join(root, "retinue:"));
  for (const mode of ["default", "bypassPermissions"] as const)
    for (const on of [executor, worker])
      for (const granted of [false, true]) {
        const options = { mode, on, granted };
        for (const [name, input] of [
          ["Read", { file_path: address }],
          ["Grep", { pattern: "", path: address, output_mode: "content" }],
        ] as const) {
          const { outcome, text } = await call(name, input, options);
          expect(outcome).toBe("error");
          expect(text).toMatch(/no saved result|no subagent|not a valid address|is a session address/);
        }
      }
});

it.each([
  ["LS", { path: "retinue://result/c1" }],
  ["Glob", { pattern: "*", path: "retinue://output/a1" }],
  ["Edit", { file_path: "retinue://result/c1", old_string: "a", new_string: "b" }],
  ["Write", { file_path: "retinue://output/../x", content: "" }],
  ["NotebookEdit", { notebook_path: "retinue://result/c1", new_source: "" }],
])("names the tools that accept addresses if %s is called with one", async (name, input) => {
  const { outcome, text } = await call(name, input, { pool: [name], mode: "bypassPermissions" });
  expect(outcome).toBe("error");
  expect(text).toMatch(/works on files and can't open the address "retinue:.*"\. Use Read or Grep\.$/);
});

it("denies an address if the agent does not have the tool", async () => {
  const file_path = "retinue://result/c1";
  expect(await call("Read", { file_path }, { pool: ["Grep"], granted: true })).toMatchObject({ outcome: "denied" });
  expect(await call("Grep", { pattern: "", path: file_path }, { pool: ["Read"] })).toMatchObject({ outcome: "denied" });
});

it.each(["echo changed > name", "echo changed >> name", "cd src && echo changed > ../name"])(
  "does not write a file outside through a hard link in the workspace: %s",
  async (command) => {
    linkSync(join(top, "outside.txt"), join(root, "name"));
    const open = { pool: ["Bash", "Write"], rules: [{ text: "Bash", effect: "allow", scope: "user" }] } as const;
    for (const mode of ["acceptEdits", "bypassPermissions"] as const) {
      expect(await call("Bash", { command }, { ...open, mode })).toMatchObject({ outcome: "denied" });
    }
    const written = await call("Write", { file_path: "name", content: "changed" }, { ...open, mode: "acceptEdits" });
    expect(written.text).toContain("Read");
    expect(readFileSync(join(top, "outside.txt"), "utf8")).toBe("outside\n");
  },
);
