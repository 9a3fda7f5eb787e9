import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { resolveMainAgent } from "../agents/index.ts";
import { newSessionId, sweepTagged } from "../lib/index.ts";
import { explainDenial } from "../permissions/index.ts";
import type { Approvals, Clock, Model } from "../ports/index.ts";
import { type Effort, MAIN_AGENT, type PermissionMode, type SessionId, type Settings } from "../protocol/index.ts";
import { Thread } from "../runs/index.ts";
import {
  createMemorySession,
  createSession,
  openSession as openTranscript,
  type Session as Transcript,
} from "../transcript/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { type ChosenModel, chooseModel } from "./choose-model.ts";
import { equip } from "./equip.ts";
import { type Environment, existingDirectories, stateDirectory, workspaceDirectory } from "./places.ts";
import { collectRules } from "./rules.ts";
import { createSessionOf, type Session } from "./session.ts";
import { systemClock } from "./system-clock.ts";
import { VERSION } from "./version.ts";

export interface SessionOptions {
  /** The workspace; the current directory if absent. */
  readonly cwd?: string;
  /** State directory; `RETINUE_HOME` or `~/.retinue` if absent. `false` keeps nothing on disk. */
  readonly home?: string | false;
  readonly environment?: Environment;
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

const DEFAULT_MAX_TURNS = 50;

/** Opens a new session, or an old one to go on with. Throws a `UserError` for what a person must repair. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  const { environment = process.env, clock = systemClock, settings = {} } = options;
  const cwd = workspaceDirectory(options.cwd ?? process.cwd());
  const surroundings = { environment, clock, settings, cwd };
  const chosen = choose(options, surroundings);
  const transcript = await openFiles(options, surroundings);
  try {
    return await furnish(options, { ...surroundings, chosen, transcript });
  } catch (error) {
    await transcript.close();
    throw error;
  }
}

interface Surroundings {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly cwd: string;
}

interface Opened extends Surroundings {
  readonly chosen: ChosenModel;
  readonly transcript: Transcript;
}

/** Tools, policy, the agent and its thread, on files that are open. */
async function furnish(options: SessionOptions, opened: Opened): Promise<Session> {
  const { environment, clock, settings, cwd, chosen, transcript } = opened;
  const { permissions = {} } = settings;
  const { rules, problems } = collectRules(permissions, options, options.settingsFile);
  const workspace = createLocalWorkspace({ root: cwd, environment });
  const outputDirectory = directoryOf(transcript);
  const { hands, absent } = equip({ workspace, transcript, outputDirectory, settings, environment, chosen });
  const effort = options.effort ?? settings.effort;
  const { maxTokensField } = chosen.provider ?? {};
  const agent = resolveMainAgent({
    model: chosen.model.describe(),
    requestedModel: chosen.requested,
    modelReason: chosen.reason,
    ...(maxTokensField ? { maxTokensField } : {}),
    ...(effort ? { effort } : {}),
    tools: hands.declarations(),
    mode: options.permissionMode ?? permissions.defaultMode ?? "default",
    rules,
    maxTurns: options.maxTurns ?? settings.maxTurns ?? DEFAULT_MAX_TURNS,
    workspaceRoot: cwd,
    additionalDirectories: existingDirectories(permissions.additionalDirectories ?? []),
    readableRoots: [outputDirectory],
    platform: platform(),
  });
  const thread = new Thread(MAIN_AGENT, transcript);
  // The lock says that nobody else has this session: what still carries its tag was left by a process that was killed.
  if (transcript.leftOpen) await sweepTagged(transcript.sessionId);
  if (options.resume !== undefined) await thread.restore();
  // Who configured a search that can't work wants to know; who configured none does not.
  const asked = settings.search === undefined || settings.search.engine === "off" ? [] : absent;
  const damage = transcript.problems.map(({ message }) => message);
  const { sessionId } = transcript;
  const { model, notice } = chosen;
  return createSessionOf({
    transcript,
    agent,
    thread,
    absentTools: absent,
    notices: [...(notice ? [notice] : []), ...problems, ...asked.map(({ reason }) => reason), ...damage],
    services: { sessionId, version: VERSION, cwd, model, hands, approvals: options.approvals ?? nobody, clock },
  });
}

/** Where the session keeps its own files, beside its transcript. */
function directoryOf({ path, sessionId }: Transcript): string {
  return path?.replace(/\.jsonl$/, "") ?? join(tmpdir(), `retinue-${sessionId}`);
}

const nobody: Approvals = {
  ask: async ({ decision, call }) => ({ answer: "deny", by: "nobody to ask", message: explainDenial(decision, call) }),
};

function choose(options: SessionOptions, { settings, environment, clock }: Surroundings): ChosenModel {
  const { model, provider } = options;
  if (typeof model === "object") return { model, requested: null, reason: "given by the program" };
  return chooseModel({
    settings,
    environment,
    clock,
    flags: { ...(provider ? { provider } : {}), ...(model ? { model } : {}) },
  });
}

async function openFiles(
  { resume, home, onTrouble }: SessionOptions,
  { cwd, environment, clock }: Surroundings,
): Promise<Transcript> {
  const sessionId = resume ?? newSessionId();
  if (home === false) return createMemorySession({ cwd, sessionId, clock });
  const trouble = onTrouble ? { onTrouble: ({ message }: { message: string }) => onTrouble(message) } : {};
  const files = { home: home ?? stateDirectory(environment), cwd, sessionId, clock, ...trouble };
  return resume === undefined ? createSession(files) : openTranscript(files);
}
