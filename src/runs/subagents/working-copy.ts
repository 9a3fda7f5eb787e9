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

/** A copy of the repository that only one agent uses. */
export interface WorkingCopy {
  /** Directory in which the agent works. */
  readonly root: string;
  /** Top directory of the copy. */
  readonly top: string;
  /** Directory from which the copy was made. */
  readonly original: string;
  /** True if a verifier's commands in the copy run in the sandbox, so that they can't change the original. */
  readonly sandboxed: boolean;
  /** Runs the session's tools in the copy. Limits that apply only to one agent are not part of this executor. */
  readonly executor: ToolExecutor;
  /**
   * Called after all processes in the copy have ended. Returns undefined if nothing was changed and the copy was
   * removed.
   */
  leave(): Promise<KeptWorktree | undefined>;
}

/**
 * Returns a policy that restricts paths in the copy as the given policy restricts the same paths in the original,
 * including rules with absolute paths.
 */
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
    const [, tool = "", specifier = ""] = /^([^()]+)\((.*)\)$/s.exec(rule.text.trim()) ?? [];
    const pattern = specifier.trim();
    const spelling = [...spellings].find((each) => pattern === each || pattern.startsWith(`${each}/`));
    if (spelling === undefined) return [];
    return [{ ...rule, text: `${tool.trim()}(/${escapeGlob(top)}${pattern.slice(spelling.length)})` }];
  });
  return copies.length === 0 ? rules : [...rules, ...copies];
}

function escapeGlob(directory: string): string {
  return directory.replace(/[*?[\\]/g, "\\$&");
}

/**
 * Returns the policy of a verifier, which works in a copy, where its edits need no approval. Its commands need approval
 * unless they run in the sandbox, because outside of it they could do things that the parent may not do. Rules that
 * deny or ask still apply, and so does the parent's mode if it is stricter.
 */
export function verifierPolicy(
  policy: Policy,
  { parent, copy }: { readonly parent: Policy; readonly copy: Pick<WorkingCopy, "sandboxed"> },
): Policy {
  if (parent.mode !== "default" && parent.mode !== "acceptEdits") return policy;
  const commands: Rule = { text: "Bash", effect: "allow", scope: "builtin" };
  return { ...policy, mode: "acceptEdits", rules: copy.sandboxed ? [...policy.rules, commands] : policy.rules };
}

/**
 * Returns an executor that refuses commands that name the original instead of the copy. This prevents mistakes; it is
 * not a sandbox.
 */
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
    judge: async (call, policy, agentId) => {
      const judged = await executor.judge(call, policy, agentId);
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
