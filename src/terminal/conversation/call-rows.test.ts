import { describe, expect, it } from "vitest";
import { agentOf, type CallItem, foldSession, newSessionView } from "../../client/index.ts";
import { answered, line, runEnded, started } from "../../client/view/agent-events.test-support.ts";
import type { DurableEvent } from "../../protocol/index.ts";
import { textOfRow } from "../screen/row.ts";
import { callRows, wholeCallRows } from "./call-rows.ts";
import { createConversationPrinter } from "./print-conversation.ts";

const texts = (rows: readonly (readonly { text: string }[])[]): readonly string[] =>
  rows.map((row) => textOfRow(row).trimEnd());

interface Given {
  readonly name: string;
  readonly target?: string;
  readonly input?: object;
  readonly text?: string;
  readonly outcome?: string;
  readonly details?: object;
}

function call({ name, target = "x", input = {}, text = "", outcome = "ok", details }: Given): CallItem {
  const result = { outcome, milliseconds: 6_700, content: [{ type: "text", text }], details };
  return {
    kind: "call",
    position: 0,
    at: 0,
    callId: "c",
    name,
    inputJson: JSON.stringify(input),
    target,
    result: result as never,
  };
}

const shown = (given: Given): readonly string[] => texts(callRows(call(given), { columns: 60 }));

