import type { Deferred } from "../../lib/index.ts";
import type { Run } from "../host/run.ts";
import type { EndedRun } from "../host/run-host.ts";
import type { AgentOutput } from "./agent-output.ts";
import type { AgentRecord } from "./agent-record.ts";

/** An agent of the session. */
export interface Member {
  record: AgentRecord;
  /** Undefined while it does not run. */
  running: Running | undefined;
}

/** A run of a subagent under way. */
export interface Running {
  readonly run: Run;
  /** Settles when everything made for the run is let go. */
  readonly done: Promise<EndedRun>;
  background: boolean;
  readonly output: AgentOutput;
  /** Resolves when nobody shall wait any more. */
  readonly detached: Deferred<void>;
}
