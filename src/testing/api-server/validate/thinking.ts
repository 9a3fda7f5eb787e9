import { isDeepStrictEqual } from "node:util";
import { asObject, asText, isObject, type JsonObject } from "../json-values.ts";
import type { WireMessage } from "../wire/wire-message.ts";
import { type CheckedMessage, demand, demandKeys, demandObject } from "./check.ts";
import { canRead, rulesOf } from "./model-rules.ts";
import {
  addMessages,
  type Binding,
  createPrefix,
  isThinking,
  type Prefix,
  readSignature,
  signedText,
} from "./thinking-signature.ts";

/** Remembers the thinking that the server sent, with its signatures and the tool calls that followed it. */
export type ThinkingLedger = {
  remember(message: WireMessage): void;
  /** Returns whether this server could have sent exactly this thinking or redacted_thinking block. */
  isGenuine(block: JsonObject): boolean;
  /** Returns what the block's signature contains; undefined if a script supplied the signature. */
  bindingOf(block: JsonObject): Binding | undefined;
  /** Returns the thinking blocks that were sent in the same message as this tool call. */
  sentWith(toolCallId: string): readonly JsonObject[];
};

export function createThinkingLedger(seed: number): ThinkingLedger {
  const textBySignature = new Map<string, string>();
  const redacted = new Set<string>();
  const byToolCall = new Map<string, readonly JsonObject[]>();
  const bindingOf = (block: JsonObject) => {
    const { text, signature } = signedText(block);
    return readSignature(signature, { text, seed });
  };
  return {
    remember(message) {
      const blocks = message.parts.flatMap(thinkingBlocks);
      if (blocks.length === 0) return;
      for (const part of message.parts) {
        if (part.kind === "thinking") textBySignature.set(part.signature, part.pieces.join(""));
        if (part.kind === "redacted") redacted.add(part.data);
        if (part.kind === "tool") byToolCall.set(part.id, blocks);
      }
    },
    isGenuine(block) {
      // Computed signatures stay valid even if the server is restarted in the middle of a session.
      if (bindingOf(block) !== undefined) return true;
      if (block["type"] === "redacted_thinking") return redacted.has(asText(block["data"]));
      const { thinking, signature } = block;
      return typeof signature === "string" && textBySignature.get(signature) === thinking;
    },
    bindingOf,
    sentWith: (toolCallId) => byToolCall.get(toolCallId) ?? [],
  };
}

/** A thinking block in a request that the model does not get to read. */
export type DroppedThinking = {
  path: string;
  type: string;
  reason: "model_binding_mismatch" | "prefix_binding_mismatch";
  /** For a prefix mismatch, what differs from when the block was written. */
  changed?: string;
};

/**
 * Reads the thinking in a request as the provider does. Returns the blocks that the model does not get to read, and the
 * prefix of the response.
 */
export function readThinking(
  body: unknown,
  { bindingOf }: ThinkingLedger,
): { prefix: Prefix; dropped: readonly DroppedThinking[] } {
  const request = asObject(body);
  const model = asText(request["model"]);
  const prefix = createPrefix(request);
  const dropped: DroppedThinking[] = [];
  const drop = (block: JsonObject, details: Omit<DroppedThinking, "type">) => {
    dropped.push({ ...details, type: asText(block["type"]) });
    return false;
  };
  const onThinking = (block: JsonObject, path: string): boolean => {
    const binding = bindingOf(block);
    if (binding === undefined) return true;
    // The model does not see the block, but later thinking follows it all the same.
    if (!canRead(model, binding.model)) return !drop(block, { path, reason: "model_binding_mismatch" });
    const checks = rulesOf(model).bindsThinking && rulesOf(binding.model).bindsThinking;
    const changed = checks ? changeSince(binding, prefix.bind(model)) : undefined;
    return changed === undefined || drop(block, { path, reason: "prefix_binding_mismatch", changed });
  };
  // A summary by a model that does not bind thinking keeps none.
  const summarizedBy = (block: JsonObject): Binding | undefined => {
    const binding = bindingOf(block);
    return rulesOf(binding?.model ?? "").bindsThinking ? binding : undefined;
  };
  addMessages(prefix, request["messages"], { onThinking, summarizedBy });
  return { prefix, dropped };
}

/**
 * Returns what has changed since a block was written. All thinking before the block may be missing, but not just a part
 * of it: either the previous block precedes it, or none does.
 */
export function changeSince(written: Binding, now: Binding): string | undefined {
  if (written.system !== now.system) return "the `system` prompt";
  if (written.tools !== now.tools) return "the `tools` list";
  if (written.messages !== now.messages) return "an earlier message";
  return now.previous === "" || written.previous === now.previous ? undefined : "the thinking before it";
}

const BINDING_CONTROLS = "thinking-binding-controls-2026-08-01";
export const COMPACTION_BETA = "compact-2026-09-04";

/** Beta features that a request asks for. */
export type Betas = {
  /** Control of bound thinking. */
  controls: boolean;
  /** Compaction on demand. */
  compacts: boolean;
};

/** Reads the `anthropic-beta` header. */
export function betasOf(header: string | readonly string[] | undefined): Betas {
  const names = String(header ?? "")
    .split(",")
    .map((name) => name.trim());
  return { controls: names.includes(BINDING_CONTROLS), compacts: names.includes(COMPACTION_BETA) };
}