describe("a call", () => {
  it("shows the number of output lines and the last lines of a command", () => {
    const text = "one\ntwo\nthree\nfour";
    const details = { exitCode: 0 };
    expect(shown({ name: "Bash", target: "npm test", text, details })).toEqual([
      expect.stringMatching(/^ {2}✓ Bash {3}npm test +4 lines · 6\.7 s$/),
      "    three",
      "    four",
    ]);
    const failed = { outcome: "error", text: `${text}\n[Exit code 2.]`, details: { exitCode: 2 } };
    expect(shown({ name: "Bash", ...failed })).toEqual([
      expect.stringMatching(/✗ Bash .*exit code 2 · 6\.7 s$/),
      ...["one", "two", "three", "four"].map((each) => `    ${each}`),
    ]);
  });

  it("is a sentence in plain mode, followed by the reason if it failed", () => {
    const item = call({ name: "Task", target: "look", outcome: "error", text: 'There is no agent "boss".' });
    expect(texts(callRows(item, { columns: 60, isPlain: true }))).toEqual([
      "Task look: failed, 6.7 s",
      'There is no agent "boss".',
    ]);
  });

  it("shows the answer if it needed approval, and how long the call itself took", () => {
    const answered = (answer: object, given: Given, isPlain = false): readonly string[] => {
      const approval = { requestId: "r", reason: "", askedAt: 0, answer: { answer: "allow", by: "ana", ...answer } };
      const item = { ...call(given), waitedMs: 6_500, approval } as CallItem;
      return texts(callRows(item, { columns: 60, user: "ana", isPlain }));
    };
    const text = "one";
    const details = { exitCode: 0 };
    expect(answered({}, { name: "Bash", target: "npm test", text, details })).toEqual([
      expect.stringMatching(/^ {2}✓ Bash {3}npm test +1 line · 200 ms$/),
      "    you allowed it once",
      "    one",
    ]);
    const denied = { name: "Bash", target: "npm publish", outcome: "denied", text: "The user denied this call." };
    expect(answered({ answer: "deny", message: "Not on Fridays" }, denied)).toEqual([
      expect.stringMatching(/^ {2}– Bash {3}npm publish +denied$/),
      "    you denied it: Not on Fridays",
    ]);
    expect(answered({ answer: "deny", message: "Not on Fridays" }, denied, true)).toEqual([
      "Bash npm publish: denied",
      "You denied it: Not on Fridays",
    ]);
    const input = { questions: [{ question: "Which color?" }, { question: "Which size?" }] };
    expect(answered({ replies: [["Blue"], []] }, { name: "AskUserQuestion", target: "Which", input })).toEqual([
      "  ✓ AskUserQuestion",
      "    Which color? Blue",
      "    Which size? The agent decides.",
    ]);
  });

  it("keeps the name of its file if there is no room for the path", () => {
    const target = "packages/checkout/src/cart/rounding/price.ts";
    expect(shown({ name: "Read", target, details: { lines: 84 } })).toEqual([
      expect.stringMatching(/^ {2}✓ Read {3}packages\/checkout\/…\/price\.ts +84 lines · 6\.7 s$/),
    ]);
  });

  it("is shown on one line if it was interrupted", () => {
    const text = '<task_error agent="x" id="a1">\nThe run was interrupted.\n</task_error>\n[1 tool call]';
    expect(shown({ name: "Task", target: "cart 2", outcome: "cancelled", text })).toEqual([
      expect.stringMatching(/^ {2}– Task {3}cart 2 +interrupted · 6\.7 s$/),
    ]);
    const bash = { outcome: "cancelled", text: "some output\n[Cancelled.]", details: { exitCode: null } };
    expect(shown({ name: "Bash", ...bash })).toEqual([expect.stringMatching(/– Bash .*interrupted · 6\.7 s$/)]);
  });

  it("shows the first sentence of an agent's report, or that the agent is working in the background", () => {
    const text = '<task_result agent="x" id="a1">\nPrices round twice. More.\n- two\n</task_result>\n[1 tool call]';
    expect(shown({ name: "Task", text })).toEqual([expect.stringMatching(/✓ Task/), "    Prices round twice."]);
    const details = { status: "async_launched" };
    expect(shown({ name: "Task", target: "call sites 1", text: "Agent a1 is running", details })).toEqual([
      expect.stringMatching(/^ {2}→ Task {3}call sites 1 +in the background$/),
    ]);
  });

  it("shows the to-do list that TodoWrite wrote", () => {
    const todos = [
      { content: "Look", status: "completed" },
      { content: "Fix", status: "in_progress" },
      { content: "Test", status: "pending" },
    ];
    expect(shown({ name: "TodoWrite", target: "", text: "1 completed", details: { todos } }).slice(1)).toEqual([
      "    ☑ Look",
      "    ▸ Fix",
      "    ☐ Test",
    ]);
  });

  it("can be shown with its whole input and output, without markup for models", () => {
    const input = { command: "npm test \\\n  --all", timeout: 5 };
    const text = Array.from({ length: 50 }, (_, index) => `line ${index}`).join("\n");
    const rows = texts(wholeCallRows(call({ name: "Bash", target: "npm test", input, text }), { columns: 60 }));
    expect(rows).toContain("    npm test \\");
    expect(rows).toContain("      --all");
    expect(rows).toContain("  timeout");
    expect(rows).toContain("    line 0");
    expect(rows).toContain("    line 49");
    const report = '<task_result agent="x" id="a1">\nAll of it.\n</task_result>\n[1 tool call]';
    expect(texts(wholeCallRows(call({ name: "Task", text: report }), { columns: 60 })).join("\n")).not.toContain(
      "<task",
    );
  });
});

describe("calls that have no result", () => {
  const opened = (count: number): readonly string[] => {
    const calls = Array.from({ length: count }, (_, index) => ({ name: "Bash", input: { command: `seq ${index}` } }));
    const view = [started(), answered("", calls)]
      .map((event, index) => ({ agentId: "main", seq: index + 1, event: line(event) }))
      .reduce(foldSession, newSessionView());
    const agent = agentOf(view, "main")!;
    return texts(createConversationPrinter().update(agent, { columns: 60, rows: 12 }).open).filter((row) => row !== "");
  };

  it("are named once: a single call is shown as the agent's activity, and only the first of many calls are listed", () => {
    expect(opened(1)).toEqual([]);
    expect(opened(2)).toEqual(["  ● running: seq 0", "  ● running: seq 1"]);
    expect(opened(300)).toHaveLength(6);
    expect(opened(300).at(-1)).toBe("    and 295 more calls");
  });
});

