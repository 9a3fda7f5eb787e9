import type { SessionTotals } from "../../client/index.ts";
import { formatCount } from "../../lib/portable.ts";

/** Formats a time span in a short form: `4 s`, `2:14`, `3 h`, `5 d`. */
export function formatAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const hours = Math.floor(seconds / 3600);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Says how long ago something was: `just now`, `2 min ago`, `3 h ago`, `5 d ago`. */
export function formatAgo(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`;
}

export function formatMs(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : formatAge(milliseconds);
}

/** Formats dollars with enough digits to see small costs. A cost that may be lower is shown as `≤ $0.42`. */
export function formatCost(costUsd: number | undefined, isAtMost = false): string {
  if (costUsd === undefined) return "cost unknown";
  if (isAtMost) return `≤ ${formatCost(Math.max(costUsd, 0.001))}`;
  if (costUsd > 0 && costUsd < 0.0005) return "<$0.001";
  return `$${costUsd.toFixed(costUsd > 0 && costUsd < 0.1 ? 3 : 2)}`;
}

/** Formats the sum of several costs, some of which may be unknown. */
export function formatSum({ costUsd, isCostKnown, isCostAtMost }: Costs): string {
  if (isCostKnown) return formatCost(costUsd, isCostAtMost);
  return costUsd === 0 ? formatCost(undefined) : `${formatCost(costUsd, isCostAtMost)} and unknown costs`;
}

type Costs = Pick<SessionTotals, "costUsd" | "isCostKnown" | "isCostAtMost">;

/** Explains the sign in a cost that may be lower. */
export const AT_MOST = "Includes the maximum cost of requests whose responses were lost";

/** Formats a number of tokens: `930`, `41.2 k`, `1.3 M`. */
export function formatTokens(tokens: number): string {
  if (tokens < 10_000) return formatCount(tokens);
  return tokens < 999_500 ? `${(tokens / 1000).toFixed(1)} k` : `${(tokens / 1_000_000).toFixed(1)} M`;
}
