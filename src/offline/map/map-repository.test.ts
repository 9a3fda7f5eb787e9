import { afterEach, describe, expect, it } from "vitest";
import { createOfflineWorkspace, type OfflineWorkspace } from "../offline-workspace.test-support.ts";

// In parts, so that a search for such comments in this repository does not find the tests of that search.
const todo = ["TO", "DO"].join("");
const fixme = ["FIX", "ME"].join("");

let workspace: OfflineWorkspace;
afterEach(() => workspace.remove());

const typescript = {
  "package.json": JSON.stringify(
    {
      name: "greeter",
      description: "Greets people.",
      main: "src/index.ts",
      bin: { greet: "src/cli.ts" },
      scripts: { build: "tsc", test: "vitest run", lint: "biome check" },
      devDependencies: { vitest: "~4.0.0" },
    },
    null,
    2,
  ),
  "README.md": "# Greeter\n\nGreets people by name,\nand remembers them.\n\n## Use\n\nCall it.\n",
  "src/index.ts": `${"export const line = 1;\n".repeat(40)}// ${todo}: greet in French\n`,
  "src/cli.ts": "import { line } from './index.ts';\nconsole.log(line);\n",
  "src/index.test.ts": "import { it } from 'vitest';\n",
  "docs/guide.md": "# Guide\n",
  ".gitignore": "dist/\nnode_modules\n",
  "dist/built.js": "built\n".repeat(500),
  "node_modules/other/index.js": `foreign // ${todo}: not ours\n`.repeat(900),
};

/** Words of the report that claim to be places in files. */
function placesIn(report: string): string[] {
  return [...report.matchAll(/(?<=^- )[\w./-]+(?=:\d+ )/gm)].map(([path]) => path);
}

