import {
  type AgentUpdates,
  type CacheReport,
  cacheCommands,
  type Run,
  type Session,
  type Settings,
  UserError,
} from "../../app/index.ts";
import { describeError } from "../../lib/index.ts";
import type { ModelErrorCode, RunResult, RunUpdate } from "../../protocol/index.ts";
import type { PrintOptions } from "../command.ts";
import { exitCodeOf, exitCodes } from "../exit-codes.ts";
import { createFormat } from "../formats/create-format.ts";
import { createOutput, type Output } from "../output.ts";
import { unseenEnds } from "../progress/agent-transcripts.ts";
import { type AgentViews, createAgentViews } from "../progress/agent-views.ts";
import { type ShownProgress, showProgress, upTime } from "../progress/show-progress.ts";
import { type Faces, reportError } from "../report-error.ts";
import { type BackgroundKey, createBackgroundKey } from "./background-key.ts";
import { cleanUpSessions } from "./clean-up-sessions.ts";
import { cutAgents } from "./closing-message.ts";
import { closingWords } from "./closing-words.ts";
import { createApprovalTeller } from "./notices.ts";
import { openRunSession } from "./open-run-session.ts";
import { readPrompt } from "./read-prompt.ts";
import { interruptWords } from "./receipt.ts";
import { spareOptimizer } from "./spare-optimizer.ts";
import { onStopSignal } from "./stop-signals.ts";
import { createNoticeTeller } from "./tell-notices.ts";

/** `retinue -p`: one prompt, one run, its result. */
export async function printRun(options: PrintOptions): Promise<number> {
  let run: Run | undefined;
  let isOpening = false;
  const unwanted = new AbortController();
  const output = createOutput(process.stdout, () => run?.stop("stopped"));
  const errors = createOutput(process.stderr, () => undefined);
  const agents = createAgentViews();
  const format = await createFormat({ ...options, agents, forTerminal: output.isTerminal });
  const faces = { format, output, errors };
  const progress = showProgress(errors, { ...options, agents });
  const signals = onStopSignal((signal) => {
    if (run === undefined) return isOpening ? unwanted.abort() : void endAtOnce();
    if (signal === "SIGINT" && agents.size > 0) progress.tell(interruptWords(agents.inOrder()));
    run.stop(signal === "SIGINT" ? "interrupted" : "stopped");
  });
  const endAtOnce = async (): Promise<void> => {
    progress.end();
    await reportError(interrupted(), faces);
    process.exit(signals.code());
  };
  try {
    const ended = await perform(options, {
      ...faces,
      agents,
      progress,
      signal: unwanted.signal,
      onOpening: () => (isOpening = true),
      onStart: (started) => {
        run = started;
        if (unwanted.signal.aborted) run.stop("interrupted");
      },
    });
    return signals.code() ?? exitCodeOf(ended.result, { ...ended, agentsCut: cutAgents(agents.inOrder()).length });
  } catch (error) {
    const code = await reportError(error, faces);
    return signals.code() ?? code;
  }
}

function interrupted(): UserError {
  return new UserError("Interrupted before the run began.", { code: "interrupted", exitCode: exitCodes.stopped });
}

interface Ended {
  readonly result: RunResult;
  readonly modelError: ModelErrorCode | undefined;
}

interface Performance extends Faces {
  readonly agents: AgentViews;
  readonly progress: ShownProgress;
  readonly signal: AbortSignal;
  /** From here on there may be what has to be ended. */
  readonly onOpening: () => void;
  readonly onStart: (run: Run) => void;
}

/** Fewer are soon done. */
const MANY_AGENTS = 8;

async function perform(
  options: PrintOptions,
  { format, output, errors, agents, progress, signal, onOpening, onStart }: Performance,
): Promise<Ended> {
  const notices = createNoticeTeller(progress.tell);
  const approvals = createApprovalTeller(options.onAsk ?? "deny", progress.tell);
  let key: BackgroundKey | undefined;
  /** A promise only where there is something to wait for: of a thousand agents there are fifty thousand updates. */
  const show = (update: RunUpdate): Promise<void> | undefined => {
    if (agents.size >= MANY_AGENTS) spareOptimizer();
    notices.see(update);
    approvals.see(update);
    agents.see(update, upTime());
    progress.see(update);
    const keys = key?.see(update);
    const text = format.update(update);
    if (keys !== undefined) return keys.then(() => output.write(text));
    return text === "" ? undefined : output.write(text);
  };
  try {
    const prompt = await readPrompt(options.prompt, progress.tell);
    const agentUpdates = updatesFor(options, errors);
    onOpening();
    const { session, settings } = await openRunSession(options, { prompt, tell: progress.tell, agentUpdates, signal });
    if (signal.aborted) {
      await session.close();
      throw interrupted();
    }
    for (const notice of session.notices) progress.tell(notice);
    await output.write(format.opened(session));
    key = createBackgroundKey({ session, agents, progress });
    const run = session.prompt(prompt);
    onStart(run);
    let modelError: ModelErrorCode | undefined;
    for await (const update of run) {
      modelError = errorAfter(update, modelError);
      const shown = show(update);
      if (shown !== undefined) await shown;
    }
    const result = await run.result;
    // Before the result is told: who reads it may open the session again at once.
    await session.close().catch((error: unknown) => progress.tell(describeError(error)));
    for (const end of endsOf(session, agents)) await show(end);
    progress.end();
    await output.write(format.result(result, await cacheOf(session, options)));
    await errors.write(
      closingWords(result, { sessionId: session.id, agents: agents.inOrder(), isTold: notices.isTold }),
    );
    if (result.outcome !== "stopped") await cleanUp(settings, options, progress.tell);
    return { result, modelError };
  } finally {
    key?.release();
    progress.end();
    await progress.flushed();
  }
}

/** Of a thousand agents all is much: only what is shown, or becomes a part of the result. */
function updatesFor({ outputFormat, partialMessages, verbose }: PrintOptions, errors: Output): AgentUpdates {
  if (errors.isTerminal || partialMessages) return "all";
  return outputFormat === "text" && !verbose ? "milestones" : "recorded";
}

/** Behind everything else: nobody waits for it, least of all the first request. */
async function cleanUp(settings: Settings, { verbose }: PrintOptions, tell: (notice: string) => void): Promise<void> {
  const words = await cleanUpSessions(settings);
  if (verbose && words !== undefined) tell(words);
}

/** For programs: who reads words does not wait until every transcript is looked at. */
async function cacheOf({ transcriptPath }: Session, { outputFormat }: PrintOptions): Promise<CacheReport | undefined> {
  if (outputFormat === "text" || transcriptPath === undefined) return undefined;
  const { reportCache } = await cacheCommands();
  return reportCache(transcriptPath).catch(() => undefined);
}

function endsOf({ transcriptPath }: Session, agents: AgentViews): readonly RunUpdate[] {
  return transcriptPath === undefined || agents.size === 0 ? [] : unseenEnds(transcriptPath, agents);
}

function errorAfter(update: RunUpdate, before: ModelErrorCode | undefined): ModelErrorCode | undefined {
  if (update.type === "model.failed") return update.error.code;
  return update.type === "model.ended" ? undefined : before;
}
