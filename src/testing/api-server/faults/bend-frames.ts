import type { Fault, Wire } from "../types.ts";
import type { Frame } from "../wire/frame.ts";
import { anthropicErrorFrame } from "../wire/wire-anthropic.ts";
import { openaiErrorFrame } from "../wire/wire-openai.ts";
import { invalidBytesMark } from "./bend-message.ts";

/** Overlong, stray and cut-off: no decoder can take this for UTF-8. */
const invalidBytes = Buffer.from([0xc3, 0x28, 0xff, 0xe2, 0x82]);

/** Faults in the sequence of events. A body that is not a stream is one frame. */
export function bendFrames(frames: Iterable<Frame>, fault: Fault, around: BendAround): Iterable<Frame> {
  switch (fault.kind) {
    case "invalid-utf8":
      return [...frames].map(withInvalidBytes);
    case "error-event": {
      const all = streamOnly(frames, fault, around);
      const kept = all.slice(0, fault.afterEvents ?? Math.floor(all.length / 2));
      const error = around.wire === "anthropic" ? anthropicErrorFrame : openaiErrorFrame;
      return [...kept, error(fault.errorType ?? "overloaded_error", fault.message ?? "Overloaded")];
    }
    case "duplicate-event": {
      const all = streamOnly(frames, fault, around);
      const at = fault.event ?? Math.floor(around.random() * all.length);
      const index = at < 0 ? all.length + at : at;
      return all.flatMap((frame, position) => (position === index ? [frame, frame] : [frame]));
    }
    case "missing-end":
      return streamOnly(frames, fault, around).filter((frame) => frame.role !== "end");
    case "truncated-tool-json": {
      if (fault.end !== "close") return frames;
      const all = streamOnly(frames, fault, around);
      const inputs = all.flatMap((frame, index) => (frame.role === "tool-input" ? [index] : []));
      if (inputs.length === 0) throw new Error(`fault "${fault.kind}" needs a reply with a tool call; add one to it`);
      return all.slice(0, inputs[Math.floor(inputs.length / 2)]);
    }
    default:
      return frames;
  }
}

export type BendAround = { wire: Wire; streaming: boolean; random: () => number };

function streamOnly(frames: Iterable<Frame>, fault: Fault, { streaming }: BendAround): Frame[] {
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
