import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Model } from "../../ports/index.ts";
import { type DurableEvent, type EventOf, type Line, noUsage, textOf } from "../../protocol/index.ts";
import { createScriptedModel, type ScriptedStep } from "../../testing/index.ts";
import { createMemoryTranscript } from "../../transcript/index.ts";
import {
  comingMessages,
  counting,
  ended,
  said,
  type TestPlace,
  type TestRun,
  testRun,
  wireProblems,
} from "./compaction.test-support.ts";

/** Returns text of about this many tokens. */
const words = (tokens: number, word = "abcdefg"): string =>
  `${word} `.repeat(Math.ceil((tokens * 3.6) / (word.length + 1)));
const call = (turn: number, index = 0) => ({
  callId: `c${turn}_${index}`,
  name: "Read",
  inputJson: '{"file_path":"a"}',
});

/** Returns a response with one call, and the call's result. */
function turn(number: number, tokens: number, text = `step ${number}`): DurableEvent[] {
  return [
    { type: "model.requested", turn: number },
    {
      type: "model.ended",
      turn: number,
      message: {
        role: "assistant",
        content: [
          { type: "text", text },
          { type: "tool_call", ...call(number) },
        ],
      },
      stopReason: "tool_calls",
      incompleteCalls: 0,
      usage: noUsage,
      milliseconds: 1,
    },
    ended(call(number), `result ${number} ${words(tokens)}`),
  ];
}

async function runWith(
  steps: readonly ScriptedStep[],
  events: readonly DurableEvent[],
  place: TestPlace & { readonly counts?: boolean; readonly describe?: Partial<ReturnType<Model["describe"]>> } = {},
): Promise<TestRun & { readonly model: ReturnType<typeof createScriptedModel> }> {
  const model = createScriptedModel(steps, place.describe);
  const run = await testRun(place.counts ? counting(model) : model, place);
  await run.host.record(events);
  return { ...run, model };
}

const compactedIn = ({ events }: TestRun): EventOf<"conversation.compacted"> => {
  const found = events.find((event) => event.type === "conversation.compacted");
  if (found?.type !== "conversation.compacted") throw new Error("nothing was compacted");
  return found;
};
const noticesIn = ({ events }: TestRun): string[] =>
  events.flatMap((event) => (event.type === "notice.raised" ? [event.message] : []));
const long = [said("FIRST: build it"), ...turn(1, 900), ...turn(2, 900), ...turn(3, 900), ...turn(4, 200)];

