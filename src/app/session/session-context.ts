import type { Clock } from "../../ports/index.ts";
import type { Settings } from "../../protocol/index.ts";
import { type Environment, stateDirectory, workspaceDirectory } from "../directories.ts";
import { systemClock } from "../system-clock.ts";
import type { SessionOptions } from "./session-options.ts";

/** The directories, settings and environment variables that all parts of a session share. */
export interface SessionContext {
  /** Real path of the workspace. */
  readonly cwd: string;
  /** State directory. A session that stores nothing on disk still reads the user's files there. */
  readonly home: string;
  readonly settings: Settings;
  /** Environment variables of the process, overridden by those in the settings. */
  readonly environment: Environment;
  readonly clock: Clock;
  /**
   * Aborted when the session is closing or opening it was abandoned, so that nothing waits for space on a full disk.
   */
  readonly stopWaiting: AbortController;
}

/** Creates the context of a session. Throws a `UserError` if the workspace does not exist. */
export function createSessionContext(options: SessionOptions): SessionContext {
  const { settings = {}, clock = systemClock } = options;
  const given = options.environment ?? process.env;
  const environment = settings.env === undefined ? given : { ...given, ...settings.env };
  return {
    cwd: workspaceDirectory(options.cwd ?? process.cwd()),
    home: options.home || stateDirectory(environment),
    settings,
    environment,
    clock,
    stopWaiting: new AbortController(),
  };
}

/**
 * Returns the state directory if plugins are used. A program that does not set `trusted` uses none of the user's files.
 */
export function pluginHome({ trusted }: SessionOptions, { home }: SessionContext): string | undefined {
  return trusted === undefined ? undefined : home;
}
