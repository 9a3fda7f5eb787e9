// Owns: turning a definition and its surroundings into an agent ready to run: prompt, tools, model, policy.
// Does not own: running it (runs), reading definitions (definitions), deciding on calls (permissions).
// Called by: runs (types), app.
export type { AgentRequest, AgentResolution, Wishes } from "./assemble-agent.ts";
export { compactionPrompt } from "./compaction-prompt.ts";
export { type ForkedAgent, type ForkRequest, forkAgent } from "./fork-agent.ts";
export type { AgentMemory } from "./give-memory.ts";
export { judgeAgent } from "./judge-agent.ts";
export { MAIN_TYPE } from "./main-agent.ts";
export { narrowTo, recordPolicy } from "./recorded-policy.ts";
export { resolveAgent } from "./resolve-agent.ts";
export { resolvePlain } from "./resolve-plain.ts";
export { resolveSubagent, type SubagentRequest } from "./resolve-subagent.ts";
export type { ResolvedAgent } from "./resolved-agent.ts";
export { createResolving, createSharing } from "./share-parts.ts";
export type { Tier } from "./withhold-tools.ts";
