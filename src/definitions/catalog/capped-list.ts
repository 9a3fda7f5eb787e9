import { estimateTokens } from "../../lib/index.ts";
import type { DefinitionSource } from "../../protocol/index.ts";

/** An entry that a model can choose by name. */
export interface ListEntry {
  readonly name: string;
  readonly description: string;
  readonly source: DefinitionSource;
  /** Text after the description. It is kept even if the description is shortened. */
  readonly suffix?: string | undefined;
  /** Replaces `suffix` if it would take up too much of the line. */
  readonly shortSuffix?: string | undefined;
}

export interface CappedListLimits {
  /** Limit in tokens for one line. */
  readonly maxPerLine: number;
  /** Limit in tokens for the whole text. */
  readonly maxTotal: number;
}

export interface ListedEntry {
  readonly name: string;
  /** Number of tokens that the entry takes up in the text. */
  readonly tokens: number;
  /**
   * How the entry is shown: in full (`line`), with a shorter description (`cut`), only by name (`name`) or not at all
   * (`left-out`).
   */
  readonly shown: "line" | "cut" | "name" | "left-out";
}

export interface CappedList {
  readonly text: string;
  readonly tokens: number;
  /** True if every entry has its own line in the text, so that a caller can offer the names as an `enum`. */
  readonly complete: boolean;
  /** Entries sorted by name, as in the text. */
  readonly entries: readonly ListedEntry[];
}

const minLine = 30;

/**
 * Formats the list that a model chooses from. The same entries, in any order, produce the same bytes. If the list
 * exceeds the limit, lines get shorter, down to a useful minimum; then entries from lower-ranked sources keep only
 * their names.
 */
export function cappedList(entries: readonly ListEntry[], { maxPerLine, maxTotal }: CappedListLimits): CappedList {
  const sorted = [...entries].sort((a, b) => (a.name < b.name ? -1 : 1));
  const perLine = widestLines(sorted, { maxPerLine, maxTotal });
  const lines = new Map(sorted.map((entry) => [entry, lineOf(entry, perLine)]));
  const fits = withinTotal(sorted, { lines, maxTotal });
  return compose(sorted, { lines, ...fits });
}

type Lines = ReadonlyMap<ListEntry, { readonly text: string; readonly cut: boolean }>;

/** Returns the largest limit per line with which all lines fit, but no less than the shortest useful limit. */
function widestLines(
  entries: readonly ListEntry[],
  { maxPerLine, maxTotal }: { maxPerLine: number; maxTotal: number },
): number {
  const lowest = Math.min(minLine, maxPerLine);
  const total = (cap: number) => sum(entries.map((entry) => estimateTokens(`${lineOf(entry, cap).text}\n`)));
  if (total(maxPerLine) <= maxTotal) return maxPerLine;
  let fitting = lowest;
  let tooWide = maxPerLine;
  while (tooWide - fitting > 1) {
    const middle = Math.floor((fitting + tooWide) / 2);
    if (total(middle) <= maxTotal) fitting = middle;
    else tooWide = middle;
  }
  return fitting;
}

/**
 * Chooses the entries whose line or name fits. Names take priority over full lines, because an entry can't be used
 * without its name.
 */
function withinTotal(
  entries: readonly ListEntry[],
  { lines, maxTotal }: { lines: Lines; maxTotal: number },
): { lined: ReadonlySet<ListEntry>; named: ReadonlySet<ListEntry> } {
  const costOfLine = (entry: ListEntry) => estimateTokens(`${lines.get(entry)?.text ?? ""}\n`);
  if (sum(entries.map(costOfLine)) <= maxTotal) return { lined: new Set(entries), named: new Set() };
  const ranked = [...entries].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
  let left = maxTotal - estimateTokens(namesIntroduction) - estimateTokens(restSentence(entries.length));
  const named = new Set<ListEntry>();
  for (const entry of ranked) {
    if (costOfName(entry) > left) continue;
    left -= costOfName(entry);
    named.add(entry);
  }
  const lined = new Set<ListEntry>();
  for (const entry of ranked) {
    const extra = costOfLine(entry) - costOfName(entry);
    if (!named.has(entry) || extra > left) continue;
    left -= extra;
    named.delete(entry);
    lined.add(entry);
  }
  return { lined, named };
}

const ranks: readonly DefinitionSource[] = ["built-in", "policy", "flag", "project", "user", "plugin"];

function rank({ source }: ListEntry): number {
  return ranks.indexOf(source);
}

const namesIntroduction = "Also available, by name only: \n";

function restSentence(count: number): string {
  return `And ${count} more: call with a word that describes what you need, and the result lists the nearest names.\n`;
}

function costOfName({ name }: ListEntry): number {
  return estimateTokens(`${name}, `);
}

function compose(
  entries: readonly ListEntry[],
  { lines, lined, named }: { lines: Lines; lined: ReadonlySet<ListEntry>; named: ReadonlySet<ListEntry> },
): CappedList {
  const parts = entries.filter((entry) => lined.has(entry)).map((entry) => lines.get(entry)?.text ?? "");
  const names = entries.filter((entry) => named.has(entry)).map(({ name }) => name);
  if (names.length > 0) parts.push(namesIntroduction.trimEnd().concat(" ", names.join(", ")));
  const leftOut = entries.length - lined.size - named.size;
  if (leftOut > 0) parts.push(restSentence(leftOut).trimEnd());
  const text = parts.join("\n");
  const listed = entries.map((entry): ListedEntry => {
    const line = lines.get(entry);
    if (lined.has(entry) && line) {
      return { name: entry.name, tokens: estimateTokens(`${line.text}\n`), shown: line.cut ? "cut" : "line" };
    }
    if (named.has(entry)) return { name: entry.name, tokens: costOfName(entry), shown: "name" };
    return { name: entry.name, tokens: 0, shown: "left-out" };
  });
  return { text, tokens: estimateTokens(text), complete: lined.size === entries.length, entries: listed };
}

function lineOf(entry: ListEntry, cap: number): { text: string; cut: boolean } {
  const description = entry.description.replace(/\s+/g, " ").trim();
  const whole = `- ${entry.name}: ${description}${entry.suffix ?? ""}`;
  if (estimateTokens(whole) <= cap) return { text: whole, cut: false };
  const { suffix: longSuffix = "", shortSuffix = "" } = entry;
  const suffix = estimateTokens(longSuffix) > cap / 3 ? shortSuffix : longSuffix;
  const available = cap - estimateTokens(`- ${entry.name}: ${suffix}`) - 1;
  return { text: `- ${entry.name}: ${shorten(description, available)}${suffix}`, cut: true };
}

/** Shortens a description: removes examples first, then cuts the end at a word. */
function shorten(description: string, tokens: number): string {
  const [plain = ""] = description.split(/ ?<example>| ?\bExamples?:/i);
  const text = plain === "" ? description : plain;
  if (estimateTokens(text) <= tokens) return text;
  let length = Math.min(text.length, Math.max(0, Math.floor(tokens * 3.6)));
  while (length > 0 && estimateTokens(`${text.slice(0, length)}…`) > tokens) length = Math.floor(length * 0.9);
  const cut = text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
  const atWord = /\s/.test(cut.slice(cut.length / 2)) ? cut.replace(/\s+\S*$/, "") : cut;
  return `${atWord.trimEnd()}…`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
