import type { AgentDefinition, PolicyLayer, Rule } from "../../protocol/index.ts";
import { applyCompactRules, limitLayers } from "./definition-rules.ts";
import type { ResolvedTools } from "./resolve-tools.ts";
import { readToolEntry } from "./tool-entry.ts";

/** An agent's notes from earlier sessions. */
export interface AgentMemory {
  /** Absolute path of the memory directory, which may not exist yet. */
  readonly directory: string;
  /** Beginning of the index file. Absent if there are no notes yet. */
  readonly index?: string | undefined;
  /** Whether the index file is longer than `index`. */
  readonly cut?: boolean | undefined;
}

export interface MemoryTools {
  readonly resolved: ResolvedTools;
  /** Whether the agent can write its notes. */
  readonly writable: boolean;
}

const fileTools: readonly string[] = ["Read", "Edit", "Write"];

/**
 * Lets an agent read and write its memory directory. File tools that the agent lacks are added for that directory only.
 * File tools that it has may use the directory without approval. Tools that the definition disallows are not added.
 */
export function addMemoryTools(
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
    missing.filter((tool) => !isDisallowed(tool, definition)),
  );
  const added = compact.pool;
  const pool = available.filter((tool) => report.resolvedTools.includes(tool) || added.includes(tool));
  // An agent that can't write notes gets only the index.
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
      layers: [...resolved.layers.map((layer) => widenLayer(layer, within)), ...limitLayers(own, report.resolvedTools)],
      limits: [...widened, own].filter((layer) => layer.length > 0),
    },
  };
}

/** Adds a rule for the memory directory for each file tool that the rules limit to certain paths. */
function widen(layer: readonly Rule[], within: (tool: string) => Rule): readonly Rule[] {
  const named = new Set(layer.map(({ text }) => readToolEntry(text).name));
  return [...layer, ...fileTools.filter((tool) => named.has(tool)).map(within)];
}

/** Inserts the memory rules before the rules from `disallowedTools`, so that the latter stay in force. */
function widenLayer(layer: PolicyLayer, within: (tool: string) => Rule): PolicyLayer {
  const { rules } = layer;
  const denied = rules.filter(({ effect, text }) => effect === "deny" && !text.includes("("));
  const limited = fileTools.filter((tool) => denied.some(({ text }) => readToolEntry(text).covers(tool)));
  if (limited.length === 0) return layer;
  const taken = rules.findIndex(({ effect, form, text }) => effect === "deny" && !form && text.includes("("));
  return { ...layer, rules: rules.toSpliced(taken === -1 ? rules.length : taken, 0, ...limited.map(within)) };
}

function isDisallowed(tool: string, { disallowedTools = [] }: AgentDefinition): boolean {
  return disallowedTools.map(readToolEntry).some(({ hasSpecifier, isAbout }) => !hasSpecifier && isAbout(tool));
}

/**
 * Creates a rule that allows a tool in the memory directory. Retinue chooses the directory, never the definition; the
 * user consents by trusting the workspace and using the agent. A rule in a lower scope would have no effect in
 * `.retinue`, which is protected.
 */
function memoryRule(tool: string, directory: string): Rule {
  const escaped = directory.replace(/[*?[\\]/g, "\\$&");
  return { text: `${tool}(/${escaped}/**)`, effect: "allow", scope: "user" };
}
