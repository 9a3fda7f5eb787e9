import { elements, stateOf, tokensOf, totalsOf } from "../../client/index.ts";
import { type Row, rowFromProgram } from "../screen/row.ts";
import type { SessionFeed } from "../session-feed.ts";

/** The line that the user's status line command prints. */
export interface StatusLine {
  /** The line; undefined if there is none. */
  readonly row: Row | undefined;
  /** Runs the command again soon. */
  refresh(): void;
}

/** Minimum time between two runs of the command. */
const PAUSE_MS = 1_000;

export interface StatusLineOptions {
  readonly version: string;
  readonly isBusy: () => boolean;
  readonly redraw: () => void;
  /** Receives a message for the user the first time that the command fails. */
  readonly report: (message: string) => void;
}

export function createStatusLine(feed: SessionFeed, options: StatusLineOptions): StatusLine {
  const { version, isBusy, redraw, report } = options;
  const startedAt = Date.now();
  let row: Row | undefined;
  let isWaiting = false;
  let isRunning = false;
  let hasRun = false;
  let hasFailed = false;

  const run = async (): Promise<void> => {
    const { host, view } = feed;
    isWaiting = false;
    if (host?.statusLine === undefined) return;
    isRunning = true;
    hasRun = true;
    const { costUsd, usage } = totalsOf(view);
    const { sessionId, transcriptPath, cwd, model } = host.facts;
    const { line, problem } = await host.statusLine({
      session_id: sessionId,
      transcript_path: transcriptPath,
      cwd,
      model: { id: model, display_name: model },
      workspace: { current_dir: cwd, project_dir: cwd },
      version,
      cost: { total_cost_usd: costUsd, total_duration_ms: Date.now() - startedAt },
      state: isBusy() ? "running" : "idle",
      agents: [...elements(view.agents)].filter((agent) => stateOf(agent) !== "ended").length,
      cost_usd: costUsd,
      tokens: tokensOf(usage),
    });
    isRunning = false;
    if (problem !== undefined && !hasFailed) {
      hasFailed = true;
      report(
        `The statusLine command failed: ${problem}. Fix or remove it; \`retinue config show --origin\` names its file.`,
      );
    }
    row = line === "" ? undefined : rowFromProgram(line);
    redraw();
  };
  return {
    get row() {
      return row;
    },
    refresh: () => {
      if (isWaiting || isRunning || feed.host?.statusLine === undefined) return;
      isWaiting = true;
      setTimeout(() => void run(), hasRun ? PAUSE_MS : 0).unref();
    },
  };
}
