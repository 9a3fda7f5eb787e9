import * as fc from "fast-check";
import { expect, it } from "vitest";
import { approvalText, breakLines, describeRequest, showRule } from "./approval-text.ts";

const textOf = (name: string, input: unknown) => approvalText({ name, inputJson: JSON.stringify(input) });

it("shows the whole command, and all other inputs", () => {
  const long = `echo ${"x".repeat(10_000)}; rm y`;
  expect(textOf("Bash", { command: long, timeout: 5, description: "Lists\nfiles" })).toEqual({
    main: { field: "command", value: long },
    call: `Bash ${long}`,
    inputs: ["timeout: 5", "description: Lists↵files"],
    others: [
      { field: "timeout", value: "5" },
      { field: "description", value: "Lists\nfiles" },
    ],
  });
  expect(textOf("Write", { file_path: "a.sh", content: "rm x\n" })).toEqual({
    main: { field: "file_path", value: "a.sh" },
    call: "Write a.sh",
    inputs: ["content: rm x↵"],
    others: [{ field: "content", value: "rm x\n" }],
  });
});

it("shows the whole input of an unknown tool", () => {
  expect(textOf("mcp__db__run", { query: "a", drop: true })).toEqual({
    call: 'mcp__db__run {"query":"a","drop":true}',
    inputs: [],
    others: [],
  });
  expect(approvalText({ name: "Bash", inputJson: "{broken" }).call).toBe("Bash {broken");
});

it("shows different commands differently", () => {
  const unit = fc.constantFrom(" ", "\n", "\t", "a", "#", "\\", "n", "↵", "u{a}", "\u200b", "\r");
  const command = fc.string({ unit, maxLength: 6 });
  fc.assert(
    fc.property(command, command, (left, right) => {
      const [one, other] = [left, right].map((each) => textOf("Bash", { command: each }).call);
      return (one === other) === (left === right);
    }),
  );
});

it("shows the whole question, with its line breaks marked, so that no part looks like an option", () => {
  const long = "x".repeat(3_000);
  const { choices } = describeRequest({
    ...{
      requestId: "r",
      sessionId: "s",
      kind: "question" as const,
      inputHash: "h",
      agentId: "main",
      agentType: "main",
    },
    ...{ path: [], always: [] },
    call: { callId: "c", name: "AskUserQuestion", inputJson: "{}" },
    decision: { reason: "The agent is asking you to decide." },
    questions: [
      {
        header: "Plan",
        question: `First step\n\nSecond – step\u001b[2J ${long}`,
        options: [{ label: "Yes\n    2. No", description: "a\r\nb" }],
        multiSelect: false,
      },
    ],
  });
  expect(choices).toEqual([[`Plan: First step↵↵Second – step ${long}`, "  1. Yes↵    2. No - a↵b"]]);
  expect(breakLines("  1. Yes↵2. No")).toBe("  1. Yes↵\n        2. No");
});

it("says that a rule without a specifier allows every call of the tool", () => {
  expect(showRule("Bash(npm test)")).toBe("Bash(npm test)");
  expect(showRule("price_of")).toBe("price_of (every call)");
});
