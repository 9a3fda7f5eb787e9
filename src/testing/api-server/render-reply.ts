import { applyToFrames, applyToMessage } from "./faults.ts";
import type { Fault, InputTransformation, Pacing, RecordedRequest, Reply, Wire } from "./types.ts";
import type { ErrorAnswer } from "./wire/error-answer.ts";
import { anthropicBody, anthropicFrames } from "./wire/wire-anthropic.ts";
import { geminiBody, geminiFrames } from "./wire/wire-gemini.ts";
import { type Frame, type MessageOptions, makeWireMessage, type WireMessage } from "./wire/wire-message.ts";
import { openaiBody, openaiFrames } from "./wire/wire-openai.ts";
import { responsesBody, responsesFrames } from "./wire/wire-responses.ts";

/** A response that is ready to be delivered. */
export type Rendered = {
  status: number;
  headers: Readonly<Record<string, string>>;
  frames: Iterable<Frame>;
  pacing: Pacing;
  fault: Fault | undefined;
  /** True if the fault leaves the client without a complete message, so that the client is expected to try again. */
  incomplete: boolean;
  message: WireMessage | undefined;
};

export type RenderContext = {
  request: RecordedRequest;
  wire: Wire;
  fault: Fault | undefined;
  seed: number;
  random: () => number;
  salt: string;
  usage: MessageOptions["usage"];
  thinks: boolean;
  hidesThinking: boolean;
  summarizes: boolean;
  prefix: MessageOptions["prefix"];
  transformations: readonly InputTransformation[] | undefined;
};

export function renderReply(reply: Reply, context: RenderContext): Rendered {
  const { request, wire, fault } = context;
  // Gemini models sign their calls and texts instead of sending empty thinking.
  const thinks = context.thinks && wire !== "gemini";
  const scripted = makeWireMessage(reply, { ...context, thinks, model: request.model });
  const message = fault ? applyToMessage(scripted, fault) : scripted;
  const transformations = reply.inputTransformations ?? context.transformations;
  const frames = framesOf(message, { ...context, transformations });
  const faulty = fault ? applyToFrames(frames, fault, { ...context, streaming: request.streaming }) : frames;
  const settled = settleCut(faulty, fault, context.random);
  return {
    status: 200,
    headers: { "content-type": contentType(request, fault), ...requestId(wire, message.id), ...reply.headers },
    frames: settled.frames,
    pacing: reply.pacing ?? {},
    fault: settled.fault,
    incomplete: settled.incomplete,
    message,
  };
}

export function renderError(answer: ErrorAnswer, fault?: Fault): Rendered {
  const frames = [{ text: answer.body }];
  const { status, headers } = answer;
  return { status, headers, frames, pacing: {}, fault, incomplete: true, message: undefined };
}

export function cutsBeforeHeaders(fault: Fault | undefined): boolean {
  return isCut(fault) && fault.afterBytes === undefined;
}

type CutFault = Extract<Fault, { kind: "hang" | "close" | "reset" }>;

function isCut(fault: Fault | undefined): fault is CutFault {
  return fault?.kind === "hang" || fault?.kind === "close" || fault?.kind === "reset";
}

function framesOf(message: WireMessage, context: RenderContext): Iterable<Frame> {
  const { request, wire, transformations } = context;
  if (wire === "openai")
    return request.streaming ? openaiFrames(message, request.streamsUsage) : [{ text: openaiBody(message) }];
  if (wire === "responses")
    return request.streaming
      ? responsesFrames(message, request.body)
      : [{ text: responsesBody(message, request.body) }];
  if (wire === "gemini")
    return request.streaming ? geminiFrames(message, context) : [{ text: geminiBody(message, context) }];
  return request.streaming
    ? anthropicFrames(message, transformations)
    : [{ text: anthropicBody(message, transformations) }];
}

const leavesIncomplete: ReadonlySet<Fault["kind"]> = new Set([
  "error-event",
  "missing-end",
  "wrong-content-type",
] satisfies Fault["kind"][]);

/** Determines the position of a random cut, and whether the response stays incomplete. */
function settleCut(
  frames: Iterable<Frame>,
  fault: Fault | undefined,
  random: () => number,
): { frames: Iterable<Frame>; fault: Fault | undefined; incomplete: boolean } {
  if (fault === undefined) return { frames, fault, incomplete: false };
  if (fault.kind === "truncated-tool-json") return { frames, fault, incomplete: fault.end === "close" };
  if (!isCut(fault)) return { frames, fault, incomplete: leavesIncomplete.has(fault.kind) };
  if (fault.afterBytes === undefined) return { frames, fault, incomplete: true };
  const all = [...frames];
  const total = all.reduce((sum, frame) => sum + Buffer.byteLength(frame.text), 0);
  const afterBytes = fault.afterBytes === "random" ? 1 + Math.floor(random() * (total - 1)) : fault.afterBytes;
  return { frames: all, fault: { ...fault, afterBytes }, incomplete: afterBytes < total };
}

function contentType(request: RecordedRequest, fault: Fault | undefined): string {
  if (fault?.kind === "wrong-content-type") return fault.contentType ?? "text/plain";
  return request.streaming ? "text/event-stream; charset=utf-8" : "application/json";
}

function requestId(wire: Wire, id: string): Record<string, string> {
  if (wire === "gemini") return {};
  const value = `req_${id.slice(/[-_]/.exec(id)?.index ?? 0).slice(1)}`;
  return wire === "anthropic" ? { "request-id": value } : { "x-request-id": value };
}
