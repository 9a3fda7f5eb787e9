import { isSameAgent } from "../protocol/index.ts";

/** Whether a rule's text is about an agent: `Task(Explore)`, `Agent(explore)`. */
export function isAbout(rule: string, agentType: string): boolean {
  const named = /^\s*(?:Task|Agent|task|agent)\((.+)\)\s*$/.exec(rule)?.[1];
  return named !== undefined && isSameAgent(named.trim(), agentType);
}
