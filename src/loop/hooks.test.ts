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

it("a hook's change to a call also applies in a process that resumes the run", () => {
  const state = foldAll([...asked, { ...ran, inputJson: '{"command":"ls"}' }]);
  expect(state.calls[0]?.call).toEqual({ callId, name: "Bash", inputJson: '{"command":"ls"}' });
});

it("a call is granted only by a hook that allows it", () => {
  expect(foldAll([...asked, { ...ran, decision: "allow" }]).calls[0]?.granted).toBe(true);
  expect(foldAll([...asked, { ...ran, decision: "deny" }]).calls[0]?.granted).toBeUndefined();
});

it("a hook's context is part of the next user turn, and a pending message is kept", () => {
  const before: LoopState = { ...foldAll(asked), toTell: { cause: "loop", text: "again" } };
  const state = fold(before, { ...ran, event: "PostToolUse", context: "[words]" });
  expect(state.said).toEqual([{ type: "text", text: "[words]" }]);
  expect(state.toTell).toEqual(before.toTell);
});

it("hooks for other events change no call", () => {
  const state = foldAll(asked);
  expect(fold(state, { type: "hooks.ran", event: "SessionStart", ran: 1 })).toEqual(state);
  expect(next(state)).toEqual(
    next(foldAll([...asked, { type: "hooks.started", event: "SubagentStop", runId: "r" as never }])),
  );
});
