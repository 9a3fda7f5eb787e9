import { createCalibration, estimateTokens } from "../lib/index.ts";
import type { AssistantBlock, EventOf, Message, UserBlock } from "../protocol/index.ts";

/** How much of the context window a conversation fills, according to the journal. */
export interface ContextState {
  /** Tokens of everything up to the newest answer. */
  readonly tokens: number;
  /** `count`: the provider's own number. `estimate`: a count plus estimates. `none`: nothing was counted yet, and the head is not included. */
  readonly basis: "none" | "estimate" | "count";
  /** Messages that requests have added since. Their size is computed on demand. */
  readonly added: readonly Message[];
  /** The request under way adds to a counted number. */
  readonly counted: boolean;
  /** Added messages with the tokens that the provider counted for them, newest last. */
  readonly seen: readonly { readonly turn: Message | undefined; readonly tokens: number }[];
  /** Tokens left by the last compaction. Another one can only remove what was added since. */
  readonly floor: number;
  /** Nothing was requested since the last compaction. */
  readonly fresh: boolean;
  /** The provider's message that the request did not fit, until a compaction. */
  readonly overflow: string | undefined;
  /** An overflow already led to a compaction, and the model has not answered since. */
  readonly overflowed: boolean;
}

export interface ContextLimits {
  /** Tokens at which the conversation is compacted. */
  readonly compactAt: number;
  /** Tokens of the request's head. */
  readonly headTokens: number;
}

export const emptyContext: ContextState = {
  tokens: 0,
  basis: "none",
  added: [],
  counted: false,
  seen: [],
  floor: 0,
  fresh: false,
  overflow: undefined,
  overflowed: false,
};

/** Number of provider counts to calibrate with. Older ones weigh almost nothing. */
const REMEMBERED = 8;
/** A compaction that frees less than this share costs more than it saves. */
const LEAST_GAIN = 0.1;
/** Providers scale images down to about this many tokens. */
const IMAGE_TOKENS = 1_600;
/** Most tokens that a calibration makes of one estimated token. */
const MOST_PER_UNIT = 2;

/** Returns whether the request that adds this turn would be too long. */
export function isFull(context: ContextState, limits: ContextLimits, turn: Message | undefined): boolean {
  const { compactAt } = limits;
  if (context.fresh || mostTokens(context, turn) < compactAt) return false;
  const expected = expectedTokens(context, limits, turn);
  return expected >= compactAt && expected - context.floor >= compactAt * LEAST_GAIN;
}

/**
 * Returns an upper bound of the next request's tokens under any calibration. It is cheap, and it usually shows that there
 * is room, so that not every character has to be weighed at every turn.
 */
function mostTokens({ tokens, basis, added }: ContextState, turn: Message | undefined): number {
  if (basis === "none") return Number.POSITIVE_INFINITY;
  let most = tokens + MOST_PER_UNIT * weighed(turn, mostOf);
  for (const message of added) most += MOST_PER_UNIT * weighed(message, mostOf);
  return most;
}

/** No character weighs more than one token, and a text is rounded up to a whole token. */
function mostOf(text: string): number {
  return text.length + 1;
}

/** Returns about how many tokens the next request has. */
export function expectedTokens(
  context: ContextState,
  limits: Pick<ContextLimits, "headTokens">,
  turn: Message | undefined,
): number {
  const head = context.basis === "none" ? limits.headTokens : 0;
  return tokensOf(context) + head + estimated(context, sizeOf(turn));
}

/**
 * Returns at least as many tokens as the next request has. Text that the provider has not counted weighs almost twice as
 * much as usual, because tokenizers differ and some texts are dense.
 */
export function mostExpectedTokens(
  context: ContextState,
  { headTokens }: Pick<ContextLimits, "headTokens">,
  turn: Message | undefined,
): number {
  const head = context.basis === "none" ? headTokens : 0;
  const uncounted = context.added.reduce((sum, message) => sum + sizeOf(message), head + sizeOf(turn));
  return Math.ceil(context.tokens + uncounted * UNCOUNTED_MARGIN);
}

const UNCOUNTED_MARGIN = 1.8;

/** Converts a size to tokens, calibrated with what the provider counted recently. */
export function estimated({ seen }: ContextState, size: number): number {
  const calibration = createCalibration({ bytesPerToken: 1 });
  for (const { turn, tokens } of seen) calibration.observe(rememberedSize(turn), tokens);
  return calibration.estimate(size);
}

/** Returns the size of a message: its tokens by kinds of characters alone, without calibration. */
export function sizeOf(message: Message | undefined): number {
  return weighed(message, estimateTokens);
}

function weighed(message: Message | undefined, weigh: Weigh): number {
  return sizeOfBlocks(message?.content ?? [], weigh);
}

type Weigh = (text: string) => number;

/** Forgets overflows of the last run, because the next run may use another model. */
export function restarted(context: ContextState): ContextState {
  return { ...context, overflow: undefined, overflowed: false };
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
  // Some servers count nothing.
  if (input === 0) return { ...settled, tokens: tokensOf(context) + estimated(context, sizeOf(message)) };
  const gained = context.counted ? input - context.tokens : 0;
  const seen =
    gained > 0 ? [...context.seen.slice(1 - REMEMBERED), { turn: context.added[0], tokens: gained }] : context.seen;
  return { ...settled, tokens: input + usage.outputTokens, basis: "count", seen };
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

/** Caches sizes: the remembered messages are measured again before each request. */
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
