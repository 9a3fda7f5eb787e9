import { MAIN_AGENT } from "../../protocol/index.ts";
import { spendingIn, sumSpending } from "../../runs/index.ts";
import { readSession } from "../../transcript/index.ts";
import type { ServedRecord } from "./served-record.ts";

/** Adds up the known cost of all of a session's agents from their transcripts, for the session's `ServedRecord`. */
export async function readCost(transcriptPath: string): Promise<Pick<ServedRecord, "costUsd" | "isCostAtMost">> {
  const session = readSession(transcriptPath);
  const agents = [MAIN_AGENT, ...(await session.agents())];
  const { usd, unpriced, estimated } = sumSpending(
    await Promise.all(agents.map(async (agentId) => spendingIn(await session.read(agentId)))),
  );
  return {
    costUsd: usd === 0 && unpriced > 0 ? undefined : usd,
    isCostAtMost: estimated === undefined ? undefined : true,
  };
}