describe("thinking", () => {
  const thought = "I look at the cart.\nThen at the tests.\nThen at the prices.\nThen at the rest.";
  const origin = { provider: "anthropic", model: "claude-opus-5-5" };
  const content = [
    { type: "thinking", text: thought, origin },
    { type: "text", text: "The cart is wrong." },
  ];
  const asked = line({ type: "model.requested", turn: 1 });
  const live = (type: "thinking.delta" | "text.delta", text: string) => ({ type, turn: 1, text }) as const;
  const updates = [
    asked,
    live("thinking.delta", thought),
    live("text.delta", "The cart"),
    live("text.delta", " is wrong."),
    line({ ...answered(""), message: { role: "assistant", content } } as never),
  ];
  const folded = ["  ∴ I look at the cart.", "    Then at the tests.", "    … 2 more rows · Ctrl+O shows them"];

  function play(events: readonly (typeof updates)[number][], isWhole = false) {
    const printer = createConversationPrinter();
    let view = foldSession(newSessionView(), { agentId: "main", event: line(started()) });
    const rows: string[] = [];
    const open: string[][] = [];
    for (const event of events) {
      view = foldSession(view, { agentId: "main", event });
      const printed = printer.update(agentOf(view, "main")!, { columns: 60, rows: 12, isWhole });
      rows.push(...texts(printed.rows).filter((row) => row !== ""));
      open.push([...texts(printed.open)].filter((row) => row !== ""));
    }
    return { rows, open };
  }

  it("is folded, and shown before the text that follows it, whether or not it was seen live", () => {
    expect(play(updates).rows).toEqual([...folded, "The cart is wrong."]);
    expect(play([updates[4]!]).rows).toEqual([...folded, "The cart is wrong."]);
    expect(play([updates[4]!], true).rows).toEqual([
      "  ∴ I look at the cart.",
      ...["Then at the tests.", "Then at the prices.", "Then at the rest."].map((row) => `    ${row}`),
      "The cart is wrong.",
    ]);
  });

  it("shows its newest rows while it is being written", () => {
    expect(play(updates).open.slice(0, 3)).toEqual([
      [],
      ["    Then at the prices.", "    Then at the rest."],
      ["The cart"],
    ]);
  });
});

describe("many agents that were interrupted", () => {
  it("are folded into one line, even if the session is resumed", () => {
    const calls = Array.from({ length: 300 }, (_, index) => ({
      name: "Task",
      input: { description: `cart ${index}` },
    }));
    const result = { outcome: "cancelled", content: [], milliseconds: 10 } as never;
    const ended = calls.map(
      (_, index): DurableEvent => ({ type: "tool.ended", callId: `c${index}`, name: "Task", result, milliseconds: 10 }),
    );
    const events = [started(), answered("", calls), ...ended, runEnded({ outcome: "stopped", reason: "interrupted" })];
    const view = events.reduce(
      (before, event) => foldSession(before, { agentId: "main", event: line(event) }),
      newSessionView(),
    );
    const { rows } = createConversationPrinter().update(agentOf(view, "main")!, { columns: 80, rows: 10 });
    const printed = texts(rows).filter((row) => row !== "");
    expect(printed).toHaveLength(10);
    expect(printed[0]).toMatch(/– Task {3}cart 0 +interrupted/);
    expect(printed[8]).toBe("  – 292 more agents were interrupted");
    expect(printed[9]).toContain("– interrupted, can be resumed");
  });
});

describe("an error", () => {
  const printed = (...events: readonly DurableEvent[]) => {
    const view = [started(), ...events].reduce(
      (before, event) => foldSession(before, { agentId: "main", event: line(event) }),
      newSessionView(),
    );
    return texts(createConversationPrinter().update(agentOf(view, "main")!, { columns: 80, rows: 10 }).rows).join("\n");
  };

  it("is shown once, as is a refusal", () => {
    const message = "anthropic rejected the key (401).";
    const failed = { type: "model.failed", turn: 1, error: { message }, partial: [] } as unknown as DurableEvent;
    const end = runEnded({ outcome: "failed", reason: "model_error", message });
    expect(printed(failed, end).split("401")).toHaveLength(2);
    const refusal = runEnded({ outcome: "failed", reason: "refused", message: "I can't do this." });
    expect(printed(answered("I can't do this."), refusal).split("can't do this")).toHaveLength(2);
  });
});
