import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DurableEvent, noUsage, type ToolResult } from "../protocol/index.ts";
import { fold, initialState, type LoopState, next } from "./index.ts";

/** A call and its result. */
interface Made {
  readonly name: string;
  readonly input: string;
  readonly text: string;
  /** By default, the call runs and succeeds. */
  readonly end?: "refused" | "error";
  readonly readsOnly?: true;
  readonly facts?: ToolResult["facts"];
}

/** Calls of one turn, or an event between two turns. */
type Step = readonly Made[] | DurableEvent;

const isTurn = (step: Step): step is readonly Made[] => Array.isArray(step);

const begin: readonly DurableEvent[] = [
  {
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
    maxTurns: 1_000,
  },
  { type: "prompt.received", content: [{ type: "text", text: "Do it." }], from: "person" },
];

function eventsOf(calls: readonly Made[], turn: number): readonly DurableEvent[] {
  const id = (index: number) => `main_${turn}_${index}`;
  const content = calls.map(({ name, input }, index) => {
    return { type: "tool_call" as const, callId: id(index), name, inputJson: JSON.stringify({ text: input }) };
  });
  const ended = { stopReason: "tool_calls", incompleteCalls: 0, usage: noUsage, milliseconds: 1 } as const;
  return [
    { type: "model.requested", turn },
    { type: "model.ended", turn, message: { role: "assistant", content }, ...ended },
    ...calls.flatMap(({ name, text, end, readsOnly, facts }, index): DurableEvent[] => {
      const callId = id(index);
      const outcome = end === undefined ? "ok" : end === "refused" ? "denied" : "error";
      // A result that was cut contains an address that is unique to its call.
      const shown = text === "cut" ? `cut [retinue://result/${callId}]` : text;
      const result: ToolResult = { outcome, content: [{ type: "text", text: shown }] };
      return [
        { type: "tool.requested", callId, name, ...(readsOnly && { readsOnly }) },
        ...(end === "refused"
          ? []
          : [{ type: "tool.started", callId, resumable: name === "Task" ? true : undefined } as const]),
        { type: "tool.ended", callId, name, result: { ...result, ...(facts && { facts }) }, milliseconds: 1 },
      ];
    }),
  ];
}

interface Outcome {
  /** Turns after which the model was warned. */
  readonly warnings: readonly number[];
  /** Turn after which the run ended. */
  readonly end?: number;
  readonly message?: string | undefined;
  readonly state: LoopState;
}

/** Acts like the host: folds the steps, records pending messages, and stops at the end. */
function run(steps: readonly Step[], from: LoopState = begin.reduce(fold, initialState)): Outcome {
  let state = from;
  const warnings: number[] = [];
  for (const step of steps) {
    state = (isTurn(step) ? eventsOf(step, state.turn + 1) : [step]).reduce(fold, state);
    for (;;) {
      const operation = next(state);
      if (operation.kind === "end") return { warnings, end: state.turn, message: operation.message, state };
      if (operation.kind !== "notify") break;
      if (operation.message.cause === "loop") warnings.push(state.turn);
      state = fold(state, { type: "context.added", ...operation.message });
    }
  }
  return { warnings, state };
}

const read = (input = "a", text = "same"): Made => ({ name: "Read", input, text });
const word = fc.constantFrom("a", "b", "cut");

/** A call that changes nothing. */
const harmless = fc
  .record({ input: word, text: word })
  .chain(({ input, text }) =>
    fc.constantFrom<Made>(
      { name: "Read", input, text },
      { name: "search_file_content", input, text },
      { name: "TodoWrite", input, text },
      { name: "Bash", input, text, readsOnly: true },
      { name: "Bash", input, text, end: "refused" },
      { name: "mcp__page__click", input, text, end: "refused" },
      { name: "Task", input, text, end: "error" },
      { name: "Edit", input, text, end: "error" },
    ),
  );

/** A call that may change something, always with the same result. */
const changing = fc.constantFrom<Made>(
  { name: "Bash", input: "make", text: "same" },
  { name: "Bash", input: "make", text: "same", end: "error" },
  { name: "Edit", input: "a", text: "same", facts: { filesChanged: ["a"] } },
  { name: "mcp__page__click", input: "next", text: "same" },
  { name: "Task", input: "look", text: "same", facts: { launched: { agentId: "a1", runId: "r2" } } },
  { name: "SendMessage", input: "a1", text: "same" },
);

const wait = fc.constantFrom<Made>(
  { name: "TaskOutput", input: "a1", text: "running" },
  { name: "BashOutput", input: "shell_1", text: "running" },
);

