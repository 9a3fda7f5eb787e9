import { realpathSync } from "node:fs";
import { homedir, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { type ResolvedAgent, resolveMainAgent } from "../agents/index.ts";
import { errorCode, newRunId, newSessionId, sweepTagged, UserError } from "../lib/index.ts";
import { explainDenial } from "../permissions/index.ts";
import type { Approvals, Clock, Hands, Model, ModelDescription } from "../ports/index.ts";
import {
  type Effort,
  MAIN_AGENT,
  type PermissionMode,
  type SessionId,
  type Settings,
  type UserBlock,
} from "../protocol/index.ts";
import { type Run, startRun, Thread } from "../runs/index.ts";
import {
  createMemorySession,
  createSession,
  openSession as openTranscript,
  type Session as Transcript,
} from "../transcript/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { type ChosenModel, chooseModel } from "./choose-model.ts";
import { equip } from "./equip.ts";
import { collectRules } from "./rules.ts";
import { systemClock } from "./system-clock.ts";
import { VERSION } from "./version.ts";

export interface SessionOptions {
  /** The workspace; the current directory if absent. */
  readonly cwd?: string;
  /** State directory; `RETINUE_HOME` or `~/.retinue` if absent. `false` keeps nothing on disk. */
  readonly home?: string | false;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly settings?: Settings;
  /** Where the settings came from, for messages about their rules. */
  readonly settingsFile?: string;
  readonly provider?: string;
  readonly model?: string | Model;
  readonly effort?: Effort;
  readonly permissionMode?: PermissionMode;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly maxTurns?: number;
  /** The whole id of a session to go on with. */
  readonly resume?: SessionId;
  /** Who answers when a rule says `ask`. Absent: nobody, so such calls are denied with the reason. */
  readonly approvals?: Approvals;
  readonly clock?: Clock;
  /** Something is wrong that may pass (a full disk); the session waits and goes on. */
  readonly onTrouble?: (message: string) => void;
}

export interface Session {
  readonly id: SessionId;
  readonly cwd: string;
  readonly model: ModelDescription;
  readonly tools: readonly string[];
  readonly permissionMode: PermissionMode;
  /** Worth a line to the user: an offline model, a rule that can't be read, a repaired transcript. */
  readonly notices: readonly string[];
  /** Undefined where nothing is kept. */
  readonly transcriptPath: string | undefined;
  /** Starts a run. One at a time; without words it goes on with what is there. */
  prompt(words: string | readonly UserBlock[]): Run;
  /** Ends what is still running and gives up the session. */
  close(): Promise<void>;
}

const DEFAULT_MAX_TURNS = 50;

/** Opens a new session, or an old one to go on with. Throws a `UserError` for what a person must repair. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  const environment = options.environment ?? process.env;
  const clock = options.clock ?? systemClock;
  const settings = options.settings ?? {};
  const cwd = realWorkspace(options.cwd ?? process.cwd());
  const chosen = choose(options, { settings, environment, clock });
  const { rules, problems } = collectRules(settings.permissions ?? {}, options, options.settingsFile);
  const transcript = await openFiles(options, { cwd, environment, clock });
  const workspace = createLocalWorkspace({ root: cwd, environment });
  const outputDirectory = transcript.path?.replace(/\.jsonl$/, "") ?? join(tmpdir(), `retinue-${transcript.sessionId}`);
  const hands = equip({ workspace, transcript, outputDirectory, settings, environment, chosen });
  const permissionMode = options.permissionMode ?? settings.permissions?.defaultMode ?? "default";
  const effort = options.effort ?? settings.effort;
  const agent = resolveMainAgent({
    model: chosen.model.describe(),
    requestedModel: chosen.requested,
    modelReason: chosen.reason,
    ...(chosen.provider?.maxTokensField ? { maxTokensField: chosen.provider.maxTokensField } : {}),
    ...(effort ? { effort } : {}),
    tools: hands.declarations(),
    mode: permissionMode,
    rules,
    maxTurns: options.maxTurns ?? settings.maxTurns ?? DEFAULT_MAX_TURNS,
    workspaceRoot: cwd,
    additionalDirectories: realDirectories(settings.permissions?.additionalDirectories ?? []),
    readableRoots: [outputDirectory],
    platform: platform(),
  });
  const thread = new Thread(MAIN_AGENT, transcript);
  // The lock says that nobody else has this session: what still carries its tag was left by a process that was killed.
  if (options.resume !== undefined) await Promise.all([thread.restore(), sweepTagged(transcript.sessionId)]);
  const notices = [
    ...(chosen.notice ? [chosen.notice] : []),
    ...problems,
    ...transcript.problems.map(({ message }) => message),
  ];
  return assemble({ transcript, hands, agent, thread, chosen, notices, clock, approvals: options.approvals ?? nobody });
}

interface Parts {
  readonly transcript: Transcript;
  readonly hands: Hands;
  readonly agent: ResolvedAgent;
  readonly thread: Thread;
  readonly chosen: ChosenModel;
  readonly notices: readonly string[];
  readonly clock: Clock;
  readonly approvals: Approvals;
}

function assemble({ transcript, hands, agent, thread, chosen, notices, clock, approvals }: Parts): Session {
  const cwd = agent.policy.workspaceRoots[0] ?? "";
  const { model } = chosen;
  const services = { sessionId: transcript.sessionId, version: VERSION, cwd, model, hands, approvals, clock };
  let running: Run | undefined;
  return {
    id: transcript.sessionId,
    cwd,
    model: model.describe(),
    tools: agent.policy.pool,
    permissionMode: agent.policy.mode,
    notices,
    transcriptPath: transcript.path,
    prompt: (words) => {
      if (running) throw new Error("a run is under way in this session: wait for its result first");
      const prompt: readonly UserBlock[] = typeof words === "string" ? textBlocks(words) : words;
      const run = startRun(services, thread, { runId: newRunId(), agent, prompt });
      running = run;
      void run.result.finally(() => {
        running = undefined;
      });
      return run;
    },
    close: async () => {
      running?.stop("stopped");
      await running?.result;
      await hands.close();
      await transcript.close();
    },
  };
}

function textBlocks(text: string): readonly UserBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

const nobody: Approvals = {
  ask: async ({ decision, call }) => ({ answer: "deny", by: "nobody to ask", message: explainDenial(decision, call) }),
};

interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

function choose(options: SessionOptions, surroundings: Surroundings & { readonly settings: Settings }): ChosenModel {
  const { model, provider } = options;
  if (typeof model === "object") return { model, requested: null, reason: "given by the program" };
  return chooseModel({ ...surroundings, flags: { ...(provider ? { provider } : {}), ...(model ? { model } : {}) } });
}

function openFiles(
  options: SessionOptions,
  { cwd, environment, clock }: Surroundings & { cwd: string },
): Promise<Transcript> {
  const sessionId = options.resume ?? newSessionId();
  if (options.home === false) return Promise.resolve(createMemorySession({ cwd, sessionId, clock }));
  const home = options.home ?? stateDirectory(environment);
  const { onTrouble } = options;
  const trouble = onTrouble ? { onTrouble: ({ message }: { message: string }) => onTrouble(message) } : {};
  const files = { home, cwd, sessionId, clock, ...trouble };
  return options.resume === undefined ? createSession(files) : openTranscript(files);
}

/** `RETINUE_HOME`, or `.retinue` in the home directory. */
export function stateDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  return environment["RETINUE_HOME"] || join(environment["HOME"] || homedir(), ".retinue");
}

function realWorkspace(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? "does not exist" : "can't be entered";
    throw new UserError(`The directory ${path} ${why}.`, { code: "cwd", cure: "Check --cwd.", exitCode: 2 });
  }
}

function realDirectories(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    try {
      return [realpathSync.native(path)];
    } catch {
      return [];
    }
  });
}
