import type { EventOf, ForkOrigin } from "../../protocol/index.ts";
import type { Thread } from "../thread/thread.ts";
import type { AgentRecord } from "./agent-record.ts";
import type { AgentWish } from "./agent-wish.ts";
import type { Delegation } from "./delegation.ts";

/** What is wished for where a call wants a fork of this conversation. */
export function forkWish({ fork }: Pick<Delegation, "fork">, { conversation }: Thread): Pick<AgentWish, "fork"> {
  if (fork === undefined || conversation === undefined) return {};
  const { turns: _, ...bounds } = fork;
  return { fork: { head: conversation.head, ...bounds } };
}

export function entryOf(origin: ForkOrigin | undefined): Pick<EventOf<"agent.spawned">, "status"> {
  return origin === undefined ? {} : { status: "sub_agent_entered" };
}

export function lostPast({ agentId, fork }: AgentRecord): string {
  return `Agent ${agentId} can't go on: the conversation of ${fork?.agentId} that it goes on from is gone from the disk. Start another one.`;
}
