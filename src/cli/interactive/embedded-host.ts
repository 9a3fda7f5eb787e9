import {
  type ApprovalQuestion,
  type Approvals,
  type ListedModel,
  lastEventNumber,
  listRules,
  modelsOf,
  readTranscript,
  type Session,
  stateDirectory,
} from "../../app/index.ts";
import { createDeferred, createId, type Deferred, describeError, formatCount } from "../../lib/index.ts";
import { MAIN_AGENT, NO_APPROVER } from "../../protocol/index.ts";
import type { OpenRequest, SessionFacts, TerminalHost } from "../../terminal/index.ts";
import { renderRules } from "../commands/permissions.ts";
import { withFlags } from "../output.ts";
import { openingNotices } from "../print/notices.ts";
import { openInteractiveSession } from "../print/open-run-session.ts";
import type { PrintOptions } from "../print/print-options.ts";
import { readAgentTranscript } from "../progress/agent-transcripts.ts";
import { findServerFor, handOver } from "./hand-over.ts";
import { createHostCommands } from "./host-commands.ts";
import { listFiles } from "./list-files.ts";
import { previewOf } from "./preview-of.ts";
import { readImage } from "./read-image.ts";
import { runShell } from "./run-shell.ts";
import { createStatusLine } from "./status-line.ts";

/** Opens a session in this process, for the terminal. */
export async function openEmbeddedHost(
  given: PrintOptions,
  { resume, signal, ...request }: OpenRequest,
): Promise<TerminalHost> {
  const report = (message: string): void => request.report(withFlags(message));
  const options = resume === undefined ? given : { ...given, resume, continueLatest: false };
  const questions = collectQuestions();
  const opened = await openInteractiveSession(options, { report, agentUpdates: "all", approvals: questions, signal });
  const { session } = opened;
  const isResumed = options.resume !== undefined || options.continueLatest;
  const resumedAt = isResumed && session.transcriptPath ? lastEventNumber(session.transcriptPath) : undefined;
  const isOffline = session.model.provider === "offline";
  // The terminal has its own message about a missing provider.
  const notices = opened.notices.filter((notice) => !isOffline || !notice.includes("using the offline model"));
  const facts: SessionFacts = {
    sessionId: session.id,
    transcriptPath: session.transcriptPath,
    cwd: session.cwd,
    get model() {
      return session.model.model;
    },
    agentType: session.agentType,
    get permissionMode() {
      return session.permissionMode;
    },
    isOffline,
    isRemote: false,
    resumedAt,
    notices: openingNotices(notices, options).map(withFlags),
    agents: session.agents,
  };
  if (isResumed) void continueWork(session, report);
  const commands = createHostCommands(session, options);
  const home = stateDirectory(process.env);
  const { agent, permissionMode, maxTurns, maxCost, maxTokens } = options;
  const choices = { agent, permissionMode, maxTurns, maxCost, maxTokens };
  return {
    facts,
    updates: (stop) => session.events({ signal: stop }),
    send: async (command) => {
      const receipt = await session.send({ ...command, id: command.id ?? createId("command_") });
      return { ...receipt, message: withFlags(receipt.message) };
    },
    question: (requestId) => questions.find(requestId),
    preview: (question) => previewOf(question, session.cwd),
    prompts: () => session.prompts(),
    context: () => session.context(),
    models: async () => {
      const { provider } = session.model;
      const models = await modelsOf({ settings: opened.settings, environment: process.env, provider });
      return models.map(({ model, tiers, prices }) => ({ name: model, about: modelWords(tiers, prices) }));
    },
    rules: async () => {
      const place = { cwd: session.cwd, home, environment: process.env };
      const listed = listRules({ ...place, trust: options.trust, file: options.settings });
      const added = session.sessionRules.map((text) => ({ text, effect: "allow", scope: "session" }) as const);
      return renderRules({ ...listed, mode: session.permissionMode, rules: [...listed.rules, ...added] }, true);
    },
    commands,
    shell: (command, stop) => runShell(command, { cwd: session.cwd, signal: stop }),
    statusLine: opened.settings.statusLine && createStatusLine(opened.settings.statusLine, session.cwd),
    image: (path) => readImage(path, session.cwd),
    files: () => listFiles(session.cwd),
    lines: async (agentId) => {
      const { transcriptPath } = session;
      if (transcriptPath === undefined) return [];
      if (agentId === MAIN_AGENT) return readTranscript(transcriptPath).lines;
      return readAgentTranscript(transcriptPath, agentId).lines;
    },
    server: () => findServerFor(session, home),
    close: async (how) => {
      await (how === "stop" ? session.close() : session.park()).catch((error: unknown) => report(describeError(error)));
      return how === "serve" ? handOver(session, { home, choices }) : undefined;
    },
  };
}

/** Describes a model, such as `medium · $2 in, $10 out per million tokens`. */
function modelWords(tiers: ListedModel["tiers"], prices: ListedModel["prices"]): string {
  return [tiers.join(", "), prices === undefined ? "" : priceWords(prices)].filter((part) => part !== "").join(" · ");
}

function priceWords({ input, output, longPrompts = [] }: NonNullable<ListedModel["prices"]>): string {
  const ofLong = longPrompts.map(
    (long) => `; $${long.input} in, $${long.output} out for prompts over ${formatCount(long.above)} tokens`,
  );
  return `$${input} in, $${output} out per million tokens${ofLong.join("")}`;
}

/** Continues the agents that were working when the session was closed. */
async function continueWork(session: Session, report: (message: string) => void): Promise<void> {
  try {
    for (const problem of await session.continueWork()) report(problem);
  } catch (error) {
    report(describeError(error));
  }
}

/** Receives a session's requests for approval. They are answered with commands. */
function collectQuestions(): Approvals & { find(requestId: string): Promise<ApprovalQuestion | undefined> } {
  const open = new Map<string, Deferred<ApprovalQuestion | undefined>>();
  const ended = new Set<string>();
  const of = (requestId: string): Deferred<ApprovalQuestion | undefined> => {
    const known = open.get(requestId) ?? createDeferred<ApprovalQuestion | undefined>();
    open.set(requestId, known);
    return known;
  };
  return {
    // A request is recorded before it arrives here, so `find` may be called before that.
    find: async (requestId) => (ended.has(requestId) ? undefined : of(requestId).promise),
    ask: (question, signal) =>
      new Promise((resolve) => {
        ended.delete(question.requestId);
        of(question.requestId).resolve(question);
        const end = (): void => {
          open.delete(question.requestId);
          ended.add(question.requestId);
          resolve({ answer: "deny", by: NO_APPROVER });
        };
        if (signal.aborted) end();
        else signal.addEventListener("abort", end, { once: true });
      }),
  };
}
