import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeError, errorCode, isRecord, UserError, withFileLock, writeAtomically } from "../../lib/index.ts";
import type { Inbox } from "../../ports/index.ts";
import { createApprovalQueue, type SessionApprovals } from "../../runs/index.ts";
import { createTrustStore } from "../../settings/index.ts";
import { openInbox, type Transcript, type Trouble } from "../../transcript/index.ts";
import type { ReviewedFiles, Sandbox } from "../../workspace/index.ts";
import type { TrustOptions } from "../commands/trust.ts";
import { loadProjectSettings } from "../settings/project-settings.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";

/** Opens the inbox of a session, with the requests, answers and commands of other processes. */
export function openSessionInbox(
  { onTrouble }: SessionOptions,
  context: SessionContext,
  transcript: Transcript,
): Inbox {
  return openInbox({
    path: transcript.inboxPath,
    clock: context.clock,
    onTrouble: ({ message }: Trouble) => onTrouble?.(message),
    stopWaiting: context.stopWaiting.signal,
  });
}

/** Creates the approval queue of a session. A resumed session keeps the requests and answers of earlier processes. */
export async function openApprovals(
  { approvals, onAsk, resume, onTrouble, home }: SessionOptions,
  context: SessionContext,
  { inbox, sandbox }: { readonly inbox: Inbox; readonly sandbox: Sandbox },
): Promise<SessionApprovals> {
  const keepAndReport = async (rule: string): Promise<void> => {
    const message = await sandbox.review((files) => keepRule(rule, { ...context, files }));
    onTrouble?.(message);
  };
  const queue = createApprovalQueue({
    attended: approvals !== undefined || onAsk === "wait",
    deniesBackground: context.settings.background?.approvals === "deny",
    program: approvals,
    keepRule: home === false ? undefined : keepAndReport,
    openInbox: async () => inbox,
  });
  if (resume !== undefined) await queue.load();
  return queue;
}

const LOCAL_SETTINGS = ".retinue/settings.local.json";

interface KeepOptions extends TrustOptions {
  readonly files: ReviewedFiles;
}

/** Adds an allow rule to the settings of a directory. Returns a message for the user. Never rejects. */
async function keepRule(rule: string, { home, cwd, environment, files }: KeepOptions): Promise<string> {
  const file = join(cwd, LOCAL_SETTINGS);
  try {
    mkdirSync(dirname(file), { recursive: true });
    return await withFileLock(file, () => addRule(rule, file, { home, cwd, environment, files }));
  } catch (error) {
    return `${rule} applies in this session, but could not be saved in ${file}: ${describeError(error)}`;
  }
}

/**
 * Adds a rule to a settings file. The user has seen the rule, so if the rest of the file was approved, the changed file
 * is approved, too.
 */
async function addRule(rule: string, file: string, { files, ...options }: KeepOptions): Promise<string> {
  const { home, cwd } = options;
  const store = createTrustStore({ stateHome: home });
  const approved = store.approvedHash(cwd, { kind: "permissions", name: LOCAL_SETTINGS });
  const wasApproved = store.coveredBy(cwd) === cwd && currentApproval(options)?.hash === approved;
  const settings = readPlainJson(file);
  const permissions = recordOf(settings["permissions"]);
  const allow = Array.isArray(permissions["allow"]) ? permissions["allow"] : [];
  if (allow.includes(rule)) return `${rule} is already in ${file}.`;
  const changed = { ...settings, permissions: { ...permissions, allow: [...allow, rule] } };
  const text = `${JSON.stringify(changed, null, 2)}\n`;
  // A command that is still running may have created the file. Such a file stays suspect.
  const isOwn = !existsSync(file) || files.isUnchanged(file);
  await writeAtomically(file, text, { mode: 0o644 });
  if (isOwn) files.wrote(file, text);
  const approval = wasApproved ? currentApproval(options) : undefined;
  if (approval === undefined)
    return `${rule} was added to ${file}. Run "retinue trust add ${cwd}" to make it effective.`;
  await store.approve(cwd, approval);
  return `${rule} was added to ${file}.`;
}

function currentApproval(options: TrustOptions) {
  const { approvals } = loadProjectSettings({ ...options, trust: true });
  return approvals.find(({ kind, name }) => kind === "permissions" && name === LOCAL_SETTINGS);
}

/** Reads a settings file. Throws if it has comments, because writing the file would remove them. */
function readPlainJson(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return {};
    throw error;
  }
  try {
    return recordOf(JSON.parse(text));
  } catch {
    throw new UserError("it is not plain JSON", { code: "settings", cure: "Add the rule to permissions.allow there." });
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
