import { linkSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PermissionMode, type Policy, type Rule, textOf } from "../protocol/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import { createMemoryTranscript } from "../transcript/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createExecutor } from "./index.ts";

const KEY = "sk-hush";
const KEPT = `{"kept": "${KEY}"}\n`;

let top = "";
let root = "";
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "hard-links-")));
  root = join(top, "project");
  for (const path of [".env", "secret.txt", "src/a.ts", "package.json", "sub/.env"]) put(path, KEPT);
  put("plain.txt", "plain\n");
  put("in/evil", "evil\n");
  mkdirSync(join(root, "out"));
  put("../home/.profile", KEPT);
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

function put(path: string, text: string): void {
  const absolute = join(root, path);
  mkdirSync(dirname(absolute), { recursive: true });
  writeFileSync(absolute, text);
}

const allow = (text: string): Rule => ({ text, effect: "allow", scope: "user" });
const deny = (text: string): Rule => ({ text, effect: "deny", scope: "user" });

/** Executes calls one after the other, without a sandbox, and without anyone who could approve them. */
async function run(calls: readonly (readonly [string, object])[], more: Partial<Policy> = {}) {
  const { results } = createMemoryTranscript();
  const home = join(top, "home");
  const environment = { PATH: process.env["PATH"], HOME: home };
  const workspace = createLocalWorkspace({ root, environment, home });
  const tools = createWorkerTools({ sessionId: "links", workspace, results, outputDirectory: join(top, "results") });
  const executor = createExecutor({ tools, workspace, results, home });
  const policy: Policy = {
    mode: "default",
    pool: ["Read", "Grep", "Write", "Edit", "Bash"],
    rules: [],
    workspaceRoots: [root],
    readableRoots: [],
    ...more,
  };
  const found: { readonly outcome: string; readonly text: string }[] = [];
  for (const [index, [name, input]] of calls.entries()) {
    const call = { callId: `c${index}`, name, inputJson: JSON.stringify(input) };
    const request = { agentId: "main", call, policy };
    const { outcome, content } = await executor.execute(request, () => {}, new AbortController().signal);
    found.push({ outcome, text: textOf(content) });
  }
  await executor.close();
  return found;
}

const bash = (command: string): readonly [string, object] => ["Bash", { command }];

const readers: readonly (readonly [string, object])[] = [
  ["Read", { file_path: "notes" }],
  ["Grep", { pattern: "kept", path: "notes", output_mode: "content" }],
  ["Grep", { pattern: "kept", output_mode: "content" }],
  ["Grep", { pattern: "kept", output_mode: "files_with_matches" }],
  ["Grep", { pattern: "kept", output_mode: "count", path: "." }],
  ["Grep", { pattern: "kept", output_mode: "content", glob: "no*" }],
  ...["cat notes", "cat < notes", "cat no*", "grep -r kept .", "grep kept *", "rg kept", "head -3 ./notes"].map(bash),
  ...["diff notes plain.txt", "for f in *; do cat $f; done", "wc -l plain.txt notes"].map(bash),
];

describe("a file that must not be read is not read under another name", () => {
  const cases = [
    { file: ".env", rules: [] },
    { file: "sub/.env", rules: [allow("Read"), allow("Bash(cat:*)"), allow("Bash(grep:*)")] },
    { file: "secret.txt", rules: [deny("Read(secret.txt)")] },
    { file: "src/a.ts", rules: [deny("Read(src/**)"), allow("Read(notes)"), allow("Bash(cat:*)")] },
    { file: "../home/.profile", rules: [deny("Read(~/.profile)")] },
  ];
  it.each(cases)("$file", async ({ file, rules }) => {
    linkSync(join(root, file), join(root, "notes"));
    for (const path of [".env", "secret.txt", "src/a.ts", "package.json", "sub/.env"])
      if (path !== file) rmSync(join(root, path));
    for (const mode of ["default", "bypassPermissions"] as const) {
      const found = await run(readers, { rules, mode });
      for (const [index, { text, outcome }] of found.entries()) {
        const shown = text.includes(KEY) || /^\.?\/?notes|: *[1-9]\d* matching/m.test(text);
        expect(outcome === "ok" && shown, `${JSON.stringify(readers[index])}: ${text}`).toBe(false);
      }
    }
  });

  it("a file with several harmless names is read like any other", async () => {
    linkSync(join(root, "plain.txt"), join(root, "notes"));
    const [read, grep, command] = await run(
      [["Read", { file_path: "notes" }], ["Grep", { pattern: "plain", output_mode: "count" }], bash("cat notes")],
      { rules: [deny("Read(secret.txt)")] },
    );
    expect(read).toMatchObject({ outcome: "ok", text: expect.stringContaining("plain") });
    expect(grep).toMatchObject({ outcome: "ok", text: expect.stringContaining("in 2 files") });
    expect(command).toMatchObject({ outcome: "ok", text: expect.stringContaining("plain") });
  });
});

/** Commands that write the file NAME, which has another name that must not be written. */
const writers = [
  ...[
    "cp in/evil NAME",
    "cp -f in/evil ./NAME",
    "cp -t . in/NAME",
    "cp in/NAME .",
    "cp in/NAME out/..",
    "cp -r in/NAME .",
    "cp -a in/NA* ./",
  ],
  ...["cp plain.txt in/NAME .", "cp --target-directory=. in/NAME", "tee NAME < in/evil", "cat in/evil | tee -a NAME"],
  ...["dd if=in/evil of=NAME", "truncate -s 0 NAME", "sort -o NAME in/evil", "shuf -o NAME in/evil", "split -b 9 NAME"],
  ...[
    "install in/evil NAME",
    "sed -i s/kept/lost/ NAME",
    "cp in/evil NA*",
    "cp in/NA* .",
    "for f in NAME; do cp in/$f .; done",
    "for f in NAME; do cp in/evil $f; done",
  ],
  ...[
    "cd in && cp evil ../NAME",
    "tee -- NAME",
    "echo x > NAME",
    "echo x >> NAME",
    "shred NAME",
    "env cp in/evil NAME",
  ],
];

describe("a file that must not be written is not written under another name", () => {
  const wide = [...new Set(writers.map((line) => line.split(" ")[0]!)), "echo"].map((name) => allow(`Bash(${name}:*)`));

  it("whatever rules and modes allow", async () => {
    const rulesFor = { wide, all: [allow("Bash"), allow("Edit")] };
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          line: fc.constantFrom(...writers),
          name: fc.constantFrom("NAME", "name.txt"),
          rules: fc.constantFrom<readonly (keyof typeof rulesFor)[]>(["wide"], ["all"], ["wide", "all"]),
          file: fc.constantFrom("package.json", ".env", "src/a.ts", "../home/.profile"),
          mode: fc.constantFrom<PermissionMode>("default", "acceptEdits", "bypassPermissions"),
        }),
        async ({ line, name, rules, file, mode }) => {
          rmSync(join(root, name), { force: true });
          put(file, KEPT);
          put(`in/${name}`, "evil\n");
          linkSync(join(root, file), join(root, name));
          const command = line.replaceAll("NAME", name);
          const denied = [deny("Edit(src/**)"), ...rules.flatMap((each) => rulesFor[each])];
          const [found] = await run([bash(command)], { rules: denied, mode });
          const now = readFileSync(join(root, file), "utf8");
          expect(now, `${command} ${file} ${mode} ${rules}: ${found?.outcome} ${found?.text}`).toBe(KEPT);
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);
});
