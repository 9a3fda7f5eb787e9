import type { Clock, WorkerFacts } from "../../ports/index.ts";
import type { Settings } from "../../protocol/index.ts";
import { type Environment, stateDirectory } from "../directories.ts";
import { systemClock } from "../system-clock.ts";
import type { SessionOptions } from "./session-options.ts";

/** The directories, settings and environment variables that all parts of a session share. */
export interface SessionContext {
  /** Real path of the workspace. */
  readonly cwd: string;
  /** Directory with the session's files. Settings, trust and plugins are in `facts.stateDirectory`. */
  readonly home: string;
  /** Facts about the workspace's machine. */
  readonly facts: WorkerFacts;
  readonly settings: Settings;
  /** Environment variables of the process, overridden by those in the settings. */
  readonly environment: Environment;
  readonly clock: Clock;
  /**
   * Aborted when the session is being closed, or when opening it was cancelled, so that nothing waits for space on a
   * full disk.
   */
  readonly stopWaiting: AbortController;
}

/** The part of a context that does not depend on the worker. */
export type OwnContext = Omit<SessionContext, "cwd" | "facts">;

export function createOwnContext(options: SessionOptions): OwnContext {
  const { settings = {}, clock = systemClock } = options;
  const given = options.environment ?? process.env;
  const environment = settings.env === undefined ? given : { ...given, ...settings.env };
  return {
    home: options.home || stateDirectory(environment),
    settings,
    environment,
    clock,
    stopWaiting: new AbortController(),
  };
}
