import type { AgentDefinition, PolicyLayer, Rule } from "../protocol/index.ts";
import { applyCompactRules } from "./apply-compact-rules.ts";
import { limitLayers, type ResolvedTools } from "./resolve-tools.ts";
import { readToolEntry } from "./tool-entry.ts";

/** What an agent noted in earlier sessions, and where. */
export interface AgentMemory {
  /** Absolute; it need not exist yet. */
  readonly directory: string;
  /** How its index begins; absent where nothing was noted yet. */
  readonly index?: string;
  /** There is more in the index than this. */
  readonly cut?: boolean;
}

export interface MemoryTools {
  readonly resolved: ResolvedTools;
  readonly writable: boolean;
}

const fileTools: readonly string[] = ["Read", "Edit", "Write"];

/**
 * The file tools for an agent's memory: those it lacks are added for that directory only, those it has may use it too,
 * without a question. What its definition takes away stays away.
 */
export function giveMemory(
  resolved: ResolvedTools,
  {
    definition,
    directory,
    available,
  }: { readonly definition: AgentDefinition; readonly directory: string; readonly available: readonly string[] },
): MemoryTools {
  const { report, limits } = resolved;
  const missing = fileTools.filter((tool) => available.includes(tool) && !report.resolvedTools.includes(tool));
  const compact = applyCompactRules(
    definition,
    missing.filter((tool) => !isTakenAway(tool, definition)),
  );
  const added = compact.pool;
  const pool = available.filter((tool) => report.resolvedTools.includes(tool) || added.includes(tool));
  // Whoever can't keep notes gets the index alone.
  if (!pool.includes("Edit") && !pool.includes("Write")) return { resolved, writable: false };
  const within = (tool: string): Rule => memoryRule(tool, directory);
  const widened = [...limits, compact.limits].map((layer) => widen(layer, within));
  const own = added.map(within);
  return {
    writable: true,
    resolved: {
      ...resolved,
      report: { ...report, resolvedTools: pool },
      rules: [...resolved.rules, within("Read"), within("Edit")],
      layers: [...resolved.layers.map((layer) => widenLayer(layer, within)), ...limitLayers(own)],
      limits: [...widened, own].filter((layer) => layer.length > 0),
    },
  };
}

/** A tool that a layer limits is limited to that, and to the memory. */
function widen(layer: readonly Rule[], within: (tool: string) => Rule): readonly Rule[] {
  const named = new Set(layer.map(({ text }) => readToolEntry(text).name));
  return [...layer, ...fileTools.filter((tool) => named.has(tool)).map(within)];
}

/** The memory comes before what `disallowedTools` takes. */
function widenLayer(layer: PolicyLayer, within: (tool: string) => Rule): PolicyLayer {
  const { rules } = layer;
  const denied = rules.filter(({ effect, text }) => effect === "deny" && !text.includes("("));
  const limited = fileTools.filter((tool) => denied.some(({ text }) => readToolEntry(text).covers(tool)));
  if (limited.length === 0) return layer;
  const taken = rules.findIndex(({ effect, form, text }) => effect === "deny" && !form && text.includes("("));
  return { ...layer, rules: rules.toSpliced(taken === -1 ? rules.length : taken, 0, ...limited.map(within)) };
}

function isTakenAway(tool: string, { disallowedTools = [] }: AgentDefinition): boolean {
  return disallowedTools.map(readToolEntry).some(({ hasSpecifier, covers }) => !hasSpecifier && covers(tool));
}

/**
 * The directory is named by us, never by the definition; the person's word for it is that they trust the place and use
 * the agent. Another scope would not reach below `.retinue`, which is protected.
 */
function memoryRule(tool: string, directory: string): Rule {
  const escaped = directory.replace(/[*?[\\]/g, "\\$&");
  return { text: `${tool}(/${escaped}/**)`, effect: "allow", scope: "user" };
}