/** Checks that nothing before the thinking in a request has changed, unless the request asks to drop such thinking. */
export function checkThinkingBound(
  request: JsonObject,
  { ledger, controls }: { ledger: ThinkingLedger; controls: boolean },
): void {
  if (asObject(asObject(request["thinking"])["block_binding"])["prefix_mismatch_behavior"] === "drop_block") return;
  const { dropped } = readThinking(request, ledger);
  const first = dropped.find(({ reason }) => reason === "prefix_binding_mismatch");
  if (first === undefined) return;
  const needed = controls ? "" : ` The setting needs \`${BINDING_CONTROLS}\` in the \`anthropic-beta\` header.`;
  const message =
    `${first.path}: Invalid \`signature\` in \`${first.type}\` block. The block is bound to a different conversation. ` +
    `Remove it, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".${needed} ` +
    `What differs from when the block was written: ${first.changed}.`;
  demand(false, message);
}

/** Checks that a request's thinking is possible with its model, and compatible with its other parameters. */
export function checkThinkingParameters(request: JsonObject, { controls }: { controls: boolean }): void {
  const model = asText(request["model"]);
  const { adaptiveOnly, budgetOnly, alwaysThinks, thinksBetweenTools, freeToolChoice } = rulesOf(model);
  const forced = isObject(request["tool_choice"]) && ["any", "tool"].includes(String(request["tool_choice"]["type"]));
  demand(!(forced && freeToolChoice), `tool_choice: types "tool" and "any" are not supported for ${model}`);
  if (request["thinking"] === undefined) {
    if (adaptiveOnly) checkSampling(request);
    return;
  }
  const { type, budget_tokens: budget, ...rest } = demandObject(request["thinking"], "thinking");
  const types = ["enabled", "disabled", "adaptive", ...(thinksBetweenTools ? ["between_tools"] : [])];
  demand(types.includes(String(type)), "thinking.type: should be enabled, disabled or adaptive");
  demandKeys(rest, `thinking.${type}`, ["display", ...(controls && type !== "disabled" ? ["block_binding"] : [])]);
  checkBinding(rest["block_binding"]);
  const { display = "omitted" } = rest;
  demand(displays.includes(String(display)), `thinking.${type}.display: should be one of ${displays.join(", ")}`);
  demand(
    !(type === "enabled" && adaptiveOnly),
    `thinking.type: "enabled" is not supported for ${model}. Use "adaptive" and output_config.effort.`,
  );
  demand(!(type === "adaptive" && budgetOnly), "adaptive thinking is not supported on this model");
  const least = thinksBetweenTools ? "between_tools" : "adaptive";
  demand(!(type === "disabled" && alwaysThinks), `thinking.type: ${model} always thinks. Use "${least}".`);
  if (type === "disabled") return;
  demand(!forced, "thinking: Thinking may not be enabled when tool_choice forces tool use");
  checkSampling(request);
  if (type !== "enabled") return;
  demand(Number.isInteger(budget) && (budget as number) >= 1024, "thinking.budget_tokens: should be 1024 or more");
  demand(
    (budget as number) < (request["max_tokens"] as number),
    "max_tokens: must be greater than thinking.budget_tokens",
  );
}

const displays = ["omitted", "summarized", "updates"];

function checkSampling({ temperature, top_k: topK }: JsonObject): void {
  demand([undefined, 1].includes(temperature as number), "temperature: may only be 1 when thinking is enabled");
  demand(topK === undefined, "top_k: must be unset when thinking is enabled");
}

/** Returns whether the response to a request contains the text of its thinking, and not just signatures. */
export function showsThinking(body: unknown): boolean {
  const { model, thinking } = asObject(body);
  const { display = rulesOf(asText(model)).adaptiveOnly ? "omitted" : "summarized" } = asObject(thinking);
  return display !== "omitted";
}

function checkBinding(value: unknown): void {
  if (value === undefined) return;
  const where = "thinking.block_binding";
  const binding = demandObject(value, where);
  demandKeys(binding, where, ["prefix_mismatch_behavior"]);
  const { prefix_mismatch_behavior: behavior = "error" } = binding;
  demand(
    behavior === "error" || behavior === "drop_block",
    `${where}.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'`,
  );
}

/**
 * Checks that, with thinking enabled, the thinking that came with tool calls is sent back unchanged within their turn.
 * The provider itself drops thinking from older turns, so a client may leave it out there. Models that bind thinking to
 * its conversation accept calls without the thinking before them.
 */
export function checkThinkingReturned(
  messages: readonly CheckedMessage[],
  { request, ledger }: { request: JsonObject; ledger: ThinkingLedger },
): void {
  const thinking = request["thinking"];
  if (!isObject(thinking) || thinking["type"] === "disabled") return;
  if (rulesOf(asText(request["model"])).bindsThinking) return;
  const lastPrompt = messages.findLastIndex((message) => message.role === "user" && !hasToolResults(message));
  for (const message of messages.slice(lastPrompt + 1)) {
    const calls = message.blocks.filter((block) => block["type"] === "tool_use");
    const sent = calls.map((call) => ledger.sentWith(String(call["id"]))).find((blocks) => blocks.length > 0);
    if (sent === undefined) continue;
    const returned = message.blocks.filter(isThinking);
    demand(
      returned.length > 0,
      `messages.${message.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
        `\`${message.blocks[0]?.["type"]}\`. The thinking that came with these tool calls must be sent back with them.`,
    );
    demand(
      isDeepStrictEqual(returned, sent),
      `messages.${message.index}.content: \`thinking\` or \`redacted_thinking\` blocks cannot be modified; ` +
        "they must stay as they were in the original response.",
    );
  }
}

function hasToolResults(message: CheckedMessage): boolean {
  return message.blocks.some((block) => block["type"] === "tool_result");
}

function thinkingBlocks(part: WireMessage["parts"][number]): readonly JsonObject[] {
  if (part.kind === "redacted") return [{ type: "redacted_thinking", data: part.data }];
  if (part.kind !== "thinking") return [];
  return [{ type: "thinking", thinking: part.pieces.join(""), signature: part.signature }];
}
