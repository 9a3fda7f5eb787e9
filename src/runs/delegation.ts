import type { AgentId, CallId, Notice } from "../protocol/index.ts";
import type { AgentWish, Superior } from "./agent-wish.ts";
import type { EndedRun, LiveAgent } from "./run-host.ts";

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
}

/** Whose call it is. */
export interface Caller {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly signal: AbortSignal;
}

/** What the caller gets. */
export type Delegated =
  | { readonly status: "ended"; readonly run: EndedRun }
  | { readonly status: "launched"; readonly notice: Notice; readonly outputFile?: string }
  | { readonly status: "refused"; readonly message: string };

/** Who delegates, with what it has. */
export function superior({ agent, services: { model, hands, cwd } }: LiveAgent): Superior {
  return { agent, model, hands, cwd };
}

/** What a call says about one activation. */
export function termsOf({ maxTurns, acceptance }: Delegation): Pick<AgentWish, "maxTurns" | "acceptance"> {
  return { ...(maxTurns === undefined ? {} : { maxTurns }), ...(acceptance === undefined ? {} : { acceptance }) };
}
