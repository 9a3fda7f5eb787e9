import type { AgentDefinition, PermissionMode, Policy } from "../protocol/index.ts";
import { type AgentRequest, type AgentResolution, assembleAgent, type ChosenMode } from "./assemble-agent.ts";
import { freedom } from "./choose-mode.ts";
import { type Tier, withholdTools } from "./withhold-tools.ts";

export interface SubagentRequest extends Omit<AgentRequest, "asked" | "rules" | "absentTools"> {
  readonly definition: AgentDefinition;
  readonly prompt: string;
  /** Of who delegates. Nothing it may not do is given on. */
  readonly superior: Policy;
  readonly asked: Omit<AgentRequest["asked"], "mode">;
  readonly tier: Tier;
}

/** Who works for another agent: never with more than its superior has. */
export function resolveSubagent(request: SubagentRequest): AgentResolution {
  const { superior, definition, tier } = request;
  const { granted, withheld } = withholdTools(request.tools, { superior, tier, definition });
  const absentTools = withheld.map(({ tool, why }) => ({ name: tool, reason: why }));
  const resolution = assembleAgent(
    {
      ...request,
      tools: granted,
      absentTools,
      rules: superior.rules,
      prompt: `${request.prompt.trim()}\n\n${serving}`,
      readableRoots: [...superior.readableRoots, ...request.readableRoots],
    },
    narrowMode(definition, superior.mode),
  );
  if (!resolution.ok) return resolution;
  return { ...resolution, report: { ...resolution.report, withheld } };
}

const serving =
  "You work for another agent. Nobody answers questions: decide, and say what you assumed. Your last message is the only thing it gets: a complete report, short and exact.";

/** The stricter of the two; a person's own file may let edits pass where its superior would ask. */
function narrowMode({ name, permissionMode, source }: AgentDefinition, superior: PermissionMode): ChosenMode {
  if (permissionMode === undefined || freedom[permissionMode] <= freedom[superior])
    return { mode: permissionMode ?? superior };
  const mayAcceptEdits = permissionMode === "acceptEdits" && superior === "default" && owners.has(source);
  if (mayAcceptEdits) return { mode: permissionMode };
  const notice = `Agent "${name}" (${source}) wants the mode ${permissionMode}; ${superior}, the mode of the agent it works for, holds.`;
  return { mode: superior, notice };
}

const owners: ReadonlySet<string> = new Set(["user", "flag"]);
