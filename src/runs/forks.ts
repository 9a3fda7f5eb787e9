import type { ForkOrigin, LineId } from "../protocol/index.ts";
import type { ReadyAgent } from "./agent-wish.ts";
import type { Delegation } from "./delegation.ts";
import { forkPoint } from "./fork-origin.ts";
import { forkWords } from "./fork-words.ts";
import type { LiveAgent } from "./run-host.ts";
import { SiblingGate } from "./sibling-gate.ts";
import type { Thread } from "./thread.ts";

export interface ForkStart {
  readonly origin: ForkOrigin;
  /** As it is to be started. */
  readonly prepared: ReadyAgent;
  /** Its first words. */
  readonly prompt: string;
}

/** Lets agents of one session begin with the conversation of who starts them. */
export class Forks {
  /** Of the newest answer of each agent that has forks, by what these begin with. */
  private readonly gates = new Map<string, { readonly line: LineId; readonly gate: SiblingGate }>();

  /** The thread is new, and goes on from its parent's newest answer. */
  start(thread: Thread, ready: ReadyAgent, { parent, wish }: { parent: LiveAgent; wish: Delegation }): ForkStart {
    const { inherits: kind = "fork" } = ready;
    const turns = wish.fork?.turns;
    const { origin, past } = forkPoint(parent.thread, { kind, ...(turns === undefined ? {} : { turns }) });
    thread.inherit(past);
    const model = this.gateAt(origin, ready).guard(ready.model);
    const notices = turns === undefined ? ready.notices : [...ready.notices, boundedNotice(turns)];
    return { origin, prepared: { ...ready, model, notices }, prompt: firstWords(wish.prompt, origin) };
  }

  /** Siblings share what they begin with, if they are of one kind. */
  private gateAt({ agentId, line, turns }: ForkOrigin, { agent: { agentType } }: ReadyAgent): SiblingGate {
    const kind = `${agentId} ${agentType} ${turns ?? "all"}`;
    const known = this.gates.get(kind);
    if (known?.line === line) return known.gate;
    const gate = new SiblingGate();
    this.gates.set(kind, { line, gate });
    return gate;
  }
}

/** Who has a prompt of its own need not be told who it is. */
export function firstWords(prompt: string, { kind }: Pick<ForkOrigin, "kind">): string {
  return kind === "fork" ? forkWords(prompt) : prompt;
}

function boundedNotice(turns: number): string {
  const what = turns === 1 ? "the newest turn" : `the ${turns} newest turns`;
  return `It was given only ${what} of the conversation: of its messages nothing is read from the cache.`;
}
