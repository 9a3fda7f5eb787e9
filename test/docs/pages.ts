import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadSettings } from "../../src/app/index.ts";
import { needs } from "../../src/testing/needs.test-support.ts";
import { type Block, findBlocks } from "./blocks.ts";
import { mismatch } from "./match-output.ts";
import { createPagePlace, type PagePlace, type Printed, root } from "./page-place.ts";
import { type CheckedPrograms, checkPrograms } from "./programs.ts";

export interface Page {
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const names = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
/** The README and every page in docs. */
export const pages: readonly Page[] = names.map((name) => {
  const text = readFileSync(join(root, name), "utf8");
  return { name, text, blocks: findBlocks(text) };
});
const scripts = Object.keys(
  (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object }).scripts,
);

export function hasPrograms({ blocks }: Page): boolean {
  return blocks.some(({ language }) => language === "ts");
}

/** Runs every example on these pages, and follows their links. */
export function checkPages(pages: readonly Page[]): void {
  let directory: string;
  let programs: CheckedPrograms;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "retinue-docs-programs-"));
    const all = pages.flatMap(({ name, blocks }) =>
      blocks
        .filter(isRun)
        .filter(({ language }) => language === "ts")
        .map((block) => ({ name: programName(name, block), text: block.text })),
    );
    programs = checkPrograms(directory, all);
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  describe.each(pages)("$name", ({ name, text, blocks }) => {
    let place: PagePlace;
    let last: Printed | undefined;
    beforeAll(() => {
      place = createPagePlace();
    });
    afterAll(() => place.remove());

    it.each(blocks.filter(isRun).map((block) => ({ block, title: `${block.language} block at line ${block.line}` })))(
      "$title",
      // Some pages use curl to show how programs without a client library call a server.
      blocks.some(({ language, text }) => language === "sh" && /\bcurl\b/.test(text)) ? needs("curl") : {},
      async ({ block }) => {
        const { directive, language } = block;
        const words = place.fill(block.text, directive);
        if (directive.output) {
          if (last === undefined) throw new Error("Nothing was run before this output.");
          const printed = language === "text" ? last.stdout + withoutSandboxNotice(last.stderr) : last.stdout;
          expect(mismatch(words, printed, { language, figures: directive.figures })).toBeUndefined();
        } else if (language === "sh" && words.startsWith("npm ")) {
          for (const [, script = ""] of words.matchAll(/npm (?:run )?(?!ci\b|install\b)([\w-]+)/g))
            expect(scripts).toContain(script);
        } else if (language === "sh") {
          last = await place.runLines(words, directive);
          expect(last, last.stderr).toMatchObject({ code: directive.exit });
        } else if (language === "ts") {
          const program = programName(name, block);
          expect(programs.problems.get(program)).toEqual([]);
          last = await place.runProgram(programs.fileOf(program), directive);
          expect(last, last.stderr).toMatchObject({ code: directive.exit });
        } else if (language === "jsonc") {
          const home = directive.use ? dirname(place.settingsFile) : mkdtempSync(join(directory, "home-"));
          writeFileSync(join(home, "settings.json"), words);
          expect(loadSettings({ home }).notices).toEqual([]);
        } else throw new Error(`"${language}" blocks can't be run: mark this one as output, or say why it is skipped.`);
      },
    );

    it("links only to existing targets", () => {
      for (const [, file = "", anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
        const path = file === "" ? name : join(dirname(name), file);
        const target = readFileSync(join(root, path), "utf8");
        if (anchor !== undefined) expect(anchorsOf(target), path).toContain(anchor);
      }
    });
  });
}

/** Returns the anchors that Markdown renderers generate from headings. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
}

function isRun({ directive }: Block): boolean {
  return directive.skip === undefined;
}

function programName(page: string, { line }: Block): string {
  return `${page.replace(/[/.]/g, "-")}-${line}`;
}

/** The pages show output from a machine with a sandbox, but the tests also run on machines without one. */
function withoutSandboxNotice(stderr: string): string {
  return stderr.replace(/^retinue: Commands run without a sandbox: .*\n/m, "");
}
