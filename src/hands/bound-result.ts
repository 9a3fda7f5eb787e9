import { boundText, describeError, formatCount } from "../lib/index.ts";
import type { ResultStore, ToolOutput } from "../ports/index.ts";
import type { CallId, ResultBlock, TextBlock } from "../protocol/index.ts";

/** The content as blocks; text beyond the cap is cut in the middle and kept whole under an address. Pictures pass. */
export async function boundResult(
  content: ToolOutput["content"],
  {
    callId,
    results,
    maxCharacters,
  }: { readonly callId: CallId; readonly results: ResultStore; readonly maxCharacters: number },
): Promise<readonly ResultBlock[]> {
  const blocks: readonly ResultBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  let total = 0;
  for (const block of blocks) if (block.type === "text") total += block.text.length;
  if (total <= maxCharacters) return blocks;
  const whole = blocks
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");
  const where = await keep(whole, { callId, results });
  const room = Math.max(0, maxCharacters - where.length - 1);
  const text: TextBlock = { type: "text", text: `${boundText(whole, { maxCharacters: room }).text}\n${where}` };
  return [text, ...blocks.filter((block) => block.type !== "text")];
}

async function keep(whole: string, { callId, results }: { callId: CallId; results: ResultStore }): Promise<string> {
  const size = `The whole result has ${formatCount(whole.length)} characters`;
  try {
    return `[${size}: Read ${await results.save(callId, whole)} with offset and limit for the rest.]`;
  } catch (error) {
    return `[${size}; the rest could not be kept: ${describeError(error)}]`;
  }
}
