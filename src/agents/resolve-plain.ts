import { type AgentRequest, type AgentResolution, assembleAgent } from "./assemble-agent.ts";

/** The main agent where no file and no rule says anything about it: nothing has to be read, so nothing is loaded for it. */
export function resolvePlain(request: Omit<AgentRequest, "definition" | "rules">): AgentResolution {
  const { asked, settings, tools } = request;
  const resolvedTools = tools.map(({ name }) => name);
  const report = { hasWildcard: true, validTools: ["*"], invalidTools: [], resolvedTools };
  return assembleAgent(
    { ...request, rules: [] },
    {
      mode: asked.mode ?? settings.mode ?? "default",
      resolved: { report, rules: [], layers: [], limits: [], notices: [] },
      writable: false,
    },
  );
}
