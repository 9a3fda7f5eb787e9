import { basename } from "node:path";
import {
  loadProjectSettings,
  openSession,
  type Session,
  type Settings,
  withoutManaged,
  workspaceDirectory,
} from "../../app/index.ts";
import type { Clock } from "../../ports/index.ts";
import type { NewSession, SessionId } from "../../protocol/index.ts";

/** A directory whose sessions are served. It is also the name of a worker. */
export interface Project {
  readonly name: string;
  /** Real path of the directory. */
  readonly root: string;
}

/** Resolves the directories to serve, and gives each a name of its own. Throws a `UserError` for a wrong directory. */
export function namedProjects(directories: readonly string[]): readonly Project[] {
  const roots = [...new Set(directories.map(workspaceDirectory))];
  const names = new Set<string>();
  return roots.map((root) => {
    const base = basename(root).replace(/[^\w.-]+/g, "-") || "root";
    let name = base;
    for (let count = 2; names.has(name); count += 1) name = `${base}-${count}`;
    names.add(name);
    return { name, root };
  });
}

/** What the client who started a session has chosen. It also applies when the session is resumed. */
export type SessionChoices = Omit<NewSession, "prompt" | "worker">;

export interface OpenRequest {
  readonly project: Project;
  readonly choices: SessionChoices;
  /** Session to resume. Absent for a new session. */
  readonly resume?: SessionId | undefined;
}

export interface OpeningContext {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly report: (message: string) => void;
}

/** Opens a session for clients of the server, with the settings of its directory. */
export async function openServed(
  { project, choices, resume }: OpenRequest,
  { home, environment, clock, report }: OpeningContext,
): Promise<Session> {
  const { agent, model, permissionMode, maxTurns } = choices;
  const flags = budgetOf(choices);
  const loaded = loadProjectSettings({ home, cwd: project.root, environment, trust: false, flags });
  const { unmanaged } = withoutManaged({ model, permissionMode, maxTurns }, loaded.origins);
  return openSession({
    cwd: project.root,
    home,
    environment,
    clock,
    settings: loaded.settings,
    settingsOrigins: loaded.origins,
    rules: loaded.rules,
    catalogSettings: loaded,
    trusted: loaded.trusted,
    entryPoint: "server",
    interactive: true,
    onAsk: "wait",
    agent,
    ...unmanaged,
    resume,
    onTrouble: report,
  });
}

/** Returns the limits of a session as settings. Contains only the limits that were given, because others stay in force. */
function budgetOf({ maxCost, maxTokens }: SessionChoices): Settings {
  const budget: { usd?: number; tokens?: number } = {};
  if (maxCost !== undefined) budget.usd = maxCost;
  if (maxTokens !== undefined) budget.tokens = maxTokens;
  return Object.keys(budget).length === 0 ? {} : { budget };
}
