import type { AddressedTexts, Tool, ToolOutput } from "../../ports/index.ts";
import { failed } from "../shared/failed.ts";
import { openText } from "../shared/open-text.ts";
import { pageLines } from "../shared/page-lines.ts";
import { MAX_CHARACTERS, pastEnd } from "./line-range.ts";
import { createLineScanner } from "./line-scanner.ts";
import { rangeOf, readSpec } from "./read.ts";

/** Lines are counted to the end of the text unless the text is longer than this. */
const MAX_COUNTED_BYTES = 10 * 1024 * 1024;

/**
 * Creates the Read tool for addresses. Wraps long lines instead of cutting them, because text at an address can't be
 * printed in any other way.
 */
export function createTextReadTool(texts: AddressedTexts): Tool {
  return {
    ...readSpec,
    async run(input, { signal }): Promise<ToolOutput> {
      const address = String(input["file_path"]);
      const text = await openText(address, texts);
      if (!text.ok) return text.output;
      const range = rangeOf(input);
      const scanner = createLineScanner(range, { folds: true });
      let bytes = 0;
      let isEnded = true;
      for await (const chunk of text.chunks) {
        if (signal.aborted) return failed("The call was cancelled.");
        scanner.feed(chunk);
        bytes += chunk.length;
        isEnded = !scanner.hasMore() || bytes <= MAX_COUNTED_BYTES;
        if (!isEnded) break;
      }
      if (isEnded) scanner.end();
      const { lines, total } = scanner.result();
      if (bytes === 0) return { content: "[The text is empty.]" };
      if (lines.length === 0) return failed(pastEnd(address, total ?? 0, range.offset));
      const limits = { numbered: false, maxCharacters: MAX_CHARACTERS };
      const page = pageLines({ lines, first: range.offset, total }, limits);
      return { content: page.text, details: { path: address, lines: total, shown: page.last - page.first + 1 } };
    },
  };
}
