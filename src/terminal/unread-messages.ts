import type { ViewUpdate } from "../client/index.ts";
import { MAIN_AGENT, type UserBlock } from "../protocol/index.ts";

/** Messages that were sent to the main agent while it was working and that no request has contained yet. */
export interface UnreadMessages {
  readonly list: readonly (readonly UserBlock[])[];
  notice(update: ViewUpdate): void;
}

export function createUnreadMessages(): UnreadMessages {
  let list: UnreadMessages["list"] = [];
  /** Whether the run has made a request. The prompts before it belong to that request. */
  let isUnderWay = false;
  return {
    get list() {
      return list;
    },
    notice: ({ agentId, event }) => {
      if (agentId !== MAIN_AGENT) return;
      if (event.type === "prompt.received" && isUnderWay) list = [...list, event.content];
      if (!["run.started", "model.requested", "run.ended"].includes(event.type)) return;
      list = [];
      isUnderWay = event.type === "model.requested";
    },
  };
}
