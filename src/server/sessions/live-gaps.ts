import type { AgentId, SessionUpdate } from "../../protocol/index.ts";

/** Remembers which responses a slow client did not get in full, so that the gaps can be marked. */
export class LiveGaps {
  private readonly turns = new Map<AgentId, number>();

  /** Records that a live event was not sent. */
  drop({ agentId, event }: SessionUpdate): void {
    if ("turn" in event) this.turns.set(agentId, event.turn);
  }

  /** Returns the update to send, with a mark if it is the first part of a response after a gap. */
  mark(update: SessionUpdate): SessionUpdate {
    const { agentId, seq, event } = update;
    if (seq !== undefined || !("turn" in event) || !this.turns.has(agentId)) return update;
    const isSameTurn = this.turns.get(agentId) === event.turn;
    this.turns.delete(agentId);
    // A response that is repeated from its beginning has no gap.
    return isSameTurn && !("repeated" in event)
      ? { agentId, event: { ...event, isAfterGap: true } as typeof event }
      : update;
  }
}
