import { createCalibration, estimateTokens } from "../lib/index.ts";
import type { AssistantBlock, EventOf, ForkOrigin, Message, UserBlock } from "../protocol/index.ts";

/** Size of a conversation in the context window, according to the journal. */
export interface ContextState {
  /** Number of tokens up to and including the newest response. */
  readonly tokens: number;
  /**
   * `count`: the provider's own number. `estimate`: the provider's number plus estimates. `none`: the provider has not
   * counted anything yet, and the head is not included.
   */
  readonly basis: "none" | "estimate" | "count";
  /** Model in use, with its provider; undefined before the first run. */
  readonly model: string | undefined;
  /** Whether the model in use has counted `tokens`, rather than another model or an estimate after a compaction. */
  readonly isExact: boolean;
  /** Messages that requests have added since the newest response. Their size is computed on demand. */
  readonly added: readonly Message[];
  /** Whether the request in progress extends a conversation whose tokens the provider has counted. */
  readonly counted: boolean;
  /** Added messages with the number of tokens that the provider counted for them, newest last. */
  readonly seen: readonly { readonly turn: Message | undefined; readonly tokens: number }[];
  /** Number of tokens after the last compaction. Another compaction can only remove what has been added since. */
  readonly floor: number;
  /** Whether no request has been made since the last compaction. */
  readonly fresh: boolean;
  /** The provider's message that a request was too long. Kept until the next compaction. */
  readonly overflow: string | undefined;
  /** Whether an overflow has already led to a compaction and the model has not answered since. */
  readonly overflowed: boolean;
}

export interface ContextLimits {
  /** Number of tokens at which the conversation is compacted. */
  readonly compactAt: number;
  /** Number of tokens in the request's head. */
  readonly headTokens: number;
}

export const emptyContext: ContextState = {
  tokens: 0,
  basis: "none",
  model: undefined,
  isExact: false,
  added: [],
  counted: false,
  seen: [],
  floor: 0,
  fresh: false,
  overflow: undefined,
  overflowed: false,
};

/** Number of provider counts used for calibration. Older counts would have almost no weight. */
const REMEMBERED = 8;
/** Share of `compactAt` that a compaction must be able to free to be worth its cost. */
const LEAST_GAIN = 0.1;
/** Number of tokens assumed for an image. Providers scale images down to about this size. */
const IMAGE_TOKENS = 1_600;
/** Maximum factor by which calibration can increase an estimate. */
const MOST_PER_UNIT = 2;

/** Returns whether the request that adds this turn would be too long. */
export function isFull(context: ContextState, limits: ContextLimits, turn: Message | undefined): boolean {
  const { compactAt } = limits;
  if (context.fresh || mostTokens(context, turn) < compactAt) return false;
  const expected = expectedTokens(context, limits, turn);
  return expected >= compactAt && expected - context.floor >= compactAt * LEAST_GAIN;
}

/**
 * Returns an upper bound on the next request's tokens under any calibration. The bound is cheap to compute and usually
 * shows that there is room, so that the exact estimate is rarely needed.
 */
function mostTokens({ tokens, basis, added }: ContextState, turn: Message | undefined): number {
  if (basis === "none") return Number.POSITIVE_INFINITY;
  let most = tokens + MOST_PER_UNIT * weighed(turn, mostOf);
  for (const message of added) most += MOST_PER_UNIT * weighed(message, mostOf);
  return most;
}

/**
 * Returns an upper bound on the number of tokens in the text. No character is more than one token, and the total is
 * rounded up to a whole token.
 */
function mostOf(text: string): number {
  return text.length + 1;
}

/** Estimates the number of tokens in the next request. */
export function expectedTokens(
  context: ContextState,
  limits: Pick<ContextLimits, "headTokens">,
  turn: Message | undefined,
): number {
  const head = context.basis === "none" ? limits.headTokens : 0;
  return tokensOf(context) + head + estimated(context, sizeOf(turn));
}

/**
 * Returns an upper estimate of the next request's tokens. Text that the model has not counted is weighted almost twice
 * as much as usual, because tokenizers differ and some text is dense.
 */
export function mostExpectedTokens(
  context: ContextState,
  { headTokens }: Pick<ContextLimits, "headTokens">,
  turn: Message | undefined,
): number {
  const head = context.basis === "none" ? headTokens : 0;
  const counted = context.isExact ? context.tokens : 0;
  const added = context.added.reduce((sum, message) => sum + sizeOf(message), head + sizeOf(turn));
  return Math.ceil(counted + (context.tokens - counted + added) * UNCOUNTED_MARGIN);
}

