import { describe, expect, it } from "vitest";
import { parseApprovals } from "./approvals.ts";

describe("the arguments of retinue approvals", () => {
  it.each([
    [[], { kind: "list", all: false, json: false }],
    [["list", "--session", "01", "--json"], { kind: "list", session: "01", json: true }],
    [["answer", "ask_1", "deny", "--message", "no"], { kind: "answer", verb: "deny", message: "no" }],
    [["answer", "ask_1", "allow", "--input", "{}"], { verb: "allow", inputJson: "{}", project: false }],
    [["answer", "1", "always", "--pattern", "npm *", "--project"], { request: "1", pattern: "npm *", project: true }],
    [
      ["reply", "ask_1", "2", "Use pnpm"],
      { kind: "answer", verb: "reply", request: "ask_1", replies: ["2", "Use pnpm"] },
    ],
    [["--help"], { kind: "help", topic: "approvals" }],
  ])("%j", (argv, command) => expect(parseApprovals(argv)).toMatchObject(command));

  it.each([
    [["anwser"], "answer"],
    [["list", "ask_1"], "--session"],
    [["answer"], "REQUEST allow|deny|always"],
    [["reply", "ask_1"], "an answer to each question"],
    [["answer", "ask_1", "yes"], "allow, deny, always"],
    [["answer", "ask_1", "allow", "--message", "no"], '--message can only be used with "deny"'],
    [["answer", "ask_1", "allow", "--project"], '--project can only be used with "always"'],
    [["answer", "ask_1", "allow", "--input", "[1]"], "not a JSON object"],
  ])("%j is refused with advice", (argv, part) => {
    let said = "";
    try {
      parseApprovals(argv);
    } catch (error) {
      said = `${(error as Error).message} ${(error as { fix?: string }).fix}`;
    }
    expect(said).toContain(part);
  });
});
