import { seededRandom } from "./seeded-random.ts";
import type { Fault, PlannedFault, Wire } from "./types.ts";
import { anthropicErrorFrame } from "./wire/wire-anthropic.ts";
import { geminiErrorFrame } from "./wire/wire-gemini.ts";
import type { Frame, WireMessage, WirePart } from "./wire/wire-message.ts";
import { openaiErrorFrame } from "./wire/wire-openai.ts";
import { responsesErrorFrame } from "./wire/wire-responses.ts";

const errorFrames: Record<Wire, (type: string, message: string) => Frame> = {
  anthropic: anthropicErrorFrame,
  openai: openaiErrorFrame,
  responses: responsesErrorFrame,
  gemini: geminiErrorFrame,
};

/** Marks where `applyToFrames` inserts invalid bytes: a private-use character that no script contains. */
const invalidBytesMark = "\uE0FF";

/** Overlong, stray and truncated sequences that no decoder accepts as UTF-8. */
const invalidBytes = Buffer.from([0xc3, 0x28, 0xff, 0xe2, 0x82]);

const unknownEvent: Frame = {
  text: 'event: weather.changed\ndata: {"type":"weather.changed","index":0,"delta":1}\n\n',
};

/** Returns a function that chooses the fault to inject into the nth model call, from the first plan that applies. */
export function planFaults(plans: readonly PlannedFault[], seed: number): (ordinal: number) => Fault | undefined {
  return (ordinal) => {
    const random = seededRandom(seed, ordinal * 7919);
    return plans.find((plan) => applies(plan, ordinal, random))?.fault;
  };
}

/** Applies faults to the content of a reply. Throws if the scripted reply has no part to apply the fault to. */
export function applyToMessage(message: WireMessage, fault: Fault): WireMessage {
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

type FrameContext = { wire: Wire; streaming: boolean; random: () => number };

/** Applies faults to the sequence of events. A body that is not streamed is treated as one frame. */
export function applyToFrames(frames: Iterable<Frame>, fault: Fault, context: FrameContext): Iterable<Frame> {
  switch (fault.kind) {
    case "invalid-utf8":
      return [...frames].map(withInvalidBytes);
    case "error-event": {
      const all = streamOnly(frames, fault, context);
      const kept = all.slice(0, fault.afterEvents ?? Math.floor(all.length / 2));
      return [...kept, errorFrames[context.wire](fault.errorType ?? "overloaded_error", fault.message ?? "Overloaded")];
    }
    case "duplicate-event": {
      const all = streamOnly(frames, fault, context);
      const at = fault.event ?? Math.floor(context.random() * all.length);
      const index = at < 0 ? all.length + at : at;
      return all.flatMap((frame, position) => (position === index ? [frame, frame] : [frame]));
    }
    case "unknown-events":
      return streamOnly(frames, fault, context).flatMap((frame) => [unknownEvent, frame]);
    case "missing-end":
      return streamOnly(frames, fault, context).filter((frame) => frame.role !== "end");
    case "truncated-tool-json": {
      if (fault.end !== "close") return frames;
      const all = streamOnly(frames, fault, context);
      const inputs = all.flatMap((frame, index) => (frame.role === "tool-input" ? [index] : []));
      if (inputs.length === 0) throw new Error(`fault "${fault.kind}" needs a reply with a tool call`);
      return all.slice(0, inputs[Math.floor(inputs.length / 2)]);
    }
    default:
      return frames;
  }
}

function applies(plan: PlannedFault, ordinal: number, random: () => number): boolean {
  if ("first" in plan) return ordinal <= plan.first;
  if ("chance" in plan) return random() < plan.chance;
  return typeof plan.at === "number" ? plan.at === ordinal : plan.at.includes(ordinal);
}

type ToolWirePart = Extract<WirePart, { kind: "tool" }>;

function withLastTool(
  message: WireMessage,
  fault: Fault,
  change: (tool: ToolWirePart) => readonly WirePart[],
): WireMessage {
  const index = message.parts.findLastIndex((part) => part.kind === "tool");
  const tool = message.parts[index];
  if (tool?.kind !== "tool") throw new Error(`fault "${fault.kind}" needs a reply with a tool call`);
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
    throw new Error(`fault "${fault.kind}" needs a reply with text, thinking or a tool call`);
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

function streamOnly(frames: Iterable<Frame>, fault: Fault, { streaming }: FrameContext): Frame[] {
  if (!streaming) throw new Error(`fault "${fault.kind}" needs a streaming request`);
  return [...frames];
}

function withInvalidBytes(frame: Frame): Frame {
  const bytes = Buffer.from(frame.text);
  const at = bytes.indexOf(invalidBytesMark);
  if (at < 0) return frame;
  const after = at + Buffer.byteLength(invalidBytesMark);
  return { ...frame, text: Buffer.concat([bytes.subarray(0, at), invalidBytes, bytes.subarray(after)]) };
}
