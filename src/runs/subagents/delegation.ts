import type { AgentId, CallId, Notice } from "../../protocol/index.ts";
import type { EndedRun, LiveAgent } from "../host/run-host.ts";
import type { AgentWish, Superior } from "./agent-wish.ts";

/** What a call wants of another agent. */
export interface Delegation {
  readonly agentType: string;
  readonly description: string;
  readonly prompt: string;
  readonly background: boolean;
  readonly name?: string;
  readonly model?: string;
  readonly maxTurns?: number;
  readonly isolation?: "worktree";
  readonly acceptance?: string;
  /** It is no agent of some type but a fork of who delegates. */
  readonly fork?: ForkBounds;
}

/** What a fork has less than who it comes from. */
export interface ForkBounds {
  /** Only so many of its newest turns. */
  readonly turns?: number;
  /** Only these are run; all stay declared. */
  readonly allowedTools?: readonly string[];
  readonly readOnly?: boolean;
}

/** Whose call it is. */
export interface Caller {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly signal: AbortSignal;
}

/** What the caller gets. */
export type Delegated =
  | { readonly status: "ended"; readonly run: EndedRun; readonly entered?: true }
  | { readonly status: "launched"; readonly notice: Notice; readonly outputFile?: string; readonly entered?: true }
  | { readonly status: "refused"; readonly message: string };

/** Who delegates, with what it has. */
export function superior({ agent, services: { model, hands, hooks, cwd } }: LiveAgent): Superior {
  return { agent, model, hands, hooks, cwd };
}

/** What a call says about one activation. */
export function termsOf({ maxTurns, acceptance }: Delegation): Pick<AgentWish, "maxTurns" | "acceptance"> {
  return { ...(maxTurns === undefined ? {} : { maxTurns }), ...(acceptance === undefined ? {} : { acceptance }) };
}
