import { createCalibration, estimateTokens } from "../lib/index.ts";
import type { AssistantBlock, EventOf, Message, UserBlock } from "../protocol/index.ts";

/** How much of its window a conversation fills, as far as the journal tells. */
export interface ContextState {
  /** Of everything up to the newest request or answer. */
  readonly tokens: number;
  /** `count`: the provider's own number. `estimate`: added to one. `none`: nothing was counted yet, and the head is not in it. */
  readonly basis: "none" | "estimate" | "count";
  /** What the request under way adds to a number that was counted. */
  readonly sent: { readonly size: number; readonly before: number } | undefined;
  /** Sizes and what the provider counted for them, newest last. */
  readonly seen: readonly { readonly size: number; readonly tokens: number }[];
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
  sent: undefined,
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

/** Whether the request that adds this turn has no room. */
export function isFull(context: ContextState, limits: ContextLimits, turn: Message | undefined): boolean {
  if (context.fresh) return false;
  const { compactAt } = limits;
  const expected = expectedTokens(context, limits, turn);
  return expected >= compactAt && expected - context.floor >= compactAt * LEAST_GAIN;
}

/** About how many tokens the next request has. */
export function expectedTokens(
  context: ContextState,
  limits: Pick<ContextLimits, "headTokens">,
  turn: Message | undefined,
): number {
  const head = context.basis === "none" ? limits.headTokens : 0;
  return context.tokens + head + estimated(context, sizeOf(turn));
}

/** Tokens of something of this size, by what the provider counted lately. */
export function estimated({ seen }: ContextState, size: number): number {
  const calibration = createCalibration({ bytesPerToken: 1 });
  for (const { size, tokens } of seen) calibration.observe(size, tokens);
  return calibration.estimate(size);
}

/** Tokens by the kinds of characters alone. */
export function sizeOf(message: Message | undefined): number {
  return sizeOfBlocks(message?.content ?? []);
}

/** What was told of overflows is about the run that is over; the next may have another model. */
export function restarted(context: ContextState): ContextState {
  return { ...context, overflow: undefined, overflowed: false };
}

export function requested(context: ContextState, turn: Message | undefined): ContextState {
  const size = sizeOf(turn);
  return {
    ...context,
    tokens: context.tokens + estimated(context, size),
    basis: context.basis === "none" ? "none" : "estimate",
    sent: context.basis === "count" ? { size, before: context.tokens } : undefined,
    fresh: false,
  };
}

export function answered(context: ContextState, { usage, message }: EventOf<"model.ended">): ContextState {
  const calm = { ...context, sent: undefined, overflow: undefined, overflowed: false };
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  // Some servers count nothing.
  if (input === 0) return { ...calm, tokens: context.tokens + estimated(context, sizeOf(message)) };
  const { sent } = context;
  const counted = sent === undefined ? 0 : input - sent.before;
  const seen =
    sent === undefined || counted <= 0
      ? context.seen
      : [...context.seen, { size: sent.size, tokens: counted }].slice(-REMEMBERED);
  return { ...calm, tokens: input + usage.outputTokens, basis: "count", seen };
}

export function failed(context: ContextState, { error, partial }: EventOf<"model.failed">): ContextState {
  const tokens = context.tokens + estimated(context, sizeOfBlocks(partial));
  const curable = error.code === "context_overflow" && !context.overflowed;
  return { ...context, tokens, sent: undefined, overflow: curable ? error.message : undefined };
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
    sent: undefined,
    floor: after,
    fresh: true,
    overflow: undefined,
    overflowed: context.overflowed || context.overflow !== undefined,
  };
}

function sizeOfBlocks(blocks: readonly (UserBlock | AssistantBlock)[]): number {
  return blocks.reduce((sum, block) => sum + sizeOfBlock(block), 0);
}

function sizeOfBlock(block: UserBlock | AssistantBlock): number {
  if (block.type === "image") return IMAGE_TOKENS;
  if (block.type === "tool_result") return sizeOfBlocks(block.content);
  if (block.type === "tool_call") return estimateTokens(block.name) + estimateTokens(block.inputJson);
  return estimateTokens(block.type === "opaque" ? block.json : block.text);
}
