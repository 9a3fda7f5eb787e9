import {
  loadProjectSettings,
  loadWorkerSettings,
  openSession,
  type Session,
  type SessionChoices,
  type Settings,
  withoutManaged,
} from "../../app/index.ts";
import { describeError, UserError } from "../../lib/index.ts";
import type { Clock, WorkerPort } from "../../ports/index.ts";
import type { ProjectSettings, SessionId } from "../../protocol/index.ts";
import type { Project } from "./projects.ts";

export interface OpenRequest {
  readonly project: Project;
  /** Worker that owns the directory; absent if the directory is on this machine. */
  readonly worker?: WorkerPort | undefined;
  readonly choices: SessionChoices;
  /** Session to resume; absent for a new session. */
  readonly resume?: SessionId | undefined;
  /** Cancels the opening of the session, but not the calls by earlier servers that the session is waiting for. */
  readonly signal?: AbortSignal | undefined;
}

export interface OpeningContext {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly report: (message: string) => void;
}

export interface OpenedSession {
  readonly session: Session;
  /** Messages for the session's user, including which files are ignored. */
  readonly notices: readonly string[];
}

/** Opens a session for the server's clients, with its directory's settings. */
export async function openServed(
  { project, worker, choices, resume, signal }: OpenRequest,
  { home, environment, clock, report }: OpeningContext,
): Promise<OpenedSession> {
  const { agent, model, permissionMode, maxTurns } = choices;
  const flags = budgetOf(choices);
  const loaded = await loadServedSettings({ project, worker, flags }, { home, environment });
  const { unmanaged } = withoutManaged({ agent, model, permissionMode, maxTurns }, loaded.origins);
  const opening = openSession({
    cwd: project.root,
    worker,
    home: project.home,
    environment,
    clock,
    settings: loaded.settings,
    settingsOrigins: loaded.origins,
    rules: loaded.rules,
    catalogSettings: loaded,
    trusted: loaded.trusted,
    entryPoint: "server",
    interactive: choices.unattended !== true,
    onAsk: "wait",
    ...unmanaged,
    keepsMode: true,
    resume,
    signal,
    onTrouble: report,
  });
  const session = await (worker === undefined ? opening : opening.catch(workerError(project)));
  return { session, notices: [...loaded.notices, ...session.notices] };
}

/** Loads the settings for a directory's sessions: its own, or those of its worker combined with the server's. */
export async function loadServedSettings(
  { project, worker, flags }: Pick<OpenRequest, "project" | "worker"> & { readonly flags?: Settings | undefined },
  { home, environment }: Pick<OpeningContext, "home" | "environment">,
): Promise<ProjectSettings> {
  const load = (cwd: string): ProjectSettings => loadProjectSettings({ home, cwd, environment, trust: false, flags });
  if (worker === undefined) return load(project.root);
  return loadWorkerSettings({ worker, own: load(home), flags }).catch(workerError(project));
}

/** Converts a failure on a worker to an error that the user can act on. */
function workerError({ name }: Project): (error: unknown) => never {
  return (error) => {
    if (error instanceof UserError) throw error;
    throw new UserError(`The worker ${name} can't open the session: ${describeError(error)}`, { code: "worker_error" });
  };
}

/**
 * Returns a session's limits as settings. Contains only the limits that were given, because the others stay in force.
 */
function budgetOf({ maxCost, maxTokens }: SessionChoices): Settings {
  const budget: { usd?: number; tokens?: number } = {};
  if (maxCost !== undefined) budget.usd = maxCost;
  if (maxTokens !== undefined) budget.tokens = maxTokens;
  return Object.keys(budget).length === 0 ? {} : { budget };
}
