import { type AgentView, activityWords, oneLine, tokensOf } from "../../client/index.ts";
import { formatCount, formatDuration, stripControls } from "../../lib/index.ts";
import type { CallOutcome, EventOf, RunUpdate, SubagentEvent } from "../../protocol/index.ts";
import { fitLine } from "../fit-line.ts";
import { messageLines, type Output } from "../output.ts";
import { agentLine, agentLines, formatElapsed } from "./agent-lines.ts";
import type { AgentViews } from "./agent-views.ts";
import { createBlock } from "./block.ts";

interface ProgressOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly rows: () => number;
  /** Redraws a status line with a line for each agent below it. Requires a terminal that can move its cursor. */
  readonly live: boolean;
  /** Prints a line for every call that has ended. */
  readonly calls: boolean;
  readonly color: boolean;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /** Time at which the run started, if that is not now. */
  readonly startedAt?: number | undefined;
  /** Agent views, which receive each update before this object does. */
  readonly agents: Omit<AgentViews, "observe" | "readEarlier">;
}

/** Shows the progress of a run on standard error. */
export interface Progress {
  observe(update: RunUpdate): void;
  /** Prints a message that stays visible. */
  report(notice: string): void;
  /** Prints text that stays visible. It must not contain control characters. */
  print(text: string): void;
  /** Sets the key hint at the end of the status line; an empty string removes it. */
  hint(text: string): void;
  /** Redraws the live lines with the elapsed time. */
  tick(): void;
  /** Removes the live lines until they are drawn again. */
  clear(): void;
  /** Writes nothing until `release` is called, because something else is using the terminal. */
  hold(): void;
  /** Prints the lines that were held back. */
  release(): void;
  /** Removes the live lines permanently. */
  end(): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const marks: Record<CallOutcome, string> = {
  ok: "✓",
  error: "✗",
  denied: "✗",
  cancelled: "–",
  timeout: "✗",
  unknown: "?",
};

/**
 * Maximum length of a line. A terminal that becomes narrower wraps long lines and can move them into its history, where
 * nothing removes them. Lines of this length are rarely wrapped.
 */
const LONGEST_LINE = 100;

export function createProgress(options: ProgressOptions): Progress {
  const { write, columns, rows, live, calls, color, now, agents, startedAt = now() } = options;
  const block = createBlock({ write, rows });
  let frame = 0;
  let isOver = false;
  let hint = "";
  /** Lines to be printed later; undefined unless output is held back. */
  let held: string[] | undefined;
  /** Direct subagents of the main agent that have already been reported as ended. */
  const reported = new Set<string>();

  const dim = (text: string): string => (color ? `\u001b[2m${text}\u001b[22m` : text);
  const status = (width: number): string => {
    const mark = frames[frame] ?? "";
    const { main } = agents;
    const what = main?.runId === undefined ? "starting" : activityWords(main);
    const tokens = main === undefined ? 0 : tokensOf(main.usage);
    return statusLine({ mark, what, milliseconds: now() - startedAt, tokens, hint }, width);
  };
  const isShown = ({ path, end }: AgentView): boolean => end === undefined || !reported.has(path[0] ?? "");
  const liveLines = (): readonly string[] => {
    if (!live || isOver || held) return [];
    const width = Math.max(1, Math.min(columns() - 1, LONGEST_LINE));
    // One row is the status line, and one stays free, because lines that fill the terminal can't be overwritten.
    const view = { columns: width, rows: rows() - 2, now: now(), frame: frames[frame] ?? "" };
    const below = agents.size === 0 ? [] : agentLines(agents.inOrder().filter(isShown), view);
    return [status(width), ...below].map(dim);
  };
  const draw = (): void => block.draw(liveLines());
  const print = (line: string): void => {
    if (held) held.push(line);
    else block.print(`${line}\n`, liveLines());
  };
  const release = (): void => {
    const lines = held ?? [];
    held = undefined;
    for (const line of lines) print(line);
  };

  const reportEnd = (agent: AgentView): void => {
    if (!calls || agent.end === undefined) return;
    reported.add(agent.agentId);
    const line = agentLine(agent, { columns: Math.max(1, columns() - 1), now: now(), frame: "" });
    print(live ? dim(line.trimStart()) : line);
  };
  const observeAgent = ({ agentId, event }: SubagentEvent): void => {
    if (event.type === "run.started") reported.delete(agentId);
    const agent = agents.get(agentId);
    if (event.type !== "run.ended" || agent === undefined) return;
    // On a terminal, an agent stays among the live lines until its parent's call has ended.
    if (!live || (agent.background && agent.path.length === 1)) reportEnd(agent);
  };
  const endCall = ({ callId, name, result, milliseconds }: EventOf<"tool.ended">): void => {
    if (!calls) return;
    const target = agents.main?.lastCall?.target ?? "";
    const agent = live ? agents.inOrder().find((each) => each.callId === callId) : undefined;
    if (agent && !agent.background) reportEnd(agent);
    if (agent) return;
    const outcome = result.outcome === "ok" ? "" : ` ${result.outcome}`;
    const tail = `${outcome} · ${formatDuration(milliseconds)}`;
    // The model may call a tool that does not exist, by any name.
    const call = `${oneLine(name)}${target && ` ${target}`}`;
    const line = fitLine(`${marks[result.outcome]} ${call}`, Math.max(20, columns() - tail.length));
    print(dim(`${line}${tail}`));
  };

  return {
    observe: (update) => {
      if (update.type === "subagent.event") observeAgent(update);
      if (update.type === "model.retried") {
        const { attempt, maxAttempts, delayMs, error } = update.retry;
        const wait = formatDuration(delayMs);
        if (calls) print(dim(`… trying again in ${wait} (${attempt} of ${maxAttempts}): ${stripControls(error)}`));
      }
      if (update.type === "tool.ended") endCall(update);
    },
    report: (notice) => print(messageLines([notice]).trimEnd()),
    print,
    hint: (text) => {
      hint = text;
    },
    tick: () => {
      frame = (frame + 1) % frames.length;
      if (live) draw();
    },
    clear: () => block.clear(),
    hold: () => {
      held ??= [];
      block.clear();
    },
    release,
    end: () => {
      isOver = true;
      release();
      block.clear();
    },
  };
}

interface StatusParts {
  readonly mark: string;
  readonly what: string;
  readonly milliseconds: number;
  readonly tokens: number;
  readonly hint: string;
}

/** Minimum terminal width at which the hint is shown. */
const MIN_HINT_WIDTH = 60;

function statusLine({ mark, what, milliseconds, tokens, hint }: StatusParts, width: number): string {
  const used = tokens === 0 ? "" : ` · ${formatCount(tokens)} tokens`;
  const keys = hint === "" || width < MIN_HINT_WIDTH ? "" : ` · ${hint}`;
  const tail = ` · ${formatElapsed(milliseconds)}${used}${keys}`;
  const available = Math.max(10, width - tail.length - 2);
  return fitLine(`${mark} ${fitLine(what, available)}${tail}`, width);
}

const TICK_MS = 100;

export interface ShownProgress extends Progress {
  /** True if lines are redrawn on a terminal. */
  readonly isLive: boolean;
  /** Resolves when everything has been written. */
  flushed(): Promise<void>;
}

interface ShownOptions {
  readonly verbose: boolean;
  /** Shows only notices, even on a terminal. */
  readonly quiet: boolean;
  readonly agents: ProgressOptions["agents"];
}

/** Options for showing a run that takes place in another process. */
interface OtherRun {
  /** Underlying output stream, if it isn't standard error. */
  readonly stream?: NodeJS.WriteStream;
  readonly isRunning?: boolean;
  readonly startedAt?: number | undefined;
}

/** Shows the progress of a run: live if the output is a terminal, otherwise only notices, and calls if `verbose`. */
export function showProgress(
  output: Output,
  { verbose, quiet, agents }: ShownOptions,
  other: OtherRun = {},
): ShownProgress {
  const { env } = process;
  const { stream = process.stderr, isRunning = true, startedAt } = other;
  const live = output.isTerminal && env["TERM"] !== "dumb" && !quiet && isRunning;
  let last: Promise<void> = Promise.resolve();
  const progress = createProgress({
    write: (text) => {
      last = output.write(text);
    },
    columns: () => stream.columns || 80,
    rows: () => stream.rows || 24,
    live,
    calls: (output.isTerminal && !quiet) || verbose,
    agents,
    color: live && !env["NO_COLOR"],
    now: Date.now,
    startedAt,
  });
  const timer = live ? setInterval(() => progress.tick(), TICK_MS) : undefined;
  timer?.unref();
  return {
    ...progress,
    isLive: live,
    end: () => {
      clearInterval(timer);
      progress.end();
    },
    flushed: () => last,
  };
}
