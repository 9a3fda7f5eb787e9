import {
  type AgentDefinition,
  type AgentPlace,
  agentAliases as aliases,
  type Diagnostic,
  definitionSources,
} from "../../protocol/index.ts";
import { disguisedNames } from "../reading/confusable-name.ts";
import { nearestEntries } from "./nearest-entries.ts";

/** A definition with its location. Plugin agents have their full name, `plugin:name`. */
export interface CatalogEntry {
  readonly definition: AgentDefinition;
  /** Defaults to a file in the working directory. */
  readonly place?: AgentPlace | undefined;
}

export type DecidingRule = "opt-in" | "source" | "file-over-settings" | "nearest" | "directory" | "path" | "content";

export interface Override<Entry extends CatalogEntry> {
  readonly winner: Entry;
  readonly loser: Entry;
  readonly rule: DecidingRule;
  /** Human-readable explanation of the rule. */
  readonly reason: string;
}

export interface Found<Entry extends CatalogEntry> {
  readonly agent: Entry;
  readonly by: "name" | "alias" | "plugin" | "case";
}

export interface Catalog<Entry extends CatalogEntry = CatalogEntry> {
  /** One agent per name, sorted by name. */
  readonly agents: readonly Entry[];
  readonly overrides: readonly Override<Entry>[];
  /** Warnings about duplicates within one source and about names that look like another agent's name. */
  readonly diagnostics: readonly Diagnostic[];
  find(name: string): Found<Entry> | undefined;
  /** Returns the most similar names, best first, followed by others until there are `max` names. */
  nearest(name: string, max?: number): readonly string[];
}

export interface CatalogOptions {
  /** Plugin agents (`plugin:name`), each of which replaces the built-in agent called `name`. */
  readonly replaceBuiltIns?: readonly string[] | undefined;
}

/** Chooses one agent for each name. The order of `entries` does not matter. */
export function createCatalog<Entry extends CatalogEntry>(
  entries: readonly Entry[],
  { replaceBuiltIns = [] }: CatalogOptions = {},
): Catalog<Entry> {
  const { winners, overrides, clashes } = chooseWinners(entries);
  const bare = bareNames(winners);
  for (const [name, agent] of optedIn(winners, replaceBuiltIns)) {
    const loser = winners.get(name);
    if (loser) overrides.push(override(agent, loser, "opt-in"));
    winners.delete(name);
    bare.set(name, agent);
  }
  const agents = Object.freeze([...winners.values()].sort(byName));
  const folded = foldedNames(winners, bare);
  return Object.freeze({
    agents,
    overrides: Object.freeze(overrides),
    diagnostics: Object.freeze([
      ...clashes.flatMap(diagnose),
      ...disguisedNames(agents.map(({ definition }) => definition)),
    ]),
    find(name: string): Found<Entry> | undefined {
      const exact = winners.get(name);
      if (exact) return { agent: exact, by: "name" };
      const meant = aliasTarget(winners, name);
      if (meant) return { agent: meant, by: "alias" };
      const ofPlugin = bare.get(name);
      if (ofPlugin) return { agent: ofPlugin, by: "plugin" };
      const [only, other] = folded.get(name.toLowerCase()) ?? [];
      return only && !other ? { agent: only, by: "case" } : undefined;
    },
    nearest: (name: string, max = 10) =>
      nearestEntries(name, { entries: agents.map(({ definition }) => definition), max }),
  });
}

interface Chosen<Entry extends CatalogEntry> {
  readonly winners: Map<string, Entry>;
  readonly overrides: Override<Entry>[];
  /**
   * Definitions that another one from the same source overrides. A definition from a source with higher precedence may
   * in turn override that one.
   */
  readonly clashes: readonly Override<Entry>[];
}

function chooseWinners<Entry extends CatalogEntry>(entries: readonly Entry[]): Chosen<Entry> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.definition.name);
    if (group) group.push(entry);
    else groups.set(entry.definition.name, [entry]);
  }
  const winners = new Map<string, Entry>();
  const overrides: Override<Entry>[] = [];
  const clashes: Override<Entry>[] = [];
  for (const name of [...groups.keys()].sort()) {
    const [winner, ...losers] = (groups.get(name) ?? []).sort((a, b) => decide(a, b).sign);
    if (!winner) continue;
    winners.set(name, winner);
    let bestOfSource = winner;
    for (const loser of losers) {
      overrides.push(override(winner, loser, decide(winner, loser).rule));
      if (loser.definition.source !== bestOfSource.definition.source) bestOfSource = loser;
      else clashes.push(override(bestOfSource, loser, decide(bestOfSource, loser).rule));
    }
  }
  return { winners, overrides, clashes };
}

const steps: readonly [DecidingRule, (entry: CatalogEntry) => number | string][] = [
  ["source", ({ definition }) => -definitionSources.indexOf(definition.source)],
  ["file-over-settings", ({ place }) => (place?.form === "settings" ? 1 : 0)],
  ["nearest", ({ place }) => place?.distance ?? 0],
  ["directory", ({ place }) => place?.directory ?? 0],
  ["path", ({ definition }) => definition.file ?? ""],
  ["content", ({ definition }) => JSON.stringify(definition)],
];

