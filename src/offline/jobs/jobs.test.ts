import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOfflineWorkspace, type OfflineWorkspace } from "../offline-workspace.test-support.ts";

// The word is split, so that searching this repository for to-do comments does not find these tests.
const todo = ["TO", "DO"].join("");

let workspace: OfflineWorkspace;
beforeEach(() => {
  workspace = createOfflineWorkspace();
  workspace.put({
    "src/parse.ts": [
      "// Reads settings.",
      "import { readFileSync } from 'node:fs';",
      "",
      "/** Parses one file. */",
      "export function parseSettings(path: string): Settings {",
      "  return JSON.parse(readFileSync(path, 'utf8'));",
      "}",
      "export type Settings = { name: string };",
      `// ${todo}: check the schema`,
      "",
    ].join("\n"),
    "src/main.ts":
      "import { parseSettings, type Settings } from './parse.ts';\nconst all: Settings = parseSettings('a.json');\n",
    "src/index.ts": "export {\n  parseSettings,\n  type Settings,\n} from './parse.ts';\n",
    "src/parse.test.ts": "import { parseSettings } from './parse.ts';\nparseSettings('x');\n",
    "lib/tool.py": "class Tool:\n    def run_it(self):\n        return run_all()\n\ndef run_all():\n    pass\n",
    "lib/tool.go": "package lib\n\nfunc (t *Tool) RunIt() error {\n\treturn nil\n}\n\ntype Tool struct{}\n",
    "lib/tool.rs": "pub fn run_fast() {}\npub struct Fast;\n",
    "lib/tool.c": "static int run_slow(int times)\n{\n  return times;\n}\nint main(void) { return run_slow(2); }\n",
    "lib/tool.sh": "run_shell() {\n  echo\n}\nrun_shell\n",
    "docs/README.md": "# The manual\n\nHow to use it.\n\n## Part\n",
    "data.json": '{\n  "one": 1,\n  "two": 2\n}\n',
  });
});
afterEach(() => workspace.remove());

