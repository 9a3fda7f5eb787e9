import { headLength } from "../../conversation/index.ts";
import type { ContextLimits as LoopLimits } from "../../loop/index.ts";
import type { ModelDescription } from "../../ports/index.ts";
import type { Head } from "../../protocol/index.ts";
import { longestAnswer } from "../budget/estimate-request.ts";

export interface ContextLimits extends LoopLimits {
  /** Maximum number of tokens in the agent's conversation: its model's context window, or less. */
  readonly window: number;
}

export interface ContextOptions {
  readonly head: Head;
  readonly model: Pick<ModelDescription, "provider" | "window" | "maxOutputTokens">;
  /** Limit from the agent's definition, in tokens. */
  readonly contextTokens?: number | undefined;
  /** Percentage of the window at which the conversation is compacted, from the settings. */
  readonly percent?: number | undefined;
}

const DEFAULT_PERCENT = 95;

/**
 * Returns the limits at which a conversation is compacted. This happens when the conversation fills a given share of
 * the agent's window, or earlier if there would be too little room for a response. Returns undefined for the offline
 * model, which has no window and can't summarize.
 */
export function contextLimits({ head, model, contextTokens, percent }: ContextOptions): ContextLimits | undefined {
  if (model.provider === "offline") return undefined;
  const window = Math.min(model.window, contextTokens ?? model.window);
  const share = Math.min(100, Math.max(1, percent ?? DEFAULT_PERCENT)) / 100;
  const compactAt = Math.floor(Math.min(window * share, model.window - longestAnswer(model)));
  return { window, compactAt, ...headSize(head) };
}

/** Estimates the number of tokens in a request's tools and system prompt. */
export function headSize(head: Head): Pick<LoopLimits, "headTokens"> {
  return { headTokens: Math.ceil(headLength(head) / BYTES_PER_TOKEN) };
}

const BYTES_PER_TOKEN = 3.6;
