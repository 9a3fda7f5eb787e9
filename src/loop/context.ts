import { createCalibration, estimateTokens } from "../lib/index.ts";
import type { AssistantBlock, EventOf, Message, UserBlock } from "../protocol/index.ts";

/** How much of its window a conversation fills, as far as the journal tells. */
export interface ContextState {
  /** Of everything up to the newest answer. */
  readonly tokens: number;
  /** `count`: the provider's own number. `estimate`: added to one. `none`: nothing was counted yet, and the head is not in it. */
  readonly basis: "none" | "estimate" | "count";
  /** What requests have added since; how much that is, is found out when somebody wants to know. */
  readonly added: readonly Message[];
  /** The request under way adds to a number that was counted. */
  readonly counted: boolean;
  /** What was added, and what the provider counted for it, newest last. */
  readonly seen: readonly { readonly turn: Message | undefined; readonly tokens: number }[];
  /** What the last compaction left: only what was added since can be gained by another. */
  readonly floor: number;
  /** Compacted, and nothing was asked since. */
  readonly fresh: boolean;
  /** A provider's word that the request did not fit; a compaction answers it. */
  readonly overflow: string | undefined;
  /** A compaction answered one already, and there was no answer of the model since. */
  readonly overflowed: boolean;
}

/** What a conversation may fill, and what of it is taken before the first message. */
export interface ContextLimits {
  readonly compactAt: number;
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

/** Older counts weigh almost nothing. */
const REMEMBERED = 8;
/** A compaction that gains less than a tenth costs more than it gives. */
const LEAST_GAIN = 0.1;
/** Providers scale images down to about this. */
const IMAGE_TOKENS = 1_600;
/** A calibration never goes beyond two tokens for what the kinds of characters say is one. */
const MOST_PER_UNIT = 2;

/** Whether the request that adds this turn has no room. */
export function isFull(context: ContextState, limits: ContextLimits, turn: Message | undefined): boolean {
  const { compactAt } = limits;
  if (context.fresh || mostTokens(context, turn) < compactAt) return false;
  const expected = expectedTokens(context, limits, turn);
  return expected >= compactAt && expected - context.floor >= compactAt * LEAST_GAIN;
}

/**
 * More than the next request can have by any calibration. Nearly always there is room even so, and weighing every
 * character would be a good part of a turn's own work.
 */
function mostTokens({ tokens, basis, added }: ContextState, turn: Message | undefined): number {
  if (basis === "none") return Number.POSITIVE_INFINITY;
  let most = tokens + MOST_PER_UNIT * weighed(turn, mostOf);
  for (const message of added) most += MOST_PER_UNIT * weighed(message, mostOf);
  return most;
}

/** No character weighs more than one token, and a text is rounded up to a whole one. */
function mostOf(text: string): number {
  return text.length + 1;
}

/** About how many tokens the next request has. */
export function expectedTokens(
  context: ContextState,
  limits: Pick<ContextLimits, "headTokens">,
  turn: Message | undefined,
): number {
  const head = context.basis === "none" ? limits.headTokens : 0;
  return tokensOf(context) + head + estimated(context, sizeOf(turn));
}

/**
 * At least as many tokens as the next request has. What the provider has counted is exact; text that it has not counted
 * weighs almost twice as much as usual, because tokenizers differ and some texts are dense.
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

/** Tokens of something of this size, by what the provider counted lately. */
export function estimated({ seen }: ContextState, size: number): number {
  const calibration = createCalibration({ bytesPerToken: 1 });
  for (const { turn, tokens } of seen) calibration.observe(rememberedSize(turn), tokens);
  return calibration.estimate(size);
}

/** Tokens by the kinds of characters alone. */
export function sizeOf(message: Message | undefined): number {
  return weighed(message, estimateTokens);
}

function weighed(message: Message | undefined, weigh: Weigh): number {
  return sizeOfBlocks(message?.content ?? [], weigh);
}

type Weigh = (text: string) => number;

/** What was told of overflows is about the run that is over; the next may have another model. */
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
  const calm = { ...context, added: [], counted: false, overflow: undefined, overflowed: false };
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  // Some servers count nothing.
  if (input === 0) return { ...calm, tokens: tokensOf(context) + estimated(context, sizeOf(message)) };
  const gained = context.counted ? input - context.tokens : 0;
  const seen =
    gained > 0 ? [...context.seen.slice(1 - REMEMBERED), { turn: context.added[0], tokens: gained }] : context.seen;
  return { ...calm, tokens: input + usage.outputTokens, basis: "count", seen };
}

export function failed(context: ContextState, { error, partial }: EventOf<"model.failed">): ContextState {
  const added =
    partial.length === 0 ? context.added : [...context.added, { role: "assistant" as const, content: partial }];
  const curable = error.code === "context_overflow" && !context.overflowed;
  return { ...context, added, counted: false, overflow: curable ? error.message : undefined };
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

/** What was seen is looked at again before each of the next requests. */
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
