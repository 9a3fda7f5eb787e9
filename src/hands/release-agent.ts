import type { Tool } from "../ports/index.ts";
import type { AgentId } from "../protocol/index.ts";

/** Every tool lets go of the agent; one that fails or takes too long keeps nobody from going on. */
export async function releaseAgent(agentId: AgentId, tools: readonly Tool[], releaseMs: number): Promise<void> {
  const releases = tools.filter(({ release }) => release).map(async (tool) => tool.release?.(agentId));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, releaseMs);
  });
  await Promise.race([Promise.allSettled(releases), late]);
  clearTimeout(timer);
}
