import { formatCount, formatDuration, plural, stripControls } from "../../lib/index.ts";
import {
  type CallOutcome,
  callsOf,
  type EventOf,
  paidUsage,
  type RunUpdate,
  type SubagentEvent,
} from "../../protocol/index.ts";
import { describeCall } from "../describe-call.ts";
import { fitLine } from "../fit-line.ts";
import { agentLine, agentLines, formatElapsed } from "./agent-lines.ts";
import { type AgentView, tokensOf } from "./agent-view.ts";
import type { AgentViews } from "./agent-views.ts";
import { createBlock } from "./block.ts";

export interface ProgressOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly rows: () => number;
  /** A status line, with one for each agent below it, drawn over and over; needs a terminal that can move its cursor. */
  readonly live: boolean;
  /** A line for every call that ended. */
  readonly calls: boolean;
  readonly color: boolean;
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** Have seen an update before this does. */
  readonly agents: AgentViews;
}

/** What a person sees on standard error while it works. */
export interface Progress {
  see(update: RunUpdate): void;
  tell(notice: string): void;
  /** What a key would do now, at the end of the status line; empty: none does anything. */
  hint(words: string): void;
  /** Draws the lines again, as time has passed. */
  tick(): void;
  /** Takes the lines away until they are drawn again. */
  clear(): void;
  /** Takes the lines away for good. */
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

export function createProgress({ write, columns, rows, live, calls, color, now, agents }: ProgressOptions): Progress {
  const startedAt = now();
  const targets = new Map<string, string>();
  const running = new Map<string, string>();
  const block = createBlock({ write, columns, rows });
  let tokens = 0;
  let frame = 0;
  let doing = "starting";
  /** It has said its last word, unless it is told something. */
  let isIdle = false;
  let isOver = false;
  let hint = "";
  /** Agents of the main agent whose end stands above already. */
  const told = new Set<string>();

  const dim = (text: string): string => (color ? `\u001b[2m${text}\u001b[22m` : text);
  const status = (width: number): string => {
    const mark = frames[frame] ?? "";
    const what = [...running.values()].at(-1) ?? (isIdle ? waitingWords(agents.inOrder()) : undefined) ?? doing;
    const milliseconds = now() - startedAt;
    return statusLine({ mark, what, more: running.size - 1, milliseconds, tokens, hint }, width);
  };
  const isShown = ({ path, end }: AgentView): boolean => end === undefined || !told.has(path[0] ?? "");
  const liveLines = (): readonly string[] => {
    if (!live || isOver) return [];
    const width = Math.max(1, columns() - 1);
    // One row is the status line, one stays free: what is higher than the terminal can't be drawn over.
    const view = { columns: width, rows: rows() - 2, now: now(), frame: frames[frame] ?? "" };
    const below = agents.size === 0 ? [] : agentLines(agents.inOrder().filter(isShown), view);
    return [status(width), ...below].map(dim);
  };
  const draw = (): void => block.draw(liveLines());
  const say = (line: string): void => block.print(`${line}\n`, liveLines());

  const tellEnd = (agent: AgentView): void => {
    if (!calls || agent.end === undefined) return;
    told.add(agent.agentId);
    const line = agentLine(agent, { columns: Math.max(1, columns() - 1), now: now(), frame: "" });
    say(live ? dim(line.trimStart()) : line);
  };
  const seeAgent = ({ agentId, event }: SubagentEvent): void => {
    if (event.type === "run.started") told.delete(agentId);
    const agent = agents.get(agentId);
    if (event.type !== "run.ended" || agent === undefined) return;
    // On a terminal it stands among the live lines until the call it works on has ended, if anybody waits for that.
    if (!live || (agent.background && agent.path.length === 1)) tellEnd(agent);
  };
  const endCall = ({ callId, name, result, milliseconds }: EventOf<"tool.ended">): void => {
    const target = targets.get(callId) ?? "";
    running.delete(callId);
    targets.delete(callId);
    if (!calls) return;
    const agent = live ? agents.inOrder().find((each) => each.callId === callId) : undefined;
    if (agent && !agent.background) tellEnd(agent);
    if (agent) return;
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
      if (update.type === "subagent.event") seeAgent(update);
      if (update.type === "model.requested") {
        doing = "waiting for the model";
        isIdle = false;
      }
      if (update.type === "thinking.delta") doing = "thinking";
      if (update.type === "text.delta") doing = "writing";
      if (update.type === "call.delta") doing = `preparing ${stripControls(update.name)}`;
      if (update.type === "model.retried") {
        const { attempt, maxAttempts, delayMs, error } = update.retry;
        const wait = formatDuration(delayMs);
        if (calls) say(dim(`… trying again in ${wait} (${attempt} of ${maxAttempts}): ${stripControls(error)}`));
      }
      if (update.type === "model.ended") {
        doing = "working";
        isIdle = callsOf(update.message).length === 0;
        tokens += tokensOf(paidUsage(update));
        for (const call of callsOf(update.message)) targets.set(call.callId, describeCall(call.inputJson));
      }
      if (update.type === "tool.requested") {
        running.set(update.callId, `${update.name} ${targets.get(update.callId) ?? ""}`.trim());
      }
      if (update.type === "tool.ended") endCall(update);
    },
    tell: (notice) => say(`retinue: ${stripControls(notice)}`),
    hint: (words) => {
      hint = words;
    },
    tick: () => {
      frame = (frame + 1) % frames.length;
      if (live) draw();
    },
    clear: () => block.clear(),
    end: () => {
      isOver = true;
      block.clear();
    },
  };
}

/** Undefined: nobody works for it. */
function waitingWords(agents: readonly AgentView[]): string | undefined {
  const working = agents.filter(({ end }) => end === undefined).length;
  return working === 0 ? undefined : `waiting for ${plural(working, "agent")}`;
}

interface Status {
  readonly mark: string;
  readonly what: string;
  /** Calls beside the one that is named. */
  readonly more: number;
  readonly milliseconds: number;
  readonly tokens: number;
  readonly hint: string;
}

/** Where it is too narrow for a hint and half of what is going on, the hint is left out. */
const NARROW = 60;

function statusLine({ mark, what, more, milliseconds, tokens, hint }: Status, width: number): string {
  const others = more > 0 ? ` (+${more})` : "";
  const used = tokens === 0 ? "" : ` · ${formatCount(tokens)} tokens`;
  const keys = hint === "" || width < NARROW ? "" : ` · ${hint}`;
  const tail = `${others} · ${formatElapsed(milliseconds)}${used}${keys}`;
  const room = Math.max(10, width - tail.length - 2);
  return fitLine(`${mark} ${fitLine(what, room)}${tail}`, width);
}
