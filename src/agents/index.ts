// Owns: resolving a definition, its parent and settings into an agent that is ready to run, with its prompt, tools,
// model and policy. Does not own: running agents (runs), reading definitions (definitions), deciding on calls
// (permissions). Called by: runs, app.

export { dropsDontAsk, stricter } from "./policy/modes.ts";
export { narrowTo, recordPolicy } from "./policy/recorded-policy.ts";
export { compactionPrompt } from "./prompt/compose-prompt.ts";
export { coordinatorPrompt, coordinatorRole, MAIN_TYPE, mainAgent } from "./prompt/main-agent.ts";
export { type ForkedAgent, type ForkRequest, forkAgent } from "./resolve/fork-agent.ts";
export { chooseEffort } from "./resolve/model-parameters.ts";
export type { AgentOptions, AgentRequest, AgentResolution, ResolvedAgent } from "./resolve/resolution.ts";
export { resolveAgent } from "./resolve/resolve-agent.ts";
export { judgeAgent, limitsModels, resolveSubagent, type SubagentRequest } from "./resolve/resolve-subagent.ts";
export { declareTool } from "./tools/declare-tool.ts";
export { listedTools, toolsText } from "./tools/listed-tools.ts";
export type { AgentMemory } from "./tools/memory-tools.ts";
export { denialOf } from "./tools/select-tools.ts";
export { type Tier, tierIn } from "./tools/tiers.ts";
