import { asList, asText, isObject, type JsonObject } from "../json-values.ts";
import { checkAnswerSchema } from "./answer-schema.ts";
import {
  type CheckedMessage,
  demand,
  demandKeys,
  demandList,
  demandObject,
  demandText,
  firstProblem,
} from "./check.ts";
import { checkCompactionBlocks, checkCompactionRequest } from "./compaction.ts";
import { rulesOf } from "./model-rules.ts";
import {
  type Betas,
  checkThinkingBound,
  checkThinkingParameters,
  checkThinkingReturned,
  type ThinkingLedger,
} from "./thinking.ts";
import { isCompaction } from "./thinking-signature.ts";

/**
 * Returns why the provider would reject a request, with the position in the body; undefined if it would accept the
 * request.
 */
export function validateAnthropic(
  body: unknown,
  { ledger, controls, compacts, version = "" }: { ledger: ThinkingLedger; version?: string | undefined } & Betas,
): string | undefined {
  return firstProblem(() => {
    const request = demandObject(body, "body");
    // Versions are dates. This one removed the sampling parameters.
    const isCurrent = version >= "2026-10-21";
    demandKeys(request, "", requestKeys);
    demand(typeof request["model"] === "string" && request["model"] !== "", "model: Field required");
    checkNumbers(request, isCurrent);
    checkTools(request);
    checkOutputConfig(request);
    checkSystem(request["system"]);
    checkCompactionRequest(request, compacts);
    checkCompactionBlocks(request, { ledger, compacts });
    const messages = checkMessages(request, ledger);
    checkThinkingParameters(request, { controls });
    checkCacheMarks(request);
    checkToolPairs(messages);
    checkThinkingReturned(messages, { request, ledger });
    checkThinkingBound(request, { ledger, controls });
  });
}

const requestKeys = [
  "model",
  "messages",
  "system",
  "max_tokens",
  "metadata",
  "stop_sequences",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "thinking",
  "service_tier",
  "container",
  "context_management",
  "mcp_servers",
  "output_config",
  "output_format",
  "compaction",
];

function checkNumbers(request: JsonObject, isCurrent: boolean): void {
  const { max_tokens: maxTokens, temperature, stream, stop_sequences: stops } = request;
  demand(maxTokens !== undefined, "max_tokens: Field required");
  demand(
    Number.isInteger(maxTokens) && (maxTokens as number) >= 1,
    "max_tokens: Input should be an integer of 1 or more",
  );
  const isTemperature = typeof temperature === "number" && temperature >= 0 && temperature <= 1;
  demand(temperature === undefined || isTemperature, "temperature: range: 0..1");
  const sampled = ["temperature", "top_p", "top_k"].find((name) => request[name] !== undefined);
  demand(!isCurrent || sampled === undefined, `${sampled}: Extra inputs are not permitted`);
  demand(stream === undefined || typeof stream === "boolean", "stream: Input should be a valid boolean");
  if (stops !== undefined) for (const stop of demandList(stops, "stop_sequences")) demandText(stop, "stop_sequences");
}

function checkOutputConfig({ output_config: value, model }: JsonObject): void {
  if (value === undefined) return;
  const config = demandObject(value, "output_config");
  demandKeys(config, "output_config", ["effort", "format", "task_budget"]);
  const { effort } = config;
  const { efforts = allEfforts } = rulesOf(asText(model));
  demand(effort === undefined || efforts.length > 0, "This model does not support the effort parameter.");
  demand(effort === undefined || efforts.includes(String(effort)), `output_config.effort: should be one of ${efforts}`);
  if (config["format"] === undefined) return;
  const format = demandObject(config["format"], "output_config.format");
  demandKeys(format, "output_config.format", ["type", "schema"]);
  demand(format["type"] === "json_schema", "output_config.format.type: Input should be 'json_schema'");
  checkAnswerSchema(format["schema"], { where: "output_config.format.schema", everythingRequired: false });
}

const allEfforts = ["low", "medium", "high", "xhigh", "max"];

