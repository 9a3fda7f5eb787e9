import type { Clock } from "../../ports/index.ts";
import type { Settings } from "../../protocol/index.ts";
import type { Thread } from "../../runs/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import type { AgentCallback } from "../agents/define-agent.ts";
import type { LoadedAgent } from "../agents/load-agent-files.ts";
import type { Environment } from "../places.ts";
import type { ChosenModel } from "../settings/choose-model.ts";

export interface Surroundings {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly cwd: string;
}

/** Who is to work, with which model, on files that are open. */
export interface OpenedSession extends Surroundings {
  readonly loaded: LoadedAgent;
  readonly callback?: AgentCallback | undefined;
  readonly chosen: ChosenModel;
  readonly transcript: Transcript;
  readonly thread: Thread;
}