describe("compaction", () => {
  it("replaces the conversation with the model's summary and the newest turns", async () => {
    const run = await runWith([{ text: "Goal: build it. Exact: id 4711." }], long);
    await run.compact();
    run.model.assertDone();
    const { summary, kept, trigger, before = 0, after = 0, usage } = compactedIn(run);
    expect(summary).toContain("<first_request>\nFIRST: build it\n</first_request>");
    expect(summary).toContain("Goal: build it. Exact: id 4711.");
    expect(summary).toContain("Permission mode: default.");
    expect(summary).not.toContain("latest_request");
    expect({ kept, trigger, usage }).toEqual({
      kept: 1,
      trigger: "auto",
      usage: { ...noUsage, inputTokens: 100, outputTokens: 10 },
    });
    expect(before).toBeGreaterThan(2_900);
    expect(after).toBeLessThan(before / 2);
    const messages = comingMessages(run);
    expect(wireProblems(messages)).toEqual([]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(messages.at(-1))).toContain("result 4");
    expect(noticesIn(run)).toEqual([]);
  });

  it("appends the summary request to an earlier request with the same tools, and runs no tool", async () => {
    const run = await runWith([{ text: "Summary.", calls: [{ name: "Read", input: {} }] }], long);
    await run.compact();
    const [asked = []] = run.model.requests;
    expect(wireProblems(asked)).toEqual([]);
    expect(textOf(asked.at(-1)?.content ?? [])).toContain("do not call any tool");
    expect(JSON.stringify(asked)).not.toContain("step 4");
    expect(run.events.filter(({ type }) => type === "tool.requested")).toEqual([]);
    expect(run.host.thread.state.calls.map(({ status }) => status)).toEqual(["ended"]);
  });

  it("keeps as many of the newest turns as fit into a fifth of the window", async () => {
    const run = await runWith([{ text: "Sum." }], [...long, ...turn(5, 100), ...turn(6, 100)]);
    await run.compact();
    expect(compactedIn(run).kept).toBe(5);
    expect(wireProblems(comingMessages(run))).toEqual([]);
  });

  it("repeats the latest prompt exactly once if it is no longer in the conversation", async () => {
    const events = [said("FIRST: a"), ...turn(1, 900), said("SECOND: b </summary>"), ...turn(2, 900), ...turn(3, 900)];
    const gone = await runWith([{ text: "Sum." }], events);
    await gone.compact();
    expect(compactedIn(gone).summary).toContain("<latest_request>\nSECOND: b &lt;/summary>\n</latest_request>");
    const pending = await runWith([{ text: "Sum." }], [...events, said("THIRD: c")]);
    await pending.compact();
    expect(compactedIn(pending).summary).not.toContain("latest_request");
    expect(textOf(comingMessages(pending).at(-1)?.content ?? [])).toContain("THIRD: c");
  });

  it("is charged for its tokens, cost and model time, but not counted as a turn", async () => {
    const prices = { input: 10_000, output: 0, cacheRead: 0, cacheWrite: 0 };
    const run = await runWith([{ text: "Sum." }], long, { describe: { prices } });
    const before = run.host.thread.state.run;
    await run.compact();
    expect(compactedIn(run).costUsd).toBe(1);
    expect(run.host.services.budget.spent()).toMatchObject({ tokens: 110, usd: 1 });
    expect(run.host.thread.state.run?.usage.inputTokens).toBe((before?.usage.inputTokens ?? 0) + 100);
    expect(run.host.thread.state.run?.turns).toBe(before?.turns);
  });

  it("lists the agents, and includes the earlier summary in the next one", async () => {
    const run = await runWith([{ text: "Old words." }, { error: { code: "server", message: "Down." } }], long);
    await run.compact({ roster: async () => "- a1 (Explore): look" });
    await run.host.record([...turn(5, 900), ...turn(6, 900)]);
    await run.compact({ roster: async () => "- a1 (Explore): look" });
    const [record] = comingMessages(run);
    expect(textOf(record?.content ?? [])).toMatch(
      /From an earlier summary[^<]*Old words\.[\s\S]*<agents>\n- a1 \(Explore\): look\n<\/agents>/,
    );
    expect(textOf(record?.content ?? [])).toContain("FIRST: build it");
  });
});