function checkTools(request: JsonObject): void {
  const names = new Set<string>();
  const tools = request["tools"] === undefined ? [] : demandList(request["tools"], "tools");
  for (const [index, entry] of tools.entries()) {
    const where = `tools.${index}`;
    const tool = demandObject(entry, where);
    const name = demandText(tool["name"], `${where}.name`);
    demand(/^[a-zA-Z0-9_-]{1,128}$/.test(name), `${where}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    demand(!names.has(name), `tools: Tool names must be unique, but "${name}" occurs twice`);
    names.add(name);
    // The provider's own tools have a dated type and no schema.
    if (tool["type"] !== undefined && tool["type"] !== "custom") continue;
    demandKeys(tool, where, [
      "type",
      "name",
      "description",
      "input_schema",
      "cache_control",
      "eager_input_streaming",
      "strict",
      "defer_loading",
    ]);
    const schema = demandObject(tool["input_schema"], `${where}.input_schema`);
    demand(schema["type"] === "object", `${where}.input_schema.type: Input should be 'object'`);
  }
  checkToolChoice(request, names);
}

function checkToolChoice(request: JsonObject, names: ReadonlySet<string>): void {
  if (request["tool_choice"] === undefined) return;
  const choice = demandObject(request["tool_choice"], "tool_choice");
  const type = choice["type"];
  demand(["auto", "any", "tool", "none"].includes(String(type)), "tool_choice.type: should be auto, any, tool or none");
  demand(names.size > 0, "tool_choice: may only be specified while providing tools");
  demand(type !== "tool" || names.has(String(choice["name"])), `tool_choice.name: Tool '${choice["name"]}' not found`);
}

function checkSystem(system: unknown): void {
  if (system === undefined || typeof system === "string") return;
  for (const [index, entry] of demandList(system, "system").entries()) {
    const block = demandObject(entry, `system.${index}`);
    demand(block["type"] === "text", `system.${index}.type: Input should be 'text'`);
    checkBlock(block, { where: `system.${index}`, role: "user" });
  }
}

function checkMessages(request: JsonObject, ledger: ThinkingLedger): readonly CheckedMessage[] {
  const value = request["messages"];
  demand(value !== undefined, "messages: Field required");
  const messages = demandList(value, "messages").map((entry, index): CheckedMessage => {
    const where = `messages.${index}`;
    const message = demandObject(entry, where);
    demandKeys(message, where, ["role", "content"]);
    const role = message["role"];
    demand(role === "user" || role === "assistant", `${where}.role: Input should be 'user' or 'assistant'`);
    return { index, role, blocks: checkContent(message["content"], { where, role, ledger }) };
  });
  const [first] = messages;
  const last = messages.at(-1);
  demand(first !== undefined && last !== undefined, "messages: at least one message is required");
  demand(first.role === "user" || isCompaction(first.blocks[0]), 'messages: first message must use the "user" role');
  const endsWithCall = last.blocks.some((block) => block["type"] === "tool_use");
  demand(
    last.role === "user" || endsWithCall || request["compaction"] !== undefined,
    "messages: this model does not support assistant message prefill; the conversation must end with a user message",
  );
  return messages;
}

function checkContent(content: unknown, context: BlockContext): readonly JsonObject[] {
  const { where } = context;
  demand(content !== undefined, `${where}.content: Field required`);
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : demandList(content, `${where}.content`);
  demand(blocks.length > 0 && content !== "", `${where}: all messages must have non-empty content`);
  return blocks.map((entry, index) => {
    const block = demandObject(entry, `${where}.content.${index}`);
    checkBlock(block, { ...context, where: `${where}.content.${index}` });
    return block;
  });
}

type BlockContext = { where: string; role: "user" | "assistant"; ledger?: ThinkingLedger };

/** Checks the fields of one content block, and whether a message of its role may contain it. */
function checkBlock(block: JsonObject, context: BlockContext): void {
  const { where, role } = context;
  const type = demandText(block["type"], `${where}.type`);
  const roles = rolesOf[type];
  demand(roles !== undefined, `${where}: Input tag '${type}' does not match any of the expected tags`);
  demand(roles.includes(role), `${where}: \`${type}\` blocks cannot be in ${role} messages`);
  if (type === "text") checkText(block, where);
  if (type === "tool_use") checkToolUse(block, where);
  if (type === "tool_result") checkToolResult(block, where);
  if (type === "image" || type === "document") demandObject(block["source"], `${where}.source`);
  if (type === "thinking" || type === "redacted_thinking") checkThinking(block, context);
}

const rolesOf: Record<string, readonly string[]> = {
  text: ["user", "assistant"],
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
  compaction: ["user", "assistant"],
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
    demand(allowed, `${where}.content.${index}: a tool_result cannot contain a '${inner["type"]}' block`);
    checkBlock(inner, { where: `${where}.content.${index}`, role: "user" });
    demand(isError !== true || inner["type"] === "text", `${where}: all content must be text if is_error is true`);
  }
}

