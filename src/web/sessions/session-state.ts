import { endWords } from "../../client/index.ts";
import { plural } from "../../lib/portable.ts";
import type { SessionInfo } from "../../protocol/index.ts";

/** Meaning of a state, shown as a color. Colors only repeat what the text says. */
export type Tone = "busy" | "asking" | "good" | "bad" | "calm";

/** Describes a session's state in a few words. */
export function sessionState(info: SessionInfo): { readonly words: string; readonly tone: Tone } {
  const { state, approvals, outcome, reason, unpriced, detail, elsewhere } = info;
  if (approvals > 0) return { words: `${plural(approvals, "request")} waiting for you`, tone: "asking" };
  const where = elsewhere ? ", in another process" : "";
  if (state === "running" || state === "waiting") return { words: `working${where}`, tone: "busy" };
  if (state === "parked") return { words: detail ?? "parked, continues automatically", tone: "calm" };
  if (detail !== undefined) return { words: damageWords(detail), tone: "bad" };
  if (outcome === undefined || reason === undefined) {
    return state === "idle" ? { words: `ready${where}`, tone: "calm" } : { words: "ended", tone: "calm" };
  }
  return { words: `${endWords({ reason, limit: { unpriced } })}${where}`, tone: toneOf[outcome] };
}

/** Describes damage as a state: `It can't be read.` becomes `damaged: it can't be read`. */
function damageWords(detail: string): string {
  return `damaged: ${detail.slice(0, 1).toLowerCase()}${detail.slice(1).replace(/\.$/, "")}`;
}

const toneOf = { succeeded: "good", incomplete: "asking", failed: "bad", stopped: "calm" } as const;