describe("a missing summary", () => {
  const bash = { callId: "c3_0", name: "Bash", inputJson: '{"command":"npm test"}' };
  const edit = { callId: "c3_1", name: "Edit", inputJson: '{"file_path":"src/cart.ts"}' };
  const todo = { callId: "c3_2", name: "TodoWrite", inputJson: '{"todos":[{"content":"Ship","status":"pending"}]}' };
  const worked: DurableEvent[] = [
    said("FIRST: build it"),
    ...turn(1, 900),
    { type: "model.requested", turn: 2 },
    {
      type: "model.ended",
      turn: 2,
      message: {
        role: "assistant",
        content: [
          { type: "text", text: "I will test." },
          ...[bash, edit, todo].map((made) => ({ type: "tool_call" as const, ...made })),
        ],
      },
      stopReason: "tool_calls",
      incompleteCalls: 0,
      usage: noUsage,
      milliseconds: 1,
    },
    ...[bash, edit, todo].map((made) => ended(made, "ok")),
    ...turn(3, 900),
    ...turn(4, 900),
  ];
  const cases: [string, ScriptedStep, RegExp][] = [
    ["an error", { error: { code: "overloaded", message: "The model is overloaded." } }, /The model is overloaded\)\./],
    ["no text", { calls: [{ name: "Read", input: {} }] }, /wrote no summary/],
    ["a refusal", { text: "No.", stopReason: "refusal" }, /refused/],
    ["a summary that is too long", { text: words(2_000) }, /too long/],
    ["a request that does not fit", { error: { code: "context_overflow", message: "Too long." } }, /Too long/],
  ];
  it.each(cases)("is replaced with a digest and a notice (reason: %s)", async (_, step, why) => {
    const run = await runWith([step], worked);
    await run.compact();
    const { summary } = compactedIn(run);
    for (const fact of ["npm test", "src/cart.ts", "[pending] Ship", "I will test.", "FIRST: build it"])
      expect(summary).toContain(fact);
    expect(noticesIn(run)).toEqual([expect.stringMatching(why)]);
    expect(wireProblems(comingMessages(run))).toEqual([]);
  });

  it("is replaced if the model is silent for too long", async () => {
    const run = await runWith([{ hangs: true }], worked);
    await run.compact({ timeLimitMs: 5 });
    expect(noticesIn(run)[0]).toContain("longer than");
  });

  it("is replaced without a request if the budget is used up", async () => {
    const run = await runWith([], worked, { budget: { tokens: 10 } });
    await run.compact();
    run.model.assertDone();
    expect(noticesIn(run)).toHaveLength(1);
    expect(compactedIn(run).usage).toBeUndefined();
  });

  it("changes nothing if the run is stopped first", async () => {
    let asked = () => {};
    const arrived = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const hang: ScriptedStep = () => {
      asked();
      return { hangs: true };
    };
    const run = await runWith([hang], worked);
    const before = comingMessages(run);
    const compacting = run.compact();
    await arrived;
    run.stop();
    await compacting;
    expect(comingMessages(run)).toEqual(before);
    expect(run.events.some(({ type }) => type === "conversation.compacted")).toBe(false);
  });
});

describe("a run that exceeds its window", () => {
  const reading = { calls: [{ name: "Read", input: { file_path: "a" } }] };

  it("is compacted and finishes", async () => {
    const run = await runWith(
      [reading, reading, reading, { text: "Sum." }, reading, { text: "Done." }],
      [said("FIRST: go")],
      { counts: true },
    );
    expect(await run.drive(({ callId }) => `${callId} ${words(1_250)}`)).toBe("done");
    run.model.assertDone();
    for (const request of run.model.requests) expect(wireProblems(request)).toEqual([]);
    expect(textOf(run.model.requests[4]?.[0]?.content ?? [])).toContain("FIRST: go");
  });

  it("shortens and repeats a request that did not fit, and says what was cut", async () => {
    const overflow = { error: { code: "context_overflow" as const, message: "Too long." } };
    const run = await runWith([reading, overflow, { text: "Done." }], [said("FIRST: go")]);
    expect(await run.drive(() => words(2_000, "deadbeef"))).toBe("done");
    const [first, ...rest] = run.model.requests[2] ?? [];
    expect(rest).toEqual([]);
    expect(textOf(first?.content ?? [])).toMatch(/<newest_exchange>\nRead .*:\ndeadbeef [\s\S]*left out/);
    const never = await runWith([overflow, overflow], [said(words(9_000))]);
    expect(await never.drive(() => "")).toBe("context_overflow");
    expect(JSON.stringify(never.model.requests[1]).length).toBeLessThan(
      JSON.stringify(never.model.requests[0]).length / 5,
    );
  });
});

