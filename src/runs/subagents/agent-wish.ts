import type { ResolvedAgent } from "../../agents/index.ts";
import type { Hands, Hooks, Model } from "../../ports/index.ts";
import type {
  AgentBudget,
  AgentId,
  DurableEvent,
  ForkOrigin,
  Head,
  KeptWorktree,
  RecordedPolicy,
  RunResult,
  ToolReport,
} from "../../protocol/index.ts";
import type { ClockLimits } from "../host/clock-limits.ts";

/** Who is to work and on whose behalf; everything a definition, a call and a parent decide together. */
export interface AgentWish {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Who delegates, with what it has. */
  readonly parent: Superior;
  /** Of the agent that is wished for. */
  readonly depth: number;
  readonly background: boolean;
  /** It takes messages by a name of its own. */
  readonly named: boolean;
  readonly model?: string;
  readonly maxTurns?: number;
  /** The call wants it to work in a copy of its own, whatever its definition says. */
  readonly isolation?: "worktree";
  /** The call's command that its work has to stand, instead of its definition's. */
  readonly acceptance?: string;
  /** It is to be its superior once more, and not an agent of some type. */
  readonly fork?: ForkWish;
  /** What it was allowed in its last run: it gets no more. */
  readonly before?: RecordedPolicy;
  /** Nobody wants it any more. */
  readonly signal: AbortSignal;
}

export interface ForkWish {
  /** Of the conversation it goes on with. */
  readonly head: Head;
  /** Only these are run; all stay declared. */
  readonly allowedTools?: readonly string[];
  readonly readOnly?: boolean;
}

export interface Superior {
  readonly agent: ResolvedAgent;
  readonly model: Model;
  readonly hands: Hands;
  readonly hooks?: Hooks | undefined;
  /** Where it works. */
  readonly cwd: string;
}

export type PreparedAgent = ReadyAgent | { readonly ok: false; readonly message: string };

export interface ReadyAgent {
  readonly ok: true;
  readonly agent: ResolvedAgent;
  readonly model: Model;
  readonly hands: Hands;
  readonly cwd: string;
  readonly tools: ToolReport;
  readonly budget: AgentBudget;
  readonly limits: ClockLimits;
  /** The definition or the call wants nobody to wait for it. */
  readonly background: boolean;
  /** Rules that its definition lists, to be allowed before it works in the background; absent: nobody is asked for them. */
  readonly grants?: readonly string[];
  /** It begins with the messages of its superior: with the same head, or with one of its own. */
  readonly inherits?: ForkOrigin["kind"];
  /** A command that its work has to stand. */
  readonly acceptance?: string;
  readonly notices: readonly string[];
  /** Those of the session with its own; absent: only those of the session. */
  readonly hooks?: Hooks;
  /** What a program does after the run; resolves with what its transcript has to say about that. Never rejects. */
  followUp?(result: RunResult): Promise<readonly DurableEvent[]>;
  /** Lets go of what was made for this run alone, and says what has to stay. */
  release(): Promise<KeptWorktree | undefined>;
}
