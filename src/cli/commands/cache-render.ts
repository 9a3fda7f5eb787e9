import type { CacheFigures, CacheReport, ExplainedRequest } from "../../app/index.ts";
import { formatCount } from "../../lib/index.ts";
import type { CacheDimension, CacheLifetime } from "../../protocol/index.ts";
import { oneLine } from "../describe-call.ts";
import { renderTable } from "./listing.ts";

/** A table: the session, then each of its agents where it has any. */
export function renderReport({ sessionId, total, agents }: CacheReport): string {
  if (total.requests === 0) return `No answer of a model is recorded in the session ${sessionId}.\n`;
  const head = ["", "REQUESTS", "INPUT", "READ", "WRITTEN", "PLAIN", "OF THE IDEAL", "BASE TOKENS"];
  const money = ["SPENT", "WITHOUT CACHE", "AT THE IDEAL"];
  const rows = [
    figureCells(sessionId, total),
    ...(agents.length < 2 ? [] : agents.map((one) => figureCells(nameOf(one), one))),
  ];
  const isPriced = total.usd !== undefined;
  const table = [[...head, ...(isPriced ? money : [])], ...rows.map((row) => (isPriced ? row : row.slice(0, -3)))];
  return `${renderTable(table, 0)}\n${summaryOf(total)}\n`;
}

function figureCells(name: string, { requests, usage, idealReadTokens, baseTokens, usd }: CacheFigures): string[] {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const counts = [requests, inputTokens + cacheReadTokens + cacheWriteTokens];
  return [
    name,
    ...[...counts, cacheReadTokens, cacheWriteTokens, inputTokens].map(formatCount),
    idealReadTokens === 0 ? "–" : percent(cacheReadTokens / idealReadTokens),
    formatCount(baseTokens.spent),
    ...(usd ? [usd.spent, usd.withoutCache, usd.ideal].map(dollars) : ["?", "?", "?"]),
  ];
}

function summaryOf({ usage, idealReadTokens, baseTokens, usd }: CacheFigures): string {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  const read = input === 0 ? "" : ` (${percent(cacheReadTokens / input)} of the input)`;
  const ideal = idealReadTokens === 0 ? "nothing could be read" : `of ${formatCount(idealReadTokens)} that could be`;
  const cost = usd
    ? `${dollars(usd.spent)} spent, ${dollars(usd.withoutCache)} without a cache, ${dollars(usd.ideal)} at the ideal`
    : `input as ${formatCount(baseTokens.spent)} plain tokens, ${formatCount(baseTokens.withoutCache)} without a cache, ${formatCount(baseTokens.ideal)} at the ideal`;
  return `Cache: ${formatCount(cacheReadTokens)} tokens read${read}, ${ideal}; ${cost}.`;
}

/** A table for each agent, with a line below a request that lost something. */
export function renderExplained(requests: readonly ExplainedRequest[]): string {
  if (requests.length === 0) return "No request is recorded.\n";
  const agentIds = [...new Set(requests.map(({ agentId }) => agentId))];
  return agentIds.map((agentId) => renderAgent(requests.filter((one) => one.agentId === agentId))).join("\n");
}

function renderAgent(requests: readonly ExplainedRequest[]): string {
  const [first] = requests;
  const head = ["REQUEST", "INPUT", "READ", "WRITTEN", "PLAIN", "MISSED"];
  const table = renderTable([head, ...requests.map(requestCells)], 0)
    .trimEnd()
    .split("\n");
  const lines = table.flatMap((line, index) => {
    const request = requests[index - 1];
    return [`  ${line}`, ...(request ? wordsOf(request).map((words) => `      ${words}`) : [])];
  });
  const name = first === undefined ? "" : `${nameOf(first)} · ${first.model}`;
  return `${oneLine(name)}\n${lines.join("\n")}\n`;
}

function nameOf({ agentId, agentType }: { readonly agentId: string; readonly agentType: string }): string {
  return agentType === agentId ? agentId : `${agentType} ${agentId}`;
}

function requestCells({ number, tokens, isSummary }: ExplainedRequest): string[] {
  const name = `${number}${isSummary ? " (summary)" : ""}`;
  if (tokens === undefined) return [name, "no answer", "", "", "", ""];
  const { input, read, written, plain, missed } = tokens;
  return [name, ...[input, read, written, plain].map(formatCount), missed === 0 ? "–" : formatCount(missed)];
}

function wordsOf(request: ExplainedRequest): string[] {
  const { broken, reason, keptFor = "5m", lifetimeChange, tokens, isChanged } = request;
  const words: string[] = [];
  if (lifetimeChange) {
    const { before, after } = lifetimeChange;
    words.push(
      `From here on the provider is asked to keep it for ${lifetimeWords[after]}, before for ${lifetimeWords[before]}.`,
    );
  }
  if (broken) {
    const { dimension, firstDifference, before, after } = broken;
    words.push(
      `${dimensionWords[dimension]} differ${dimension === "tools_model_thinking" || dimension === "messages" ? "" : "s"} from byte ${formatCount(firstDifference)} on: about ${formatCount(broken.tokens)} tokens that were cached can't be read.`,
      `  before: ${quoted(before)}`,
      `  now:    ${quoted(after)}`,
    );
  }
  if (reason) words.push(`${formatCount(tokens?.missed ?? 0)} tokens missed: ${reasonWords[reason](keptFor)}`);
  if (isChanged) words.push("The transcript was changed since: what stands there is not what was sent.");
  return words;
}

const dimensionWords: Record<CacheDimension, string> = {
  tools_model_thinking: "Tools, model or thinking",
  system: "The system prompt",
  system_context: "The system context",
  user_context: "The user context",
  messages: "The messages",
};

const lifetimeWords: Record<CacheLifetime, string> = { "5m": "five minutes", "1h": "an hour" };

const reasonWords = {
  early: () => "it was sent before the request that wrote them had its answer.",
  expired: (keptFor) => `nobody had asked for them for more than ${lifetimeWords[keptFor]}.`,
  lifetime: (keptFor) => `they were written to be kept for ${lifetimeWords[keptFor]}, and this request asks otherwise.`,
  small: () => "they are fewer than most providers keep.",
  unreported: () => "this provider tells of no cache.",
  provider: () => "the bytes are the same, but the provider did not have them any more.",
} satisfies Record<NonNullable<ExplainedRequest["reason"]>, (keptFor: CacheLifetime) => string>;

function quoted(text: string): string {
  return `…${oneLine(text)}…`;
}

function percent(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toFixed(1)} %`;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(4)}`;
}
