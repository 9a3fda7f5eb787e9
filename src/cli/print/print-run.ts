import { setFlagsFromString } from "node:v8";
import {
  type AgentUpdates,
  type Approvals,
  type CacheReport,
  cleanUpDaily,
  type Run,
  reportCache,
  type Session,
  type Settings,
  stateDirectory,
  systemClock,
} from "../../app/index.ts";
import { describeError, plural, UserError } from "../../lib/index.ts";
import type { ModelErrorCode, RunResult, RunUpdate } from "../../protocol/index.ts";
import { exitCodeOf, exitCodes, type StopSignal } from "../exit-codes.ts";
import { createFormat } from "../formats/create-format.ts";
import { type BackgroundKey, createBackgroundKey } from "../keys/background-key.ts";
import { standardKeys, type TerminalKeys } from "../keys/terminal-keys.ts";
import { hasTerminal, isWatched } from "../keys/terminal-prompt.ts";
import { createOutput, type Output } from "../output.ts";
import { missedRunEnds, readAgentTranscript } from "../progress/agent-transcripts.ts";
import { type AgentViews, createAgentViews } from "../progress/agent-views.ts";
import { type ShownProgress, showProgress } from "../progress/progress.ts";
import { usageError } from "../read-options.ts";
import { type Outputs, reportError } from "../report-error.ts";
import { type Leaving, onStopSignal } from "../stop-signals.ts";
import { closingMessage, interruptMessage } from "./closing-message.ts";
import { createNotices, openingNotices } from "./notices.ts";
import { hasOpenRequests, openRunSession } from "./open-run-session.ts";
import type { AskingWay, PrintOptions } from "./print-options.ts";
import { readPrompt } from "./read-prompt.ts";

/**
 * Runs `retinue -p`: one prompt, one run, one result. Returns the exit code. `leaving` has been receiving signals since
 * the program started.
 */
export async function printRun(options: PrintOptions, leaving?: Leaving): Promise<number> {
  let run: Run | undefined;
  let session: Session | undefined;
  let isOpening = false;
  let way: AskingWay | undefined;
  const cancelled = new AbortController();
  let isAbandoned = false;
  const output = createOutput(process.stdout, (byReader) => {
    isAbandoned = byReader;
    run?.stop("stopped");
  });
  const errors = createOutput(process.stderr);
  const agentUpdates = updatesFor(options, errors);
  const agents = createAgentViews({ showsMain: agentUpdates !== "milestones" });
  const format = await createFormat({ ...options, agents, forTerminal: output.isTerminal });
  const outputs = { format, output, errors };
  const progress = showProgress(errors, { ...options, agents });
  const stop = (signal: StopSignal): void => {
    if (run === undefined) {
      if (isOpening) cancelled.abort();
      else void endAtOnce();
      return;
    }
    if (signal === "SIGINT" && agents.size > 0) progress.report(interruptMessage(agents.inOrder()));
    // A parked session keeps its requests for approval open, so that they can be answered after the terminal is closed.
    if (signal !== "SIGINT" && way === "wait") return void session?.park().catch(() => undefined);
    run.stop(signal === "SIGINT" ? "interrupted" : "stopped");
    // Without this, a run on a full disk would wait for free space to record its end.
    session?.close().catch(() => undefined);
  };
  const { code: signalCode } = onStopSignal({ stop, onExit: progress.end });
  leaving?.release();
  const endAtOnce = async (): Promise<void> => {
    progress.end();
    await reportError(interrupted(), outputs);
    process.exit(signalCode());
  };
  const earlyCode = leaving?.code();
  if (earlyCode !== undefined) {
    progress.end();
    await reportError(interrupted(), outputs);
    return earlyCode;
  }
  try {
    const ended = await executeRun(options, {
      ...outputs,
      agents,
      agentUpdates,
      progress,
      signal: cancelled.signal,
      isAbandoned: () => isAbandoned,
      onOpening: (chosen) => {
        isOpening = true;
        way = chosen;
      },
      onStart: (started, of) => {
        run = started;
        session = of;
        if (cancelled.signal.aborted) run.stop("interrupted");
      },
    });
    const agentsCut = agents.inOrder().filter(({ end }) => end?.outcome === "incomplete").length;
    return signalCode() ?? exitCodeOf(ended.result, { ...ended, agentsCut });
  } catch (error) {
    const code = await reportError(error, outputs);
    return signalCode() ?? code;
  }
}

function interrupted(): UserError {
  return new UserError("Interrupted before the run began.", { code: "interrupted", exitCode: exitCodes.stopped });
}

interface EndedRun {
  readonly result: RunResult;
  readonly modelError: ModelErrorCode | undefined;
}

interface RunContext extends Outputs {
  readonly agents: AgentViews;
  readonly agentUpdates: AgentUpdates;
  readonly progress: ShownProgress;
  readonly signal: AbortSignal;
  /** Whether standard output has been closed by its reader. */
  readonly isAbandoned: () => boolean;
  /** Called before the session opens. After that, the session must be closed before the process ends. */
  readonly onOpening: (way: AskingWay) => void;
  readonly onStart: (run: Run, session: Session) => void;
}

