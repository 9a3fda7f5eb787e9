import { describe, expect, it } from "vitest";
import type { ApprovalAnswer } from "../../protocol/index.ts";
import { type AnsweredCall, answerWords, repliesTo, workedMs } from "./answer-words.ts";

const call = (answer: Partial<ApprovalAnswer>, more: Partial<AnsweredCall> = {}): AnsweredCall => ({
  inputJson: "{}",
  target: "npm test",
  approval: { requestId: "r", reason: "", askedAt: 0, answer: { answer: "allow", by: "ana", ...answer } },
  ...more,
});

describe("the answer to a request for approval", () => {
  it.each([
    [{}, "you allowed it once"],
    [{ by: "ben" }, "ben allowed it once"],
    [{ by: "the rule Bash(npm *)" }, "the rule Bash(npm *) allowed it"],
    [{ always: { rule: "Bash(npm *)", for: "project" } }, "you allowed it, and always in this project: Bash(npm *)"],
    [{ answer: "deny" }, "you denied it"],
    [{ answer: "deny", message: "Not on\nFridays." }, "you denied it: Not on Fridays."],
    [{ answer: "deny", by: "no approver" }, ""],
    [{ replies: [["Blue"]] }, ""],
  ] as const)("%j is described as %j", (answer, words) => {
    expect(answerWords(call(answer), "ana")).toBe(words);
  });

  it("says that the call was edited, and what it was before", () => {
    const edited = (targetBefore: string): string => answerWords(call({}, { targetBefore }), "ana");
    expect(edited("npm publish")).toBe("you edited and allowed it; before: npm publish");
    expect(edited("npm test")).toBe("you edited and allowed it");
  });

  it("contains the replies to questions", () => {
    const inputJson = JSON.stringify({ questions: [{ question: "Which\ncolor?" }, { question: "Why?" }] });
    expect(repliesTo(call({ replies: [["Red", "Blue"], []] }, { inputJson }))).toEqual([
      { question: "Which color?", reply: "Red, Blue" },
      { question: "Why?", reply: "" },
    ]);
    expect(repliesTo(call({}))).toEqual([]);
  });
});

it("the duration of a call does not include its wait for approval", () => {
  const result = { outcome: "ok", milliseconds: 61_000, content: [] } as const;
  expect(workedMs(call({}, { result, waitedMs: 60_000 }))).toBe(1_000);
  expect(workedMs(call({}))).toBeUndefined();
});
