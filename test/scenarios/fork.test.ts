import { describe, expect, it } from "vitest";
import { forkCall, messagesIn, play, stage, toolResults, unmarked } from "./fork-place.ts";

const read = { tool: "Read", input: { file_path: "notes.txt" } };

describe("a fork", () => {
  it("knows what its origin knows, byte for byte, and reports to it", async () => {
    const on = await stage({
      MAIN: (turn) =>
        [{ content: [read] }, { content: ["Split.", forkCall("ONE: count them")] }, { content: "There are two." }][
          turn - 1
        ] ?? { content: "?" },
      ONE: (turn) => (turn === 1 ? { content: [read] } : { content: "I counted two." }),
    });
    const { result } = await play(on);
    expect(result).toMatchObject({ outcome: "succeeded", text: "There are two." });
    expect(toolResults(on.requests("MAIN")[2])[0]).toContain("I counted two.");
    const [, before] = on.requests("MAIN");
    const [first, second] = on.requests("ONE");
    if (!before || !first || !second) throw new Error("a request is missing");
    const prefix = unmarked(before).slice(0, -"]}".length);
    expect(unmarked(first).startsWith(prefix)).toBe(true);
    expect(unmarked(second).startsWith(unmarked(first).slice(0, -"]}".length))).toBe(true);
    const [answer, turn, ...more] = messagesIn(first).slice(messagesIn(before).length);
    expect(more).toEqual([]);
    expect(answer?.content.map(({ type }) => type)).toEqual(["text", "tool_use"]);
    expect(turn?.content.map(({ type }) => type)).toEqual(["tool_result", "text"]);
    expect(turn?.content[1]?.text).toMatch(/^\[You are a fork[^\]]+\]\n\nONE: count them$/);
  });
});
