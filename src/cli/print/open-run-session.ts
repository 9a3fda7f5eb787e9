import {
  type AgentUpdates,
  type Approvals,
  checkHome,
  hasWaitingWork,
  latestSessionId,
  loadProjectSettings,
  type ManageableOptions,
  type OverriddenOption,
  openSession,
  type Session,
  type SessionOptions,
  type Settings,
  stateDirectory,
  waitingRequests,
  withoutManaged,
} from "../../app/index.ts";
import { UserError } from "../../lib/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { resumeOptions, sessionById, sessionError } from "../find-session.ts";
import { chosenDirectory } from "../real-directory.ts";
import { openingNotices } from "./notices.ts";
import type { PrintOptions } from "./print-options.ts";
import { noPrompt } from "./read-prompt.ts";

export interface RunSession {
  readonly session: Session;
  readonly settings: Settings;
  /** Notices from opening the session. */
  readonly notices: readonly string[];
}

export interface RunSessionOptions {
  readonly prompt: string;
  readonly report: (notice: string) => void;
  readonly agentUpdates: AgentUpdates;
  /** Asks the user for approval on the terminal. */
  readonly approvals?: Approvals | undefined;
  /** Aborts the opening of the session. */
  readonly signal: AbortSignal;
  /** Whether a person is present who can send more prompts. */
  readonly interactive?: boolean | undefined;
}

/** Opens a run's session, new or resumed, with the directory's settings and the command-line options. */
export async function openRunSession(options: PrintOptions, run: RunSessionOptions): Promise<RunSession> {
  return open(options, run).catch(explainHome);
}

/** Opens a session that waits for prompts, new or resumed. */
export async function openInteractiveSession(
  options: PrintOptions,
  run: Omit<RunSessionOptions, "prompt" | "interactive">,
): Promise<RunSession> {
  const home = stateDirectory(process.env);
  const cwd = chosenDirectory(options.cwd);
  const place = { home, cwd, resume: sessionToResume(options, { home, cwd }) };
  return openIn(place, options, { ...run, interactive: true }).catch(explainHome);
}

async function open(options: PrintOptions, run: RunSessionOptions): Promise<RunSession> {
  const { prompt } = run;
  const home = stateDirectory(process.env);
  const cwd = chosenDirectory(options.cwd);
  const resume = sessionToResume(options, { home, cwd });
  const needsInitialPrompt = prompt === "" && (resume === undefined || isDone(home, resume));
  // Only a named agent in a new session can have an initial prompt.
  if (needsInitialPrompt && resume !== undefined)
    throw sessionError(
      `The session ${resume} has nothing left to do`,
      `Give it a prompt: retinue resume ${resume} "…"${resumeOptions(cwd, "")}`,
    );
  const agent = (): string | undefined => options.agent ?? loadSettings({ home, cwd }, options).settings.agent;
  if (needsInitialPrompt && agent() === undefined) throw noPrompt();
  const opened = await openIn({ home, cwd, resume }, options, run);
  const { session } = opened;
  if (!needsInitialPrompt || session.initialPrompt?.trim()) return opened;
  await session.close();
  throw noPrompt(session.agentType);
}

interface SessionPlace {
  readonly home: string;
  readonly cwd: string;
  readonly resume: string | undefined;
}

async function openIn(
  { home, cwd, resume }: SessionPlace,
  options: PrintOptions,
  run: Omit<RunSessionOptions, "prompt">,
): Promise<RunSession> {
  const { report, agentUpdates, approvals, signal, interactive = false } = run;
  const loaded = loadSettings({ home, cwd }, options);
  const { unmanaged, overridden } = withoutManaged(options, loaded.origins);
  const found = [...loaded.notices, ...overridden.map(overriddenNotice)];
  const { agents, allowedTools, disallowedTools, acceptance, onAsk, coordinator } = options;
  const session = await openSession({
    cwd,
    home,
    settings: loaded.settings,
    settingsOrigins: loaded.origins,
    rules: loaded.rules,
    settingsFile: options.settings,
    catalogSettings: loaded,
    entryPoint: "cli",
    trusted: loaded.trusted,
    // `openSession` checks the values.
    agents: agents as SessionOptions["agents"],
    onAsk: onAsk === "ask" ? undefined : onAsk,
    approvals,
    coordinator,
    ...unmanaged,
    resume,
    allowedTools,
    disallowedTools,
    acceptance,
    agentUpdates,
    interactive,
    signal,
    onTrouble: report,
  }).catch((error: unknown) => {
    // The notices may explain the error.
    for (const notice of openingNotices(found, options)) report(notice);
    throw error;
  });
  return { session, settings: loaded.settings, notices: [...found, ...session.notices] };
}

