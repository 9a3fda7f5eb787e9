/** They ask after, stop or speak to agents that somebody started. */
const aboutAgents: readonly string[] = ["TaskOutput", "TaskStop", "SendMessage"];

/** What has nothing to work on in this pool. An agent with a name speaks to others that it did not start. */
export function idleTools(pool: readonly string[], { named }: { readonly named: boolean }): readonly string[] {
  if (pool.includes("Task")) return [];
  return pool.filter((tool) => aboutAgents.includes(tool) && !(named && tool === "SendMessage"));
}

export const withoutTask = "it goes with Task, which this agent does not have";
