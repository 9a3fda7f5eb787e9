import { canonicalToolName, FORK_TYPE, type Head, type RecordedPolicy, type ToolReport } from "../protocol/index.ts";
import { answersNobody, narrowTo, stricter } from "./recorded-policy.ts";
import { withoutDelegation } from "./resolve-subagent.ts";
import type { ResolvedAgent } from "./resolved-agent.ts";
import { type Tier, withholdTools } from "./withhold-tools.ts";

export interface ForkRequest {
  /** Who is forked. */
  readonly parent: ResolvedAgent;
  /** What stands before its messages, as it was sent. */
  readonly head: Head;
  readonly tier: Pick<Tier, "background" | "mcpTools" | "allowQuestions" | "named">;
  /** Only these are run, though all stay declared. */
  readonly allowedTools?: readonly string[] | undefined;
  /** It changes nothing. */
  readonly readOnly?: boolean | undefined;
  readonly maxTurns?: number | undefined;
  /** Of its last run, where a fork goes on. */
  readonly before?: RecordedPolicy | undefined;
}

export interface ForkedAgent {
  readonly agent: ResolvedAgent;
  readonly report: ToolReport;
}

/** The same agent with no more than it may do. Its head stays as it is, to the byte: what is taken away is only not run. */
export function forkAgent(request: ForkRequest): ForkedAgent {
  const { parent, head, tier, allowedTools, before } = request;
  const { lends: _lends, initialPrompt: _initialPrompt, backgroundPool: _pool, ...same } = parent;
  const { granted, withheld } = withhold(request, tier.background);
  const isWanted = wanted(allowedTools);
  const pool = granted.filter(isWanted);
  const mode = request.readOnly ? stricter("plan", parent.policy.mode) : parent.policy.mode;
  const narrowed = withoutDelegation({
    ...parent.policy,
    pool,
    mode,
    ...(answersNobody([parent.policy.mode], mode) ? { unattended: true as const } : {}),
  });
  const policy = before === undefined ? narrowed : narrowTo(narrowed, before);
  const behind = withhold(request, true).granted;
  const backgroundPool = policy.pool.filter((tool) => behind.includes(tool));
  const agent: ResolvedAgent = {
    ...same,
    agentType: FORK_TYPE,
    head,
    policy,
    ...(backgroundPool.length === policy.pool.length ? {} : { backgroundPool }),
    ...(request.maxTurns === undefined ? {} : { maxTurns: request.maxTurns }),
    modelReason: "a fork has the model of the agent it comes from",
  };
  const left = granted.filter((tool) => !isWanted(tool)).map((tool) => ({ tool, why: "its call does not name it" }));
  const report: ToolReport = {
    hasWildcard: allowedTools === undefined,
    validTools: (allowedTools ?? []).filter((tool) => pool.includes(canonicalToolName(tool))),
    invalidTools: (allowedTools ?? []).filter((tool) => !pool.includes(canonicalToolName(tool))),
    resolvedTools: policy.pool,
    withheld: [...withheld, ...left],
  };
  return { agent, report };
}

/** It never delegates, however deep others may: its conversation says that it does, and it must not go on with that. */
function withhold({ parent, head, tier }: ForkRequest, background: boolean) {
  const { granted, withheld } = withholdTools(head.tools, {
    superior: parent.policy,
    tier: { ...tier, background, depth: 1, maxDepth: 1 },
    definition: { name: FORK_TYPE, description: "", source: "built-in" },
  });
  return {
    granted: granted.map(({ name }) => name),
    withheld: withheld.map(({ tool, why }) => ({ tool, why: delegation.has(tool) ? "forks start no agents" : why })),
  };
}

const delegation: ReadonlySet<string> = new Set(["Task", "TaskOutput", "TaskStop"]);

function wanted(allowedTools: readonly string[] | undefined): (tool: string) => boolean {
  if (allowedTools === undefined) return () => true;
  const names = new Set(allowedTools.map(canonicalToolName));
  return (tool) => names.has(tool);
}