describe("after any conversation", () => {
  const step = fc.record({
    calls: fc.array(fc.nat(900), { maxLength: 3 }),
    said: fc.option(fc.nat(400)),
    text: fc.string({ unit: "grapheme", maxLength: 60 }),
  });
  const eventsOf = (steps: readonly { calls: number[]; said: number | null; text: string }[]): DurableEvent[] => [
    said("FIRST: go"),
    ...steps.flatMap(({ calls, said: prompt, text }, index): DurableEvent[] => {
      const number = index + 1;
      const made = calls.map((_, at) => call(number, at));
      return [
        { type: "model.requested", turn: number },
        {
          type: "model.ended",
          turn: number,
          message: {
            role: "assistant",
            content: [
              { type: "text", text: `${text}.` },
              ...made.map((each) => ({ type: "tool_call" as const, ...each })),
            ],
          },
          stopReason: made.length > 0 ? "tool_calls" : "end_turn",
          incompleteCalls: 0,
          usage: noUsage,
          milliseconds: 1,
        },
        ...made.map((each, at) => ended(each, words(calls[at] ?? 0))),
        ...(prompt !== null || made.length === 0 ? [said(`More: ${words(prompt ?? 0)}`)] : []),
      ];
    }),
  ];

  it("roles alternate, every call has its result, nothing pending is lost, and resuming restores the same messages", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 8 }),
        fc.constantFrom<ScriptedStep>({ text: "Sum." }, { error: { code: "server", message: "Down." } }),
        fc.constantFrom<"full" | "overflow">("full", "overflow"),
        async (steps, summary, cause) => {
          const journal = createMemoryTranscript({
            sessionId: "s",
            clock: { now: () => 0, monotonic: () => 0 },
          });
          const run = await runWith([summary], eventsOf(steps), { journal });
          // After an overflow, the request that did not fit has already been recorded, and its turn is sealed.
          if (cause === "overflow") await run.host.record([{ type: "model.requested", turn: steps.length + 1 }]);
          const pending = comingMessages(run).at(-1);
          await run.compact({ cause });
          const messages = comingMessages(run);
          expect(wireProblems(messages)).toEqual([]);
          if (cause === "full") expect(messages.at(-1)).toEqual(pending);
          expect(textOf(messages[0]?.content ?? [])).toContain("FIRST: go");
          const again = await testRun(createScriptedModel([]), { journal });
          expect(comingMessages(again)).toEqual(messages);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("a run whose journal is truncated at any line resumes and finishes", async () => {
    const reading = { calls: [{ name: "Read", input: {} }] };
    const whole = createMemoryTranscript({ sessionId: "s", clock: { now: () => 0, monotonic: () => 0 } });
    const steps = [reading, reading, reading, { text: "Sum." }, reading, { text: "Done." }];
    const first = await runWith(steps, [said("FIRST: go")], { journal: whole, counts: true });
    await first.drive(({ callId }) => `${callId} ${words(1_250)}`);
    const lines = await whole.read("main");
    const at = lines.findIndex(({ type }) => type === "conversation.compacted");
    for (let count = 3; count < lines.length; count += 1) {
      const left = lines.slice(0, count);
      const journal = createMemoryTranscript({ sessionId: "s", clock: { now: () => 0, monotonic: () => 0 } });
      await journal.saveHead(first.host.request.agent.head);
      await journal.append("main", left.map(eventOf));
      // Returns a summary when asked for one.
      const answer: ScriptedStep = (messages) =>
        textOf(messages.at(-1)?.content ?? []).includes("do not call any tool") ? { text: "Sum." } : { text: "Done." };
      const model = createScriptedModel(Array.from({ length: 5 }, () => answer));
      const run = await testRun(counting(model), { journal });
      const intact = !left.some(({ type }) => type === "conversation.compacted");
      expect(textOf(comingMessages(run)[0]?.content ?? []).startsWith("FIRST: go")).toBe(intact);
      expect(await run.drive(() => "again")).toBe("done");
      for (const request of model.requests) expect(wireProblems(request)).toEqual([]);
      // With all lines before the first compaction, the loop must decide to compact again.
      if (count === at) expect(run.events.some(({ type }) => type === "conversation.compacted")).toBe(true);
    }
    expect(at).toBeGreaterThan(0);
  });
});

function eventOf({ v: _v, id: _id, parentId: _parent, at: _at, ...event }: Line): DurableEvent {
  return event as DurableEvent;
}
