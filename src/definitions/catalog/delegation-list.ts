import { estimateTokens } from "../../lib/index.ts";
import { type AgentDefinition, canonicalToolName, type DefinitionSource } from "../../protocol/index.ts";

export interface ListLimits {
  /** Tokens of one agent's line. */
  readonly maxPerAgent?: number;
  /** Tokens of the whole text. */
  readonly maxTotal?: number;
}

export interface ListedAgent {
  readonly name: string;
  /** What it costs in the text. */
  readonly tokens: number;
  /** `line`: as it is. `cut`: with a shorter description. `name`: only its name. `left-out`: not even that. */
  readonly shown: "line" | "cut" | "name" | "left-out";
}

export interface DelegationList {
  readonly text: string;
  readonly tokens: number;
  /** Every agent has a line: the caller can enumerate the names. */
  readonly complete: boolean;
  /** Sorted by name, as in the text. */
  readonly agents: readonly ListedAgent[];
}

const shortestLine = 30;

/**
 * What a model reads to choose an agent: the same agents in any order give the same bytes. Too many for the cap: lines get
 * shorter down to a useful minimum, then the agents of the lower sources keep only their names.
 */
export function delegationList(
  agents: readonly AgentDefinition[],
  { maxPerAgent = 200, maxTotal = 8_000 }: ListLimits = {},
): DelegationList {
  const sorted = [...agents].sort((a, b) => (a.name < b.name ? -1 : 1));
  const perLine = widestLines(sorted, { maxPerAgent, maxTotal });
  const lines = new Map(sorted.map((agent) => [agent, lineOf(agent, perLine)]));
  const fits = withinTotal(sorted, { lines, maxTotal });
  return compose(sorted, { lines, ...fits });
}

type Lines = ReadonlyMap<AgentDefinition, { readonly text: string; readonly cut: boolean }>;

/** The largest cap per line, down to the shortest useful one, with which all lines fit. */
function widestLines(
  agents: readonly AgentDefinition[],
  { maxPerAgent, maxTotal }: { maxPerAgent: number; maxTotal: number },
): number {
  const lowest = Math.min(shortestLine, maxPerAgent);
  const total = (cap: number) => sum(agents.map((agent) => estimateTokens(`${lineOf(agent, cap).text}\n`)));
  if (total(maxPerAgent) <= maxTotal) return maxPerAgent;
  let fitting = lowest;
  let tooWide = maxPerAgent;
  while (tooWide - fitting > 1) {
    const middle = Math.floor((fitting + tooWide) / 2);
    if (total(middle) <= maxTotal) fitting = middle;
    else tooWide = middle;
  }
  return fitting;
}

/** Whose line and whose name fit. Names come first for all, since an agent that nobody can name is not there. */
function withinTotal(
  agents: readonly AgentDefinition[],
  { lines, maxTotal }: { lines: Lines; maxTotal: number },
): { lined: ReadonlySet<AgentDefinition>; named: ReadonlySet<AgentDefinition> } {
  const costOfLine = (agent: AgentDefinition) => estimateTokens(`${lines.get(agent)?.text ?? ""}\n`);
  if (sum(agents.map(costOfLine)) <= maxTotal) return { lined: new Set(agents), named: new Set() };
  const ranked = [...agents].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
  let left = maxTotal - estimateTokens(namesIntroduction) - estimateTokens(restSentence(agents.length));
  const named = new Set<AgentDefinition>();
  for (const agent of ranked) {
    if (costOfName(agent) > left) continue;
    left -= costOfName(agent);
    named.add(agent);
  }
  const lined = new Set<AgentDefinition>();
  for (const agent of ranked) {
    const extra = costOfLine(agent) - costOfName(agent);
    if (!named.has(agent) || extra > left) continue;
    left -= extra;
    named.delete(agent);
    lined.add(agent);
  }
  return { lined, named };
}

const ranks: readonly DefinitionSource[] = ["built-in", "policy", "flag", "project", "user", "plugin"];

function rank({ source }: AgentDefinition): number {
  return ranks.indexOf(source);
}

const namesIntroduction = "Also there, by name only: \n";

function restSentence(count: number): string {
  return `And ${count} more: ask with a word for what you need, and the nearest names are told.\n`;
}