/** Decides which of two definitions wins. A negative `sign` means that `a` wins. */
function decide(a: CatalogEntry, b: CatalogEntry): { sign: number; rule: DecidingRule } {
  for (const [rule, measure] of steps) {
    const [left, right] = [measure(a), measure(b)];
    if (left !== right) return { sign: left < right ? -1 : 1, rule };
  }
  return { sign: 0, rule: "content" };
}

/** Returns the plugin agents by bare name. A bare name that two plugins share is left out. */
function bareNames<Entry extends CatalogEntry>(winners: ReadonlyMap<string, Entry>): Map<string, Entry> {
  const bare = new Map<string, Entry>();
  const contested = new Set<string>();
  for (const entry of winners.values()) {
    const name = bareName(entry.definition);
    if (name === undefined || winners.has(name) || aliasTarget(winners, name)) continue;
    if (bare.has(name)) contested.add(name);
    bare.set(name, entry);
  }
  for (const name of contested) bare.delete(name);
  return bare;
}

function optedIn<Entry extends CatalogEntry>(
  winners: ReadonlyMap<string, Entry>,
  names: readonly string[],
): Map<string, Entry> {
  const chosen = new Map<string, Entry>();
  for (const full of [...names].sort()) {
    const entry = winners.get(full);
    const name = entry && bareName(entry.definition);
    if (!entry || name === undefined || chosen.has(name)) continue;
    if (winners.get(name)?.definition.source === "built-in") chosen.set(name, entry);
  }
  return chosen;
}

function bareName({ name, plugin }: AgentDefinition): string | undefined {
  return plugin !== undefined && name.startsWith(`${plugin}:`) ? name.slice(plugin.length + 1) : undefined;
}

/**
 * Finds an agent by alias, or by the name that an alias stands for. The latter is needed in the compact profile, where
 * built-in agents are named by their aliases.
 */
function aliasTarget<Entry extends CatalogEntry>(winners: ReadonlyMap<string, Entry>, name: string): Entry | undefined {
  const target = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
  if (target !== undefined) return winners.get(target);
  const short = Object.keys(aliases).find((alias) => aliases[alias] === name);
  const entry = short === undefined ? undefined : winners.get(short);
  return entry?.definition.source === "built-in" ? entry : undefined;
}

/** Returns every name and alias in lower case, with all agents that it could mean. */
function foldedNames<Entry extends CatalogEntry>(
  winners: ReadonlyMap<string, Entry>,
  bare: ReadonlyMap<string, Entry>,
): Map<string, Entry[]> {
  const folded = new Map<string, Entry[]>();
  const add = (name: string, entry: Entry) => {
    const known = folded.get(name.toLowerCase()) ?? [];
    if (!known.includes(entry)) folded.set(name.toLowerCase(), [...known, entry]);
  };
  for (const [name, entry] of winners) add(name, entry);
  for (const [name, entry] of bare) add(name, entry);
  for (const name of Object.keys(aliases)) {
    const target = aliasTarget(winners, name);
    if (target && !folded.has(name.toLowerCase())) add(name, target);
  }
  return folded;
}

function byName(a: CatalogEntry, b: CatalogEntry): number {
  return a.definition.name < b.definition.name ? -1 : 1;
}

function override<Entry extends CatalogEntry>(winner: Entry, loser: Entry, rule: DecidingRule): Override<Entry> {
  return { winner, loser, rule, reason: reasonOf(winner.definition, loser.definition, rule) };
}

function reasonOf(winner: AgentDefinition, loser: AgentDefinition, rule: DecidingRule): string {
  const reasons: Record<DecidingRule, string> = {
    "opt-in": `Your settings let the plugin agent "${winner.name}" replace the built-in one.`,
    source: `The source "${winner.source}" takes precedence over "${loser.source}".`,
    "file-over-settings": "Within one scope, a Markdown file takes precedence over the `agents` key in the settings.",
    nearest: "The directory nearest to the working directory takes precedence.",
    directory: "`.agents` takes precedence over `.claude`.",
    path: "If two files in a directory define the same name, the first by path is used.",
    content: "Two definitions in the same file share this name; which of them is used is arbitrary.",
  };
  return reasons[rule];
}

/** Reports two agents with the same name, unless one overrides the other on purpose from a nearer directory. */
function diagnose({ winner, loser, rule }: Override<CatalogEntry>): Diagnostic[] {
  if (rule === "nearest") return [];
  const file = loser.definition.file ?? "";
  const kept = winner.definition.file ?? `the one from ${winner.definition.source}`;
  const { name, source } = loser.definition;
  const why = reasonOf(winner.definition, loser.definition, rule);
  return [
    {
      severity: "warning",
      file,
      line: 1,
      agent: name,
      code: rule === "file-over-settings" ? "settings_agent_hidden" : "duplicate_name",
      message: `The agent "${name}" is defined twice in the ${source} scope; ${kept} takes precedence. ${why}`,
      fix: "Rename or remove one of the two.",
    },
  ];
}
