import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { asPart, partRequest } from "../job-request.ts";
import { createOfflineWorkspace, type OfflineWorkspace } from "../offline-workspace.test-support.ts";

let workspace: OfflineWorkspace;
afterEach(() => workspace?.remove());

const files = {
  "src/README.md": "# The engine\n\nIt turns words into pages.\n",
  "src/index.ts": "// The door.\nexport * from './parse/index.ts';\n",
  "src/main.ts": "import './index.ts';\nstart();\n",
  "src/parse/index.ts": "// Reads what people wrote.\nexport {};\n",
  "src/parse/parse.ts": `export function parse() {}\nexport class Words {}\n${"//\n".repeat(30)}`,
  "src/parse/parse.test.ts": "import { it } from 'vitest';\nit(\"reads the author's words\", () => {});\n",
  "src/render/page.py": '"""Writes pages."""\n',
  "other/secret.ts": "export const other = 1;\n",
};

describe("an agent that explores a part", () => {
  it("uses its tools and reports the purpose, files, entry points, tests and size", async () => {
    workspace = createOfflineWorkspace({ without: ["Bash"] });
    workspace.put(files);
    const { report, stopReason, calls } = await workspace.talk(partRequest("src"));
    expect(stopReason).toBe("end_turn");
    expect(report).toBe(`# src: 7 text files with 44 lines: TypeScript (5), Markdown (1), Python (1)

## What it is
- src/README.md:3  It turns words into pages.

## Directories
- src/parse/   3 files  36 lines  Reads what people wrote.
- src/render/  1 file   1 line    page.py

## Key files
- src/index.ts:1             The door.
- src/main.ts                2 lines
- src/parse/parse.ts:1       defines parse, Words
- src/render/page.py:1       Writes pages.
- src/parse/parse.test.ts:2  tests reads the author's words

## Entry points
- by name: src/main.ts, src/index.ts

## Tests
- 1 file in src/parse
`);
    expect(calls.filter((call) => call.isError)).toEqual([]);
    expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(["LS", "Grep", "Read"]));
  });

  it("omits the description of a part that has none", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ "checks/a.test.ts": "x\n", "checks/b.test.ts": "x\n", "checks/c.json": "{}\n" });
    const { report } = await workspace.talk(partRequest("checks"));
    expect(report).toBe(`# checks: 3 text files with 3 lines: TypeScript (2), JSON (1)

## Key files
- checks/a.test.ts  1 line
- checks/b.test.ts  1 line
- checks/c.json     1 line

## Tests
- 2 files in checks
`);
  });

  it("reports without Grep, and says what it could not see", async () => {
    workspace = createOfflineWorkspace({ without: ["Grep"] });
    workspace.put(files);
    const { report, stopReason } = await workspace.talk(partRequest("src"));
    expect(stopReason).toBe("end_turn");
    expect(report).toMatch(/^# src: 7 text files: TypeScript \(5\)/);
    expect(report).toContain("This agent has no tool Grep.");
  });

  it("does not report if it saw nothing", async () => {
    workspace = createOfflineWorkspace();
    const missing = await workspace.talk(partRequest("nowhere"));
    expect(missing.stopReason).toBe("refusal");
    expect(missing.report).toMatch(/^nowhere could not be explored: /);
    workspace.put({ "empty/.keep": "" });
    expect((await workspace.talk(partRequest("empty"))).report).toContain("it has no text files");
  });
});

describe("the prompt for an agent that explores a part", () => {
  it("is recognized for every path, even if other text surrounds it", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (path) => {
        expect(asPart(partRequest(path))).toEqual({ kind: "explore-part", path });
        expect(asPart(`[A note.]\n${partRequest(path)}\n\n[Another.]`)).toMatchObject({ path });
      }),
    );
  });

  it.each(["Explore the directory src", 'Explore the directory "\\q" for a map of the repository.', ""])(
    "is not recognized in: %s",
    (words) => {
      expect(asPart(words)).toBeUndefined();
    },
  );
});
