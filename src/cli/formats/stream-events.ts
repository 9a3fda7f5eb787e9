import { type EventOf, noUsage, type RunUpdate } from "../../protocol/index.ts";
import { wireStopReason, wireUsage } from "./wire-blocks.ts";

type Kind = "text" | "thinking" | `call ${number}`;

/** Turns deltas into the events of the Messages API: a message of numbered blocks, each with a start, deltas and a stop. */
export function createStreamEvents(model: () => string): (update: RunUpdate) => unknown[] {
  let open: { readonly index: number; readonly kind: Kind } | undefined;
  let blocks = 0;
  let isStarted = false;

  const close = (): unknown[] => {
    const closed = open;
    open = undefined;
    return closed ? [{ type: "content_block_stop", index: closed.index }] : [];
  };
  const into = (kind: Kind, { turn, block, delta }: { turn: number; block: unknown; delta: unknown }): unknown[] => {
    const events: unknown[] = [];
    if (!isStarted) events.push(messageStart(turn, model()));
    isStarted = true;
    if (open?.kind !== kind) {
      events.push(...close());
      open = { index: blocks++, kind };
      events.push({ type: "content_block_start", index: open.index, content_block: block });
    }
    return [...events, { type: "content_block_delta", index: open.index, delta }];
  };
  const end = (update: EventOf<"model.ended"> | undefined): unknown[] => {
    const events = isStarted ? close() : [];
    if (isStarted && update) events.push(messageDelta(update), { type: "message_stop" });
    open = undefined;
    blocks = 0;
    isStarted = false;
    return events;
  };

  return (update) => {
    if (update.type === "text.delta") {
      const { turn, text } = update;
      return into("text", { turn, block: { type: "text", text: "" }, delta: { type: "text_delta", text } });
    }
    if (update.type === "thinking.delta") {
      const block = { type: "thinking", thinking: "", signature: "" };
      return into("thinking", { turn: update.turn, block, delta: { type: "thinking_delta", thinking: update.text } });
    }
    if (update.type === "call.delta") {
      const block = { type: "tool_use", name: update.name, input: {} };
      const delta = { type: "input_json_delta", partial_json: update.json };
      return into(`call ${update.index}`, { turn: update.turn, block, delta });
    }
    if (update.type === "model.ended") return end(update);
    // A failed attempt leaves no message; the next attempt starts a new one.
    if (update.type === "model.failed" || update.type === "model.retried") return end(undefined);
    return [];
  };
}

function messageStart(turn: number, model: string): unknown {
  const empty = { content: [], stop_reason: null, stop_sequence: null, usage: wireUsage(noUsage) };
  return {
    type: "message_start",
    message: { id: messageId(turn), type: "message", role: "assistant", model, ...empty },
  };
}

/** The complete message that follows has the same id. */
export function messageId(turn: number): string {
  return `msg_${turn}`;
}

function messageDelta({ stopReason, usage }: EventOf<"model.ended">): unknown {
  const delta = { stop_reason: wireStopReason(stopReason), stop_sequence: null };
  return { type: "message_delta", delta, usage: wireUsage(usage) };
}
