import { decide } from "../../permissions/index.ts";
import type {
  AgentDefinition,
  Decision,
  Policy,
  PolicyLayer,
  RecordedPolicy,
  ToolDeclaration,
} from "../../protocol/index.ts";
import { dropsDontAsk, narrowMode, stricter } from "../policy/modes.ts";
import { narrowTo } from "../policy/recorded-policy.ts";
import { selectTools } from "../tools/select-tools.ts";
import { missingTools, type Tier, withholdTools } from "../tools/tiers.ts";
import { unknownModelNotice } from "./model-parameters.ts";
import type { AgentRequest, AgentResolution, ResolvedAgent } from "./resolution.ts";
import { assembleAgent } from "./resolve-agent.ts";

export interface SubagentRequest extends Omit<AgentRequest, "asked" | "rules" | "layers"> {
  readonly definition: AgentDefinition;
  readonly prompt: string;
  /** Policy of the parent agent. The subagent never gets more permissions than its parent. */
  readonly parentPolicy: Policy;
  readonly asked: Omit<AgentRequest["asked"], "mode">;
  readonly tier: Tier;
  /** Names in `tools` that belong to the definition's own MCP servers. */
  readonly ownTools?: readonly string[] | undefined;
  /** Policy of the agent's last run. Set only for a resumed agent, which gets no more permissions than it had then. */
  readonly before?: RecordedPolicy | undefined;
}

/** Resolves an agent that works for another agent, within the limits of the parent's policy. */
export function resolveSubagent(request: SubagentRequest): AgentResolution {
  const { parentPolicy, definition, tools, absentTools = [], before } = request;
  const { granted, withheld } = withholdTools(tools, request);
  const chosen = narrowMode(definition, parentPolicy.mode);
  const mode = before === undefined ? chosen : { ...chosen, mode: stricter(chosen.mode, before.mode) };
  const narrowed: AgentRequest = {
    ...request,
    tools: granted,
    absentTools: [...absentTools, ...withheld.map(({ tool, why }) => ({ name: tool, reason: `${why}.` }))],
    rules: parentPolicy.rules,
    layers: parentPolicy.layers,
    readableRoots: [...parentPolicy.readableRoots, ...request.readableRoots],
  };
  const selected = selectTools(narrowed, { ...mode, named: request.tier.named });
  if (!selected.ok) return selected;
  const canAsk = selected.resolved.report.resolvedTools.includes("AskUserQuestion");
  const prompt = `${request.prompt.trim()}\n\n${REPORTING}${canAsk ? "" : ` ${NO_QUESTIONS}`}`;
  const { agent, report, notices } = assembleAgent({ ...narrowed, prompt }, { ...mode, ...selected });
  const declared = tools.map(({ name }) => name);
  const missing = missingTools(definition, {
    declared,
    withheld,
    absent: absentTools,
    rules: parentPolicy.rules,
    report,
  });
  const fresh = denyDelegation(inheritUnattended(agent.policy, parentPolicy));
  const policy = before === undefined ? fresh : narrowTo(fresh, before);
  const unknownModel = unknownModelNotice(request);
  return {
    ok: true,
    agent: { ...agent, policy, backgroundPool: backgroundPool(policy.pool, { granted, request }) },
    report: { ...report, withheld: missing },
    notices: unknownModel === undefined ? notices : [...notices, unknownModel],
  };
}

/** Appended to the prompt of every subagent. */
const REPORTING = "You work for an agent that gets only your last message: a short, complete report.";

/** Appended to the prompt of a subagent that can't ask the user. */
const NO_QUESTIONS = "No one can answer questions: decide yourself, and say what you assumed.";

/**
 * Decides whether rules allow delegating to an agent of this type, regardless of the mode and of any approver. `models`
 * are the names of its model. If absent, rules about models are not applied.
 */
export function judgeAgent(
  agentType: string,
  { rules, layers }: Pick<Policy, "rules" | "layers">,
  models?: readonly string[],
): Decision {
  return decide({
    toolName: "Task",
    accesses: [{ kind: "agent", agentType, models }],
    resolved: [],
    policy: { mode: "default", pool: ["Task"], rules, layers, workspaceRoots: [], readableRoots: [] },
  });
}

/** Returns whether a rule such as `Agent(model:opus)` applies to an agent. */
export function limitsModels({ rules, layers = [], limits }: Policy): boolean {
  const all = [...rules, ...layers.flatMap((layer) => layer.rules)];
  return all.some(({ text }) => text.includes("model:")) || (limits !== undefined && limitsModels(limits));
}

/**
 * Adds a layer that denies Task if the pool does not contain Task, so that no agent below this one can delegate either.
 */
export function denyDelegation(policy: Policy): Policy {
  const { pool, layers = [] } = policy;
  if (pool.includes("Task") || layers.some(deniesDelegation)) return policy;
  return { ...policy, layers: [...layers, noDelegation] };
}

const noDelegation: PolicyLayer = { rules: [{ text: "Task", effect: "deny", scope: "builtin" }] };

function deniesDelegation({ rules: [first, ...more] }: PolicyLayer): boolean {
  return more.length === 0 && first?.text === "Task" && first.effect === "deny";
}

/** Marks the agent as unattended if its parent is unattended or the parent's `dontAsk` mode was replaced. */
function inheritUnattended(policy: Policy, parentPolicy: Policy): Policy {
  if (!parentPolicy.unattended && !dropsDontAsk([parentPolicy.mode], policy.mode)) return policy;
  return { ...policy, unattended: true };
}

/** Returns the tools of the pool that stay available in the background. Undefined if all tools stay available. */
function backgroundPool(
  pool: readonly string[],
  { granted, request }: { readonly granted: readonly ToolDeclaration[]; readonly request: SubagentRequest },
): ResolvedAgent["backgroundPool"] {
  if (request.tier.background) return undefined;
  const { withheld } = withholdTools(granted, { ...request, tier: { ...request.tier, background: true } });
  const lost = new Set(withheld.map(({ tool }) => tool));
  const left = pool.filter((tool) => !lost.has(tool));
  return left.length === pool.length ? undefined : left;
}