const message: DurableEvent = { type: "prompt.received", content: [{ type: "text", text: "And?" }], from: "agent" };
const news: readonly DurableEvent[] = [
  message,
  { type: "notices.delivered", notices: [], text: "[An agent has ended.]" },
  { type: "conversation.compacted", summary: "Short.", kept: 1, trigger: "auto" },
  { type: "context.added", cause: "verification", text: "[Check it.]" },
  { type: "context.added", cause: "acceptance", text: "[It failed.]" },
  { type: "plan.left", by: "person" },
];

const turnOf = (call: fc.Arbitrary<Made>) => fc.array(call, { minLength: 1, maxLength: 4 });

/** A cycle of turns that are all different. */
const cycle = fc.uniqueArray(turnOf(harmless), {
  minLength: 1,
  maxLength: 3,
  selector: (calls) => [...new Set(calls.map((call) => JSON.stringify(call)))].sort().join(),
});

const repeat = <T>(times: number, turns: readonly T[]): T[] => Array.from({ length: times }, () => turns).flat();

describe("a cycle", () => {
  it("of up to three turns causes a warning at its third repetition and ends the run at its eighth", () => {
    fc.assert(
      fc.property(cycle, fc.array(turnOf(harmless), { maxLength: 5 }), (turns, before) => {
        const steps: Step[] = [...before, message, ...repeat(9, turns)];
        const { warnings, end } = run(steps);
        expect(end).toBe(before.length + 8 * turns.length);
        expect(warnings.filter((turn) => turn > before.length)).toEqual([before.length + 3 * turns.length]);
      }),
    );
  });

  it("stays the same if the calls in a turn are reordered or repeated", () => {
    const orders = [
      [read("a"), read("b")],
      [read("b"), read("a")],
      [read("a"), read("a"), read("b")],
    ];
    expect(run(repeat(3, orders))).toMatchObject({ warnings: [3], end: 8 });
  });

  it("of four turns is not detected", () => {
    const turns = ["a", "b", "c", "d"].map((name) => [read(name)]);
    expect(run(repeat(12, turns))).toMatchObject({ warnings: [] });
    expect(run(repeat(12, turns)).end).toBeUndefined();
  });

  it("that contains a wait leads to advice, and never ends the run", () => {
    fc.assert(
      fc.property(cycle, wait, fc.nat(), (turns, waiting, number) => {
        const at = number % turns.length;
        const steps = repeat(
          12,
          turns.map((calls, index) => (index === at ? [...calls, waiting] : calls)),
        );
        const { warnings, end } = run(steps);
        expect(end).toBeUndefined();
        expect(warnings).toEqual([3 * turns.length]);
      }),
    );
  });

  it.each(["sleep 5; cat log", "until test -e out; do sleep 1; done", 'sleep "$delay" && make'])(
    "of `%s` is a wait",
    (command) => {
      const events = (turn: number): readonly DurableEvent[] =>
        eventsOf([{ name: "Bash", input: "", text: "same" }], turn).map((event) => {
          if (event.type !== "model.ended") return event;
          const block = event.message.content[0];
          if (block?.type !== "tool_call") return event;
          const content = [{ ...block, inputJson: JSON.stringify({ command }) }];
          return { ...event, message: { ...event.message, content } };
        });
      const steps = Array.from({ length: 12 }, (_, index) => events(index + 1)).flat();
      const { warnings, end } = run(steps);
      expect([warnings.length, end]).toEqual([1, undefined]);
    },
  );

  it("of reads is a wait while an agent is working in the background", () => {
    const launch: Made = { name: "Task", input: "b", text: "ok", facts: { launched: { agentId: "a1", runId: "r2" } } };
    const { warnings, end } = run([[launch], ...repeat(12, [[read()]])]);
    expect([warnings, end]).toEqual([[4], undefined]);
  });
});

