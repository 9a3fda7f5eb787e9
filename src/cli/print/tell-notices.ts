import type { RunUpdate } from "../../protocol/index.ts";

export interface NoticeTeller {
  see(update: RunUpdate): void;
  isTold(sentence: string): boolean;
}

/** Hears what a run and its agents raise beside their work; the same sentence is told once. */
export function createNoticeTeller(tell: (notice: string) => void): NoticeTeller {
  const told = new Set<string>();
  return {
    see: (update) => {
      const event = update.type === "subagent.event" ? update.event : update;
      if (event.type !== "notice.raised") return;
      const { code, message } = event;
      // A sentence about a budget names whose it is.
      const isNamed = update.type !== "subagent.event" || code === "budget";
      const sentence = isNamed ? message : `${update.agentType}: ${message}`;
      if (told.has(sentence)) return;
      told.add(sentence);
      tell(sentence);
    },
    isTold: (sentence) => told.has(sentence),
  };
}
