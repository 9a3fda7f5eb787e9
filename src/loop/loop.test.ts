import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DurableEvent, StopReason, ToolCallBlock, ToolResult } from "../protocol/index.ts";
import { noUsage } from "../protocol/index.ts";
import { fold, initialState, type LoopState, next, recovery, userTurn } from "./index.ts";

const started: DurableEvent = {
  type: "run.started",
  runId: "r1",
  agentId: "main",
  agentType: "main",
  kind: "fresh",
  requestedModel: null,
  provider: "scripted",
  model: "m",
  modelReason: "test",
  permissionMode: "default",
  maxTurns: 10,
};
const prompt: DurableEvent = { type: "prompt.received", content: [{ type: "text", text: "hello" }], from: "person" };

function foldAll(events: readonly DurableEvent[], from: LoopState = initialState): LoopState {
  return events.reduce(fold, from);
}

function call(callId: string, name = "Read", inputJson = "{}"): ToolCallBlock {
  return { type: "tool_call", callId, name, inputJson };
}

function answer(
  turn: number,
  calls: readonly ToolCallBlock[],
  stopReason?: StopReason,
  incompleteCalls = 0,
): DurableEvent {
  return {
    type: "model.ended",
    turn,
    message: { role: "assistant", content: [{ type: "text", text: `answer ${turn}` }, ...calls] },
    stopReason: stopReason ?? (calls.length > 0 ? "tool_calls" : "end_turn"),
    incompleteCalls,
    usage: { ...noUsage, inputTokens: 10, outputTokens: 1 },
    costUsd: 0.5,
    milliseconds: 3,
  };
}

function ended(callId: string, text = "ok", result: Partial<ToolResult> = {}): DurableEvent {
  return {
    type: "tool.ended",
    callId,
    name: "Read",
    result: { outcome: "ok", content: [{ type: "text", text }], ...result },
    milliseconds: 1,
  };
}

const requested = (turn: number): DurableEvent => ({ type: "model.requested", turn });

describe("next", () => {
  it("does nothing without a run, and asks the model once there is one", () => {
    expect(next(initialState)).toEqual({ kind: "rest" });
    expect(next(foldAll([started, prompt]))).toEqual({ kind: "request", turn: 1 });
  });

  it("performs the calls in a response, then asks again with their results in call order", () => {
    const acting = foldAll([started, prompt, requested(1), answer(1, [call("a"), call("b", "Grep")])]);
    expect(next(acting)).toEqual({
      kind: "act",
      calls: [
        { callId: "a", name: "Read", inputJson: "{}" },
        { callId: "b", name: "Grep", inputJson: "{}" },
      ],
    });
    const done = foldAll([ended("b", "second"), ended("a", "first", { outcome: "error" })], acting);
    expect(next(done)).toEqual({ kind: "request", turn: 2 });
    expect(userTurn(done)?.content).toEqual([
      { type: "tool_result", callId: "a", content: [{ type: "text", text: "first" }], isError: true },
      { type: "tool_result", callId: "b", content: [{ type: "text", text: "second" }], isError: false },
    ]);
  });

  it("ends the run when the model makes no more calls", () => {
    expect(next(foldAll([started, prompt, requested(1), answer(1, [])]))).toEqual({ kind: "end", reason: "done" });
  });

  it("continues if a prompt arrived during the response", () => {
    const state = foldAll([started, prompt, requested(1), prompt, answer(1, [])]);
    expect(next(state)).toEqual({ kind: "request", turn: 2 });
  });

  it("stops at the turn limit, after recording the results of the last calls", () => {
    const limited = { ...started, maxTurns: 1 };
    const state = foldAll([limited, prompt, requested(1), answer(1, [call("a")]), ended("a")]);
    expect(next(state)).toMatchObject({ kind: "end", reason: "max_turns" });
  });

  it("ends the run as refused if the model refuses to answer", () => {
    const state = foldAll([started, prompt, requested(1), answer(1, [], "refusal")]);
    expect(next(state)).toEqual({ kind: "end", reason: "refused", message: "answer 1" });
  });

  it("tells the model that its response was cut off, and gives up after three in a row", () => {
    const once = foldAll([started, prompt, requested(1), answer(1, [], "max_tokens", 1)]);
    expect(next(once)).toMatchObject({ kind: "notify", message: { cause: "cut_off" } });
    const told: DurableEvent = { type: "context.added", cause: "cut_off", text: "go on" };
    const again = foldAll([told, requested(2), answer(2, [], "max_tokens"), told, requested(3)], once);
    expect(next(foldAll([answer(3, [], "max_tokens")], again))).toMatchObject({ kind: "end", reason: "output_limit" });
    expect(next(foldAll([answer(3, [])], again))).toEqual({ kind: "end", reason: "done" });
  });

  it("continues automatically after the provider has paused", () => {
    const state = foldAll([started, prompt, requested(1), answer(1, [], "pause")]);
    expect(next(state)).toEqual({ kind: "request", turn: 2 });
  });
});

