import type { Model, ModelDescription, ModelProgress, ModelRequest } from "../ports/index.ts";
import {
  type AssistantBlock,
  type Message,
  type ModelError,
  type ModelOutcome,
  noUsage,
  type StopReason,
  textOf,
} from "../protocol/index.ts";

/**
 * The model's answer to one request, such as `{ text: "Hello." }` or `{ calls: [{ name: "Read", input: {…} }] }`. The run
 * assigns the ids of the calls.
 */
export interface ScriptedAnswer {
  /** Text of the answer. */
  readonly text?: string;
  /** Tool calls in the answer. */
  readonly calls?: readonly { readonly name: string; readonly input: unknown }[];
  readonly stopReason?: StopReason;
  readonly incompleteCalls?: number;
  /** Makes the request fail. */
  readonly error?: ModelError;
  /** True if the model never answers. Only an abort ends the request. */
  readonly hangs?: boolean;
  /** Delays the answer until the promise settles or the request is aborted. */
  readonly after?: Promise<unknown>;
}

/** An answer, or a function that computes it from the request's messages. */
export type ScriptedStep = ScriptedAnswer | ((messages: readonly Message[]) => ScriptedAnswer);

/** A model with scripted answers. */
export interface ScriptedModel extends Model {
  /** The messages of each request received so far. */
  readonly requests: readonly (readonly Message[])[];
  /** Throws unless every step was used and none was missing. */
  assertDone(): void;
}

/**
 * Creates a model that gives scripted answers. A request without a scripted answer fails and makes `assertDone` throw.
 * `description` overrides properties of the model's default description, such as `window` or `prices`.
 *
 * ```ts
 * const model = createScriptedModel([{ calls: [{ name: "Read", input: { file_path: "a.js" } }] }, { text: "Done." }]);
 * ```
 */
export function createScriptedModel(
  steps: readonly ScriptedStep[],
  description: Partial<ModelDescription> = {},
): ScriptedModel {
  if (!Array.isArray(steps))
    throw new TypeError('createScriptedModel needs an array of answers, such as [{ text: "Hello." }]');
  for (const [index, step] of steps.entries()) if (typeof step !== "function") checkAnswer(step, index);
  const described: ModelDescription = {
    provider: "scripted",
    model: "scripted-1",
    dialect: "anthropic",
    window: 200_000,
    maxOutputTokens: 8_000,
    ...description,
  };
  const requests: (readonly Message[])[] = [];
  return {
    requests,
    describe: () => described,
    call: (request, emit) => {
      const messages = request.prompt.messages();
      const step = steps[requests.length];
      requests.push(messages);
      if (step === undefined) return Promise.resolve(unscripted(messages));
      if (typeof step !== "function") return play(step, request, emit);
      const answer = step(messages);
      checkAnswer(answer, requests.length - 1);
      return play(answer, request, emit);
    },
    assertDone: () => {
      if (requests.length === steps.length) return;
      throw new Error(`the script has ${steps.length} answers, but the model was called ${requests.length} times`);
    },
  };
}

const answerFields: Readonly<Record<keyof ScriptedAnswer, true>> = {
  text: true,
  calls: true,
  stopReason: true,
  incompleteCalls: true,
  error: true,
  hangs: true,
  after: true,
};

/** Throws a `TypeError` if an answer is not an object or has an unknown field, which would be ignored otherwise. */
function checkAnswer(answer: ScriptedAnswer, index: number): void {
  const example = 'Use { text: "Hello." } or { calls: [{ name: "Read", input: { file_path: "a.js" } }] }.';
  if (typeof answer !== "object" || answer === null)
    throw new TypeError(`Answer ${index + 1} of the scripted model is not an object. ${example}`);
  const unknown = Object.keys(answer).find((field) => !(field in answerFields));
  if (unknown !== undefined)
    throw new TypeError(`Answer ${index + 1} of the scripted model has an unknown field "${unknown}". ${example}`);
  const isCall = (call: unknown): boolean => typeof (call as { name?: unknown } | null)?.name === "string";
  if (answer.calls !== undefined && !(Array.isArray(answer.calls) && answer.calls.every(isCall)))
    throw new TypeError(`Answer ${index + 1} of the scripted model has an invalid call. ${example}`);
}

/** A model that plays several agents. */
export interface Cast extends Model {
  /** Returns the messages of each request so far that belongs to a part. */
  requests(part: string): readonly (readonly Message[])[];
  /** Throws unless every step of every part was used and none was missing. */
  assertDone(): void;
}

/**
 * Creates a model that plays several agents. The key of a part is a string that the first message in its conversation
 * contains. `description` overrides properties of the model's default description, such as `window` or `prices`.
 *
 * ```ts
 * const model = createCast({
 *   "Review the change": [{ calls: [{ name: "Task", input }] }, { text: "It is fine." }],
 *   "Look for bugs": [{ text: "I found none." }],
 * });
 * ```
 */
export function createCast(
  parts: Readonly<Record<string, readonly ScriptedStep[]>>,
  description: Partial<ModelDescription> = {},
): Cast {
  if (typeof parts !== "object" || parts === null || Array.isArray(parts))
    throw new TypeError(
      'createCast needs an object with a script for each agent, such as { "Review": [{ text: "Fine." }] }',
    );
  const models = new Map(Object.entries(parts).map(([part, steps]) => [part, createScriptedModel(steps, description)]));
  const partOf = ([first]: readonly Message[]): ScriptedModel | undefined => {
    const text = first ? textOf(first.content) : "";
    return [...models].find(([part]) => text.includes(part))?.[1];
  };
  const unmatched = createScriptedModel([], description);
  return {
    describe: unmatched.describe,
    requests: (part) => models.get(part)?.requests ?? [],
    call: (request, emit) => (partOf(request.prompt.messages()) ?? unmatched).call(request, emit),
    assertDone: () => {
      for (const model of [...models.values(), unmatched]) model.assertDone();
    },
  };
}

async function play(
  answer: ScriptedAnswer,
  request: ModelRequest,
  emit: (progress: ModelProgress) => void,
): Promise<ModelOutcome> {
  if (answer.text) emit({ type: "text.delta", text: answer.text });
  if (answer.hangs) await aborted(request.signal);
  if (answer.after !== undefined) await Promise.race([answer.after, aborted(request.signal)]);
  const text: AssistantBlock[] = answer.text ? [{ type: "text", text: answer.text }] : [];
  if (request.signal.aborted) {
    return { ok: false, error: { code: "aborted", message: "The request was aborted." }, partial: text };
  }
  if (answer.error) return { ok: false, error: answer.error, partial: text };
  const calls = (answer.calls ?? []).map(
    ({ name, input }, index): AssistantBlock => ({
      type: "tool_call",
      callId: request.callId(index),
      name,
      inputJson: JSON.stringify(input),
    }),
  );
  return {
    ok: true,
    message: { role: "assistant", content: [...text, ...calls] },
    stopReason: answer.stopReason ?? (calls.length > 0 ? "tool_calls" : "end_turn"),
    incompleteCalls: answer.incompleteCalls ?? 0,
    usage: { ...noUsage, inputTokens: 100, outputTokens: 10 },
  };
}

function unscripted(messages: readonly Message[]): ModelOutcome {
  const last = messages.at(-1);
  const message = `The script has no answer to this request. Its last message: ${last ? textOf(last.content) : "none"}`;
  return { ok: false, error: { code: "protocol", message }, partial: [] };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
