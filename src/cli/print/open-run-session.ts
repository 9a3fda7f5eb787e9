import {
  type AgentUpdates,
  checkHome,
  loadProjectSettings,
  openSession,
  type Session,
  type Settings,
  stateDirectory,
  UserError,
} from "../../app/index.ts";
import type { PrintOptions } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { chooseSession, sessionByPrefix } from "../find-session.ts";
import { realDirectory } from "../real-directory.ts";
import { heedManaged } from "./heed-managed.ts";
import { limitFlags } from "./limit-flags.ts";
import { noPrompt } from "./read-prompt.ts";

export interface RunSession {
  readonly session: Session;
  readonly settings: Settings;
}

export interface RunWords {
  readonly prompt: string;
  readonly tell: (notice: string) => void;
  readonly agentUpdates: AgentUpdates;
  /** Nobody wants it any more. */
  readonly signal: AbortSignal;
}

/** The session that a run is to be in, new or old, as options and settings want it. */
export async function openRunSession(options: PrintOptions, words: RunWords): Promise<RunSession> {
  return open(options, words).catch(explainHome);
}

async function open(options: PrintOptions, { prompt, tell, agentUpdates, signal }: RunWords): Promise<RunSession> {
  const home = stateDirectory(process.env);
  const cwd = realDirectory(options.cwd ?? ".");
  const old = chooseSession({ ...options, home, cwd });
  const { settings: file, trust, agent } = options;
  const isMute = prompt === "" && (old === undefined || isDone(home, old));
  // Only an agent that begins a session may have words of its own for it.
  if (isMute && (old !== undefined || agent === undefined)) throw noPrompt();
  const loaded = loadProjectSettings({
    home,
    cwd,
    environment: process.env,
    trust,
    flags: limitFlags(options),
    ...(file === undefined ? {} : { file }),
  });
  const { flags, notices } = heedManaged(options, loaded.origins);
  for (const notice of [...loaded.notices, ...notices]) tell(notice);
  const { agents, allowedTools, disallowedTools, acceptance, onAsk } = options;
  const session = await openSession({
    cwd,
    home,
    settings: loaded.settings,
    settingsOrigins: loaded.origins,
    rules: loaded.rules,
    catalogSettings: loaded,
    entryPoint: "cli",
    trusted: loaded.trusted,
    ...(agent === undefined ? {} : { agent }),
    ...(agents === undefined ? {} : { agents }),
    ...(onAsk === undefined ? {} : { onAsk }),
    ...(options.coordinator ? { coordinator: true } : {}),
    ...flags,
    ...(old === undefined ? {} : { resume: old }),
    allowedTools,
    disallowedTools,
    acceptance,
    agentUpdates,
    signal,
    onTrouble: tell,
  });
  if (!isMute || session.initialPrompt?.trim()) return { session, settings: loaded.settings };
  await session.close();
  throw noPrompt(session.agentType);
}

/** A session whose last run succeeded waits for words; any other can go on without. */
function isDone(home: string, sessionId: string): boolean {
  return sessionByPrefix({ home, prefix: sessionId }).lastOutcome === "succeeded";
}

/** Of a session that can't be opened the usual cause is the state directory, and then that is what must be put right. */
function explainHome(error: unknown): never {
  const isConfiguration = error instanceof UserError && error.exitCode === exitCodes.usage;
  const check = isConfiguration ? undefined : checkHome(stateDirectory(process.env));
  if (check === undefined || check.ok) throw error;
  throw new UserError(check.message, { code: "home", exitCode: exitCodes.usage, cause: error });
}