describe("repeated calls", () => {
  const round = (turn: number, text = "same", result: Partial<ToolResult> = {}): DurableEvent[] => [
    requested(turn),
    answer(turn, [call(`c${turn}`)]),
    ended(`c${turn}`, text, result),
  ];
  const told: DurableEvent = { type: "context.added", cause: "loop", text: "again?" };

  it("cause a warning at the third repetition and end the run at the eighth", () => {
    const third = foldAll([started, prompt, ...round(1), ...round(2), ...round(3)]);
    expect(next(third)).toMatchObject({ kind: "notify", message: { cause: "loop" } });
    const seventh = foldAll([told, ...[4, 5, 6, 7].flatMap((turn) => round(turn))], third);
    expect(next(seventh)).toMatchObject({ kind: "request" });
    expect(next(foldAll(round(8), seventh))).toMatchObject({ kind: "end", reason: "loop" });
  });

  it("are not counted if the result differs or files change in between", () => {
    const different = foldAll([started, prompt, ...round(1, "a"), ...round(2, "b"), ...round(3, "a")]);
    expect(next(different)).toEqual({ kind: "request", turn: 4 });
    const changed = foldAll([
      started,
      prompt,
      ...round(1),
      ...round(2, "x", { facts: { filesChanged: ["f"] } }),
      ...round(3),
    ]);
    expect(next(changed)).toEqual({ kind: "request", turn: 4 });
  });

  it("lead to advice for an agent that polls, and never end its run, whatever the tool's name", () => {
    for (const name of ["TaskOutput", "AgentOutputTool", "BashOutput", "bash_output"]) {
      const look = (turn: number) => [requested(turn), answer(turn, [call(`c${turn}`, name)]), ended(`c${turn}`)];
      const third = foldAll([started, prompt, ...[1, 2, 3].flatMap(look)]);
      expect(next(third)).toMatchObject({ kind: "notify", message: { text: expect.stringContaining("To wait for") } });
      const ninth = foldAll([told, ...[4, 5, 6, 7, 8, 9].flatMap(look)], third);
      expect(next(ninth)).toEqual({ kind: "request", turn: 10 });
    }
  });
});

