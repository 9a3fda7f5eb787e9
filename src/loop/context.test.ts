import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DurableEvent, type Message, noUsage, type Usage } from "../protocol/index.ts";
import {
  estimated,
  expectedTokens,
  fold,
  initialState,
  type LoopState,
  mostExpectedTokens,
  next,
  userTurn,
} from "./index.ts";

const started: DurableEvent = {
  type: "run.started",
  runId: "r",
  agentId: "main",
  agentType: "main",
  kind: "fresh",
  requestedModel: null,
  provider: "p",
  model: "m",
  modelReason: "test",
  permissionMode: "default",
  maxTurns: 50,
};
const prompt = (text: string): DurableEvent => ({
  type: "prompt.received",
  content: [{ type: "text", text }],
  from: "person",
});
const requested = (turn: number): DurableEvent => ({ type: "model.requested", turn });
const answer = (turn: number, usage: Partial<Usage>, text = "yes"): DurableEvent => ({
  type: "model.ended",
  turn,
  message: { role: "assistant", content: [{ type: "text", text }] },
  stopReason: "end_turn",
  incompleteCalls: 0,
  usage: { ...noUsage, ...usage },
  milliseconds: 1,
});
const overflow = (turn: number): DurableEvent => ({
  type: "model.failed",
  turn,
  error: { code: "context_overflow", message: "It is too long." },
  partial: [],
  milliseconds: 1,
});
const compacted = (after: number): DurableEvent => ({
  type: "conversation.compacted",
  summary: "what was",
  kept: 0,
  trigger: "auto",
  after,
});
const foldAll = (events: readonly DurableEvent[], from: LoopState = initialState): LoopState =>
  events.reduce(fold, from);
/** Returns text of about this many tokens. */
const words = (tokens: number): string => "abcdefg ".repeat(Math.ceil((tokens * 3.6) / 8));
const limits = { compactAt: 1_000, headTokens: 100 };
const expected = (state: LoopState): number => expectedTokens(state.context, limits, userTurn(state));

describe("the upper estimate of a request", () => {
  const most = ({ context }: LoopState): number => mostExpectedTokens(context, { headTokens: 0 }, undefined);
  const counted = foldAll([started, prompt("go"), requested(1), answer(1, { inputTokens: 900, outputTokens: 100 })]);
  const fork = (kind: "fork" | "context"): DurableEvent => ({
    type: "agent.created",
    sessionId: "s",
    cwd: "/",
    version: "1",
    serializer: 1,
    agentId: "a1",
    agentType: "fork",
    description: "look",
    parent: { agentId: "main", callId: "c" },
    depth: 1,
    fork: { kind, agentId: "main", line: "1", hash: "h", calls: [], tokens: 1_000 },
  });

  it("is exact for what the model has counted", () => {
    expect(most(counted)).toBe(1_000);
    expect(most(foldAll([started], counted))).toBe(1_000);
    expect(most(foldAll([fork("fork"), started]))).toBe(1_000);
  });

  it.each([
    ["a compaction", [compacted(1_000)], counted],
    ["another model has taken over", [{ ...started, model: "m2" }], counted],
    ["another provider has taken over", [{ ...started, provider: "p2" }], counted],
    ["an agent with its own head inherited the messages", [fork("context"), started], initialState],
  ])("has a margin for all tokens after %s, until the model counts them", (_, events, from) => {
    const state = foldAll(events, from);
    expect(most(state)).toBe(1_800);
    const next = [requested(2), answer(2, { inputTokens: 1_100, outputTokens: 100 })];
    expect(most(foldAll(next, state))).toBe(1_200);
  });
});

