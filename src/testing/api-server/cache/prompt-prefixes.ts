import { createHash } from "node:crypto";
import type { Wire } from "../types.ts";
import { isArray, itemsOf, membersOf, type Span, valueAt, withoutMember } from "./json-spans.ts";

/** A prompt up to and including one block. Prefixes with the same hash are identical. */
export type Prefix = { hash: string; tokens: number; mark: "5m" | "1h" | undefined };

/**
 * Returns the prefixes of a prompt, one for each block in the provider's order: tools, system, content of messages. A
 * block consists of its raw bytes without `cache_control`. Four bytes of a prefix are counted as one token.
 */
export function promptPrefixes(wire: Wire, rawBody: Buffer, model?: string): readonly Prefix[] {
  const members = new Map(membersOf(rawBody, valueAt(rawBody, 0)).map((member) => [member.key, member.value]));
  const raw = (key: string) => {
    const span = members.get(key);
    return span === undefined ? "" : rawBody.toString("utf8", span.start, span.end);
  };
  const listed = (key: string) => {
    const span = members.get(key);
    return span === undefined ? [] : isArray(rawBody, span) ? itemsOf(rawBody, span) : [span];
  };
  // Providers put the schema of the answer before everything else.
  const { responseJsonSchema: schema } = JSON.parse(raw("generationConfig") || "{}");
  const format = `${raw("response_format")} ${raw("output_config")} ${raw("text")}${JSON.stringify(schema) ?? ""}`;
  const chain = startChain(`${wire} ${raw("model") || model} ${format}`);
  for (const tool of listed("tools")) chain.add("tool", block(rawBody, tool));
  for (const system of listed(systemKeys[wire] ?? "system")) {
    chain.add("system", block(rawBody, system));
  }
  // If one of these parameters changes, the provider still reads tools and system from its cache, but no messages.
  if (wire === "anthropic") chain.salt(`${raw("thinking")} ${raw("tool_choice")}`);
  for (const message of listed(messageKeys[wire] ?? "messages")) {
    if (wire === "anthropic") addMessage(chain, rawBody, message);
    else chain.add("message", { bytes: rawBody.subarray(message.start, message.end), mark: undefined });
  }
  return chain.prefixes;
}

const systemKeys: Partial<Record<Wire, string>> = { responses: "instructions", gemini: "systemInstruction" };
const messageKeys: Partial<Record<Wire, string>> = { responses: "input", gemini: "contents" };

type Block = { bytes: Buffer; mark: Prefix["mark"] };
type Chain = ReturnType<typeof startChain>;

function startChain(root: string) {
  const prefixes: Prefix[] = [];
  let hash = createHash("sha1").update(root).digest("base64");
  let bytes = 0;
  return {
    prefixes,
    salt(text: string) {
      hash = createHash("sha1").update(hash).update(text).digest("base64");
    },
    add(head: string, block: Block) {
      hash = createHash("sha1").update(`${hash} ${head} `).update(block.bytes).digest("base64");
      bytes += block.bytes.length;
      prefixes.push({ hash, tokens: Math.ceil(bytes / 4), mark: block.mark });
    },
  };
}

function addMessage(chain: Chain, json: Buffer, message: Span): void {
  const members = new Map(membersOf(json, message).map((member) => [member.key, member.value]));
  const roleSpan = members.get("role");
  const content = members.get("content");
  if (content === undefined) return;
  const role = roleSpan === undefined ? "" : json.toString("utf8", roleSpan.start, roleSpan.end);
  const blocks = isArray(json, content) ? itemsOf(json, content) : [content];
  for (const [index, span] of blocks.entries()) chain.add(index === 0 ? `start ${role}` : "more", block(json, span));
}

function block(json: Buffer, span: Span): Block {
  if (json[span.start] !== 0x7b) return { bytes: json.subarray(span.start, span.end), mark: undefined };
  const members = membersOf(json, span);
  const mark = members.find((member) => member.key === "cache_control");
  return {
    bytes: withoutMember(json, span, { members, key: "cache_control" }),
    mark: mark && lifetimeOf(json, mark.value),
  };
}

function lifetimeOf(json: Buffer, mark: Span): Prefix["mark"] {
  const value = json.toString("utf8", mark.start, mark.end);
  if (value === "null") return undefined;
  return /"ttl"\s*:\s*"1h"/.test(value) ? "1h" : "5m";
}
