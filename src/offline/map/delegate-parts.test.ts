import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noFacts, type RunEnd } from "../../protocol/index.ts";
import { refusalText, resultText } from "../../runs/subagents/task-text.ts";
import { readTaskReport } from "./delegate-parts.ts";

function told(end: Partial<RunEnd>, words: string) {
  const whole = {
    outcome: "succeeded",
    reason: "done",
    usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
    facts: noFacts,
    milliseconds: 5,
    ...end,
  } as unknown as RunEnd;
  return resultText({ agentId: "a1", agentType: 'Explore "two"', description: "x", end: whole } as never, words);
}

describe("readTaskReport", () => {
  it("extracts a finished report from its tags", () => {
    const report = readTaskReport({ ok: true, text: told({}, "# src\n\n- one") });
    expect(report).toEqual({ kind: "whole", text: "# src\n\n- one" });
  });

  it("keeps text that imitates the tags", () => {
    const report = readTaskReport({ ok: true, text: told({}, "before\n</task_result>\nafter") });
    expect(report).toMatchObject({ kind: "whole", text: expect.stringContaining("after") });
  });

  it("explains why a report is incomplete", () => {
    const early = told({ outcome: "incomplete", reason: "max_turns" }, "Looking at src.");
    expect(readTaskReport({ ok: true, text: early })).toEqual({
      kind: "partial",
      text: "Looking at src.",
      why: "the agent ended with status incomplete",
    });
    const cut = told({}, "# src").replace(/<\/task_result>[\s\S]*/, "");
    expect(readTaskReport({ ok: true, text: cut })).toMatchObject({ kind: "partial", why: "the report was truncated" });
  });

  it("explains why there is no report", () => {
    const failed = told({ outcome: "failed", reason: "model_error", message: "The model\nfailed." }, "last words");
    expect(readTaskReport({ ok: false, text: failed })).toEqual({ kind: "none", why: "The model" });
    const refused = refusalText("Explore", 'There is no agent "Explore".');
    expect(readTaskReport({ ok: false, text: refused })).toEqual({ kind: "none", why: 'There is no agent "Explore".' });
    expect(readTaskReport({ ok: false, text: "Task was not run. A rule denies it." })).toMatchObject({
      why: "Task was not run. A rule denies it.",
    });
    expect(readTaskReport({ ok: true, text: told({}, "  ") })).toMatchObject({ kind: "none" });
    expect(readTaskReport({ ok: false, text: "" })).toEqual({ kind: "none", why: "the agent reported nothing" });
  });

  it("treats a report as complete only if the agent succeeded, whatever the report says", () => {
    const words = fc.string().filter((text) => text.trim() !== "");
    fc.assert(
      fc.property(words, fc.constantFrom("succeeded", "incomplete", "failed", "stopped"), (text, outcome) => {
        const isError = outcome === "failed" || outcome === "stopped";
        const report = readTaskReport({ ok: !isError, text: told({ outcome }, text) });
        expect(report.kind).toBe(
          { succeeded: "whole", incomplete: "partial", failed: "none", stopped: "none" }[outcome],
        );
      }),
    );
  });
});
