import {
  type CacheFigures,
  type CacheReport,
  type ExplainedRequest,
  explainCache,
  type ListedAgent,
  latestSessionId,
  reportCache,
  type SessionSummary,
  stateDirectory,
} from "../../app/index.ts";
import { oneLine } from "../../client/index.ts";
import { formatCount } from "../../lib/index.ts";
import { type CacheDimension, type CacheLifetime, MAIN_AGENT } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { agentIdOf, parseSessionAgent, sessionById, sessionError } from "../find-session.ts";
import { displayWidth } from "../fit-line.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput } from "../output.ts";
import { readAgentTranscripts } from "../progress/agent-transcripts.ts";
import { directoryOption, type HelpRequest, helpOption, readVerb, usageError } from "../read-options.ts";
import { chosenDirectory } from "../real-directory.ts";
import { renderTable } from "./listing.ts";

/** Runs `retinue cache report|explain`. */
export async function cache(argv: readonly string[]): Promise<number> {
  const command = parseCache(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const output = createOutput(process.stdout);
  const { path } = sessionOf(command);
  await output.write(command.kind === "report" ? await report(command, path) : await explain(command, path));
  return exitCodes.succeeded;
}

interface CacheQuery {
  /** Session id or a prefix of it; defaults to the latest session in the directory. */
  readonly id: string | undefined;
  readonly json: boolean;
  readonly cwd: string | undefined;
}

type CacheCommand =
  | ({ readonly kind: "report" } & CacheQuery)
  | ({ readonly kind: "explain"; readonly agent: string | undefined } & CacheQuery);

const verbs = {
  report: { json: {}, cwd: directoryOption, help: helpOption },
  explain: { json: {}, agent: { value: "ID" }, cwd: directoryOption, help: helpOption },
};

function parseCache(argv: readonly string[]): CacheCommand | HelpRequest {
  const read = readVerb("cache", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  const [id, ...more] = options.positionals;
  if (more.length > 0) throw usageError(`"cache ${verb}" takes one id`, "Name one session at a time.");
  const query = { id, json: options.has("json"), cwd: options.value("cwd") };
  if (verb === "report") return { kind: "report", ...query };
  const agent = options.value("agent");
  return { kind: "explain", ...query, ...(id === undefined ? { agent } : parseSessionAgent(id, agent)) };
}

async function report({ json }: CacheQuery, path: string): Promise<string> {
  const found = await reportCache(path);
  return json ? `${JSON.stringify(found, null, 2)}\n` : renderReport(found);
}

async function explain({ json, agent }: Extract<CacheCommand, { kind: "explain" }>, path: string): Promise<string> {
  const all = await explainCache(path);
  const agentId = agent === undefined ? undefined : agentIdOf(agent, askingAgents(all, path), "agent with requests");
  const chosen = agentId === undefined ? all : all.filter((one) => one.agentId === agentId);
  return json ? `${JSON.stringify(chosen, null, 2)}\n` : renderExplained(chosen);
}

/** Returns the agents that have sent requests, oldest first. */
function askingAgents(requests: readonly ExplainedRequest[], path: string): readonly ListedAgent[] {
  const ids = new Set(requests.map(({ agentId }) => agentId));
  return [{ agentId: MAIN_AGENT }, ...readAgentTranscripts(path)].filter(({ agentId }) => ids.has(agentId));
}

function sessionOf({ id, cwd }: CacheQuery): SessionSummary {
  const home = stateDirectory(process.env);
  if (id !== undefined) return sessionById({ home, id });
  const directory = chosenDirectory(cwd);
  const latest = latestSessionId({ home, cwd: directory });
  if (latest !== undefined) return sessionById({ home, id: latest });
  const fix = '"retinue sessions list --all" shows sessions in other directories.';
  throw sessionError(`There is no session in ${directory}`, fix);
}

/**
 * Renders a table with a row for the session and, if it has subagents, a row for each of its agents. If the table is
 * wider than `columns`, each row becomes a list.
 */
export function renderReport(
  { sessionId, total, agents, belowMinimum }: CacheReport,
  columns = Number.POSITIVE_INFINITY,
): string {
  if (total.requests === 0) return `The session ${sessionId} has no recorded model responses.\n`;
  const head = ["", "REQUESTS", "INPUT", "READ", "WRITTEN", "PLAIN", "OF IDEAL", "BASE TOKENS"];
  const money = ["SPENT", "WITHOUT CACHE", "IF IDEAL"];
  const rows = [
    figureCells(sessionId, total),
    ...(agents.length < 2 ? [] : agents.map((one) => figureCells(nameOf(one), one))),
  ];
  const isPriced = total.usd !== undefined;
  const table = [[...head, ...(isPriced ? money : [])], ...rows.map((row) => (isPriced ? row : row.slice(0, -3)))];
  const lines = [summaryOf(total), ...belowMinimum.map(minimumText)];
  const rendered = renderTable(table, 0);
  const isTooWide = rendered.split("\n").some((line) => displayWidth(line) > columns);
  return `${isTooWide ? renderLists(table) : rendered}\n${lines.join("\n")}\n`;
}

/** Renders each row of a table as its first cell, followed by one line for each of the other cells. */
function renderLists([head = [], ...rows]: readonly (readonly string[])[]): string {
  const width = Math.max(...head.map((title) => title.length));
  const list = ([name = "", ...cells]: readonly string[]): string => {
    const lines = cells.map((cell, index) => `  ${(head[index + 1] ?? "").toLowerCase().padEnd(width)}  ${cell}`);
    return `${[name, ...lines].join("\n")}\n`;
  };
  return rows.map(list).join("");
}

function minimumText({ model, minimumTokens, requests, tooShort }: CacheReport["belowMinimum"][number]): string {
  const which = `${formatCount(tooShort)} of ${formatCount(requests)} requests to it`;
  return `${oneLine(model)} caches nothing below ${formatCount(minimumTokens)} tokens, so ${which} could not be cached. Use a model with a smaller minimum, or give more work to fewer agents.`;
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
  const ideal = `an ideal cache would have read ${formatCount(idealReadTokens)}`;
  const cost = usd
    ? `${dollars(usd.spent)} spent, ${dollars(usd.withoutCache)} without a cache, ${dollars(usd.ideal)} with an ideal one`
    : `the price of ${formatCount(baseTokens.spent)} plain input tokens, ${formatCount(baseTokens.withoutCache)} without a cache, ${formatCount(baseTokens.ideal)} with an ideal one`;
  return `Cache: ${formatCount(cacheReadTokens)} tokens read${read}; ${ideal}. Cost: ${cost}.`;
}

/** Renders a table for each agent, with the reasons listed below each request that missed cached tokens. */
export function renderExplained(requests: readonly ExplainedRequest[]): string {
  if (requests.length === 0) return "No requests are recorded.\n";
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
    return [`  ${line}`, ...(request ? explanationLines(request).map((text) => `      ${text}`) : [])];
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

function explanationLines(request: ExplainedRequest): string[] {
  const { broken, belowMinimum, reason, keptFor = "5m", lifetimeChange, model, tokens, isChanged } = request;
  const lines: string[] = [];
  if (lifetimeChange) {
    const { before, after } = lifetimeChange;
    lines.push(`The cache lifetime changed from ${lifetimeNames[before]} to ${lifetimeNames[after]}.`);
  }
  if (broken) {
    const { dimension, firstDifference, before, after, change } = broken;
    if (change) lines.push(changeTexts[change]);
    lines.push(
      `${dimensionNames[dimension]} differ${dimension === "tools_model_thinking" || dimension === "messages" ? "" : "s"} from byte ${formatCount(firstDifference)} on, so about ${formatCount(broken.tokens)} cached tokens can't be read.`,
      `  before: ${quoted(before)}`,
      `  now:    ${quoted(after)}`,
    );
  }
  if (belowMinimum !== undefined) {
    lines.push(`Not cached: ${oneLine(model)} caches nothing below ${formatCount(belowMinimum)} tokens.`);
  }
  if (reason) lines.push(`${formatCount(tokens?.missed ?? 0)} tokens missed: ${reasonTexts[reason](keptFor)}`);
  if (isChanged) lines.push("The transcript was changed later, so it differs from what was sent.");
  return lines;
}

const changeTexts = {
  compaction: "The conversation was compacted.",
  thinking: "The model's earlier thinking was left out.",
  rewind: "The user went back to an earlier prompt.",
  model: "Another model continued the conversation.",
  agent: "Another main agent continued the conversation.",
  settings: "The effort or another parameter changed.",
  missing: "The stored tools and system text were missing.",
} satisfies Record<NonNullable<NonNullable<ExplainedRequest["broken"]>["change"]>, string>;

const dimensionNames: Record<CacheDimension, string> = {
  tools_model_thinking: "Tools, model or thinking",
  system: "The system prompt",
  system_context: "The system context",
  user_context: "The user context",
  messages: "The messages",
};

const lifetimeNames: Record<CacheLifetime, string> = { "5m": "five minutes", "1h": "an hour" };

const reasonTexts = {
  early: () => "this request was sent before the one that wrote them was answered.",
  expired: (keptFor) => `no request had used them for more than ${lifetimeNames[keptFor]}.`,
  lifetime: (keptFor) =>
    `they were written to be kept for ${lifetimeNames[keptFor]}, and this request asks for a different lifetime.`,
  small: () => "most providers cache nothing below 1,024 tokens; the minimum for this model is unknown.",
  unreported: () => "the provider does not report what it read from a cache.",
  provider: () => "the bytes are the same, but the provider no longer had them in its cache.",
} satisfies Record<NonNullable<ExplainedRequest["reason"]>, (keptFor: CacheLifetime) => string>;

function quoted(text: string): string {
  return `…${oneLine(text)}…`;
}

function percent(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toFixed(1)}%`;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(4)}`;
}
