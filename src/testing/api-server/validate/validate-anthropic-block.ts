import type { JsonObject } from "../json-values.ts";
import { demand, demandKeys, demandList, demandObject, demandText } from "./check.ts";
import type { ThinkingLedger } from "./thinking-ledger.ts";

/** A message of the request with its content as blocks. */
export type CheckedMessage = { index: number; role: "user" | "assistant"; blocks: readonly JsonObject[] };

export type BlockPlace = { where: string; role: "user" | "assistant"; ledger?: ThinkingLedger };

/** One content block by itself: its fields, and whether its role may carry it. */
export function checkAnthropicBlock(block: JsonObject, place: BlockPlace): void {
  const { where, role } = place;
  const type = demandText(block["type"], `${where}.type`);
  const roles = rolesOf[type];
  demand(roles !== undefined, `${where}: Input tag '${type}' does not match any of the expected tags`);
  demand(roles.includes(role), `${where}: \`${type}\` blocks can not be in ${role} messages`);
  if (type === "text") checkText(block, where);
  if (type === "tool_use") checkToolUse(block, where);
  if (type === "tool_result") checkToolResult(block, where);
  if (type === "image" || type === "document") demandObject(block["source"], `${where}.source`);
  if (type === "thinking" || type === "redacted_thinking") checkThinking(block, place);
}

const both = ["user", "assistant"];
const rolesOf: Record<string, readonly string[]> = {
  text: both,
  image: ["user"],
  document: ["user"],
  search_result: ["user"],
  tool_result: ["user"],
  tool_use: ["assistant"],
  thinking: ["assistant"],
  redacted_thinking: ["assistant"],
  server_tool_use: ["assistant"],
  web_search_tool_result: ["assistant"],
  web_fetch_tool_result: ["assistant"],
};

const idPattern = /^[a-zA-Z0-9_-]+$/;

function checkText(block: JsonObject, where: string): void {
  demandKeys(block, where, ["type", "text", "cache_control", "citations"]);
  const text = demandText(block["text"], `${where}.text`);
  demand(text !== "", `${where}: text content blocks must be non-empty`);
  demand(text.trim() !== "", `${where}: text content blocks must contain non-whitespace text`);
}

function checkToolUse(block: JsonObject, where: string): void {
  demandKeys(block, where, ["type", "id", "name", "input", "cache_control", "caller"]);
  const id = demandText(block["id"], `${where}.id`);
  demand(idPattern.test(id), `${where}.id: String should match pattern '${idPattern.source}'`);
  const name = demandText(block["name"], `${where}.name`);
  demand(name.length >= 1 && name.length <= 200, `${where}.name: String should have 1 to 200 characters`);
  demandObject(block["input"], `${where}.input`);
}

function checkToolResult(block: JsonObject, where: string): void {
  demandKeys(block, where, ["type", "tool_use_id", "content", "is_error", "cache_control"]);
  const id = demandText(block["tool_use_id"], `${where}.tool_use_id`);
  demand(idPattern.test(id), `${where}.tool_use_id: String should match pattern '${idPattern.source}'`);
  const { content, is_error: isError } = block;
  demand(isError === undefined || typeof isError === "boolean", `${where}.is_error: Input should be a valid boolean`);
  if (content === undefined || typeof content === "string") return;
  for (const [index, entry] of demandList(content, `${where}.content`).entries()) {
    const inner = demandObject(entry, `${where}.content.${index}`);
    const allowed = ["text", "image", "document", "search_result"].includes(String(inner["type"]));
    demand(allowed, `${where}.content.${index}: a tool_result can not hold a '${inner["type"]}' block`);
    checkAnthropicBlock(inner, { where: `${where}.content.${index}`, role: "user" });
    demand(isError !== true || inner["type"] === "text", `${where}: all content must be text if is_error is true`);
  }
}

function checkThinking(block: JsonObject, { where, ledger }: BlockPlace): void {
  const isPlain = block["type"] === "thinking";
  demandKeys(block, where, isPlain ? ["type", "thinking", "signature"] : ["type", "data"]);
  demandText(block[isPlain ? "thinking" : "data"], `${where}.${isPlain ? "thinking" : "data"}`);
  if (isPlain) demandText(block["signature"], `${where}.signature`);
  const problem = isPlain ? "Invalid `signature` in `thinking` block" : "Invalid `data` in `redacted_thinking` block";
  demand(ledger === undefined || ledger.isGenuine(block), `${where}: ${problem}`);
}
