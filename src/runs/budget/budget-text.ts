import { formatCount, formatDuration, plural } from "../../lib/index.ts";

/** `promptSpawns` is `subagents.maxSpawns`: it counts anew with each prompt of a person. */
export type BudgetLimit = "tokens" | "usd" | "turns" | "seconds" | "spawns" | "promptSpawns" | "concurrent";

/** One limit with what became of it, in tokens, dollars, requests, seconds, agents. */
export interface BudgetLine {
  /** Whose limit: `session`, or the name of an agent. */
  readonly of: string;
  readonly limit: number;
  readonly used: number;
  readonly reserved: number;
  /** Never below zero, though more than the limit can have been used. */
  readonly left: number;
  /** The part of `used` that was charged for requests whose answers were lost; absent: none. */
  readonly estimated?: number;
}

interface Refused {
  readonly needed?: number | undefined;
  /** One that asks a model by itself. */
  readonly isCall?: true | undefined;
}

/** Why there is no more, with all the numbers and the cure. */
export function refusalText(limit: BudgetLimit, line: BudgetLine, { needed, isCall }: Refused = {}): string {
  const under = line.reserved > 0 ? `, ${amountText(limit, line.reserved)} reserved for requests under way` : "";
  const needs =
    needed === undefined ? "" : `; ${isCall ? "it" : "the next request"} needs ${amountText(limit, needed)}`;
  const lost =
    line.estimated === undefined
      ? ""
      : `, ${amountText(limit, line.estimated)} of it estimated for requests whose answers were lost`;
  const state = `${amountText(limit, line.used)} used${lost}${under}, ${amountText(limit, line.left)} left${needs}`;
  const stops = isOfAgents(limit) ? "may start no more agents" : isCall ? "may not make this call" : "may not go on";
  return `${ownerText(line.of)} ${stops}: the limit is ${limitText(limit, line.limit)} (${state}). ${cureText(limit, line.of)}`;
}

export function warningText(limit: BudgetLimit, line: BudgetLine): string {
  const percent = Math.floor((line.used / line.limit) * 100);
  const state = `${amountText(limit, line.used)} of ${limitText(limit, line.limit)}`;
  return `${ownerText(line.of)} has used ${state} (${percent} %); at the limit it stops with what is done. ${cureText(limit, line.of)}`;
}

/** A limit in dollars means nothing where nobody knows the price. */
export function unpricedText(line: BudgetLine, model: string | undefined): string {
  const what = model === undefined ? "this model" : `the model ${model}`;
  const whose = line.of === SESSION ? "the session's limit" : `the limit of the agent ${line.of}`;
  const cure = 'Add it to "prices" of its provider in settings, choose a model with a known price, or limit tokens.';
  return `Nobody knows the price of ${what}, so ${whose} of ${limitText("usd", line.limit)} can't be kept. ${cure}`;
}

export const SESSION = "session";

function isOfAgents(limit: BudgetLimit): boolean {
  return limit === "spawns" || limit === "promptSpawns" || limit === "concurrent";
}

function ownerText(of: string): string {
  return of === SESSION ? "The session" : `The agent ${of}`;
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

const flags: Partial<Readonly<Record<BudgetLimit, string>>> = {
  tokens: " or use --max-tokens",
  usd: " or use --max-cost",
  promptSpawns: " or use --max-spawns, or go on with a new prompt",
};

function cureText(limit: BudgetLimit, of: string): string {
  if (limit === "promptSpawns") return `To raise it, set subagents.maxSpawns in your settings${flags[limit]}.`;
  if (of === SESSION) return `To raise it, set budget.${limit} in your settings${flags[limit] ?? ""}.`;
  return `To raise it, change "budget: {${limit}: …}" in the definition of ${of}.`;
}