describe("finding a name", () => {
  it("distinguishes definitions and uses, with the text of each line", async () => {
    const { report, calls } = await workspace.talk("Where is parseSettings defined and used?");
    expect(report).toContain("# parseSettings: 1 definition, 5 other lines");
    expect(report).toMatch(/## Defined\n- src\/parse.ts:5 +export function parseSettings/);
    expect(report).toContain("    4  /** Parses one file. */");
    expect(report).toMatch(/## Used in 3 files\n- src\/index.ts:2 +parseSettings,/);
    expect(report).toMatch(/- src\/main.ts:2 +const all: Settings = parseSettings/);
    expect(report.indexOf("src/parse.test.ts:1")).toBeGreaterThan(report.indexOf("src/main.ts:2"));
    expect(calls.every((call) => !call.isError)).toBe(true);
  });

  it("does not mistake names in an import or export for definitions", async () => {
    const { report } = await workspace.talk("find the definition of Settings");
    expect(report).toContain("# Settings: 1 definition");
    expect(report).toMatch(/## Defined\n- src\/parse.ts:8 /);
  });

  it.each([
    ["run_all", "lib/tool.py:5"],
    ["run_it", "lib/tool.py:2"],
    ["RunIt", "lib/tool.go:3"],
    ["run_fast", "lib/tool.rs:1"],
    ["Fast", "lib/tool.rs:2"],
    ["run_slow", "lib/tool.c:1"],
    ["run_shell", "lib/tool.sh:1"],
  ])("recognizes definitions in many languages: %s", async (name, where) => {
    const { report } = await workspace.talk(`Where is ${name} defined?`);
    expect(report).toContain(`# ${name}: 1 definition`);
    expect(report).toContain(`## Defined\n- ${where} `);
  });

  it("reports an unknown name, and similar ones", async () => {
    const { report, stopReason } = await workspace.talk("who calls parsesettings?");
    expect(stopReason).toBe("end_turn");
    expect(report).toContain("# parsesettings: not found");
    expect(report).toMatch(/- src\/parse.ts:5 +export function parseSettings/);
    const none = await workspace.talk("find zzzNothing");
    expect(none.report).toContain("no line in . contains zzzNothing");
  });

  it("treats special characters in a name as text", async () => {
    const { report, stopReason } = await workspace.talk("find usages of `$weird(.*[name`");
    expect(stopReason).toBe("end_turn");
    expect(report).toContain("not found");
    expect(report).not.toContain("could not see");
  });
});

describe("summarizing", () => {
  it("covers a file's size, language, comment, definitions, imports and to-dos", async () => {
    const { report } = await workspace.talk("Summarize src/parse.ts");
    expect(report).toContain("- TypeScript, 9 lines, ");
    expect(report).toContain("- src/parse.ts:1  Reads settings.");
    expect(report).toMatch(/- src\/parse.ts:5 +export function parseSettings\(path: string\): Settings\n/);
    expect(report).toMatch(/- src\/parse.ts:8 +export type Settings/);
    expect(report).toContain("- 1 module: node:fs");
    expect(report).toMatch(/- src\/parse.ts:9 +\/\/ \w+: check the schema/);
  });

  it("lists the headings of prose and the keys of data", async () => {
    expect((await workspace.talk("summarize docs/README.md")).report).toMatch(
      /## Headings\n- docs\/README.md:1 +# The manual/,
    );
    expect((await workspace.talk("explain data.json")).report).toContain("- top-level keys: one, two");
  });

  it("covers a directory's files with comments or definitions, and its README", async () => {
    const src = await workspace.talk("What does src do?".replace("src", "src/"));
    expect(src.report).toContain("# src: 4 text files, 17 lines");
    expect(src.report).toMatch(/- parse.ts +9 lines +Reads settings\./);
    const docs = await workspace.talk("summarise docs");
    expect(docs.report).toContain("- docs/README.md:1  The manual");
  });

  it("finds a file by its name alone", async () => {
    const { report, calls } = await workspace.talk("summarize parse.ts");
    expect(report).toContain("# src/parse.ts");
    expect(report).not.toContain("could not see");
    expect(calls.filter((call) => call.isError)).toHaveLength(1);
  });

  it("reports a missing file", async () => {
    const { report } = await workspace.talk("summarize src/nothing-like-it.ts");
    expect(report).toContain("src/nothing-like-it.ts: not found");
    expect(report).toContain("## What I could not see\n- Read src/nothing-like-it.ts");
  });
});

describe("the git history", () => {
  it("contains commits, kinds, authors, files, and uncommitted changes", async () => {
    workspace.git("init", "-q");
    workspace.git("add", "src");
    workspace.git("commit", "-q", "-m", "feat(parse): read settings");
    workspace.put({ "src/main.ts": "changed\n" });
    workspace.git("commit", "-q", "-am", "fix(main): say less");
    const { report, calls } = await workspace.talk("What changed recently?");
    expect(report).toContain("# 2 commits in this repository, 2024-03-01 to 2024-03-01");
    expect(report).toMatch(/newest first\n- [0-9a-f]+ +2024-03-01 +Ada +fix\(main\): say less/);
    expect(report).toContain("- kinds: feat 1, fix 1");
    expect(report).toContain("- areas: main 1, parse 1");
    expect(report).toMatch(/- Ada +2 commits/);
    expect(report).toMatch(/Files changed most\n- src\/main.ts +2 commits +\+3 -2/);
    expect(report).toMatch(/src\/main.ts \| +3 /);
    expect(report).toMatch(/uncommitted paths?: .*data.json/);
    expect(
      calls.every((call) => call.name === "Bash" && /^\{"command":"git (log|show --stat|status)/.test(call.input)),
    ).toBe(true);
    const one = await workspace.talk("last 1 commits in src/parse.ts");
    expect(one.report).toContain("# 1 commit in src/parse.ts");
  });

  it("is reported as missing outside a git repository", async () => {
    expect((await workspace.talk("git history")).report).toContain("none: this is not a git repository");
  });
});

describe("a direct request", () => {
  it("lists, reads or searches files", async () => {
    const listed = await workspace.talk("list files in lib");
    expect(listed.report).toContain("# lib: 5 files and 0 directories");
    expect(listed.report).toMatch(/- tool.py +\d+ B/);
    const matching = await workspace.talk("list *.md files");
    expect(matching.report).toContain("- docs/README.md");
    const text = await workspace.talk("read data.json");
    expect(text.report).toContain('    2    "one": 1,');
    const found = await workspace.talk('search for "json.parse(" in src');
    expect(found.report).toMatch(/- src\/parse.ts:6 +return JSON.parse\(/);
    const todos = await workspace.talk("find TODOs");
    expect(todos.report).toMatch(/- src\/parse.ts:9 /);
  });

  it("explains why it failed", async () => {
    const { report, stopReason } = await workspace.talk("read nothing.txt");
    expect(stopReason).toBe("refusal");
    expect(report).toContain("## What I could not see\n- Read nothing.txt: nothing.txt does not exist.");
    const outside = await workspace.talk("read /etc/hostname");
    expect(outside.report).toMatch(/Read \/etc\/hostname: Read was not run/);
  });
});

describe("a request that can't be carried out", () => {
  it.each([
    ["Where is parseSettings defined?", "# parseSettings: could not be searched for"],
    ["Search for 'timeout'", '# "timeout": could not be searched for'],
    ["List all *.ts files", "# *.ts: could not be searched for"],
    ["Read nothing.txt", "# nothing.txt could not be read"],
    ["Summarize src/nothing.ts", "# src/nothing.ts: not found"],
    ["List files in nowhere", "# nowhere could not be listed"],
  ])("ends with a report that can't be mistaken for an answer: %s", async (request, title) => {
    const poor = createOfflineWorkspace({ without: ["Grep", "Glob"] });
    try {
      const { report, stopReason } = await poor.talk(request);
      expect(report).toContain(title);
      expect(report).toContain("## What I could not see");
      expect(stopReason).toBe("refusal");
    } finally {
      poor.remove();
    }
  });

  it.each(["Where is '' defined?", "Where is  defined?", "Find files named ''", "Search for ''"])(
    "is refused without any calls if it searches for an empty name: %s",
    async (request) => {
      const { stopReason, calls } = await workspace.talk(request);
      expect([stopReason, calls]).toEqual(["refusal", []]);
    },
  );
});

it("the report on the git history says how many files it leaves out", async () => {
  workspace.put(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`many/${index}.txt`, "x\n"])));
  workspace.git("init", "-q");
  workspace.git("add", "many");
  workspace.git("commit", "-qm", "Add many");
  const { report } = await workspace.talk("What changed recently?");
  expect(report).toMatch(/## Files changed most\n(- .*\n){8}- and 12 more\n/);
});
