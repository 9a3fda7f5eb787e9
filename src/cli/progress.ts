import { formatCount, formatDuration, stripControls } from "../lib/index.ts";
import { type CallOutcome, callsOf, type EventOf, type RunUpdate } from "../protocol/index.ts";
import { describeCall } from "./describe-call.ts";
import { fitLine } from "./fit-line.ts";

export interface ProgressOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  /** A status line that is drawn over and over; needs a terminal that can move its cursor. */
  readonly live: boolean;
  /** A line for every call that ended. */
  readonly calls: boolean;
  readonly color: boolean;
  /** Milliseconds that only go up. */
  readonly now: () => number;
}

/** What a person sees on standard error while it works. */
export interface Progress {
  see(update: RunUpdate): void;
  tell(notice: string): void;
  /** Draws the status line again, as time has passed. */
  tick(): void;
  /** Takes the status line away. */
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
const clearLine = "\r\u001b[2K";

export function createProgress({ write, columns, live, calls, color, now }: ProgressOptions): Progress {
  const startedAt = now();
  const targets = new Map<string, string>();
  const running = new Map<string, string>();
  let tokens = 0;
  let frame = 0;
  let isDrawn = false;
  let doing = "starting";

  const dim = (text: string): string => (color ? `\u001b[2m${text}\u001b[22m` : text);
  const clear = (): void => {
    if (isDrawn) write(clearLine);
    isDrawn = false;
  };
  const draw = (): void => {
    if (!live) return;
    const what = running.size === 0 ? doing : [...running.values()].at(-1);
    const more = running.size > 1 ? ` (+${running.size - 1})` : "";
    const used = tokens === 0 ? "" : ` · ${formatCount(tokens)} tokens`;
    const elapsed = formatElapsed(now() - startedAt);
    const tail = `${more} · ${elapsed}${used}`;
    const room = Math.max(10, columns() - 1 - tail.length - 2);
    const line = fitLine(`${frames[frame]} ${fitLine(what ?? "", room)}${tail}`, columns() - 1);
    write(`${isDrawn ? clearLine : ""}${dim(line)}`);
    isDrawn = true;
  };
  const say = (line: string): void => {
    clear();
    write(`${line}\n`);
    draw();
  };

  const endCall = ({ callId, name, result, milliseconds }: EventOf<"tool.ended">): void => {
    const target = targets.get(callId) ?? "";
    running.delete(callId);
    targets.delete(callId);
    if (!calls) return;
    const outcome = result.outcome === "ok" ? "" : ` ${result.outcome}`;
    const tail = `${outcome} · ${formatDuration(milliseconds)}`;
    const line = fitLine(
      `${marks[result.outcome]} ${name}${target && ` ${target}`}`,
      Math.max(20, columns() - tail.length),
    );
    say(dim(`${line}${tail}`));
  };

  return {
    see: (update) => {
      if (update.type === "model.requested") doing = "waiting for the model";
      if (update.type === "thinking.delta") doing = "thinking";
      if (update.type === "text.delta") doing = "writing";
      if (update.type === "call.delta") doing = `preparing ${stripControls(update.name)}`;
      if (update.type === "model.retried") {
        const { attempt, maxAttempts, delayMs, error } = update.retry;
        const wait = formatDuration(delayMs);
        if (calls) say(dim(`… trying again in ${wait} (${attempt} of ${maxAttempts}): ${stripControls(error)}`));
      }
      if (update.type === "model.ended") {
        const { usage, message } = update;
        doing = "working";
        tokens += usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
        for (const call of callsOf(message)) targets.set(call.callId, describeCall(call.inputJson));
      }
      if (update.type === "tool.requested") {
        running.set(update.callId, `${update.name} ${targets.get(update.callId) ?? ""}`.trim());
      }
      if (update.type === "tool.ended") endCall(update);
    },
    tell: (notice) => say(`retinue: ${stripControls(notice)}`),
    tick: () => {
      frame = (frame + 1) % frames.length;
      draw();
    },
    end: () => {
      running.clear();
      clear();
    },
  };
}

function formatElapsed(milliseconds: number): string {
  return milliseconds < 60_000 ? `${Math.floor(milliseconds / 1000)}s` : formatDuration(milliseconds);
}