describe("map a repository", () => {
  it("tells layout, languages, entry points, commands, sizes, tests, to-dos and history", async () => {
    workspace = createOfflineWorkspace();
    workspace.put(typescript);
    workspace.git("init", "-q");
    workspace.git("add", "-A");
    workspace.git("commit", "-q", "-m", "feat: greet people");
    workspace.put({ "src/new.ts": "export {};\n" });
    const { report, stopReason, turns, calls } = await workspace.talk("Map this repository");
    expect(stopReason).toBe("end_turn");
    expect(report.trimEnd().split("\n").at(-1)).toMatch(/^Generated offline, .*ANTHROPIC_API_KEY.*ollama/);
    expect(report).toContain("# Map of greeter");
    expect(report).toContain("- README.md:3  Greets people by name, and remembers them.");
    expect(report).toMatch(/- src\/ +4 files +45 lines/);
    expect(report).toMatch(/- TypeScript +4 files +50 % +45 lines/);
    expect(report).toMatch(/- package.json:4 +main +src\/index.ts/);
    expect(report).toMatch(/- package.json:6 +bin +greet → src\/cli.ts|- package.json:5 +bin +greet → src\/cli.ts/);
    expect(report).toMatch(/- package.json:9 +npm run build +tsc/);
    expect(report).toMatch(/- package.json:10 +npm test +vitest run/);
    expect(report).toMatch(/- src\/index.ts +41 lines/);
    expect(report).toContain("- 1 file: src (1)");
    expect(report).toContain("package.json:14 vitest ~4.0.0");
    expect(report).toMatch(/- 1 comment:\n- src\/index.ts:41 +\/\/ \w+: greet in French/);
    expect(report).toMatch(/- [0-9a-f]{7,} +2024-03-01 +Ada +feat: greet people/);
    expect(report).toContain("- branch main: 1 uncommitted path");
    expect(report).not.toMatch(/built|foreign|could not see/);
    expect(report.split("\n").length).toBeLessThan(80);
    const places = placesIn(report);
    expect(places.length).toBeGreaterThan(5);
    expect(places.filter((path) => !workspace.has(path))).toEqual([]);
    expect(turns).toBeLessThanOrEqual(8);
    expect(calls.filter((call) => call.isError)).toEqual([]);
  });

  it("works on a Python project without git", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({
      "pyproject.toml":
        '[project]\nname = "counter"\ndescription = "Counts things."\n\n[project.scripts]\ncount = "counter.cli:main"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n',
      Makefile: "VERSION := 1\n\ntest:\n\tpytest -q\n\nclean: \n\trm -rf build\n",
      "counter/__main__.py": '"""Counts from the command line."""\nfrom counter import cli\n',
      "counter/cli.py": `def main():\n    pass  # ${fixme}: count\n`,
      "tests/test_cli.py": "def test_main():\n    assert True\n",
    });
    const { report } = await workspace.talk("What is this project?");
    expect(report).toContain("# Map of counter");
    expect(report).toMatch(/- pyproject.toml:6 +project.scripts count +counter.cli:main/);
    expect(report).toMatch(/- counter\/__main__.py +an entry by its name/);
    expect(report).toMatch(/- Makefile:3 +make test +pytest -q/);
    expect(report).toContain("pyproject.toml:8 [tool.pytest.ini_options]");
    expect(report).toContain("- 1 file: tests (1)");
    expect(report).toMatch(/counter\/cli.py:2 +pass # \w+: count/);
    expect(report).toContain("none: this is not a git repository");
    expect(report).not.toContain("could not see");
  });

  it("says of an empty directory that it is empty", async () => {
    workspace = createOfflineWorkspace();
    const { report, stopReason } = await workspace.talk("Map this repository");
    expect(stopReason).toBe("end_turn");
    expect(report).toContain("no files and no directories");
  });

  it("says what a repository without commits lacks", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ "a.txt": "a\n" });
    workspace.git("init", "-q");
    const { report } = await workspace.talk("Map this repository");
    expect(report).toContain("none: the git repository has no commits yet");
    expect(report).toContain("- in all 1 text file with 1 line;");
  });

  it("stays within bounds on thousands of files, with exact totals", async () => {
    workspace = createOfflineWorkspace();
    const files: Record<string, string> = {
      "package.json": '{\n  "name": "many",\n  "workspaces": ["packages/*"]\n}\n',
    };
    for (let number = 0; number < 2_400; number += 1) {
      const part = `packages/package-${number % 12}/source`;
      files[`${part}/a-module-with-a-long-name-${number}.${number % 3 === 0 ? "py" : "ts"}`] = "x\n".repeat(
        1 + (number % 5),
      );
    }
    for (let number = 0; number < 12; number += 1) {
      files[`packages/package-${number}/package.json`] = "{}\n";
      files[`packages/package-${number}/source/one.test.ts`] = "x\n";
    }
    workspace.put(files);
    const { report, turns, calls } = await workspace.talk("Map this repository");
    expect(report).toMatch(/- packages\/ +2,424 files/);
    expect(report).toMatch(/- TypeScript +1,612 files +66 %/);
    expect(report).toMatch(/- Python +800 files +33 %/);
    expect(report).toContain("- in all 2,425 text files with 7,228 lines");
    expect(report).toMatch(/paths below are from the [\d,]+ of 2,425 files/);
    expect(report).toContain("- 12 files by name");
    expect(report).toContain("- 12 manifests below");
    expect(turns).toBeLessThanOrEqual(8);
    expect(calls.length).toBeLessThanOrEqual(40);
    expect(report.split("\n").length).toBeLessThan(80);
    expect(calls.filter((call) => call.isError && call.name !== "Bash")).toEqual([]);
  });

  it("goes on where Bash is denied, and says what it could not see and why", async () => {
    workspace = createOfflineWorkspace();
    workspace.put(typescript);
    const rules = [{ effect: "deny" as const, text: "Bash", scope: "user" as const }];
    const { report, stopReason } = await workspace.talk("Map this repository", { policy: { rules } });
    expect(stopReason).toBe("end_turn");
    expect(report).toContain("# Map of greeter");
    expect(report).toMatch(/## Recent history\n- not seen: Bash was not run\. .*`Bash`/);
  });

  it("does not tell what rules hide", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ ...typescript, "secret/plan.ts": `// ${todo}: secret\n` });
    const rules = [{ effect: "deny" as const, text: "Read(secret/**)", scope: "user" as const }];
    const { report } = await workspace.talk("Map this repository", { policy: { rules } });
    expect(report).not.toContain("plan.ts");
    expect(report).not.toContain(": secret");
  });

  it.each([["Grep"], ["LS"], ["Bash"], ["Glob"], ["Read"]])("does without %s", async (missing) => {
    workspace = createOfflineWorkspace({ without: [missing] });
    workspace.put(typescript);
    const { report, stopReason } = await workspace.talk("Map this repository");
    expect(stopReason).toBe("end_turn");
    expect(report).toMatch(/- TypeScript +3 files/);
    expect(report).toContain(`This agent has no tool ${missing}.`);
  });

  it("tells what directories are for, by the files that speak for them", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({
      "src/parse/index.ts": "// Reads what people wrote.\nexport {};\n",
      "src/render/README.md": "# Writes pages\n",
      "src/render/page.ts": "export {};\n",
      "node_modules/other/index.js": "// Foreign\n",
    });
    const { report } = await workspace.talk("Explore the codebase");
    expect(report).toMatch(/## Inside src\n- src\/render\/ +2 files +2 lines +Writes pages\n/);
    expect(report).toMatch(/- src\/parse\/ +1 file +2 lines +Reads what people wrote\.\n/);
  });

  it("maps a part on its own", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ ...typescript, "src/inner/deep.ts": "one\ntwo\n" });
    const { report } = await workspace.talk("Map src");
    expect(report).toContain("# Map of src");
    expect(report).toMatch(/- src\/inner\/ +1 file +2 lines +deep.ts/);
    expect(report).not.toContain("guide.md");
  });

  it("lets no terminal control through", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ "README.md": "# Red \u001b[31m alert\n", "a.ts": `// ${todo}: \u001b]0;title\u0007 x\n` });
    const { report } = await workspace.talk("Map this repository");
    expect(report).toContain("README.md:1  Red  alert");
    expect(report).not.toContain("\u001b");
  });
});
