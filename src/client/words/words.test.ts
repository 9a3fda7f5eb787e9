import { describe, expect, it } from "vitest";
import { type DurableEvent, type EndReason, NO_APPROVER, outcomeOf, type SessionUpdate } from "../../protocol/index.ts";
import { answered, created, line, runEnded, started } from "../view/agent-events.test-support.ts";
import { foldSession } from "../view/fold-session.ts";
import { type AgentView, agentOf, newSessionView } from "../view/session-view.ts";
import { firstSentence, outputLines, resultWords } from "./result-words.ts";
import { activityWords, endWords, lastLineOf, retryWords, stateWords, withoutIds } from "./words.ts";

const call = (name: string, input: object) => ({ name, input });

/** Folds the main agent's events. For other agents, pass updates. */
function agentAfter(events: readonly (DurableEvent | SessionUpdate)[], agentId = "main"): AgentView {
  const updates = events.map((each) =>
    "agentId" in each && "event" in each ? each : { agentId: "main", event: line(each) },
  );
  return agentOf(updates.reduce(foldSession, newSessionView()), agentId)!;
}

/** An agent that is performing calls, all of which have been requested. */
function performing(calls: readonly { readonly name: string; readonly input: object }[], text = ""): AgentView {
  const requested = calls.map(
    ({ name }, index): DurableEvent => ({ type: "tool.requested", callId: `c${index}`, name }),
  );
  return agentAfter([started(), answered(text, calls), ...requested]);
}

describe("an agent's activity", () => {
  it.each([
    [[call("Edit", { file_path: "src/a.ts" })], "editing src/a.ts"],
    [[call("Bash", { command: "npm test" })], "running: npm test"],
    [["a", "b", "c"].map((file_path) => call("Read", { file_path })), "reading 3 files"],
    [["ls", "pwd"].map((command) => call("Bash", { command })), "running 2 commands"],
    [[call("Read", { file_path: "a" }), call("Bash", { command: "ls" })], "running: ls (+1)"],
    [[call("TodoWrite", { todos: [] })], "updating its to-do list"],
    [[call("mcp__github__search", { query: "bugs" })], "using github search bugs"],
    [[call("Bash", { command: "echo \u001b[2J\nrm x" })], "running: echo \\u{1b}[2J↵rm x"],
  ])("is described by its calls: %j", (calls, words) => {
    expect(activityWords(performing(calls))).toBe(words);
  });

  it("is described in the agent's own words if it announces several calls", () => {
    const calls = ["a", "b"].map((file_path) => call("Read", { file_path }));
    expect(activityWords(performing(calls, "Reading the manifests"))).toBe("Reading the manifests");
  });

  it("follows the steps of a request", () => {
    const asked: DurableEvent = { type: "model.requested", turn: 1 };
    const live = (type: "text.delta" | "thinking.delta"): SessionUpdate => ({
      agentId: "main",
      event: { type, turn: 1, text: "So far.\nThe last line" },
    });
    const json: SessionUpdate = {
      agentId: "main",
      event: { type: "call.delta", turn: 1, index: 0, name: "Edit", json: "{" },
    };
    const retry = { attempt: 1, maxAttempts: 3, delayMs: 5, status: 500, error: "an\noverload" };
    const cut = { ...retry, error: "The response ended early. Check the connection." };
    const steps: readonly [string, readonly (DurableEvent | SessionUpdate)[]][] = [
      ["starting", [started()]],
      ["waiting for the model", [started(), asked]],
      ["thinking", [started(), asked, live("thinking.delta")]],
      ["writing", [started(), asked, live("text.delta")]],
      ["preparing Edit", [started(), asked, live("text.delta"), json]],
      ["waiting for the rate limit", [started(), asked, { type: "run.delayed", by: "rateLimit" }]],
      [
        "waiting for the model",
        [started(), asked, { type: "run.delayed", by: "rateLimit" }, { type: "run.continued" }],
      ],
      ["waiting for budget", [started(), { type: "run.delayed", by: "budget" }]],
      ["retrying: an overload", [started(), asked, { type: "model.retried", turn: 1, retry }]],
      ["retrying: the response ended early", [started(), asked, { type: "model.retried", turn: 1, retry: cut }]],
      ["finishing", [started(), asked, answered("All done.")]],
      ["idle", [started(), asked, answered("All done."), runEnded()]],
    ];
    expect(steps.map(([, events]) => activityWords(agentAfter(events)))).toEqual(steps.map(([words]) => words));
    expect(lastLineOf(agentAfter([started(), asked, live("text.delta")]))).toBe("The last line");
    expect(lastLineOf(agentAfter([started(), asked, live("thinking.delta")]))).toBe("The last line");
    const origin = { provider: "p", model: "m" };
    const thought = {
      ...answered(""),
      message: { role: "assistant", content: [{ type: "thinking", text: "Two.", origin }] },
    };
    expect(lastLineOf(agentAfter([started(), asked, thought as DurableEvent]))).toBe("Two.");
  });

  it("says which call is waiting for approval, and how many agents the agent is waiting for", () => {
    const request = (name: string, inputJson: string): DurableEvent[] => [
      { type: "tool.requested", callId: "c0", name },
      { type: "approval.requested", requestId: "ask_1", callId: "c0", name, inputJson, reason: "Why." },
    ];
    const bash = call("Bash", { command: "npm test -- cart" });
    const asking = agentAfter([started(), answered("", [bash]), ...request("Bash", "{}")]);
    expect([stateWords(asking), activityWords(asking)]).toEqual([
      "waiting for approval",
      "wants to run: npm test -- cart",
    ]);
    const question = call("AskUserQuestion", { questions: [{ question: "Which one?" }] });
    expect(activityWords(agentAfter([started(), answered("", [question]), ...request("AskUserQuestion", "{}")]))).toBe(
      "asks: Which one?",
    );
    const child: SessionUpdate[] = [
      { agentId: "a1", event: line(created(["a1"])) },
      { agentId: "a1", event: line(started({ background: true })) },
    ];
    expect(stateWords(agentAfter([started(), ...child, answered("All done.")]))).toBe("waiting for 1 agent");
    const spawned: DurableEvent = {
      type: "agent.spawned",
      callId: "c0",
      agentId: "a1",
      agentType: "x",
      description: "",
    };
    const task = [
      started(),
      answered("", [call("Task", {})]),
      { type: "tool.requested", callId: "c0", name: "Task" },
      spawned,
    ];
    expect(stateWords(agentAfter(task as DurableEvent[]))).toBe("waiting for 1 agent");
  });
});

