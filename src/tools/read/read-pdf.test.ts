import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { SpawnOptions } from "../../ports/index.ts";
import { needs } from "../../testing/needs.test-support.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { createSandboxPlace, needsSandbox } from "../../workspace/sandbox/sandbox.test-support.ts";
import {
  callTool,
  createToolPlace,
  type ToolPlace,
  textOfOutput,
  toolContext,
} from "../shared/tool-place.test-support.ts";
import { createReadTool } from "./read.ts";

let place: ToolPlace;
beforeEach(() => {
  place = createToolPlace();
});
afterEach(() => place.remove());

const read = (input: Record<string, string | number>, context = toolContext()) =>
  callTool(createReadTool(place), { file_path: "a.pdf", ...input }, context);
const textOf = async (input: Record<string, string | number> = {}) => textOfOutput(await read(input));

describe("Read, given a PDF document,", needs("pdftotext"), () => {
  it("shows the text page by page", async () => {
    place.put("a.pdf", pdf(["First things", "Second things"]));
    expect(await textOf()).toBe("1\t[Page 1]\n2\tFirst things\n3\t[Page 2]\n4\tSecond things\n");
    expect(place.seen.of("main").knowsWhole(`${place.root}/a.pdf`)).toBe(false);
  });

  it("shows only the requested pages and lines", async () => {
    place.put("a.pdf", pdf(["one", "two", "three", "four"]));
    expect(await textOf({ pages: "3" })).toBe("1\t[Page 3]\n2\tthree\n");
    expect(await textOf({ pages: "2-3" })).toBe("1\t[Page 2]\n2\ttwo\n3\t[Page 3]\n4\tthree\n");
    expect(await textOf({ pages: " 2 - 3 " })).toBe(await textOf({ pages: "2-3" }));
    expect(await textOf({ pages: "4-" })).toBe("1\t[Page 4]\n2\tfour\n");
    expect(await textOf({ offset: 3, limit: 2 })).toBe(
      "3\t[Page 2]\n4\ttwo\n[Lines 3-4 of 8. Continue with offset=5.]",
    );
    expect(await textOf({ pages: "1", offset: 9 })).toContain("past its end");
  });

  it.each(["0", "5-2", "x", "1,3", "1 3", "-", ""])("rejects %j as a range of pages", async (pages) => {
    place.put("a.pdf", pdf(["one"]));
    expect(await read({ pages })).toMatchObject({
      isError: true,
      content: `"${pages}" is not a range of pages. Use a form like 3, 2-5 or 10-.`,
    });
  });

  it("explains missing pages, damaged files and pages without text", async () => {
    place.put("a.pdf", pdf(["one"]));
    expect(await read({ pages: "7" })).toMatchObject({ isError: true });
    expect(await textOf({ pages: "7" })).toContain("The text of a.pdf could not be extracted.");
    place.put("a.pdf", "%PDF-1.7\n\0\0");
    expect(await textOf()).toContain("The text of a.pdf could not be extracted.");
    place.put("a.pdf", pdf(["", ""]));
    expect(await textOf()).toContain("a.pdf: 2 pages without text. To look at a page, make an image");
  });

  it("stops when the call is cancelled", async () => {
    place.put("a.pdf", pdf(["one"]));
    const context = toolContext({ signal: AbortSignal.abort() });
    expect(textOfOutput(await read({}, context))).toContain("The call was cancelled.");
  });
});

describe("Read, given a PDF document but no pdftotext,", () => {
  it("says what to install", async () => {
    const { workspace: local } = place;
    const workspace = {
      ...local,
      spawn: (options: SpawnOptions) => local.spawn({ ...options, command: "no-such-program-here" }),
    };
    place.put("a.pdf", pdf(["one"]));
    const output = await callTool(createReadTool({ ...place, workspace }), { file_path: "a.pdf" });
    expect(textOfOutput(output)).toContain("pdftotext is not installed.");
  });

  it("says the same in the sandbox, whether directories of PATH are missing or locked", needsSandbox, async () => {
    const confined = createSandboxPlace();
    onTestFinished(() => confined.remove());
    const { root, sandbox } = confined;
    writeFileSync(join(root, "a.pdf"), pdf(["one"]));
    mkdirSync(join(root, "locked"), { mode: 0 });
    for (const directory of ["missing", "locked"]) {
      const environment = { PATH: join(root, directory) };
      const workspace = createLocalWorkspace({ root, environment, sandbox });
      const output = await callTool(createReadTool({ ...place, workspace }), { file_path: "a.pdf" });
      expect(textOfOutput(output)).toContain("pdftotext is not installed.");
    }
  });
});

/** Returns a document with one line of text on each page. */
function pdf(pages: readonly string[]): string {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((text, index) => {
      const stream = text === "" ? "" : `BT /F1 12 Tf 40 700 Td (${text}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${5 + 2 * index} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ];
    }),
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const size = objects.length + 1;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return `${text}xref\n0 ${size}\n0000000000 65535 f \n${offsets.join("")}${trailer}`;
}
