import type { ToolExecutor } from "../../ports/index.ts";
import {
  type AgentDefinition,
  canonicalToolName,
  type Decision,
  type KeptWorktree,
  type Policy,
  type Rule,
  type ToolCall,
  VERIFIER,
} from "../../protocol/index.ts";

/** A copy of the repository that one agent has for itself. */
export interface WorkingCopy {
  /** Directory that the agent works in. */
  readonly root: string;
  /** Top directory of the copy. */
  readonly top: string;
  /** Directory that it is a copy of. */
  readonly original: string;
  /** The session's tools on the copy, without the limits of any agent. */
  readonly executor: ToolExecutor;
  /** Called after everything that ran there has ended. Returns undefined if nothing was changed and the copy is gone. */
  leave(): Promise<KeptWorktree | undefined>;
}

/** Returns a policy that forbids in the copy what it forbids in the original, also if a rule names a whole path. */
export function policyInCopy(
  policy: Policy,
  copy: Pick<WorkingCopy, "original" | "top">,
  home: string | undefined,
): Policy {
  const { rules, layers } = policy;
  const copied = layers?.map((layer) => ({ ...layer, rules: copyRestrictions(layer.rules, copy, home) }));
  return { ...policy, rules: copyRestrictions(rules, copy, home), layers: copied };
}

function copyRestrictions(
  rules: readonly Rule[],
  { original, top }: Pick<WorkingCopy, "original" | "top">,
  home: string | undefined,
): readonly Rule[] {
  const below = home !== undefined && original.startsWith(`${home}/`) ? [`~${original.slice(home.length)}`] : [];
  const spellings = new Set([`/${original}`, `/${escapeGlob(original)}`, ...below]);
  const copies = rules.flatMap((rule): readonly Rule[] => {
    if (rule.effect === "allow") return [];
    const [, tool = "", pattern = ""] = /^\s*([^()]+?)\s*\(\s*(.*?)\s*\)\s*$/s.exec(rule.text) ?? [];
    const spelling = [...spellings].find((each) => pattern === each || pattern.startsWith(`${each}/`));
    if (spelling === undefined) return [];
    return [{ ...rule, text: `${tool}(/${escapeGlob(top)}${pattern.slice(spelling.length)})` }];
  });
  return copies.length === 0 ? rules : [...rules, ...copies];
}

function escapeGlob(directory: string): string {
  return directory.replace(/[*?[\\]/g, "\\$&");
}

/**
 * Returns the policy of a verifying agent. It has to run things, and does so in a copy, where its edits and commands
 * need no approval. What rules deny or ask about stays so, and a stricter mode of its parent holds.
 */
export function verifierPolicy(policy: Policy, parent: Policy): Policy {
  if (parent.mode !== "default" && parent.mode !== "acceptEdits") return policy;
  const commands: Rule = { text: "Bash", effect: "allow", scope: "builtin" };
  return { ...policy, mode: "acceptEdits", rules: [...policy.rules, commands] };
}

/** Returns tools that refuse commands which name the original instead of the copy. A net against mistakes, not a sandbox. */
export function keepInCopy(
  executor: ToolExecutor,
  { original, top }: Pick<WorkingCopy, "original" | "top">,
): ToolExecutor {
  if (top.startsWith(`${original}/`)) return executor;
  const isInCopy = ({ name, inputJson }: ToolCall): boolean =>
    canonicalToolName(name) !== "Bash" || !commandNames(inputJson, original);
  const reason = `The command names ${original}, but you work in a copy of it: ${top}. Use relative paths.`;
  const decision: Decision = { effect: "deny", rule: "copy", scope: "builtin", reason };
  return {
    ...executor,
    judge: async (call, policy) => {
      const judged = await executor.judge(call, policy);
      if (judged.kind === "invalid" || isInCopy(call)) return judged;
      return { ...judged, decision, denial: `${call.name} was not run. ${reason}` };
    },
    execute: async (request, emit, signal) => {
      if (isInCopy(request.call)) return executor.execute(request, emit, signal);
      return { outcome: "denied", content: [{ type: "text", text: reason }] };
    },
  };
}

function commandNames(inputJson: string, path: string): boolean {
  try {
    const input = JSON.parse(inputJson) as { readonly command?: unknown };
    const text = String(input.command ?? "");
    const at = text.indexOf(path);
    return at !== -1 && !/[\w-]/.test(text[at + path.length] ?? "");
  } catch {
    return false;
  }
}

export function isVerifier({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === VERIFIER;
}