describe("the size of the context", () => {
  it("is computed exactly, no matter what was added or how the provider counts", () => {
    const text = fc.string({ unit: fc.constantFrom("a", " ", "é", "語", "😀"), maxLength: 200 });
    const added = fc.array(text, { maxLength: 4 });
    fc.assert(
      fc.property(added, added, fc.nat(5_000), (before, after, inputTokens) => {
        const turns = [...before, "x"].flatMap((each, index) => [
          prompt(each),
          requested(index + 1),
          answer(index + 1, { inputTokens: inputTokens * (index + 1) + 1 }),
        ]);
        const state = foldAll([started, ...turns, ...after.map(prompt), prompt("y")]);
        const tokens = expected(state);
        expect(next(state, { ...limits, compactAt: tokens }).kind).toBe("compact");
        expect(next(state, { ...limits, compactAt: tokens + 1 }).kind).toBe("request");
      }),
    );
  });

  it("is the provider's count, cached or not, plus an estimate of what was added since", () => {
    const usage = { inputTokens: 100, cacheReadTokens: 200, cacheWriteTokens: 300, outputTokens: 50 };
    const state = foldAll([started, prompt("hi"), requested(1), answer(1, usage), prompt(words(300))]);
    expect(expected(state)).toBeGreaterThanOrEqual(950);
    expect(expected(state)).toBeLessThan(960);
    expect(next(state, limits)).toEqual({ kind: "request", turn: 2 });
    expect(next(fold(state, prompt(words(60))), limits)).toEqual({ kind: "compact", cause: "full" });
  });

  it("includes the head as long as the provider has not counted anything", () => {
    const state = foldAll([started, prompt("hi"), requested(1), answer(1, {}), prompt(words(850))]);
    expect(next(state, limits)).toEqual({ kind: "request", turn: 2 });
    expect(next(state, { ...limits, headTokens: 200 })).toEqual({ kind: "compact", cause: "full" });
  });

  it("does not matter before the first request, when there is nothing to compact", () => {
    expect(next(foldAll([started, prompt(words(5_000))]), limits)).toEqual({ kind: "request", turn: 1 });
  });

  it("grows by estimates if a server reports no counts", () => {
    const state = foldAll([started, prompt(words(500)), requested(1), answer(1, {}, words(400)), prompt("more")]);
    expect(expected(state)).toBeGreaterThan(1_000);
  });

  it("is calibrated with the provider's counts", () => {
    const turns = [1, 2, 3, 4].flatMap((turn) => [
      prompt(words(1_000)),
      requested(turn),
      answer(turn, { inputTokens: 2_000 * turn }),
    ]);
    const { context } = foldAll([started, ...turns]);
    expect(estimated(context, 1_000)).toBeGreaterThan(1_600);
    expect(estimated(context, 1_000)).toBeLessThanOrEqual(2_000);
  });

  it("includes the token cost of an image, not its bytes", () => {
    const image = { type: "image" as const, mediaType: "image/png" as const, data: "A".repeat(1_000_000) };
    const state = foldAll([started, { type: "prompt.received", content: [image], from: "person" }]);
    expect(expected(state)).toBeLessThan(2_000);
  });

  it("never leads to a compaction without limits, to two in a row, or to one that would free almost nothing", () => {
    const full = foldAll([started, prompt("hi"), requested(1), answer(1, { inputTokens: 9 }), prompt(words(2_000))]);
    expect(next(full)).toEqual({ kind: "request", turn: 2 });
    expect(next(full, limits)).toEqual({ kind: "compact", cause: "full" });
    const after = fold(full, compacted(1_500));
    expect(next(after, limits)).toEqual({ kind: "request", turn: 2 });
    const little = foldAll([requested(2), answer(2, { inputTokens: 1_500 }), prompt("and?")], after);
    expect(next(little, limits)).toEqual({ kind: "request", turn: 3 });
    expect(next(fold(little, prompt(words(200))), limits)).toEqual({ kind: "compact", cause: "full" });
  });

  it("leads to the same decision after any interruption and resume", () => {
    const step = fc.oneof(
      fc.nat(600).map((tokens) => [prompt(words(tokens))]),
      fc.nat(900).map((tokens) => [requested(1), answer(1, { inputTokens: tokens })]),
      fc.constant([requested(1), overflow(1)]),
      fc.nat(900).map((tokens) => [compacted(tokens)]),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.nat(40), (steps, at) => {
        const events = [started, ...steps.flat()];
        const cut = Math.min(at, events.length);
        const copy = JSON.parse(JSON.stringify(events)) as DurableEvent[];
        const resumed = foldAll(copy.slice(cut), foldAll(copy.slice(0, cut)));
        expect(next(resumed, limits)).toEqual(next(foldAll(events), limits));
      }),
    );
  });
});

describe("a request that did not fit", () => {
  const failed = foldAll([started, prompt("hi"), requested(1), overflow(1)]);

  it("ends the run if nothing can be compacted", () => {
    expect(next(failed)).toEqual({ kind: "end", reason: "context_overflow", message: "It is too long." });
  });

  it("is sent again once, after a compaction", () => {
    expect(next(failed, limits)).toEqual({ kind: "compact", cause: "overflow" });
    const again = fold(failed, compacted(200));
    expect(next(again, limits)).toEqual({ kind: "request", turn: 2 });
    const twice = foldAll([requested(2), overflow(2)], again);
    expect(next(twice, limits)).toMatchObject({ kind: "end", reason: "context_overflow" });
    const later = foldAll(
      [requested(2), answer(2, { inputTokens: 10 }), prompt("x"), requested(3), overflow(3)],
      again,
    );
    expect(next(later, limits)).toEqual({ kind: "compact", cause: "overflow" });
  });

  it("is sent again by the next run, which may use another model", () => {
    const ended = { type: "run.ended" } as DurableEvent;
    expect(next(foldAll([ended, started], failed), limits)).toEqual({ kind: "request", turn: 2 });
  });
});

describe("a compaction", () => {
  it("is charged to the run", () => {
    const spent = { usage: { ...noUsage, inputTokens: 500 }, costUsd: 0.5, milliseconds: 7 };
    const state = foldAll([started, prompt("hi"), { ...compacted(10), ...spent } as DurableEvent]);
    expect(state.run).toMatchObject({ usage: { inputTokens: 500 }, costUsd: 0.5, modelMilliseconds: 7, turns: 0 });
  });

  it("keeps pending content, and the first and the latest prompt", () => {
    const asked = [started, prompt("first"), requested(1), answer(1, { inputTokens: 5 }), prompt("second")];
    const state = foldAll([...asked, prompt("third"), compacted(300)]);
    expect(userTurn(state)?.content).toHaveLength(2);
    expect(state.asked).toEqual({ first: "first", latest: "third" });
    expect(expected(state)).toBe(300);
  });

  it("counts the pending turn as part of the remaining size, however long the turn is", () => {
    fc.assert(
      fc.property(fc.nat(500), fc.integer({ min: 600, max: 2_000 }), (tokens, after) => {
        const state = foldAll([started, prompt(words(tokens)), compacted(after)]);
        expect(Math.abs(expected(state) - after)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

it("the size of a message does not depend on how it is split into blocks", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { maxLength: 8 }), (texts) => {
      const one: Message = { role: "user", content: [{ type: "text", text: texts.join("") }] };
      const many: Message = { role: "user", content: texts.map((text) => ({ type: "text", text })) };
      const size = (message: Message): number => expectedTokens(initialState.context, { headTokens: 0 }, message);
      expect(size(many) - size(one)).toBeLessThanOrEqual(texts.length);
      expect(size(many)).toBeGreaterThanOrEqual(size(one));
    }),
  );
});
