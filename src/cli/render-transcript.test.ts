import { describe, expect, it } from "vitest";
import type { Line } from "../protocol/index.ts";
import { renderTranscript } from "./render-transcript.ts";

describe("renderTranscript", () => {
  it("shows what it can of a damaged transcript, and nothing that steers a terminal", () => {
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
        "! Entry 2 (prompt.received) can't be shown.",
        "",
      ].join("\n"),
    );
  });
});
