import { describe, expect, it } from "vitest";
import { runEnded } from "../../../client/view/agent-events.test-support.ts";
import { type Line, noUsage } from "../../../protocol/index.ts";
import { renderTranscript } from "./transcript.ts";

describe("renderTranscript", () => {
  it("shows the readable parts of a damaged transcript, without control characters", () => {
    const envelope = { v: 1, parentId: null, at: 0 } as const;
    const lines = [
      {
        ...envelope,
        id: "1",
        type: "prompt.received",
        content: [{ type: "text", text: "Hi\u001b[2J\nthere" }],
        from: "person",
      },
      { ...envelope, id: "2", type: "prompt.received" },
      { ...envelope, id: "3", type: "of.tomorrow" },
    ] as unknown as Line[];
    expect(renderTranscript(lines, { id: "s", problems: ["Line 9 is torn."] })).toBe(
      [
        "Session s",
        "! Line 9 is torn.",
        "",
        "You: Hi",
        "     there",
        "! Line 2 (prompt.received) can't be shown.",
        "",
      ].join("\n"),
    );
  });

  it("shows how a run ended and whether its work was accepted, and does not repeat the last message", () => {
    const envelope = { v: 1, id: "1", parentId: null, at: 0 } as const;
    const check = { type: "acceptance.checked", runId: "r", command: "npm test", ok: false, exitCode: 1 } as const;
    const failed = { outcome: "failed", reason: "refused", text: "I can't." } as const;
    const shown = (message: string) =>
      renderTranscript(
        [
          { ...envelope, ...check, output: "2 tests\nfailed" },
          { ...envelope, ...runEnded({ ...failed, message }) },
        ],
        { id: "s", problems: [] },
      );
    expect(shown("I can't.")).toContain(
      "  ✗ not accepted by npm test: 2 tests failed\n\n── failed: refused by the model · 1 turn",
    );
    expect(shown("I can't.").split("I can't.")).toHaveLength(1);
    expect(shown("The model refused.")).toContain("\n   The model refused.");
  });

  it("shows the call as the approver changed it", () => {
    const envelope = { v: 1, parentId: null, at: 0 } as const;
    const call = { type: "tool_call", callId: "c", name: "Bash", inputJson: '{"command":"rm -r x"}' } as const;
    const lines = [
      {
        ...envelope,
        id: "1",
        type: "model.ended",
        turn: 1,
        message: { role: "assistant", content: [call] },
        usage: noUsage,
        milliseconds: 1,
      },
      {
        ...envelope,
        id: "2",
        type: "approval.answered",
        callId: "c",
        answer: "allow",
        inputJson: '{"command":"rm x"}',
      },
      {
        ...envelope,
        id: "3",
        type: "tool.ended",
        callId: "c",
        name: "Bash",
        result: { outcome: "ok", content: [] },
        milliseconds: 1,
      },
    ] as unknown as Line[];
    expect(renderTranscript(lines, { id: "s", problems: [] })).toContain("  • Bash rm x · ok");
  });

  it("shows the effects of hooks", () => {
    const ran = { v: 1, parentId: null, at: 0, type: "hooks.ran", event: "PreToolUse", ran: 1 } as const;
    const lines: Line[] = [
      { ...ran, id: "1" },
      { ...ran, id: "2", decision: "deny", reason: "not on\nFridays" },
      { ...ran, id: "3", inputJson: "{}", context: "[words]" },
    ];
    expect(renderTranscript(lines, { id: "s", problems: [] }).split("\n").slice(1, -1)).toEqual([
      "  (PreToolUse hook: deny · not on Fridays)",
      "  (PreToolUse hook: changed the input to {} · added context: [words])",
    ]);
  });
});