function loadSettings(
  { home, cwd }: Omit<SessionPlace, "resume">,
  options: PrintOptions,
): ReturnType<typeof loadProjectSettings> {
  const { trust, settings: file } = options;
  return loadProjectSettings({ home, cwd, environment: process.env, trust, flags: flagSettings(options), file });
}

/** Returns whether an earlier process left requests for approval open in the session to resume. */
export function hasOpenRequests(options: PrintOptions): boolean {
  const home = stateDirectory(process.env);
  const sessionId = sessionToResume(options, { home, cwd: chosenDirectory(options.cwd) });
  return sessionId !== undefined && waitingRequests({ home, sessionId }).length > 0;
}

/** Returns the id of the session to resume; undefined for a new session. */
function sessionToResume(
  { resume, continueLatest }: PrintOptions,
  { home, cwd }: { readonly home: string; readonly cwd: string },
): string | undefined {
  if (continueLatest) {
    const latest = latestSessionId({ home, cwd });
    if (latest !== undefined) return latest;
    throw sessionError(`There is no session to continue in ${cwd}`, `Start one: retinue -p "…".`);
  }
  if (resume === undefined) return undefined;
  const session = sessionById({ home, id: resume });
  // In another directory, the same relative paths would name other files.
  if (session.cwd !== undefined && session.cwd !== cwd) {
    throw sessionError(`The session ${session.id} belongs to ${session.cwd}`, `Add: --cwd '${session.cwd}'`);
  }
  return session.id;
}

/**
 * Returns true if the last run succeeded and no prompt is waiting. Such a session needs a new prompt; any other can be
 * resumed without one.
 */
function isDone(home: string, sessionId: string): boolean {
  return sessionById({ home, id: sessionId }).lastOutcome === "succeeded" && !hasWaitingWork({ home, sessionId });
}

/** Converts command-line options to the settings that they override. */
function flagSettings({ maxCost, maxTokens, maxSpawns, fork, cacheLifetime }: PrintOptions): Settings {
  // Contains only keys that were given, because an undefined key would override the value of a lower scope.
  const settings: { -readonly [Key in keyof Settings]: Settings[Key] } = {};
  if (maxCost !== undefined) settings.budget = { usd: maxCost };
  if (maxTokens !== undefined) settings.budget = { ...settings.budget, tokens: maxTokens };
  if (fork !== undefined) settings.fork = fork;
  if (cacheLifetime !== undefined) settings.cache = { lifetime: cacheLifetime };
  if (maxSpawns !== undefined) settings.subagents = { maxSpawns };
  return settings;
}

const optionNames: Readonly<Record<keyof ManageableOptions, string>> = {
  agent: "--agent",
  model: "--model",
  provider: "--provider",
  effort: "--effort",
  maxTurns: "--max-turns",
  permissionMode: "--permission-mode",
};

function overriddenNotice({ name, path, file }: OverriddenOption): string {
  return `${optionNames[name]} has no effect: ${file} sets ${path} for this machine.`;
}

/**
 * Reports a broken state directory instead of the error that it caused, because that is the usual reason why a session
 * can't be opened.
 */
function explainHome(error: unknown): never {
  const isConfiguration = error instanceof UserError && error.exitCode === exitCodes.usage;
  const check = isConfiguration ? undefined : checkHome(stateDirectory(process.env));
  if (check === undefined || check.ok) throw error;
  throw new UserError(check.message, { code: "home", exitCode: exitCodes.usage, cause: error });
}