function costOfName({ name }: AgentDefinition): number {
  return estimateTokens(`${name}, `);
}

function compose(
  agents: readonly AgentDefinition[],
  { lines, lined, named }: { lines: Lines; lined: ReadonlySet<AgentDefinition>; named: ReadonlySet<AgentDefinition> },
): DelegationList {
  const parts = agents.filter((agent) => lined.has(agent)).map((agent) => lines.get(agent)?.text ?? "");
  const names = agents.filter((agent) => named.has(agent)).map(({ name }) => name);
  if (names.length > 0) parts.push(namesIntroduction.trimEnd().concat(" ", names.join(", ")));
  const leftOut = agents.length - lined.size - named.size;
  if (leftOut > 0) parts.push(restSentence(leftOut).trimEnd());
  const text = parts.join("\n");
  const listed = agents.map((agent): ListedAgent => {
    const line = lines.get(agent);
    if (lined.has(agent) && line) {
      return { name: agent.name, tokens: estimateTokens(`${line.text}\n`), shown: line.cut ? "cut" : "line" };
    }
    if (named.has(agent)) return { name: agent.name, tokens: costOfName(agent), shown: "name" };
    return { name: agent.name, tokens: 0, shown: "left-out" };
  });
  return { text, tokens: estimateTokens(text), complete: lined.size === agents.length, agents: listed };
}

function lineOf(agent: AgentDefinition, cap: number): { text: string; cut: boolean } {
  const description = agent.description.replace(/\s+/g, " ").trim();
  const whole = `- ${agent.name}: ${description}${suffixOf(agent)}`;
  if (estimateTokens(whole) <= cap) return { text: whole, cut: false };
  const longSuffix = suffixOf(agent);
  const suffix = estimateTokens(longSuffix) > cap / 3 ? shortSuffixOf(agent) : longSuffix;
  const room = cap - estimateTokens(`- ${agent.name}: ${suffix}`) - 1;
  return { text: `- ${agent.name}: ${shorten(description, room)}${suffix}`, cut: true };
}

/** Examples go first; then the end, at a word. */
function shorten(description: string, tokens: number): string {
  const [plain = ""] = description.split(/\s*<example>|\s*\bExamples?:/i);
  const text = plain === "" ? description : plain;
  if (estimateTokens(text) <= tokens) return text;
  let length = Math.min(text.length, Math.max(0, Math.floor(tokens * 3.6)));
  while (length > 0 && estimateTokens(`${text.slice(0, length)}…`) > tokens) length = Math.floor(length * 0.9);
  const cut = text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
  const atWord = /\s/.test(cut.slice(cut.length / 2)) ? cut.replace(/\s+\S*$/, "") : cut;
  return `${atWord.trimEnd()}…`;
}

function suffixOf(agent: AgentDefinition): string {
  const properties = propertiesOf(agent);
  const told = properties.length > 0 ? `Properties: ${properties.join(", ")}; ` : "";
  return ` (${told}Tools: ${toolsOf(agent)})`;
}

function shortSuffixOf({ tools }: AgentDefinition): string {
  if (tools === undefined || tools.includes("*")) return "";
  return ` (Tools: ${tools.length})`;
}

function propertiesOf({ forkContext, background, isolation, memory }: AgentDefinition): string[] {
  const properties: string[] = [];
  if (forkContext) properties.push("access to the current context");
  if (background) properties.push("runs in the background");
  if (isolation === "worktree") properties.push("works in a worktree of its own");
  if (memory !== undefined) properties.push("remembers");
  return properties;
}

function toolsOf({ tools, disallowedTools = [] }: AgentDefinition): string {
  // With a specifier it is a rule about the tool, which stays.
  const removed = unique(disallowedTools.filter((tool) => !tool.includes("(")).map(canonicalToolName));
  if (tools === undefined || tools.includes("*")) {
    return removed.length > 0 ? `All tools except ${removed.join(", ")}` : "All tools";
  }
  const granted = unique(tools.map(canonicalName)).filter((tool) => !removed.includes(tool));
  return granted.length > 0 ? granted.join(", ") : "None";
}

function canonicalName(tool: string): string {
  const [name = tool] = tool.split("(");
  return canonicalToolName(name.trim()) + tool.slice(name.length);
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
