import fc from "fast-check";
import { SERIALIZER_VERSION } from "../../src/conversation/index.ts";
import {
  type AssistantBlock,
  type CallOutcome,
  type DurableEvent,
  dialects,
  type Head,
  type ResultBlock,
  type Usage,
} from "../../src/protocol/index.ts";

export interface RandomConversation {
  readonly head: Head;
  /** All events after `head.set`. The last one is a request. */
  readonly events: readonly DurableEvent[];
}

interface Turn {
  readonly prompt: string | undefined;
  readonly context: string | undefined;
  readonly blocks: readonly AssistantBlock[];
  readonly inputs: readonly string[];
  readonly results: readonly (readonly ResultBlock[])[];
  readonly outcome: CallOutcome;
  readonly fails: boolean;
  readonly ends: boolean;
  readonly drops: boolean;
}

const usage: Usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
/** Like fast-check's unit "binary", but without its table of all characters, which takes a second and 120 MB. */
const anyCharacter = fc
  .nat({ max: 0x10_f7ff })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
/** Includes lone surrogates, NUL characters and long text, which models, people and programs really produce. */
const text = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 60 }),
  fc.constantFrom("\ud83d", ',"cache_control":{"type":"ephemeral"}', "\\", '"', "x".repeat(5_000), " "),
);
const origin = { provider: "anthropic", model: "m" };
const spaced = fc
  .tuple(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .map(([key, value]) => `{ ${JSON.stringify(key)} : ${value} , "b":1.0e2}`);
const inputJson = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
  spaced,
);

const block: fc.Arbitrary<AssistantBlock> = fc.oneof(
  text.map((words): AssistantBlock => ({ type: "text", text: words })),
  text.map((words): AssistantBlock => ({ type: "thinking", text: words, signature: "c2ln", origin })),
  text.map(
    (words): AssistantBlock => ({ type: "opaque", json: `{"type":"other","x":${JSON.stringify(words)}}`, origin }),
  ),
  fc.constant<AssistantBlock>({ type: "opaque", json: '{"type":"redacted_thinking","data":"x"}', origin }),
  fc.constant<AssistantBlock>({ type: "opaque", json: '{"type":"reasoning","encrypted_content":"x"}', origin }),
  fc.constant<AssistantBlock>({ type: "opaque", json: '{"thoughtSignature":"c2ln"}', origin }),
  fc.constant<AssistantBlock>({ type: "opaque", json: '{"thoughtSignature":"c2ln","text":""}', origin }),
  text.map((words): AssistantBlock => ({ type: "text", text: words, phase: "commentary" })),
);
const resultBlock: fc.Arbitrary<ResultBlock> = fc.oneof(
  text.map((words): ResultBlock => ({ type: "text", text: words })),
  fc.constant<ResultBlock>({ type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }),
);

const turn: fc.Arbitrary<Turn> = fc.record({
  prompt: fc.option(text, { nil: undefined }),
  context: fc.option(text, { nil: undefined, freq: 4 }),
  blocks: fc.array(block, { maxLength: 3 }),
  inputs: fc.array(inputJson, { maxLength: 4 }),
  results: fc.array(fc.array(resultBlock, { maxLength: 2 }), { minLength: 4, maxLength: 4 }),
  outcome: fc.constantFrom<CallOutcome>("ok", "error", "denied", "unknown"),
  fails: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
  ends: fc.boolean(),
  drops: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
});

export const randomConversation: fc.Arbitrary<RandomConversation> = fc
  .record({
    dialect: fc.constantFrom(...dialects),
    system: text,
    turns: fc.array(turn, { minLength: 1, maxLength: 12 }),
  })
  .map(({ dialect, system, turns }) => ({
    head: { ...origin, dialect, tools: [], system, systemContext: "", userContext: "" },
    events: eventsOf(turns),
  }));

function eventsOf(turns: readonly Turn[]): DurableEvent[] {
  const events: DurableEvent[] = [started(0), said("Begin.")];
  let last = 0;
  for (const [index, each] of turns.entries()) {
    const number = index + 1;
    if (each.drops) events.push({ type: "thinking.dropped", serializer: SERIALIZER_VERSION });
    if (each.prompt !== undefined) events.push(said(each.prompt));
    if (each.context !== undefined) events.push({ type: "context.added", cause: "resumed", text: each.context });
    events.push({ type: "model.requested", turn: number }, ...answer(each, number));
    if (each.ends) events.push(ended(`r${last++}`), started(last), said("And then?"));
  }
  return [...events, { type: "model.requested", turn: turns.length + 1 }];
}

function answer({ blocks, inputs, results, outcome, fails }: Turn, turn: number): DurableEvent[] {
  if (fails) {
    const error = { code: "overloaded", message: "Too much." } as const;
    return [{ type: "model.failed", turn, error, partial: blocks, milliseconds: 1 }];
  }
  const calls = inputs.map((json, index) => ({
    type: "tool_call" as const,
    callId: `main_${turn}_${index}`,
    name: "Tool",
    inputJson: json,
  }));
  const message = { role: "assistant" as const, content: [...blocks, ...calls] };
  const stopReason = calls.length > 0 ? "tool_calls" : "end_turn";
  return [
    { type: "model.ended", turn, message, stopReason, incompleteCalls: 0, usage, milliseconds: 1 },
    ...calls.flatMap(({ callId, name }, index): DurableEvent[] => [
      { type: "tool.started", callId },
      { type: "tool.ended", callId, name, result: { outcome, content: results[index] ?? [] }, milliseconds: 1 },
    ]),
  ];
}

function said(words: string): DurableEvent {
  return { type: "prompt.received", content: [{ type: "text", text: words }], from: "person" };
}

function started(number: number): DurableEvent {
  return {
    type: "run.started",
    runId: `r${number}`,
    agentId: "main",
    agentType: "main",
    kind: "resume",
    requestedModel: null,
    provider: origin.provider,
    model: origin.model,
    modelReason: "a test",
    permissionMode: "default",
    maxTurns: 50,
  };
}

export function ended(runId: string): DurableEvent {
  const facts = { toolCalls: {}, filesChanged: [], commands: [], denied: [], unknown: [], agentsCut: 0 };
  const common = { text: "", turns: 1, usage, milliseconds: 1, modelMilliseconds: 1, facts };
  return { type: "run.ended", runId, outcome: "succeeded", reason: "done", ...common };
}
