import { approvalText, type CallItem } from "../../client/index.ts";
import { showExactly } from "../../lib/index.ts";
import { canonicalToolName } from "../../protocol/index.ts";
import type { Row } from "../screen/row.ts";
import { markdownRows } from "./markdown.ts";

/**
 * Returns the rows of the plan that a call presents, with misleading characters made visible; undefined if the call
 * presents no plan.
 */
export function planRows(call: Pick<CallItem, "name" | "inputJson">, columns: number): readonly Row[] | undefined {
  if (canonicalToolName(call.name) !== "ExitPlanMode") return undefined;
  const { main } = approvalText(call);
  return main && markdownRows(exactWords(main.value), columns);
}

/** Shows each word exactly. The whitespace between words is part of the Markdown. */
function exactWords(text: string): string {
  return text
    .split(/(\s+)/)
    .map((part, index) => (index % 2 === 1 ? part : showExactly(part)))
    .join("");
}
