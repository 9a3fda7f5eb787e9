import { MAIN_AGENT } from "../../protocol/index.ts";
import { spendingIn, sumSpending } from "../../runs/index.ts";
import { readSession } from "../../transcript/index.ts";

/**
 * Adds up the known cost of all of a session's agents, in US dollars, from their transcripts. Returns undefined if no
 * price is known.
 */
export async function readCost(transcriptPath: string): Promise<number | undefined> {
  const session = readSession(transcriptPath);
  const agents = [MAIN_AGENT, ...(await session.agents())];
  const { usd, unpriced } = sumSpending(
    await Promise.all(agents.map(async (agentId) => spendingIn(await session.read(agentId)))),
  );
  return usd === 0 && unpriced > 0 ? undefined : usd;
}
