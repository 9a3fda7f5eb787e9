import type { AgentId, RunId, ToolCall, ToolResult } from "../protocol/index.ts";

export interface CallState {
  readonly call: ToolCall;
  /** `asked`: judged, and perhaps waiting for a person. `started`: it may have had its effect. */
  readonly status: "new" | "asked" | "started" | "ended";
  /** The agent that works on it: its result is not lost with the process that waited for it. */
  readonly agentId?: AgentId;
  /** That agent is older than the call, and goes on with this run. */
  readonly resumes?: RunId;
  /** After a crash it is performed again, and continues what it began. */
  readonly resumable?: true | undefined;
  /** It was proven to change nothing. */
  readonly readsOnly?: true | undefined;
  /** Somebody was asked and allowed it. */
  readonly granted?: true;
  readonly result?: ToolResult;
}