function checkThinking(block: JsonObject, { where, ledger }: BlockContext): void {
  const isPlain = block["type"] === "thinking";
  demandKeys(block, where, isPlain ? ["type", "thinking", "signature"] : ["type", "data"]);
  demandText(block[isPlain ? "thinking" : "data"], `${where}.${isPlain ? "thinking" : "data"}`);
  if (isPlain) demandText(block["signature"], `${where}.signature`);
  const problem = isPlain ? "Invalid `signature` in `thinking` block" : "Invalid `data` in `redacted_thinking` block";
  demand(ledger === undefined || ledger.isGenuine(block), `${where}: ${problem}`);
}

/** Checks that there are at most four marks, and that marks for an hour come first. */
function checkCacheMarks(request: JsonObject): void {
  const blocks = [
    ...listed(request["tools"], "tools"),
    ...listed(request["system"], "system"),
    ...asList(request["messages"]).flatMap((message, index) => {
      return isObject(message) ? listed(message["content"], `messages.${index}.content`) : [];
    }),
  ];
  const marked = blocks.filter(({ block }) => block["cache_control"] !== undefined && block["cache_control"] !== null);
  demand(marked.length <= 4, `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`);
  let shortLived: string | undefined;
  for (const { block, where } of marked) {
    const mark = demandObject(block["cache_control"], `${where}.cache_control`);
    demand(mark["type"] === "ephemeral", `${where}.cache_control.type: Input should be 'ephemeral'`);
    const ttl = mark["ttl"] ?? "5m";
    demand(ttl === "5m" || ttl === "1h", `${where}.cache_control.ttl: Input should be '5m' or '1h'`);
    demand(ttl === "5m" || shortLived === undefined, `${where}: a ttl='1h' mark must not come after a '5m' mark`);
    if (ttl === "5m") shortLived = where;
  }
}

function listed(value: unknown, where: string): readonly { block: JsonObject; where: string }[] {
  return asList(value).flatMap((block, index) => (isObject(block) ? [{ block, where: `${where}.${index}` }] : []));
}

/** Checks that every tool_use has a result at the start of the next user turn, and that there are no other results. */
function checkToolPairs(messages: readonly CheckedMessage[]): void {
  const turns = mergeTurns(messages);
  const seen = new Set<string>();
  for (const [position, turn] of turns.entries()) {
    const calls = idsOf(turn, "tool_use", "id");
    for (const id of calls) {
      demand(!seen.has(id), `messages.${turn.index}: \`tool_use\` ids must be unique, but ${id} occurs twice`);
      seen.add(id);
    }
    if (turn.role === "user") checkResults(turn, turns[position - 1]);
    if (calls.length > 0) checkAnswered(turn, { calls, next: turns[position + 1] });
  }
}

/** Merges consecutive messages of one role into one turn, as the provider does. */
function mergeTurns(messages: readonly CheckedMessage[]): readonly CheckedMessage[] {
  const turns: CheckedMessage[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.role !== message.role) turns.push(message);
    else turns[turns.length - 1] = { ...last, blocks: [...last.blocks, ...message.blocks] };
  }
  return turns;
}

function checkResults(turn: CheckedMessage, before: CheckedMessage | undefined): void {
  const calls = before === undefined ? [] : idsOf(before, "tool_use", "id");
  const results = idsOf(turn, "tool_result", "tool_use_id");
  for (const [index, id] of results.entries()) {
    demand(
      calls.includes(id),
      `messages.${turn.index}: unexpected \`tool_use_id\` in \`tool_result\` blocks: ${id}. ` +
        "Each `tool_result` needs its `tool_use` in the previous message.",
    );
    demand(
      results.indexOf(id) === index,
      `messages.${turn.index}: each tool_use must have a single result, ${id} has two`,
    );
  }
}

function checkAnswered(
  turn: CheckedMessage,
  { calls, next }: { calls: readonly string[]; next: CheckedMessage | undefined },
): void {
  const firstOther = next?.blocks.findIndex((block) => block["type"] !== "tool_result") ?? 0;
  const atStart = firstOther < 0 ? next?.blocks : next?.blocks.slice(0, firstOther);
  const answered = new Set((atStart ?? []).map((block) => String(block["tool_use_id"])));
  const open = calls.filter((id) => !answered.has(id));
  demand(
    open.length === 0,
    `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. ` +
      "Each `tool_use` needs its `tool_result` at the start of the next message.",
  );
}

function idsOf(turn: CheckedMessage, type: string, key: string): readonly string[] {
  return turn.blocks.filter((block) => block["type"] === type).map((block) => String(block[key]));
}
