import { canonicalToolName, FORK_TYPE, type Head, type RecordedPolicy, type ToolReport } from "../../protocol/index.ts";
import { dropsDontAsk, stricter } from "../policy/modes.ts";
import { narrowTo } from "../policy/recorded-policy.ts";
import { type Tier, withholdTools } from "../tools/tiers.ts";
import type { ResolvedAgent } from "./resolution.ts";
import { denyDelegation } from "./resolve-subagent.ts";

export interface ForkRequest {
  /** The agent to fork. */
  readonly parent: ResolvedAgent;
  /** Head of the parent's requests, exactly as it was sent. */
  readonly head: Head;
  readonly tier: Pick<Tier, "background" | "mcpTools" | "allowQuestions" | "named">;
  /** The only tools that the fork may run. All other tools stay declared. */
  readonly allowedTools?: readonly string[] | undefined;
  readonly readOnly?: boolean | undefined;
  readonly maxTurns?: number | undefined;
  /** Policy of the fork's previous run, if the fork is being resumed. */
  readonly before?: RecordedPolicy | undefined;
}

export interface ForkedAgent {
  readonly agent: ResolvedAgent;
  readonly report: ToolReport;
}

/**
 * Derives a fork from its parent. The head stays identical, byte for byte, so tools that the fork is not allowed to use
 * stay declared, and calls to them are refused.
 */
export function forkAgent(request: ForkRequest): ForkedAgent {
  const { parent, head, tier, allowedTools, before } = request;
  const { granted, withheld } = withhold(request, tier.background);
  const isAllowed = allowing(allowedTools);
  const pool = granted.filter(isAllowed);
  const mode = request.readOnly ? stricter("plan", parent.policy.mode) : parent.policy.mode;
  const unattended = parent.policy.unattended ?? (dropsDontAsk([parent.policy.mode], mode) || undefined);
  const narrowed = denyDelegation({ ...parent.policy, pool, mode, unattended });
  const policy = before === undefined ? narrowed : narrowTo(narrowed, before);
  const grantedInBackground = withhold(request, true).granted;
  const backgroundPool = policy.pool.filter((tool) => grantedInBackground.includes(tool));
  const agent: ResolvedAgent = {
    ...parent,
    childPolicy: undefined,
    initialPrompt: undefined,
    color: undefined,
    agentType: FORK_TYPE,
    head,
    policy,
    backgroundPool: backgroundPool.length === policy.pool.length ? undefined : backgroundPool,
    maxTurns: request.maxTurns ?? parent.maxTurns,
    modelReason: "a fork uses its parent's model",
  };
  const left = granted.filter((tool) => !isAllowed(tool)).map((tool) => ({ tool, why: "not in its allowed_tools" }));
  const report: ToolReport = {
    hasWildcard: allowedTools === undefined,
    validTools: (allowedTools ?? []).filter((tool) => pool.includes(canonicalToolName(tool))),
    invalidTools: (allowedTools ?? []).filter((tool) => !pool.includes(canonicalToolName(tool))),
    resolvedTools: policy.pool,
    withheld: [...withheld, ...left],
  };
  return { agent, report };
}

/**
 * Withholds tools from a fork. A fork never delegates, at any depth, because the conversation that it inherits shows
 * its parent delegating, and the fork must not do the same.
 */
function withhold({ parent, head, tier }: ForkRequest, background: boolean) {
  const { granted, withheld } = withholdTools(head.tools, {
    parentPolicy: parent.policy,
    tier: { ...tier, background, depth: 1, maxDepth: 1 },
    definition: { name: FORK_TYPE, description: "", source: "built-in" },
  });
  return {
    granted: granted.map(({ name }) => name),
    withheld: withheld.map(({ tool, why }) => ({ tool, why: delegation.has(tool) ? "forks can't start agents" : why })),
  };
}

const delegation: ReadonlySet<string> = new Set(["Task", "TaskOutput", "TaskStop"]);

function allowing(allowedTools: readonly string[] | undefined): (tool: string) => boolean {
  if (allowedTools === undefined) return () => true;
  const names = new Set(allowedTools.map(canonicalToolName));
  return (tool) => names.has(tool);
}
