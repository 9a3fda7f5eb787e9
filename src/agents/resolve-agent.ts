import type { AgentDefinition } from "../protocol/index.ts";
import { type AgentRequest, type AgentResolution, assembleAgent } from "./assemble-agent.ts";
import { chooseMode } from "./choose-mode.ts";
import { mainAgent } from "./main-agent.ts";
import { readTools } from "./read-tools.ts";

/** Who works in a session by itself; the main agent is one more definition. */
export function resolveAgent(request: AgentRequest): AgentResolution {
  const { definition = mainAgent.definition, asked, settings } = request;
  if (definition.isolation !== undefined) {
    return {
      ok: false,
      message: `Agent "${definition.name}" works in a copy of its own (isolation: ${definition.isolation}), which the main agent of a session does not have.`,
    };
  }
  const mode = chooseMode(definition, {
    ...(asked.mode === undefined ? {} : { asked: asked.mode }),
    fallback: settings.mode ?? "default",
  });
  const tools = readTools(request, mode);
  if (!tools.ok) return tools;
  const resolution = assembleAgent(request, { ...mode, ...tools });
  if (!resolution.ok) return resolution;
  return { ...resolution, notices: [...resolution.notices, ...unhonoured(definition)] };
}

/** Said, so that nobody relies on it. */
function unhonoured(definition: AgentDefinition): readonly string[] {
  const fields = (["acceptance"] as const).filter((field) => definition[field] !== undefined);
  if (fields.length === 0) return [];
  return [`Agent "${definition.name}" sets ${fields.join(", ")}, which this version does not honour for a main agent.`];
}
