import { afterEach, describe, expect, it } from "vitest";
import { createOfflineWorkspace, type OfflineWorkspace } from "../offline-workspace.test-support.ts";

// The words are split, so that searching this repository for to-do comments does not find these tests.
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

/** Returns the file locations in the report. */
function placesIn(report: string): string[] {
  return [...report.matchAll(/(?<=^- )[\w./-]+(?=:\d+ )/gm)].map(([path]) => path);
}

/** Returns the report without its last line, which says how to use a language model. */
function mapIn(report: string): string {
  const [map = "", footer] = report.split("\nGenerated offline, ");
  expect(footer).toMatch(
    /^without a language model\. To use one, set ANTHROPIC_API_KEY, .* --provider ollama --model NAME\n$/,
  );
  return map;
}

describe("mapping a repository", () => {
  it("reports layout, languages, entry points, commands, tests, to-dos and history", async () => {
    workspace = createOfflineWorkspace();
    workspace.put(typescript);
    workspace.git("init", "-q");
    workspace.git("add", "-A");
    workspace.git("commit", "-q", "-m", "feat: greet people");
    workspace.put({ "src/new.ts": "export {};\n" });
    const { report, stopReason, turns, calls } = await workspace.talk("Map this repository");
    expect(stopReason).toBe("end_turn");
    expect(mapIn(report).replace(/[0-9a-f]{7,}/, "HASH")).toBe(`# Map of greeter

## What it is
- package.json:3  Greets people.
- README.md:3  Greets people by name, and remembers them.

## Layout
- src/   4 files  45 lines  cli.ts, index.test.ts, index.ts, new.ts
- docs/  1 file   1 line    guide.md
- files at the top: .gitignore, README.md, package.json
- total: 8 text files, 72 lines

## Languages
- TypeScript  4 files  45 lines
- Markdown    2 files  9 lines
- JSON        1 file   16 lines

## Entry points
- package.json:4  main  src/index.ts
- package.json:5  bin   greet → src/cli.ts
- by name: src/cli.ts, src/index.ts

## Commands
- package.json     npm install
- package.json:9   npm run build  tsc
- package.json:10  npm test       vitest run
- package.json:11  npm run lint   biome check

## Tests
- 1 file in src

## ${todo} and ${fixme}: 1 comment
- src/index.ts:41  // ${todo}: greet in French

## Recent history
- HASH  2024-03-01  Ada  feat: greet people
- branch main, 1 uncommitted file
`);
    const places = placesIn(report);
    expect(places.length).toBeGreaterThan(5);
    expect(places.filter((path) => !workspace.has(path))).toEqual([]);
    expect(turns).toBeLessThanOrEqual(8);
    expect(calls.filter((call) => call.isError)).toEqual([]);
  });

  it("lists the packages of a monorepo, and uses its package manager", async () => {
    workspace = createOfflineWorkspace();
    const manifest = (name: string, description?: string) => JSON.stringify({ name, description });
    const licence = "/*\n * Copyright 2020 Teapot, Inc.\n * Licensed under MIT.\n */\n";
    workspace.put({
      "package.json": JSON.stringify({ name: "teapot", private: true, scripts: { test: "vitest", prepare: "husky" } }),
      "pnpm-workspace.yaml": "packages:\n  - 'packages/*'\n  - apps/*\n  - '!packages/old'\n",
      "README.md":
        '<h1 align="center">\n  <img src="logo.svg">\n  Teapot\n</h1>\n\n[![npm](https://a.b/c.svg)](https://a.b)\n\nTeapot brews **tea** on [any](https://a.b) server.\n',
      "packages/core/package.json": manifest("@teapot/core", "The brewing engine."),
      "packages/core/src/index.ts": `${licence}export {};\n`,
      "packages/react/package.json": manifest("@teapot/react"),
      "packages/react/src/index.ts": `${licence}\n/**\n * Bindings for React.\n */\nexport {};\n`,
      "packages/old/package.json": manifest("old"),
      "apps/web/package.json": manifest("web"),
      "apps/web/app/main.ts": "start();\n",
    });
    const { report } = await workspace.talk("Map this repository");
    expect(mapIn(report)).toBe(`# Map of teapot

## What it is
- README.md:8  Teapot brews tea on any server.

## Layout
- packages/  5 files  17 lines  core, old, react
- apps/      2 files  2 lines   web
- files at the top: README.md, package.json, pnpm-workspace.yaml
- total: 10 text files, 32 lines

## Packages
- apps/web/        web            2 files
- packages/core/   @teapot/core   2 files  The brewing engine.
- packages/react/  @teapot/react  2 files  Bindings for React.

## Languages
- JSON        5 files  5 lines
- TypeScript  3 files  15 lines
- Markdown    1 file   8 lines
- YAML        1 file   4 lines

## Entry points
- by name: apps/web/app/main.ts, packages/core/src/index.ts, packages/react/src/index.ts

## Commands
- package.json:1  pnpm test  vitest

## Recent history
- none: this is not a git repository
`);
  });

  it("supports a Python project without git", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({
      "pyproject.toml":
        '[project]\nname = "counter"\ndescription = "Counts things."\n\n[project.scripts]\ncount = "counter.cli:main"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n',
      "uv.lock": "version = 1\n",
      Makefile: "VERSION := 1\n\ntest:\n\tpytest -q\n\nclean: ## Remove what was built\n\trm -rf build\n",
      "counter/__init__.py": '# Copyright 2021 Ada\n\n"""Counts things, and remembers them."""\n',
      "counter/__main__.py": '"""Counts from the command line."""\nfrom counter import cli\n',
      "counter/cli.py": `def main():\n    pass  # ${fixme}: count\n`,
      "tests/test_cli.py": "def test_main():\n    assert True\n",
    });
    const { report } = await workspace.talk("What is this project?");
    expect(mapIn(report)).toBe(`# Map of counter

## What it is
- pyproject.toml:3  Counts things.

## Layout
- counter/  3 files  7 lines  Counts things, and remembers them.
- tests/    1 file   2 lines  test_cli.py
- files at the top: Makefile, pyproject.toml, uv.lock
- total: 7 text files, 26 lines

## Languages
- Python    4 files  9 lines
- Makefile  1 file   7 lines
- TOML      1 file   9 lines

## Entry points
- pyproject.toml:6  command count  counter.cli:main
- by name: counter/__main__.py, counter/cli.py

## Commands
- uv.lock           uv sync
- Makefile:3        make test      pytest -q
- pyproject.toml:8  uv run pytest
- Makefile:6        make clean     Remove what was built

## Tests
- 1 file in tests

## ${todo} and ${fixme}: 1 comment
- counter/cli.py:2  pass # ${fixme}: count

## Recent history
- none: this is not a git repository
`);
  });

  it("supports a Rust workspace", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({
      "Cargo.toml": '[workspace]\nmembers = [\n    "crates/*", # all of them\n    "xtask",\n]\n',
      "README.md":
        "# rustle\n[![Crates.io](https://a.b/x.svg)](x)\n\n[docs]: https://a.b\n\n> A tool for trees, written in Rust.\n",
      "crates/cli/Cargo.toml": '[package]\nname = "rustle"\ndescription = """\nThe command\nline."""\n',
      "crates/cli/src/main.rs": "fn main() {}\n",
      "crates/core/Cargo.toml": '[package]\nname = "rustle-core"\nedition.workspace = true\n',
      "crates/core/src/lib.rs": "//! Finds leaves in trees.\n#![deny(missing_docs)]\n",
      "xtask/Cargo.toml": '[package]\nname = "xtask"\n',
    });
    const { report } = await workspace.talk("Map this repository");
    expect(mapIn(report)).toBe(`# Map of rustle

## What it is
- README.md:6  A tool for trees, written in Rust.

## Layout
- crates/  4 files  11 lines  cli, core
- xtask/   1 file   2 lines   Cargo.toml
- files at the top: Cargo.toml, README.md
- total: 7 text files, 24 lines

## Packages
- crates/cli/   rustle       2 files  The command line.
- crates/core/  rustle-core  2 files  Finds leaves in trees.
- xtask/        xtask        1 file

## Languages
- TOML      4 files  15 lines
- Rust      2 files  3 lines
- Markdown  1 file   6 lines

## Entry points
- by name: crates/cli/src/main.rs, crates/core/src/lib.rs

## Commands
- Cargo.toml  cargo build
- Cargo.toml  cargo test

## Recent history
- none: this is not a git repository
`);
  });

  it("describes Go packages", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({
      "go.mod": "module example.com/steep\n\ngo 1.22\n",
      "main.go": "// Copyright 2020\n\n// Command steep runs jobs.\npackage main\n",
      "queue/queue.go": "// Package queue stores jobs.\npackage queue\n",
      "queue/queue_test.go": "package queue\n",
    });
    const { report } = await workspace.talk("Map this repository");
    expect(report).toContain("# Map of example.com/steep\n");
    expect(report).toMatch(/- queue\/ +2 files +3 lines +Package queue stores jobs\.\n/);
    expect(report).toContain("## Commands\n- go.mod  go build ./...\n- go.mod  go test ./...\n");
  });

  it.each([{}, { ".git/config": "[core]\n" }])("reports that there are no files: %o", async (files) => {
    workspace = createOfflineWorkspace();
    workspace.put(files);
    const { report, stopReason } = await workspace.talk("Map this repository");
    expect(stopReason).toBe("end_turn");
    expect(mapIn(report)).toBe("# There are no files in this directory\n");
  });

  it("reports what is missing in a repository without commits", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ "a.txt": "a\n" });
    workspace.git("init", "-q");
    const { report } = await workspace.talk("Map this repository");
    expect(report).toContain("none: the git repository has no commits yet");
    expect(report).toContain("- total: 1 text file, 1 line\n");
  });

  it("stays within limits for thousands of files, with exact totals", async () => {
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
      files[`packages/package-${number}/package.json`] =
        `{ "name": "@many/${number}", "description": "Part ${number}." }\n`;
      files[`packages/package-${number}/source/one.test.ts`] = "x\n";
    }
    workspace.put(files);
    const { report, turns, calls } = await workspace.talk("Map this repository");
    expect(report).toMatch(/- packages\/ +2,424 files/);
    expect(report).toMatch(/- TypeScript +1,612 files/);
    expect(report).toMatch(/- Python +800 files/);
    expect(report).toMatch(
      /- total: 2,425 text files, [\d,]+ lines; the lists of files below cover only [\d,]+ of them\n/,
    );
    expect(report).toMatch(/- about 12 files, most of them in packages\//);
    expect(report).toMatch(/- packages\/package-11\/ +@many\/11 +Part 11\.\n/);
    expect(turns).toBeLessThanOrEqual(8);
    expect(calls.length).toBeLessThanOrEqual(40);
    expect(report.split("\n").length).toBeLessThan(80);
    expect(calls.filter((call) => call.isError && call.name !== "Bash")).toEqual([]);
  });

  it("continues if Bash is denied, and says what it could not see and why", async () => {
    workspace = createOfflineWorkspace();
    workspace.put(typescript);
    const rules = [{ effect: "deny" as const, text: "Bash", scope: "user" as const }];
    const { report, stopReason } = await workspace.talk("Map this repository", { policy: { rules } });
    expect(stopReason).toBe("end_turn");
    expect(report).toContain("# Map of greeter");
    expect(report).toMatch(/## Recent history\n- could not be read: Bash was not run\. .*`Bash`/);
  });

  it("does not reveal files that rules hide", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ ...typescript, "secret/plan.ts": `// ${todo}: secret\n` });
    const rules = [{ effect: "deny" as const, text: "Read(secret/**)", scope: "user" as const }];
    const { report } = await workspace.talk("Map this repository", { policy: { rules } });
    expect(report).not.toContain("plan.ts");
    expect(report).not.toContain(": secret");
  });

  it.each([["Grep"], ["LS"], ["Bash"], ["Glob"], ["Read"]])("works without %s", async (missing) => {
    workspace = createOfflineWorkspace({ without: [missing] });
    workspace.put(typescript);
    const { report, stopReason } = await workspace.talk("Map this repository");
    expect(stopReason).toBe("end_turn");
    expect(report).toMatch(/- TypeScript +3 files/);
    expect(report).toContain(`This agent has no tool ${missing}.`);
  });

  it("describes directories by the files that explain them", async () => {
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

  it("maps one part", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ ...typescript, "src/inner/deep.ts": "one\ntwo\n" });
    const { report } = await workspace.talk("Map src");
    expect(report).toContain("# Map of src");
    expect(report).toMatch(/- src\/inner\/ +1 file +2 lines +deep.ts/);
    expect(report).not.toContain("guide.md");
  });

  it("removes terminal control characters", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({
      "README.md": "# Red \u001b[31m alert\n\nIt is red \u001b[31m now.\n",
      "a.ts": `// ${todo}: \u001b]0;title\u0007 x\n`,
    });
    const { report } = await workspace.talk("Map this repository");
    expect(report).toContain("# Map of Red  alert\n");
    expect(report).not.toContain("\u001b");
  });
});
