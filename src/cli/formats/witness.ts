import { callsOf, type RunUpdate, type StopReason } from "../../protocol/index.ts";
import { parsed } from "./wire-blocks.ts";

export interface Denial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: unknown;
  readonly message: string;
}

/** Remembers of a run what its result does not say itself. */
export interface Witness {
  see(update: RunUpdate): void;
  readonly denials: readonly Denial[];
  readonly stopReason: StopReason | undefined;
  readonly provider: string | undefined;
}

export function createWitness(): Witness {
  const inputs = new Map<string, string>();
  const denials: Denial[] = [];
  let stopReason: StopReason | undefined;
  let provider: string | undefined;
  return {
    see: (update) => {
      if (update.type === "run.started") provider = update.provider;
      if (update.type === "model.ended") {
        stopReason = update.stopReason;
        for (const { callId, inputJson } of callsOf(update.message)) inputs.set(callId, inputJson);
      }
      if (update.type !== "tool.ended") return;
      const input = parsed(inputs.get(update.callId) ?? "null");
      inputs.delete(update.callId);
      if (update.result.outcome !== "denied") return;
      const [reason] = update.result.content;
      denials.push({
        tool_name: update.name,
        tool_use_id: update.callId,
        tool_input: input,
        message: reason?.type === "text" ? reason.text : "",
      });
    },
    denials,
    get stopReason() {
      return stopReason;
    },
    get provider() {
      return provider;
    },
  };
}
