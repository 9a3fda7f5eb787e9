import type { ResolvedAgent } from "../agents/index.ts";
import type { Approvals, Clock, Hands, Model } from "../ports/index.ts";
import type { DurableEvent, RunId, SessionId, UserBlock } from "../protocol/index.ts";
import type { RunOutlet } from "./run.ts";
import type { Thread } from "./thread.ts";

export interface RunServices {
  readonly sessionId: SessionId;
  readonly version: string;
  readonly cwd: string;
  readonly model: Model;
  readonly hands: Hands;
  readonly approvals: Approvals;
  readonly clock: Clock;
}

export interface RunRequest {
  readonly runId: RunId;
  readonly agent: ResolvedAgent;
  /** Empty: go on with what is there. */
  readonly prompt: readonly UserBlock[];
}

/** Everything `perform-calls` needs of the host. */
export interface RunHost {
  readonly services: RunServices;
  readonly thread: Thread;
  readonly request: RunRequest;
  readonly outlet: RunOutlet;
  record(events: readonly DurableEvent[]): Promise<void>;
}
