import { relative } from "node:path";
import type { Clock, Hands } from "../ports/index.ts";
import {
  type AgentDefinition,
  type AgentId,
  canonicalToolName,
  type Decision,
  type KeptWorktree,
  type Policy,
  type Rule,
  type ToolCall,
  VERIFIER,
} from "../protocol/index.ts";
import type { Session as Transcript } from "../transcript/index.ts";
import type { Environment } from "./places.ts";

/** A copy of the repository that an agent has for itself. */
export interface AgentPlace {
  /** Where it works. */
  readonly root: string;
  /** The top of the copy. */
  readonly top: string;
  /** What it is a copy of. */
  readonly original: string;
  /** Without anybody's limits. */
  readonly hands: Hands;
  /** After everything that ran there has ended. Undefined: nothing was changed, and it is gone. */
  leave(): Promise<KeptWorktree | undefined>;
}

export type OpenedPlace =
  | { readonly ok: true; readonly place: AgentPlace }
  | { readonly ok: false; readonly message: string };

export interface PlaceRequest {
  readonly agentId: AgentId;
  readonly definition: AgentDefinition;
  /** Where it would work otherwise. */
  readonly cwd: string;
  readonly transcript: Pick<Transcript, "path" | "sessionId">;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly handsAt: (root: string) => Promise<Hands>;
}

export async function openAgentPlace(request: PlaceRequest): Promise<OpenedPlace> {
  const { agentId, definition, cwd, transcript, environment, clock } = request;
  const { openAgentWorktree, leaveWorktree } = await import("./worktrees.ts");
  const created = await openAgentWorktree({
    transcript,
    agentId,
    cwd,
    includeUncommitted: isVerification(definition),
    environment,
    now: clock.now(),
  });
  if (!created.ok) {
    const message = `Agent "${definition.name}" needs a worktree of its own, and there can be none here: ${created.message}`;
    return { ok: false, message };
  }
  const { worktree } = created;
  const leave = (): Promise<KeptWorktree | undefined> => leaveWorktree(worktree, environment);
  try {
    const below = relative(worktree.path, worktree.directory);
    const original = below === "" ? cwd : cwd.slice(0, -below.length - 1);
    const hands = await request.handsAt(worktree.directory);
    return { ok: true, place: { root: worktree.directory, top: worktree.path, original, hands, leave } };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** What is forbidden in the repository is forbidden in the copy, also where a rule says it by the whole path. */
export function inCopy(policy: Policy, place: Pick<AgentPlace, "original" | "top">, home: string | undefined): Policy {
  const { rules, layers } = policy;
  const copied = layers?.map((layer) => ({ ...layer, rules: copyRestrictions(layer.rules, place, home) }));
  return { ...policy, rules: copyRestrictions(rules, place, home), ...(copied ? { layers: copied } : {}) };
}

function copyRestrictions(
  rules: readonly Rule[],
  { original, top }: Pick<AgentPlace, "original" | "top">,
  home: string | undefined,
): readonly Rule[] {
  const below = home !== undefined && original.startsWith(`${home}/`) ? [`~${original.slice(home.length)}`] : [];
  const spellings = new Set([`/${original}`, `/${escaped(original)}`, ...below]);
  const copies = rules.flatMap((rule): readonly Rule[] => {
    if (rule.effect === "allow") return [];
    const [, tool = "", pattern = ""] = /^\s*([^()]+?)\s*\(\s*(.*?)\s*\)\s*$/s.exec(rule.text) ?? [];
    const spelling = [...spellings].find((each) => pattern === each || pattern.startsWith(`${each}/`));
    if (spelling === undefined) return [];
    return [{ ...rule, text: `${tool}(/${escaped(top)}${pattern.slice(spelling.length)})` }];
  });
  return copies.length === 0 ? rules : [...rules, ...copies];
}

function escaped(directory: string): string {
  return directory.replace(/[*?[\\]/g, "\\$&");
}

/**
 * Who verifies has to run things, and does so in a copy: there its edits and commands need nobody's yes. What rules deny or
 * ask about stays so, and a stricter mode above it holds.
 */
export function freeInCopy(policy: Policy, superior: Policy): Policy {
  if (superior.mode !== "default" && superior.mode !== "acceptEdits") return policy;
  const commands: Rule = { text: "Bash", effect: "allow", scope: "builtin" };
  return { ...policy, mode: "acceptEdits", rules: [...policy.rules, commands] };
}

/** Refuses commands that name the original: they are meant for the copy. A net against mistakes, no sandbox. */
export function keepAway(hands: Hands, { original, top }: Pick<AgentPlace, "original" | "top">): Hands {
  if (top.startsWith(`${original}/`)) return hands;
  const isAway = ({ name, inputJson }: ToolCall): boolean =>
    canonicalToolName(name) !== "Bash" || !names(inputJson, original);
  const reason = `The command names ${original}, and you work in a copy of it: ${top}. Use relative paths.`;
  const decision: Decision = { effect: "deny", rule: "copy", scope: "builtin", reason };
  return {
    ...hands,
    judge: async (call, policy) => {
      const judged = await hands.judge(call, policy);
      if (judged.kind === "invalid" || isAway(call)) return judged;
      return { ...judged, decision, denial: `${call.name} was not run. ${reason}` };
    },
    execute: async (request, emit, signal) => {
      if (isAway(request.call)) return hands.execute(request, emit, signal);
      return { outcome: "denied", content: [{ type: "text", text: reason }] };
    },
  };
}

function names(inputJson: string, path: string): boolean {
  try {
    const input = JSON.parse(inputJson) as { readonly command?: unknown };
    const text = String(input.command ?? "");
    const at = text.indexOf(path);
    return at !== -1 && !/[\w-]/.test(text[at + path.length] ?? "");
  } catch {
    return false;
  }
}

export function isVerification({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === VERIFIER;
}
