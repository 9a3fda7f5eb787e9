import { describe, expect, it } from "vitest";
import type { RunUpdate } from "../../protocol/index.ts";
import { createApprovalTeller } from "../print/notices.ts";
import { parseApprovals } from "./approvals-arguments.ts";

describe("the words after retinue approvals", () => {
  it.each([
    [[], { kind: "approvals.list", all: false, json: false }],
    [["list", "--session", "01", "--json"], { kind: "approvals.list", session: "01", json: true }],
    [["answer", "ask_1", "deny", "--message", "no"], { kind: "approvals.answer", verb: "deny", message: "no" }],
    [["answer", "ask_1", "allow", "--input", "{}"], { verb: "allow", inputJson: "{}", project: false }],
    [["answer", "1", "always", "--pattern", "npm *", "--project"], { request: "1", pattern: "npm *", project: true }],
    [["--help"], { kind: "help", topic: "approvals" }],
  ])("%j", (words, command) => expect(parseApprovals(words)).toMatchObject(command));

  it.each([
    [["anwser"], "answer"],
    [["list", "ask_1"], "--session"],
    [["answer"], "REQUEST allow|deny|always"],
    [["answer", "ask_1", "yes"], "allow, deny, always"],
    [["answer", "ask_1", "allow", "--message", "no"], '--message goes with "deny"'],
    [["answer", "ask_1", "allow", "--project"], '--project goes with "always"'],
    [["answer", "ask_1", "allow", "--input", "[1]"], "no JSON object"],
  ])("%j is refused, with the cure", (words, part) => {
    let said = "";
    try {
      parseApprovals(words);
    } catch (error) {
      said = `${(error as Error).message} ${(error as { cure?: string }).cure}`;
    }
    expect(said).toContain(part);
  });
});

describe("what a person is told of approvals", () => {
  const line = { v: 1, id: "1", parentId: null, at: 0, requestId: "ask_1", callId: "c" } as const;
  const requested: RunUpdate = {
    ...line,
    type: "approval.requested",
    name: "Bash",
    inputJson: '{"command":"it\'s"}',
    reason: "No rule allows it.",
    always: ["Bash(it's)"],
  };
  const answered: RunUpdate = { ...line, type: "approval.answered", answer: "deny", by: "nobody to ask" };
  const ofAgent = (event: RunUpdate): RunUpdate =>
    ({ type: "subagent.event", agentId: "a", agentType: "tester", path: ["a"], event }) as RunUpdate;

  it.each([
    ["deny", [requested, answered, requested, answered], [expect.stringContaining(`--allowed-tools 'Bash(it'\\''s)'`)]],
    ["wait", [requested], [expect.stringContaining("answer ask_1 allow|deny|always")]],
    ["wait", [ofAgent(requested)], [expect.stringContaining("Bash it's of tester waits")]],
    ["hook", [requested, answered], []],
  ] as const)("with --on-ask %s", (onAsk, updates, sentences) => {
    const told: string[] = [];
    const teller = createApprovalTeller(onAsk, (sentence) => told.push(sentence));
    for (const update of updates) teller.see(update);
    expect(told).toEqual(sentences);
  });
});