const UNCOUNTED_MARGIN = 1.8;

/** Converts a size to tokens, calibrated with the provider's recent counts. */
export function estimated({ seen }: ContextState, size: number): number {
  const calibration = createCalibration({ bytesPerToken: 1 });
  for (const { turn, tokens } of seen) calibration.observe(rememberedSize(turn), tokens);
  return calibration.estimate(size);
}

/** Returns the size of a message: a token estimate based only on kinds of characters, without calibration. */
export function sizeOf(message: Message | undefined): number {
  return weighed(message, estimateTokens);
}

function weighed(message: Message | undefined, weigh: Weigh): number {
  return sizeOfBlocks(message?.content ?? [], weigh);
}

type Weigh = (text: string) => number;

/** Called at the start of a run, which may use another model. Clears overflows from the last run. */
export function restarted(
  context: ContextState,
  run: Pick<EventOf<"run.started">, "provider" | "model">,
): ContextState {
  const model = `${run.provider}/${run.model}`;
  const isExact = context.isExact && (context.model === undefined || context.model === model);
  return { ...context, model, isExact, overflow: undefined, overflowed: false };
}

/** Called for an agent that continues a conversation. Only a fork has the same model and head as its parent. */
export function inherited(context: ContextState, { kind, tokens }: ForkOrigin): ContextState {
  return tokens === undefined ? context : { ...context, tokens, basis: "estimate", isExact: kind === "fork" };
}

export function requested(context: ContextState, turn: Message | undefined): ContextState {
  return {
    ...context,
    added: turn === undefined ? context.added : [...context.added, turn],
    basis: context.basis === "none" ? "none" : "estimate",
    counted: context.basis === "count",
    fresh: false,
  };
}

export function answered(context: ContextState, { usage, message }: EventOf<"model.ended">): ContextState {
  const settled = { ...context, added: [], counted: false, overflow: undefined, overflowed: false };
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  // Some servers do not report token counts.
  if (input === 0) return { ...settled, tokens: tokensOf(context) + estimated(context, sizeOf(message)) };
  const gained = context.counted ? input - context.tokens : 0;
  const seen =
    gained > 0 ? [...context.seen.slice(1 - REMEMBERED), { turn: context.added[0], tokens: gained }] : context.seen;
  return { ...settled, tokens: input + usage.outputTokens, basis: "count", isExact: true, seen };
}

export function failed(context: ContextState, { error, partial }: EventOf<"model.failed">): ContextState {
  const added =
    partial.length === 0 ? context.added : [...context.added, { role: "assistant" as const, content: partial }];
  const canCompact = error.code === "context_overflow" && !context.overflowed;
  return { ...context, added, counted: false, overflow: canCompact ? error.message : undefined };
}

export function compacted(
  context: ContextState,
  { after = 0 }: EventOf<"conversation.compacted">,
  turn: Message | undefined,
): ContextState {
  return {
    ...context,
    tokens: Math.max(0, after - estimated(context, sizeOf(turn))),
    basis: "estimate",
    isExact: false,
    added: [],
    counted: false,
    floor: after,
    fresh: true,
    overflow: undefined,
    overflowed: context.overflowed || context.overflow !== undefined,
  };
}

function tokensOf(context: ContextState): number {
  const size = context.added.reduce((sum, message) => sum + sizeOf(message), 0);
  return context.tokens + estimated(context, size);
}

const sizes = new WeakMap<Message, number>();

/** Returns the size of a message. Sizes are cached, because the same messages are measured before each request. */
function rememberedSize(message: Message | undefined): number {
  if (message === undefined) return 0;
  const size = sizes.get(message) ?? sizeOf(message);
  sizes.set(message, size);
  return size;
}

function sizeOfBlocks(blocks: readonly (UserBlock | AssistantBlock)[], weigh: Weigh): number {
  let size = 0;
  for (const block of blocks) size += sizeOfBlock(block, weigh);
  return size;
}

function sizeOfBlock(block: UserBlock | AssistantBlock, weigh: Weigh): number {
  if (block.type === "image") return IMAGE_TOKENS;
  if (block.type === "tool_result") return sizeOfBlocks(block.content, weigh);
  if (block.type === "tool_call") return weigh(block.name) + weigh(block.inputJson);
  return weigh(block.type === "opaque" ? block.json : block.text);
}
