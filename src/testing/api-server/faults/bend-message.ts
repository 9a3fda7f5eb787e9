import type { Fault } from "../types.ts";
import type { WireMessage, WirePart } from "../wire/wire-message.ts";

/** Stands where `bendFrames` puts bytes that are not UTF-8. A private-use character, so no script has it by accident. */
export const invalidBytesMark = "\uE0FF";

/** Faults in what the model says. Throws when the scripted reply has nothing to bend: that is a bug in the script. */
export function bendMessage(message: WireMessage, fault: Fault): WireMessage {
  switch (fault.kind) {
    case "unknown-tool":
      return withLastTool(message, fault, (tool) => [{ ...tool, name: fault.name ?? "NoSuchTool" }]);
    case "wrong-argument-types":
      return withLastTool(message, fault, (tool) => [{ ...tool, pieces: [JSON.stringify(wrongTypes(inputOf(tool)))] }]);
    case "large-argument":
      return withLastTool(message, fault, (tool) => [{ ...tool, pieces: largeInput(tool, fault.bytes ?? 1_000_000) }]);
    case "same-tool-id-twice":
      return sameToolIdTwice(message, fault);
    case "truncated-tool-json":
      if (fault.end === "close") return message;
      return {
        ...withLastTool(message, fault, (tool) => [{ ...tool, pieces: firstHalf(tool.pieces) }]),
        stopReason: "max_tokens",
      };
    case "invalid-utf8":
      return withInvalidBytesMark(message, fault);
    case "huge":
      return { ...message, parts: [hugeText(fault.bytes ?? 50_000_000, fault.oneEvent ?? false)] };
    default:
      return message;
  }
}

type ToolWirePart = Extract<WirePart, { kind: "tool" }>;

function withLastTool(
  message: WireMessage,
  fault: Fault,
  change: (tool: ToolWirePart) => readonly WirePart[],
): WireMessage {
  const index = message.parts.findLastIndex((part) => part.kind === "tool");
  const tool = message.parts[index];
  if (tool?.kind !== "tool") throw new Error(`fault "${fault.kind}" needs a reply with a tool call; add one to it`);
  return { ...message, parts: [...message.parts.slice(0, index), ...change(tool), ...message.parts.slice(index + 1)] };
}

function sameToolIdTwice(message: WireMessage, fault: Fault): WireMessage {
  const tools = message.parts.filter((part) => part.kind === "tool");
  const first = tools[0];
  if (first !== undefined && tools.length > 1) {
    return {
      ...message,
      parts: message.parts.map((part) => (part.kind === "tool" ? { ...part, id: first.id } : part)),
    };
  }
  return withLastTool(message, fault, (tool) => [tool, { ...tool }]);
}

function withInvalidBytesMark(message: WireMessage, fault: Fault): WireMessage {
  const index = message.parts.findIndex((part) => "pieces" in part && part.pieces.length > 0);
  const part = message.parts[index];
  if (part === undefined || !("pieces" in part)) {
    throw new Error(`fault "${fault.kind}" needs a reply with text, thinking or a tool call; add one to it`);
  }
  const [first = "", ...rest] = part.pieces;
  const middle = Math.floor(first.length / 2);
  const pieces = [first.slice(0, middle) + invalidBytesMark + first.slice(middle), ...rest];
  return { ...message, parts: message.parts.map((one, at) => (at === index ? { ...part, pieces } : one)) };
}

function hugeText(bytes: number, oneEvent: boolean): WirePart {
  const size = oneEvent ? bytes : Math.min(bytes, 65_536);
  const piece = "0123456789abcdef".repeat(Math.ceil(size / 16)).slice(0, size);
  const pieces = new Array<string>(Math.floor(bytes / size)).fill(piece);
  if (bytes % size > 0) pieces.push(piece.slice(0, bytes % size));
  return { kind: "text", pieces };
}

function largeInput(tool: ToolWirePart, bytes: number): readonly string[] {
  const input = inputOf(tool);
  const key = Object.keys(input).find((name) => typeof input[name] === "string") ?? "padding";
  return [JSON.stringify({ ...input, [key]: "x".repeat(bytes) })];
}

function wrongTypes(input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const wrong = (value: unknown): unknown => {
    if (typeof value === "string") return 42;
    if (Array.isArray(value)) return { not: "a list" };
    if (typeof value === "object" && value !== null) return ["not an object"];
    return "not a number";
  };
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, wrong(value)]));
}

function inputOf(tool: ToolWirePart): Record<string, unknown> {
  const input: unknown = JSON.parse(tool.pieces.join(""));
  return typeof input === "object" && input !== null ? { ...input } : {};
}

function firstHalf(pieces: readonly string[]): readonly string[] {
  const text = pieces.join("");
  return [text.slice(0, Math.floor(text.length / 2))];
}