describe("a run", () => {
  const anyStep = fc.oneof<fc.Arbitrary<Step>[]>(
    turnOf(fc.oneof({ arbitrary: harmless, weight: 6 }, { arbitrary: wait, weight: 1 })),
    turnOf(fc.constant(read())),
    turnOf(fc.constant(read())),
    turnOf(fc.oneof(harmless, changing)),
    fc.constantFrom(...news),
    fc.constantFrom<DurableEvent>(
      { type: "context.added", cause: "budget", text: "[Little is left.]" },
      { type: "context.added", cause: "reminder", text: "[Remember.]" },
      { type: "notice.raised", code: "x", message: "x" },
    ),
  );
  const anySteps = fc
    .array(
      fc.tuple(anyStep, fc.nat({ max: 9 })).map(([step, times]) => repeat(times, [step])),
      { maxLength: 30 },
    )
    .map((lists) => lists.flat());

  it("never ends early if at least one in every eight turns could have changed something", () => {
    const stretch = fc.tuple(fc.array(turnOf(fc.constantFrom(read(), read("b"))), { maxLength: 7 }), changing);
    fc.assert(
      fc.property(fc.array(stretch, { maxLength: 12 }), fc.boolean(), (stretches, alone) => {
        const steps = stretches.flatMap(([turns, call]) => [...turns, alone ? [call] : [read(), call, read()]]);
        expect(run(steps).end).toBeUndefined();
      }),
    );
  });

  it.each(news.map((event) => [event.type, event] as const))(
    "starts a new count of repetitions after %s",
    (_, event) => {
      const turns = repeat(7, [[read()]]);
      const { warnings, end } = run([...turns, event, ...turns]);
      expect([warnings, end]).toEqual([[3, 10], undefined]);
    },
  );

  it("never ends without a warning about the same calls", () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const { warnings, end, message: text } = run(steps);
        if (end === undefined) return;
        expect(text).toContain("Stopped because of a loop");
        // The last eight repetitions take at most 24 turns, and the warning comes with the third.
        expect(warnings.some((turn) => turn < end && turn > end - 24)).toBe(true);
      }),
      { numRuns: 120 },
    );
  });

  it("continues unchanged after its state is converted to JSON and back", () => {
    fc.assert(
      fc.property(anySteps, fc.nat(), (steps, number) => {
        const at = steps.length === 0 ? 0 : number % steps.length;
        const first = run(steps.slice(0, at));
        if (first.end !== undefined) return;
        const again = JSON.parse(JSON.stringify(first.state)) as LoopState;
        const rest = steps.slice(at);
        const { end, warnings } = run(rest, { ...initialState, ...again });
        expect({ end, warnings }).toEqual((({ end, warnings }) => ({ end, warnings }))(run(rest, first.state)));
      }),
    );
  });

  it("gets a loop warning even if another message is added in the same turn", () => {
    const reminder: DurableEvent = { type: "context.added", cause: "reminder", text: "[Remember.]" };
    const third = run([[read()], [read()]]).state;
    const state = [...eventsOf([read()], 3), reminder].reduce(fold, third);
    expect(next(state)).toMatchObject({ kind: "notify", message: { cause: "loop" } });
  });

  it("gets a loop warning one turn later if a response was cut off in between", () => {
    const cut = eventsOf([read()], 3).map((event) =>
      event.type === "model.ended" ? { ...event, incompleteCalls: 1 } : event,
    );
    const third = cut.reduce(fold, run([[read()], [read()]]).state);
    expect(next(third)).toMatchObject({ kind: "notify", message: { cause: "cut_off" } });
    const told = fold(third, { type: "context.added", cause: "cut_off", text: "[It was cut.]" });
    expect(next(told)).toMatchObject({ kind: "request" });
    expect(run([[read()]], told).warnings).toEqual([4]);
  });

  it("keeps only a small state, no matter how long results and inputs are", () => {
    const long = Array.from({ length: 50 }, (_, index) => read(`${index}${"x".repeat(5_000)}`, "y".repeat(30_000)));
    const { state } = run(Array.from({ length: 60 }, (_, turn) => [...long, read(String(turn))]));
    expect(JSON.stringify(state.repetition).length).toBeLessThan(24 * 500);
  });
});

describe("a transcript that does not say whether a call was proven to be read-only", () => {
  it("is interpreted by tool name: built-in reads count as repetitions, and commands may change something", () => {
    const steps = (name: string): Step[] => repeat(8, [[{ name, input: "a", text: "same" }]]);
    for (const name of ["Read", "read_file", "Grep", "Glob", "LS"]) expect(run(steps(name)).end).toBe(8);
    for (const name of ["Bash", "shell", "mcp__page__read", "AskUserQuestion"])
      expect(run(steps(name))).toMatchObject({ warnings: [] });
  });
});

describe("the loop messages", () => {
  it("name a call in one short line without split characters", () => {
    const calls = [{ name: "Bash", input: `a\n\tb ${"😀".repeat(50)}`, text: "same", readsOnly: true as const }];
    const { state } = run([calls]);
    expect(state.repetition.turns[0]?.calls).toMatch(/^Bash a b 😀+…$/u);
    expect(state.repetition.turns[0]?.calls.length).toBeLessThanOrEqual(80);
  });

  it("name the calls, in the order of the turns", () => {
    const turns = [[read("src/a.ts"), read("src/b.ts")], [{ name: "Grep", input: "TODO", text: "none" }]];
    const third = repeat(3, turns).flatMap((calls, index) => eventsOf(calls, index + 1));
    const state = third.reduce(fold, begin.reduce(fold, initialState));
    expect(state.toTell?.text).toBe(
      "You have repeated the same calls three times with the same results: Read src/a.ts, Read src/b.ts, then Grep TODO. Repeating them will not give anything new. Use what you have, or try a different approach.",
    );
    expect(run(repeat(8, turns)).message).toBe(
      "Stopped because of a loop: the agent repeated the same calls eight times with the same results, and changed nothing in between: Read src/a.ts, Read src/b.ts, then Grep TODO. Resume it with different instructions to continue.",
    );
  });
});
