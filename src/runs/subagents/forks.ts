import type { ForkOrigin, LineId } from "../../protocol/index.ts";
import type { LiveAgent } from "../host/run-host.ts";
import type { Thread } from "../thread/thread.ts";
import type { ReadyAgent } from "./agent-wish.ts";
import type { Delegation } from "./delegation.ts";
import { forkPoint, type Siblings, siblingsOf } from "./fork-origin.ts";
import { forkWords } from "./fork-words.ts";
import { SiblingGate } from "./sibling-gate.ts";

export interface ForkStart {
  readonly origin: ForkOrigin;
  /** As it is to be started. */
  readonly prepared: ReadyAgent;
  /** Its first words, for a block each. */
  readonly prompt: readonly string[];
}

/** Lets agents of one session begin with the conversation of who starts them. */
export class Forks {
  /** Of the newest answer of each agent that has forks, by what these begin with. */
  private readonly groups = new Map<string, Group>();

  /** The thread is new, and goes on from its parent's newest answer. */
  start(thread: Thread, ready: ReadyAgent, { parent, wish }: { parent: LiveAgent; wish: Delegation }): ForkStart {
    const { inherits: kind = "fork" } = ready;
    const turns = wish.fork?.turns;
    const { gate, siblings } = this.groupOf(parent.thread, `${ready.agent.agentType} ${turns ?? "all"}`);
    const { origin, past } = forkPoint(parent.thread, { kind, turns, siblings });
    thread.inherit(past);
    ready.hands.inherit?.(thread.agentId, parent.agentId);
    const model = gate.guard(ready.model);
    const notices = origin.turns === undefined ? ready.notices : [...ready.notices, boundedNotice(origin.turns)];
    return { origin, prepared: { ...ready, model, notices }, prompt: firstWords(wish.prompt, origin) };
  }

  /** Those that one answer starts, if they are of one kind: they share what they begin with. */
  private groupOf(parent: Thread, kind: string): Group {
    const key = `${parent.agentId} ${kind}`;
    const known = this.groups.get(key);
    if (known !== undefined && known.line === parent.answerLine) return known;
    const group = { line: parent.answerLine, gate: new SiblingGate(), siblings: siblingsOf(parent) };
    this.groups.set(key, group);
    return group;
  }
}

interface Group {
  readonly line: LineId | undefined;
  readonly gate: SiblingGate;
  readonly siblings: Siblings;
}

/** Who has a prompt of its own need not be told who it is. */
export function firstWords(prompt: string, { kind }: Pick<ForkOrigin, "kind">): readonly string[] {
  return kind === "fork" ? forkWords(prompt) : [prompt];
}

function boundedNotice(turns: number): string {
  const what = turns === 1 ? "the newest turn" : `the ${turns} newest turns`;
  return `It was given only ${what} of the conversation: of its messages nothing is read from the cache.`;
}