async function executeRun(options: PrintOptions, context: RunContext): Promise<EndedRun> {
  const { format, output, errors, agents, agentUpdates, progress, signal, isAbandoned, onOpening, onStart } = context;
  const onAsk = askingWay(options);
  const notices = createNotices(onAsk, progress.report);
  // While this process is stopped, other programs may write over the live lines.
  const keys = standardKeys(progress.clear);
  let key: BackgroundKey | undefined;
  const show = async (update: RunUpdate): Promise<void> => {
    if (agents.size >= MANY_AGENTS) delayOptimization();
    notices.observe(update);
    agents.observe(update);
    progress.observe(update);
    key?.observe(update);
    await output.write(format.update(update));
  };
  try {
    let isOpen = false;
    const report = (message: string): void => {
      progress.report(message);
      if (isOpen) void output.write(format.notice?.(message) ?? "");
    };
    const prompt = await readPrompt(options.prompt, report);
    onOpening(onAsk);
    const approvals = onAsk === "ask" ? await terminalApprovals(context, keys) : undefined;
    const opened = await openRunSession(options, { prompt, report, agentUpdates, approvals, signal });
    const { session, settings } = opened;
    if (signal.aborted) {
      await session.close();
      throw interrupted();
    }
    for (const notice of openingNotices(opened.notices, options)) report(notice);
    const { transcriptPath } = session;
    if (transcriptPath !== undefined)
      agents.readEarlier((agentId) => readAgentTranscript(transcriptPath, agentId).lines);
    await output.write(format.opened(session));
    isOpen = true;
    key = createBackgroundKey({ session, agents, progress, keys });
    const run = session.prompt(prompt);
    onStart(run, session);
    let modelError: ModelErrorCode | undefined;
    for await (const update of run) {
      modelError = errorAfter(update, modelError);
      await show(update);
    }
    const result = await run.result;
    // The session is closed before the result is written, because the reader of the result may reopen it immediately.
    await session.close().catch((error: unknown) => report(describeError(error)));
    isOpen = false;
    for (const end of missedEnds(session, agents)) await show(end);
    progress.end();
    await output.write(format.result(result, await cacheReport(session, options)));
    const { wasReported } = notices;
    const queued = session.queue().length;
    const closing = {
      queued,
      sessionId: session.id,
      repeated: options.repeated,
      agents: agents.inOrder(),
      wasReported,
      isAbandoned: isAbandoned(),
    };
    await errors.write(closingMessage(result, closing));
    // This comes last because it must not delay anything else.
    if (result.outcome !== "stopped") await cleanUpSessions(settings, options, report);
    return { result, modelError };
  } finally {
    key?.release();
    progress.end();
    await progress.flushed();
  }
}

/** Returns how to handle calls that need approval. Throws if the user wants to be asked and there is no terminal. */
function askingWay(options: PrintOptions): AskingWay {
  const { onAsk } = options;
  if (onAsk === undefined) return isWatched() ? "ask" : hasOpenRequests(options) ? "wait" : "deny";
  if (onAsk !== "ask" || hasTerminal()) return onAsk;
  throw usageError(
    "--on-ask ask needs a terminal for standard input and standard error",
    'To answer in another terminal, use --on-ask wait and "retinue approvals".',
  );
}

async function terminalApprovals({ progress, agents }: RunContext, keys: TerminalKeys): Promise<Approvals> {
  const { createTerminalApprovals } = await import("../keys/terminal-approvals.ts");
  return createTerminalApprovals({ keys, output: process.stderr, progress, agents });
}

/**
 * Returns which updates to request: only updates that are shown or are part of the result, because runs with many
 * agents produce many updates.
 */
function updatesFor({ outputFormat, partialMessages, verbose }: PrintOptions, errors: Output): AgentUpdates {
  if (errors.isTerminal || partialMessages) return "all";
  return outputFormat === "text" && !verbose ? "milestones" : "recorded";
}

/**
 * Reports the cache usage. Returns undefined for the text format, which does not show it, to avoid reading every
 * transcript of the session.
 */
async function cacheReport(
  { transcriptPath }: Session,
  { outputFormat }: PrintOptions,
): Promise<CacheReport | undefined> {
  if (outputFormat === "text" || transcriptPath === undefined) return undefined;
  return reportCache(transcriptPath).catch(() => undefined);
}

function missedEnds({ transcriptPath }: Session, agents: AgentViews): readonly RunUpdate[] {
  return transcriptPath === undefined || agents.size === 0 ? [] : missedRunEnds(transcriptPath, agents);
}

function errorAfter(update: RunUpdate, before: ModelErrorCode | undefined): ModelErrorCode | undefined {
  if (update.type === "model.failed") return update.error.code;
  return update.type === "model.ended" ? undefined : before;
}

/** Deletes old sessions once a day, and reports the deletion if `verbose`. */
async function cleanUpSessions(
  { cleanupPeriodDays: days = 30 }: Settings,
  { verbose }: PrintOptions,
  report: (notice: string) => void,
): Promise<void> {
  const cleaned = await cleanUpDaily({ home: stateDirectory(process.env), days, clock: systemClock });
  const count = cleaned?.removed.length ?? 0;
  if (!verbose || count === 0) return;
  const unused = `not used for ${plural(days, "day")}`;
  report(
    `${plural(count, "session")} ${unused} ${count === 1 ? "was" : "were"} deleted (cleanupPeriodDays in settings).`,
  );
}

/** Minimum number of agents for which the optimizer matters. A run with fewer agents ends before V8 optimizes much. */
const MANY_AGENTS = 8;
/** How much code a function runs before V8 optimizes it: the value of `--interrupt-budget`, by default 67,584. */
const INTERRUPT_BUDGET = 5_000_000;

let isOptimizationDelayed = false;

/**
 * Makes V8 optimize later on Node 20, which saves a quarter of the processor time at 256 agents (docs/decisions/0019).
 * Many agents run the whole program a few hundred times: often enough for V8 to optimize all of it, too rarely for that
 * to pay off. Newer versions of V8 have an additional, cheaper optimizing compiler and do not need this.
 */
function delayOptimization(): void {
  if (isOptimizationDelayed || !process.versions.v8.startsWith("11.")) return;
  isOptimizationDelayed = true;
  setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
}
