import { asList, asObject, asText, type JsonObject } from "../json-values.ts";
import { changeSince, type ThinkingLedger } from "./thinking.ts";
import { createPrefix, type Prefix } from "./thinking-signature.ts";

/** Returns whether an OpenAI model reasons. Other models have no reasoning items and accept no reasoning options. */
export function isReasoningModel(model: string): boolean {
  return /^(gpt-[5-9]|o\d)/.test(model) && !model.includes("-chat");
}

/** Returns whether the response begins with a reasoning item. */
export function reasons(body: unknown): boolean {
  const request = asObject(body);
  return isReasoningModel(asText(request["model"])) && asObject(request["reasoning"])["effort"] !== "none";
}

/** Returns the items of a request to the Responses API. */
export function inputItems(body: unknown): readonly JsonObject[] {
  const { input } = asObject(body);
  return typeof input === "string" ? [{ role: "user", content: input }] : asList(input).map(asObject);
}

/** Returns whether the model wrote an item. */
export function isOutput({ type, role }: JsonObject): boolean {
  return type === "function_call_output" ? false : role === undefined ? true : role === "assistant";
}

/** Returns a reasoning item as a thinking block, so that both are signed and checked alike. */
export function thinkingOf(item: JsonObject): JsonObject {
  const thinking = asList(item["summary"]).map((part) => asText(asObject(part)["text"]));
  return { type: "thinking", thinking: thinking.join(""), signature: item["encrypted_content"] };
}

/**
 * Reads the reasoning in a request. Returns the prefix of the response, and the first reasoning item before which
 * something has changed since it was written. The provider drops such items silently.
 */
export function readReasoning(
  body: unknown,
  { bindingOf }: Pick<ThinkingLedger, "bindingOf">,
): { prefix: Prefix; refused: { item: JsonObject; changed: string } | undefined } {
  const { model, instructions, tools } = asObject(body);
  const prefix = createPrefix({ system: instructions ?? "", tools });
  let refused: { item: JsonObject; changed: string } | undefined;
  let side = "";
  for (const item of inputItems(body)) {
    const own = isOutput(item) ? "assistant" : "user";
    if (own !== side) prefix.begin(own);
    side = own;
    if (item["type"] !== "reasoning") {
      for (const block of blocksOf(item)) prefix.add(block);
      continue;
    }
    const now = prefix.bind(asText(model));
    const written = bindingOf(thinkingOf(item)) ?? now;
    const changed = written.model === now.model ? changeSince(written, now) : "the model";
    if (changed !== undefined) refused ??= { item, changed };
    prefix.think(asText(item["encrypted_content"]));
  }
  return { prefix, refused };
}

/** Returns what an item contains, in the form in which the parts of a response are added to a prefix. */
function blocksOf(item: JsonObject): readonly unknown[] {
  const { type, content } = item;
  if (type === "function_call") {
    return [{ type: "tool_use", id: item["call_id"], name: item["name"], input: parsed(asText(item["arguments"])) }];
  }
  if (type !== undefined && type !== "message") return [item];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return asList(content).map((part) => {
    const { text } = asObject(part);
    return typeof text === "string" ? { type: "text", text } : part;
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
