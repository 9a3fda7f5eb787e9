// Owns: turning a definition and its surroundings into an agent ready to run: prompt, tools, model, policy.
// Does not own: running it (runs), reading definitions (definitions), deciding on calls (permissions).
// Called by: runs (types), app.
export type { MainAgentRequest } from "./resolve-main-agent.ts";
export { resolveMainAgent } from "./resolve-main-agent.ts";
export type { ResolvedAgent } from "./resolved-agent.ts";
