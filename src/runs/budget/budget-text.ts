import { formatCount, formatDuration, plural } from "../../lib/index.ts";
import type { Ending } from "../../loop/index.ts";
import type { SpendEstimate } from "../../ports/index.ts";

/** Names of the limits in a budget. `promptSpawns` is `subagents.maxSpawns`, which is counted per user prompt. */
export type BudgetLimit = "tokens" | "usd" | "turns" | "seconds" | "spawns" | "promptSpawns" | "concurrent";

/** State of one limit, in tokens, dollars, requests, seconds or agents. */
export interface BudgetLine {
  /** Owner of the limit: `session`, or an agent's name. */
  readonly owner: string;
  readonly limit: number;
  readonly used: number;
  readonly reserved: number;
  /** Never negative, even if more than the limit was used. */
  readonly left: number;
  /** The part of `used` that was charged for requests whose responses were lost. Absent if there is none. */
  readonly estimated?: number | undefined;
}

interface RefusedRequest {
  readonly needed?: number | undefined;
  /** Set if the request is a tool call that itself uses a model. */
  readonly isCall?: true | undefined;
}

/** Explanation of a limit. Models get only `cause`, because only the user can change limits. */
export interface LimitText {
  /** What happened. */
  readonly cause: string;
  /** What happened, and what the user can do. */
  readonly message: string;
}

/** A limit that does not allow the request. */
export interface RefusedLimit extends LimitText {
  readonly limit: BudgetLimit;
  /** Owner of the limit: `session`, or an agent's name. */
  readonly owner: string;
  /** Set if the limit can't be enforced, because the price of the model is unknown. */
  readonly unpriced?: true | undefined;
}

/** Explains why the budget refuses a request, with the amounts and what to do. */
export function refusalText(limit: BudgetLimit, line: BudgetLine, { needed, isCall }: RefusedRequest = {}): LimitText {
  const under = line.reserved > 0 ? `, ${amountText(limit, line.reserved)} reserved for requests in progress` : "";
  const needs =
    needed === undefined ? "" : `; ${isCall ? "it" : "the next request"} needs ${amountText(limit, needed)}`;
  const lost =
    line.estimated === undefined
      ? ""
      : `, ${amountText(limit, line.estimated)} of it estimated for requests whose responses were lost`;
  const state = `${amountText(limit, line.used)} used${lost}${under}, ${amountText(limit, line.left)} left${needs}`;
  const stops = countsAgents(limit) ? "can't start more agents" : isCall ? "can't make this call" : "can't continue";
  const cause = `${ownerText(line.owner)} ${stops}: the limit is ${limitText(limit, line.limit)} (${state}).`;
  return { cause, message: `${cause} ${remedyText(limit, line.owner)}` };
}

export function warningText(limit: BudgetLimit, line: BudgetLine): LimitText {
  const percent = Math.floor((line.used / line.limit) * 100);
  const share = `${amountText(limit, line.used)}, ${percent}% of its limit of ${limitText(limit, line.limit)}`;
  const stops = countsAgents(limit) ? "can't start more agents" : "stops and keeps the work done so far";
  const cause = `${ownerText(line.owner)} has used ${share}. At the limit, it ${stops}.`;
  return { cause, message: `${cause} ${remedyText(limit, line.owner)}` };
}

/** Explains that a limit in dollars can't be enforced for a model whose price is unknown. */
export function unpricedText(
  line: BudgetLine,
  { model, provider }: Partial<Pick<SpendEstimate, "model" | "provider">>,
): LimitText {
  const what = model === undefined ? "this model" : `the model ${model}`;
  const whose = line.owner === SESSION ? "the session's limit" : `agent ${line.owner}'s limit`;
  const fix =
    provider === undefined
      ? "Return the `prices` from the model's `describe()`"
      : `Set providers.${provider}.prices${model === undefined ? "" : `[${JSON.stringify(model)}]`} in your settings`;
  const remedy = `${fix}, choose a model with a known price, or limit tokens instead: set budget.tokens in your settings.`;
  const cause = `The price of ${what} is unknown, so ${whose} of ${limitText("usd", line.limit)} can't be enforced.`;
  return { cause, message: `${cause} ${remedy}` };
}

/** Tells a model that no agent can be started for its call, and what it can do instead. */
export function noSpawnText({ limit, cause }: RefusedLimit): string {
  const advice = countsAgents(limit)
    ? "You can't raise this limit. Do the work yourself, or resume an agent that has ended. If something is left undone, say so in your answer."
    : "You can't raise this limit. Finish with what you have, and say in your answer what is missing.";
  return `${cause} ${advice}`;
}

/** Returns the end of a run whose budget does not allow it to continue. */
export function endingOf({ limit, owner, unpriced, cause, message }: RefusedLimit): Ending {
  return {
    reason: "budget",
    message,
    limit: { cause, owner, spawns: countsAgents(limit) ? true : undefined, unpriced },
  };
}

export const SESSION = "session";

function countsAgents(limit: BudgetLimit): boolean {
  return limit === "spawns" || limit === "promptSpawns" || limit === "concurrent";
}

function ownerText(owner: string): string {
  return owner === SESSION ? "The session" : `The agent ${owner}`;
}

function limitText(limit: BudgetLimit, amount: number): string {
  if (limit === "promptSpawns") return `${amountText(limit, amount)} for one prompt`;
  if (limit === "concurrent") return `${amountText(limit, amount)} at once`;
  return amountText(limit, amount);
}

function amountText(limit: BudgetLimit, amount: number): string {
  if (limit === "usd") return `$${amount.toFixed(amount >= 1 || amount === 0 ? 2 : 4)}`;
  if (limit === "seconds") return formatDuration(amount * 1_000);
  if (limit === "tokens") return plural(amount, "token");
  if (limit === "turns") return plural(amount, "request");
  return Number.isInteger(amount) ? plural(amount, "agent") : `${formatCount(amount)} agents`;
}

function remedyText(limit: BudgetLimit, owner: string): string {
  if (limit === "promptSpawns")
    return "To raise it, set subagents.maxSpawns in your settings, or continue with a new prompt.";
  if (owner === SESSION) return `To raise it, set budget.${limit} in your settings.`;
  return `To raise it, change "budget: {${limit}: …}" in the definition of ${owner}.`;
}