describe("the end of an agent's run", () => {
  it("is described with its reason, and says whether the agent can be resumed", () => {
    const ended = (reason: EndReason) => {
      const end = runEnded({ reason, outcome: outcomeOf(reason) });
      return stateWords(
        agentAfter(
          [
            { agentId: "a1", event: line(started()) },
            { agentId: "a1", event: line(end) },
          ],
          "a1",
        ),
      );
    };
    expect(ended("done")).toBe("succeeded");
    expect(ended("max_turns")).toBe("cut by its turn limit, can be resumed");
    expect(ended("parked")).toBe("parked, continues when the session is resumed");
    expect(endWords(undefined)).toBe("cut off, can be resumed");
    const budget = { outcome: "incomplete", reason: "budget" } as const;
    expect(endWords(budget)).toBe("cut by its budget, can be resumed");
    expect(endWords({ ...budget, limit: { cause: "", unpriced: true } })).toBe(
      "stopped: the price of its model is unknown, can be resumed",
    );
  });
});

describe("the result of a call", () => {
  const words = (details: object, more: object = {}, name = "Read") =>
    resultWords({ name, result: { outcome: "ok", milliseconds: 1, content: [], details: details as never, ...more } });
  const text = (given: string) => ({ content: [{ type: "text", text: given }] });

  it("is summarized", () => {
    expect(words({ path: "a.ts", added: 6, removed: 9, diff: "" })).toBe("+6 −9");
    expect(words({ lines: 84, shown: 84 })).toBe("84 lines");
    expect(words({ matches: 1, files: 1 })).toBe("1 match");
    expect(words({ entries: 1_200 })).toBe("1,200 entries");
    expect([words({ exitCode: 0 }), words({ exitCode: 2 })]).toEqual(["", "exit code 2"]);
    const content = [{ type: "text", text: "No such file.\nTry another." }];
    expect(words({}, { outcome: "error", content })).toBe("error: No such file. Try another.");
  });

  it("is a single word, not the text for the model, if the user denied or interrupted the call", () => {
    const result = { outcome: "denied", milliseconds: 1, ...text("The user denied this call. Continue.") } as const;
    const denied = (message?: string, by = "ana") =>
      resultWords({
        name: "Bash",
        result: result as never,
        approval: { requestId: "r", reason: "", askedAt: 1, answer: { answer: "deny", by, message } },
      });
    expect(denied()).toBe("denied");
    expect(denied("Not on\nFridays.")).toBe("denied: Not on Fridays.");
    expect(denied(undefined, NO_APPROVER)).toBe("denied: The user denied this call. Continue.");
    expect(words({}, { outcome: "cancelled", ...text("[Cancelled.]") }, "Bash")).toBe("interrupted");
  });

  it("contains no markup for models if the call is a task", () => {
    const failure =
      '<task_error agent="x" id="a1" status="failed">\nNo &lt;task_ tokens left.\n</task_error>\n[1 call]\n[Do x.]';
    expect(words({}, { outcome: "error", ...text(failure) }, "Task")).toBe("failed: No <task_ tokens left.");
    const stopped = { status: "failed", outcome: "stopped", reason: "stopped" };
    expect(words(stopped, { outcome: "error", ...text(failure) }, "Task")).toBe("stopped, can be resumed");
    const launched = { status: "async_launched" };
    expect(words(launched, text("Agent a1 is running in the background"), "Task")).toBe("in the background");
  });

  it("is the number of output lines for a command", () => {
    expect(words({ exitCode: 0 }, text("a\nb\nc"), "Bash")).toBe("3 lines");
    expect(words({ exitCode: 0 }, text("(no output)"), "Bash")).toBe("");
    const marked = { name: "Bash", result: { outcome: "ok", milliseconds: 1, ...text("a\nb\n[Exit code 1.]") } };
    expect(outputLines(marked as never)).toEqual(["a", "b"]);
    expect(words({ exitCode: 2 }, { outcome: "error", ...text("a\n[Exit code 2.]") }, "Bash")).toBe("exit code 2");
  });

  it("says that the output of a command was longer than the part whose lines are counted", () => {
    const note = "[To see the full output (1.3 MB), open retinue://result/main_1_0 with Read or Grep.]";
    for (const leftOut of ["1,262,895 bytes", "195,149 lines (1,262,895 characters)"]) {
      const cut = text(`1\n2\n[… ${leftOut} left out …]\n200000\n${note}`);
      expect(words({ exitCode: 0 }, cut, "Bash")).toBe("3 lines of a longer output");
    }
  });
});

describe("a report", () => {
  it.each([
    ["## Findings\n\n1. one\n2. two", "one"],
    ["# Nothing found", "Nothing found"],
    ["**Prices** round twice. See `a.ts`.\n\nMore.", "Prices round twice."],
    ["- two", "two"],
    ["", ""],
  ])("is summarized by its first sentence: %j", (report, sentence) => {
    expect(firstSentence(report)).toBe(sentence);
  });
});

describe("a request that is tried again", () => {
  it("is described with its cause, the delay and the number of the attempt", () => {
    const error = "anthropic is overloaded (529): Overloaded. Try again later or choose another model.";
    expect(retryWords({ error, delayMs: 8_000, attempt: 1, maxAttempts: 5, status: 529 })).toBe(
      "anthropic is overloaded (529): Overloaded; trying again in 8 s (2 of 5)",
    );
  });
});

describe("a receipt", () => {
  it("can be shown without ids", () => {
    const [one, two] = ["a0123456789xy", "awevvzwrrmq0n"];
    expect(withoutIds(`Stopped Explore (call sites, ${one}). 1 agent still running: cart (${two}).`)).toBe(
      "Stopped Explore (call sites). 1 agent still running: cart.",
    );
  });
});
