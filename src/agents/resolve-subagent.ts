import type { AgentDefinition, Policy, PolicyLayer, RecordedPolicy, ToolDeclaration } from "../protocol/index.ts";
import { aboutModel } from "./about-model.ts";
import { type AgentRequest, type AgentResolution, assembleAgent } from "./assemble-agent.ts";
import { missingTools } from "./missing-tools.ts";
import { narrowMode } from "./narrow-mode.ts";
import { readTools } from "./read-tools.ts";
import { answersNobody, narrowTo, stricter } from "./recorded-policy.ts";
import type { ResolvedAgent } from "./resolved-agent.ts";
import { type Tier, withholdTools } from "./withhold-tools.ts";

export interface SubagentRequest extends Omit<AgentRequest, "asked" | "rules"> {
  readonly definition: AgentDefinition;
  readonly prompt: string;
  /** Of who delegates. Nothing it may not do is given on. */
  readonly superior: Policy;
  readonly asked: Omit<AgentRequest["asked"], "mode">;
  readonly tier: Tier;
  /** Names among `tools` that come with the definition: its own MCP servers. */
  readonly ownTools?: readonly string[] | undefined;
  /** Of its last run, where an agent goes on: it gets no more than it had. */
  readonly before?: RecordedPolicy | undefined;
}

/** Who works for another agent: never with more than its superior has. */
export function resolveSubagent(request: SubagentRequest): AgentResolution {
  const { superior, definition, tools, absentTools = [], before } = request;
  const { granted, withheld } = withholdTools(tools, request);
  const chosen = narrowMode(definition, superior.mode);
  const mode = before === undefined ? chosen : { ...chosen, mode: stricter(chosen.mode, before.mode) };
  const narrowed = {
    ...request,
    tools: granted,
    absentTools: [...absentTools, ...withheld.map(({ tool, why }) => ({ name: tool, reason: `${why}.` }))],
    rules: superior.rules,
    ...(superior.layers === undefined ? {} : { layers: superior.layers }),
    prompt: `${request.prompt.trim()}\n\n${serving}`,
    readableRoots: [...superior.readableRoots, ...request.readableRoots],
  };
  const read = readTools(narrowed, { ...mode, named: request.tier.named });
  if (!read.ok) return read;
  const resolution = assembleAgent(narrowed, { ...mode, ...read });
  if (!resolution.ok) return resolution;
  const { report } = resolution;
  const declared = tools.map(({ name }) => name);
  const missing = missingTools(definition, { declared, withheld, absent: absentTools, rules: superior.rules, report });
  const fresh = withoutDelegation(withoutAnswers(resolution.agent.policy, superior));
  const policy = before === undefined ? fresh : narrowTo(fresh, before);
  const agent = withBackground({ ...resolution.agent, policy }, { granted, request });
  const unknownModel = aboutModel(request);
  const notices = unknownModel === undefined ? resolution.notices : [...resolution.notices, unknownModel];
  return { ...resolution, agent, notices, report: { ...report, withheld: missing } };
}

const serving =
  "You work for an agent that gets only your last message: a short, complete report. Nobody answers questions: decide, and say what you assumed.";

/** A second lock beside the pool, and one that every agent below it keeps. */
export function withoutDelegation(policy: Policy): Policy {
  const { pool, layers = [] } = policy;
  if (pool.includes("Task") || layers.some(isNoDelegation)) return policy;
  return { ...policy, layers: [...layers, noDelegation] };
}

const noDelegation: PolicyLayer = { rules: [{ text: "Task", effect: "deny", scope: "builtin" }] };

function isNoDelegation({ rules: [first, ...more] }: PolicyLayer): boolean {
  return more.length === 0 && first?.text === "Task" && first.effect === "deny";
}

/** Whom nobody answers has nobody below it who is answered. */
function withoutAnswers(policy: Policy, superior: Policy): Policy {
  if (!superior.unattended && !answersNobody([superior.mode], policy.mode)) return policy;
  return { ...policy, unattended: true };
}

function withBackground(
  agent: ResolvedAgent,
  { granted, request }: { readonly granted: readonly ToolDeclaration[]; readonly request: SubagentRequest },
): ResolvedAgent {
  if (request.tier.background) return agent;
  const behind = withholdTools(granted, { ...request, tier: { ...request.tier, background: true } });
  const lost = new Set(behind.withheld.map(({ tool }) => tool));
  const backgroundPool = agent.policy.pool.filter((tool) => !lost.has(tool));
  return backgroundPool.length === agent.policy.pool.length ? agent : { ...agent, backgroundPool };
}
