import { expect, it } from "vitest";
import { type CallId, type DurableEvent, noUsage } from "../protocol/index.ts";
import { fold } from "./fold.ts";
import { next } from "./next.ts";
import { initialState, type LoopState } from "./state.ts";

const callId = "a_1_0" as CallId;
const asked: readonly DurableEvent[] = [
  {
    type: "model.ended",
    turn: 1,
    message: {
      role: "assistant",
      content: [{ type: "tool_call", callId, name: "Bash", inputJson: '{"command":"rm a"}' }],
    },
    stopReason: "end_turn",
    incompleteCalls: 0,
    usage: noUsage,
    milliseconds: 1,
  },
];
const ran = { type: "hooks.ran", event: "PreToolUse", ran: 1, callId } as const;
const foldAll = (events: readonly DurableEvent[], state: LoopState = initialState): LoopState =>
  events.reduce(fold, state);

it("a call is from there on what hooks made of it, also for a process that takes it up", () => {
  const state = foldAll([...asked, { ...ran, inputJson: '{"command":"ls"}' }]);
  expect(state.calls[0]?.call).toEqual({ callId, name: "Bash", inputJson: '{"command":"ls"}' });
});

it("a hook's yes is a yes, its no is none", () => {
  expect(foldAll([...asked, { ...ran, decision: "allow" }]).calls[0]?.granted).toBe(true);
  expect(foldAll([...asked, { ...ran, decision: "deny" }]).calls[0]?.granted).toBeUndefined();
});

it("its words stand in the next user turn, and nothing that had to be told is lost by them", () => {
  const before: LoopState = { ...foldAll(asked), toTell: { cause: "loop", text: "again" } };
  const state = fold(before, { ...ran, event: "PostToolUse", context: "[words]" });
  expect(state.said).toEqual([{ type: "text", text: "[words]" }]);
  expect(state.toTell).toEqual(before.toTell);
});

it("hooks of something else change no call", () => {
  const state = foldAll(asked);
  expect(fold(state, { type: "hooks.ran", event: "SessionStart", ran: 1 })).toEqual(state);
  expect(next(state)).toEqual(
    next(foldAll([...asked, { type: "hooks.started", event: "SubagentStop", runId: "r" as never }])),
  );
});
