import { headLength } from "../../conversation/index.ts";
import type { ContextLimits as LoopLimits } from "../../loop/index.ts";
import type { ModelDescription } from "../../ports/index.ts";
import type { Head } from "../../protocol/index.ts";
import { longestAnswer } from "../budget/estimate-request.ts";

export interface ContextLimits extends LoopLimits {
  /** Tokens the agent may fill: its model's window, or less. */
  readonly window: number;
}

export interface ContextWish {
  readonly head: Head;
  readonly model: Pick<ModelDescription, "provider" | "window" | "maxOutputTokens">;
  /** The agent's own limit, from its definition. */
  readonly contextTokens?: number | undefined;
  /** Of the window, from the settings. */
  readonly percent?: number | undefined;
}

const DEFAULT_PERCENT = 95;

/**
 * When a conversation is compacted: at a share of what the agent may fill, and before an answer no longer fits in the
 * model's window. Undefined for the offline model, which reads all there is and could not summarise it.
 */
export function contextLimits({ head, model, contextTokens, percent }: ContextWish): ContextLimits | undefined {
  if (model.provider === "offline") return undefined;
  const window = Math.min(model.window, contextTokens ?? model.window);
  const share = Math.min(100, Math.max(1, percent ?? DEFAULT_PERCENT)) / 100;
  // A head that asks for more than there is can't be helped by compacting at every turn.
  const reserve = Math.min(longestAnswer(model), model.window / 2);
  const compactAt = Math.floor(Math.min(window * share, model.window - reserve));
  return { window, compactAt, ...headSize(head) };
}

/** About as many tokens as the tools and system texts of a request have. */
export function headSize(head: Head): Pick<LoopLimits, "headTokens"> {
  return { headTokens: Math.ceil(headLength(head) / BYTES_PER_TOKEN) };
}

const BYTES_PER_TOKEN = 3.6;