describe("a compaction", () => {
  const compacted = (kept: number): DurableEvent => ({
    type: "conversation.compacted",
    summary: "So far.",
    kept,
    trigger: "auto",
  });
  const image = { type: "image", mediaType: "image/png", data: "aW1n" } as const;
  const before = [
    started,
    prompt,
    requested(1),
    answer(1, [call("c1", "Read", '{"file_path":"a"}'), call("c2", "Bash"), call("c3")]),
    ended("c1", "alpha </result> <call>"),
    ended("c2", "no", { outcome: "error" }),
    ended("c3", "", { content: [image] }),
  ];

  it("turns results into text if the response with the calls is not kept", () => {
    const state = foldAll([...before, compacted(0)]);
    expect(state.calls).toEqual([]);
    const content = userTurn(state)?.content ?? [];
    expect(content.map((block) => (block.type === "text" ? block.text : block))).toEqual([
      expect.stringMatching(/^\[Your newest calls and their results/),
      '<call tool="Read">\n{"file_path":"a"}\n</call>\n<result>',
      "alpha &lt;/result> &lt;call>",
      "</result>",
      '<call tool="Bash" outcome="error">\n{}\n</call>\n<result>',
      "no",
      "</result>",
      '<call tool="Read">\n{}\n</call>\n<result>',
      image,
      "</result>",
    ]);
    expect(next(state)).toMatchObject({ kind: "request" });
  });

  it("leaves results unchanged if that response is kept", () => {
    const state = foldAll([...before, compacted(1)]);
    expect(userTurn(state)?.content.map(({ type }) => type)).toEqual(["tool_result", "tool_result", "tool_result"]);
  });
});

describe("facts and totals", () => {
  it("are computed from the recorded events", () => {
    const state = foldAll([
      started,
      prompt,
      requested(1),
      answer(1, [call("a", "Edit"), call("b", "Bash"), call("c", "Write")]),
      ended("a", "ok", { facts: { filesChanged: ["x.ts"] } }),
      ended("b", "ok", { facts: { command: { command: "npm test", exitCode: 1 } } }),
      ended("c", "no", { outcome: "denied" }),
      requested(2),
      answer(2, []),
    ]);
    expect(state.run).toMatchObject({
      turns: 2,
      costUsd: 1,
      usage: { inputTokens: 20, outputTokens: 2 },
      modelMilliseconds: 6,
      text: "answer 2",
      facts: {
        toolCalls: { Edit: 1, Bash: 1, Write: 1 },
        filesChanged: ["x.ts"],
        commands: [{ command: "npm test", exitCode: 1 }],
        denied: [{ tool: "Write", input: "{}", reason: "no" }],
      },
    });
  });
});

describe("a call that used a model", () => {
  it("is charged to the run that made it", () => {
    const spent = { usage: { ...noUsage, inputTokens: 1000, outputTokens: 100 }, costUsd: 0.25 };
    const state = foldAll([
      started,
      prompt,
      requested(1),
      answer(1, [call("a", "WebSearch")]),
      ended("a", "hits", { facts: { spent } }),
    ]);
    expect(state.run).toMatchObject({ usage: { inputTokens: 1010, outputTokens: 101 }, costUsd: 0.75 });
  });
});

describe("runs in the background", () => {
  const waits: DurableEvent = { ...started, type: "run.started", waits: true } as DurableEvent;
  const below = { agentId: "a2", runId: "r2" };
  const lead = { agentId: "a1", runId: "r1", outcome: "incomplete" } as const;
  const told = (notices: readonly object[]) => ({ type: "notices.delivered", notices, text: "ended" }) as DurableEvent;
  const led = foldAll([
    waits,
    prompt,
    requested(1),
    answer(1, [call("c1", "Task")]),
    ended("c1", "half", { facts: { agent: { ...lead, unreturned: [below] } } }),
    requested(2),
    answer(2, []),
  ]);

  it("are reported to the parent exactly once if they were not reported to the agent", () => {
    expect(next(led)).toEqual({ kind: "wait" });
    const ofLead = foldAll([waits, prompt, told([{ ...lead, unreturned: [below] }])]);
    expect(ofLead.background).toEqual([below]);
    expect(foldAll([told([{ ...below, outcome: "succeeded" }])], ofLead).background).toEqual([]);
    // A run that is reported twice is listed only once.
    expect(foldAll([told([{ ...lead, unreturned: [below] }])], led).background).toEqual([below]);
  });

  it("are part of the facts of a run whose process was lost, if they were not reported", () => {
    expect(recovery(led).at(-1)).toMatchObject({ reason: "process_lost", facts: { unreturned: [below] } });
    expect(recovery(foldAll([waits, prompt])).at(-1)).not.toHaveProperty("facts.unreturned");
  });
});

describe("recovery after a lost process", () => {
  it("reports a started call as unknown, and leaves an undecided call to be decided again", () => {
    const state = foldAll([
      started,
      prompt,
      requested(1),
      answer(1, [call("a"), call("b")]),
      { type: "tool.requested", callId: "a", name: "Read" },
      { type: "tool.started", callId: "a" },
      { type: "tool.requested", callId: "b", name: "Read" },
    ]);
    const events = recovery(state);
    expect(events.map((event) => event.type)).toEqual(["tool.ended", "run.ended"]);
    const resumed = foldAll([...events, { ...started, runId: "r2", kind: "resume" }], state);
    expect(next(resumed)).toEqual({ kind: "act", calls: [{ callId: "b", name: "Read", inputJson: "{}" }] });
    expect(userTurn(foldAll([ended("b")], resumed))?.content).toMatchObject([{ isError: true }, { isError: false }]);
  });

  it("records recalled outcomes, and all other outcomes as unknown", () => {
    const calls = ["a", "b", "c"];
    const state = foldAll([
      started,
      prompt,
      requested(1),
      answer(
        1,
        calls.map((id) => call(id)),
      ),
      ...calls.flatMap((callId): DurableEvent[] => [
        { type: "tool.requested", callId, name: "Read" },
        { type: "tool.started", callId },
      ]),
    ]);
    const known = { outcome: "ok", content: [], facts: { filesChanged: ["/w/a"] } } as const;
    const events = recovery(
      state,
      new Map<string, ToolResult | "never begun">([
        ["a", known],
        ["b", "never begun"],
      ]),
    );
    const outcomes = events.flatMap((event) => (event.type === "tool.ended" ? event.result.outcome : []));
    expect(outcomes).toEqual(["ok", "cancelled", "unknown"]);
    expect(events.at(-1)).toMatchObject({ facts: { unknown: ["c"], filesChanged: ["/w/a"] } });
  });

  const begun = (name: string, inputJson: string): LoopState =>
    foldAll([
      started,
      prompt,
      requested(1),
      answer(1, [call("a", name, inputJson)]),
      { type: "tool.requested", callId: "a", name },
      { type: "tool.started", callId: "a", ...(name === "SendMessage" ? {} : { resumable: true }) },
    ]);

  it("resumes a delegation that has no agent yet, because nothing was done", () => {
    for (const name of ["Task", "Agent"]) {
      const inputJson = '{"prompt":"look","subagent_type":"Explore","run_in_background":true,"resume":null}';
      const state = begun(name, inputJson);
      const events = recovery(state);
      expect(events.map((event) => event.type)).toEqual(["run.ended"]);
      const resumed = foldAll([...events, { ...started, runId: "r2", kind: "resume" }], state);
      expect(next(resumed)).toEqual({ kind: "act", calls: [{ callId: "a", name, inputJson }] });
    }
  });

  it("resumes a call that had resumed an agent or was about to do so", () => {
    for (const name of ["Task", "SendMessage"]) {
      const input = '{"to":"a1","prompt":"more","resume":"a1"}';
      const resumed = fold(begun(name, input), { type: "agent.resumed", callId: "a", agentId: "a1", runId: "r9" });
      expect(recovery(resumed).map((event) => event.type)).toEqual(["run.ended"]);
      expect(resumed.calls[0]).toMatchObject({ status: "started", agentId: "a1", resumes: "r9" });
      const before = recovery(begun(name, input)).map((event) => event.type);
      // The message may have gone to a running agent, which no line records, so SendMessage can't be repeated.
      expect(before).toEqual(name === "Task" ? ["run.ended"] : ["tool.ended", "run.ended"]);
    }
  });

  it("remembers that a call was approved", () => {
    const asked = { requestId: "ask_a", callId: "a", by: "a person" };
    const allowed = fold(begun("Task", "{}"), { type: "approval.answered", answer: "allow", ...asked });
    expect(allowed.calls[0]).toMatchObject({ status: "started", granted: true });
    const denied = fold(begun("Task", "{}"), { type: "approval.answered", answer: "deny", ...asked });
    expect(denied.calls[0]?.granted).toBeUndefined();
  });

  it("asks the model again if its response was never recorded", () => {
    const state = foldAll([started, prompt, requested(1)]);
    const resumed = foldAll([...recovery(state), { ...started, runId: "r2", kind: "resume" }], state);
    expect(next(resumed)).toEqual({ kind: "request", turn: 2 });
    expect(userTurn(resumed)).toBeUndefined();
  });

  it("also reports a started call if the interrupted run has already been ended", () => {
    const broken = foldAll([
      started,
      prompt,
      requested(1),
      answer(1, [call("a")]),
      { type: "tool.started", callId: "a" },
      ...recovery(foldAll([started])),
    ]);
    const events = recovery(broken);
    expect(events).toMatchObject([{ type: "tool.ended", callId: "a", result: { outcome: "unknown" } }]);
    expect(recovery(foldAll(events, broken))).toEqual([]);
  });

  it("produces no events for a run that has ended", () => {
    expect(recovery(foldAll([...recovery(foldAll([started, prompt]))], foldAll([started, prompt])))).toEqual([]);
  });
});

describe("any run", () => {
  it("always ends, with exactly one result for every call", () => {
    const plan = fc.array(
      fc.record({
        calls: fc.array(fc.constantFrom("Read", "Bash", "Edit"), { maxLength: 3 }),
        stop: fc.constantFrom<StopReason>("end_turn", "max_tokens", "pause"),
        result: fc.constantFrom("same", "other"),
      }),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(plan, (steps) => {
        let state = foldAll([started, prompt]);
        const results = new Map<string, number>();
        for (let operations = 0; operations < 200; operations += 1) {
          const operation = next(state);
          if (operation.kind === "end") {
            for (const count of results.values()) expect(count).toBe(1);
            expect(state.calls.every((made) => made.status === "ended")).toBe(true);
            return;
          }
          if (operation.kind === "request") {
            const step = steps[(operation.turn - 1) % steps.length];
            const calls = (step?.calls ?? []).map((name, index) => call(`t${operation.turn}_${index}`, name));
            const stop = calls.length > 0 ? "tool_calls" : step?.stop;
            state = foldAll([requested(operation.turn), answer(operation.turn, calls, stop)], state);
          } else if (operation.kind === "act") {
            for (const made of operation.calls) {
              results.set(made.callId, (results.get(made.callId) ?? 0) + 1);
              state = fold(state, ended(made.callId, steps[0]?.result));
            }
          } else if (operation.kind === "notify") {
            state = fold(state, { type: "context.added", ...operation.message });
          }
        }
        throw new Error("the run never ended");
      }),
    );
  });
});

describe("queued prompts and awaited runs", () => {
  const content = (text: string) => [{ type: "text", text }] as const;
  const step = fc.record({
    type: fc.constantFrom("prompt.queued" as const, "prompt.withdrawn" as const, "prompt.received" as const),
    promptId: fc.constantFrom("p1", "p2", "p3"),
    text: fc.constantFrom("a", "b"),
  });
  const eventOf = ({ type, promptId, text }: { type: DurableEvent["type"]; promptId: string; text: string }) =>
    ({ type, promptId, content: content(text), from: "person" }) as DurableEvent;

  const launched = { agentId: "a1", runId: "r2" };
  /** State after an agent was started in the background. */
  const before = foldAll([
    started,
    prompt,
    { type: "model.requested", turn: 1 },
    answer(1, [call("main_1_0", "Task")]),
    ended("main_1_0", "launched", { facts: { launched } }),
  ]);

  it("the queue contains prompts that were neither received nor withdrawn, in order, with their newest content", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const expected = new Map<string, string>();
        for (const { type, promptId, text } of steps) {
          if (type === "prompt.queued") expected.set(promptId, text);
          else expected.delete(promptId);
        }
        const { queue, said } = foldAll(steps.map(eventOf));
        expect(queue).toEqual([...expected].map(([promptId, text]) => ({ promptId, content: content(text) })));
        expect(said).toHaveLength(steps.filter(({ type }) => type === "prompt.received").length);
      }),
    );
  });

  it("an agent waits for an awaited run before its next request, until a message arrives", () => {
    expect(next(before)).toMatchObject({ kind: "request" });
    const waiting = foldAll([{ type: "run.awaited", ...launched }], before);
    expect(next(waiting)).toEqual({ kind: "wait" });
    expect(next(foldAll([prompt], waiting))).toMatchObject({ kind: "request" });
    const notice = { ...launched, outcome: "succeeded" } as const;
    expect(next(foldAll([{ type: "notices.delivered", notices: [notice], text: "Done." }], waiting))).toMatchObject({
      kind: "request",
    });
  });

  describe("an awaited run", () => {
    const waiting = foldAll([{ type: "run.awaited", ...launched }], before);
    const lost = recovery(waiting);
    const again = foldAll([...lost, { ...started, runId: "r4" }], waiting);

    it("is no longer awaited when the wait is ended", () => {
      const free = foldAll([{ type: "wait.ended", ...launched }], waiting);
      expect(free).toMatchObject({ awaited: [], background: [launched] });
      expect(next(free)).toMatchObject({ kind: "request" });
    });

    it("is awaited even if the runtime has something to tell the agent", () => {
      const told: DurableEvent = { type: "context.added", cause: "environment", text: "[The branch changed.]" };
      expect(next(foldAll([told], waiting))).toEqual({ kind: "wait" });
      const other = { agentId: "a2", runId: "r3", outcome: "succeeded" } as const;
      expect(next(foldAll([{ type: "notices.delivered", notices: [other], text: "a2 ended." }], waiting))).toEqual({
        kind: "wait",
      });
    });

    it("is still awaited by the agent that continues after its process was lost", () => {
      expect(next(again)).toEqual({ kind: "wait" });
      const parked = lost.map((event) =>
        event.type === "run.ended" ? { ...event, reason: "parked" as const } : event,
      );
      expect(foldAll(parked, waiting).awaited).toEqual(["r2"]);
      const stopped = lost.map((event) =>
        event.type === "run.ended" ? { ...event, reason: "stopped" as const } : event,
      );
      expect(foldAll(stopped, waiting).awaited).toEqual([]);
    });

    it.each(["awaited", "approval", "person"] as const)("is replaced by the run that continues it (%s)", (by) => {
      const state = foldAll([{ type: "agent.resumed", agentId: "a1", runId: "r5", by }], again);
      expect(state.awaited).toEqual(["r5"]);
      expect(next(state)).toEqual({ kind: "wait" });
    });

    it("is no longer awaited after its notice, and neither is a later run of the same agent", () => {
      const notice = { ...launched, outcome: "succeeded" } as const;
      const state = foldAll(
        [
          { type: "notices.delivered", notices: [notice], text: "Done." },
          { type: "agent.resumed", agentId: "a1", runId: "r5", by: "person" },
        ],
        waiting,
      );
      expect(state.awaited).toEqual([]);
    });
  });

  it("a continued run replaces the lost one; a run resumed by a person leaves the unreported one in the list", () => {
    const resumed = { type: "agent.resumed", agentId: "a1", runId: "r3" } as const;
    const now = { agentId: "a1", runId: "r3" };
    expect(fold(before, { ...resumed, by: "approval" }).background).toEqual([now]);
    expect(fold(before, { ...resumed, by: "person" }).background).toEqual([launched, now]);
  });
});
