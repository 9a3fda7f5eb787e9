import { join } from "node:path";
import type { WorkerPort } from "../../ports/index.ts";
import { projectName } from "../../transcript/index.ts";
import { createLocalWorker, limitWorker } from "../../worker/index.ts";
import { type Environment, stateDirectory } from "../directories.ts";
import { systemClock } from "../system-clock.ts";
import { VERSION } from "../version.ts";

export interface DirectoryWorkerOptions {
  /** Name that identifies the worker on servers. */
  readonly name: string;
  /** Real path of the workspace. */
  readonly cwd: string;
  readonly environment: Environment;
  /** Receives messages for the user. */
  readonly report: (message: string) => void;
}

export interface DirectoryWorker {
  readonly worker: WorkerPort;
  /** Directory in which the calls of the worker's sessions are recorded. */
  readonly ledgerDirectory: string;
  /** Directory on this machine for the files of the worker's sessions. */
  readonly filesDirectory: string;
}

/**
 * Creates the worker for a directory on this machine, for sessions that run on a server. The server can do only what
 * this machine's settings allow.
 */
export function createDirectoryWorker({ name, cwd, environment, report }: DirectoryWorkerOptions): DirectoryWorker {
  const home = stateDirectory(environment);
  const project = projectName(cwd);
  const options = { root: cwd, home, state: home, environment, clock: systemClock, version: VERSION, report };
  return {
    worker: limitWorker(createLocalWorker(options)),
    ledgerDirectory: join(home, "workers", project, name),
    filesDirectory: join(home, "workers", project),
  };
}
