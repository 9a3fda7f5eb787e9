import type { ResolvedAgent } from "../../agents/index.ts";
import type { Rule } from "../../protocol/index.ts";
import { offeredAgents, type Thread } from "../../runs/index.ts";
import type { LoadedAgent } from "../agents/load-agent-files.ts";

export interface NewsPlace extends Pick<LoadedAgent, "agents" | "definition"> {
  readonly rules: readonly Rule[];
  readonly thread: Thread;
}

/** What changes in files between its prompts, as far as it is this agent's business. Loaded when there is a second prompt. */
export function newsFor(
  { policy: { pool } }: ResolvedAgent,
  { agents, definition, rules, thread }: NewsPlace,
): () => Promise<string | undefined> {
  const first = { agents: offeredAgents(agents, { rules }), snapshot: agents.snapshot };
  const mayRead = agents.shelf === undefined && definition === undefined && pool.includes("Read");
  const skills = pool.includes("Skill") ? "call" : mayRead ? "read" : "no";
  const wants = { agents: pool.includes("Task"), skills, context: definition?.omitProjectContext !== true } as const;
  let { floor } = thread.state.context;
  const hasForgotten = (): boolean => {
    const before = floor;
    floor = thread.state.context.floor;
    return before !== floor;
  };
  let news: Promise<() => Promise<string | undefined>> | undefined;
  return async () => {
    news ??= import("./session-news.ts").then(({ createSessionNews }) =>
      createSessionNews({ agents, rules, first, wants, hasForgotten }),
    );
    return (await news)();
  };
}
