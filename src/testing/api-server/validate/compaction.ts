import { asList, asObject, isObject, type JsonObject } from "../json-values.ts";
import { demand, demandKeys, demandObject, demandText } from "./check.ts";
import { rulesOf } from "./model-rules.ts";
import { COMPACTION_BETA, type ThinkingLedger } from "./thinking.ts";
import { isCompaction } from "./thinking-signature.ts";

/** Returns whether a request asks for a summary of its conversation instead of a response. */
export function asksForSummary(body: unknown): boolean {
  return asObject(body)["compaction"] !== undefined;
}

/** Checks that the model can write the summary that a request asks for, and that the request asks for nothing else. */
export function checkCompactionRequest(request: JsonObject, compacts: boolean): void {
  const { compaction, model, messages, tool_choice: choice } = request;
  if (compaction === undefined) return;
  demand(compacts, `compaction: requires anthropic-beta: ${COMPACTION_BETA}`);
  demand(rulesOf(String(model)).compacts === true, `compaction: not supported by ${model}`);
  const { type, instructions = "", ...rest } = demandObject(compaction, "compaction");
  demandKeys(rest, "compaction", []);
  demand(type === "summarize", "compaction.type: Input should be 'summarize'");
  demand(demandText(instructions, "compaction.instructions").length <= 16_384, "compaction.instructions: too long");
  for (const field of ["context_management", "stop_sequences"])
    demand(request[field] === undefined, `${field}: cannot be combined with \`compaction\``);
  const format = asObject(request["output_config"])["format"];
  demand(format === undefined, "output_config.format: cannot be combined with `compaction`");
  const forced = isObject(choice) && ["any", "tool"].includes(String(choice["type"]));
  demand(!forced, "tool_choice: cannot be combined with `compaction`");
  demand(asList(messages).length > 0, "compaction_nothing_to_summarize: messages has no content");
  const last = asObject(asList(messages).at(-1));
  const isOpen = asList(last["content"]).some((block) => asObject(block)["type"] === "tool_use");
  demand(!isOpen, "compaction: the last `assistant` turn ends in a tool call with no result. Send its result first.");
}

/** Checks that a request has at most one compaction block, which comes first and is exactly as the server sent it. */
export function checkCompactionBlocks(
  request: JsonObject,
  { ledger, compacts }: { ledger: ThinkingLedger; compacts: boolean },
): void {
  let count = 0;
  for (const [index, message] of asList(request["messages"]).entries()) {
    for (const [position, block] of asList(asObject(message)["content"]).entries()) {
      if (!isCompaction(block)) continue;
      const where = `messages.${index}.content.${position}`;
      demand(compacts, `${where}: Input tag 'compaction' found using 'type' does not match any of the expected tags`);
      demand(index === 0 && position === 0, `compaction_block_misplaced: ${where}: the block must come first`);
      demandKeys(block, `${where}.compaction`, ["type", "content", "signature", "cache_control"]);
      demand(ledger.bindingOf(block) !== undefined, `compaction_signature_invalid: ${where}: Invalid \`signature\``);
      count += 1;
    }
  }
  demand(count <= 1, "messages: at most one `compaction` block may be provided");
}
