import { plural, stripControls } from "../../lib/portable.ts";
import {
  type AgentId,
  canonicalToolName,
  type EndReason,
  type ModelRetry,
  type Outcome,
  type RunEnd,
  type ToolCall,
} from "../../protocol/index.ts";
import type { CallItem, CallPart, Item } from "../view/items.ts";
import { type AgentState, type AgentView, type Delay, isWaiting, stateOf } from "../view/session-view.ts";
import { describeCall, oneLine } from "./describe-call.ts";

// All user interfaces describe states and activities with these words.

/** Describes an agent's state, such as `waiting for approval` or `cut by its turn limit, can be resumed`. */
export function stateWords(agent: AgentView): string {
  const { end } = agent;
  switch (stateOf(agent)) {
    case "running":
      return agent.runId === undefined || agent.step.kind === "starting" ? "starting" : stateNames.running;
    case "delayed":
      return agent.step.kind === "delayed" ? delayWords[agent.step.by] : stateNames.delayed;
    case "waitingForApproval":
      return stateNames.waitingForApproval;
    case "waitingForAgents":
      return `waiting for ${plural(awaitedAgents(agent), "agent")}`;
    case "idle":
      return end === undefined || end.outcome === "succeeded" ? "idle" : `idle: ${endWords(end)}`;
    case "ended":
      // Without a run, there is no transcript to resume from. If its call continues, the agent starts then.
      return agent.runId === undefined && end === undefined ? "cut off before it started" : endWords(end);
  }
}

/** Names of states, used when nothing else about the agent is known. */
export const stateNames: Readonly<Record<AgentState, string>> = {
  running: "working",
  delayed: "delayed",
  waitingForApproval: "waiting for approval",
  waitingForAgents: "waiting for agents",
  idle: "idle",
  ended: "ended",
};

/** Describes what a delayed agent is waiting for. */
export const delayWords: Readonly<Record<Delay, string>> = {
  slot: "waiting for a slot",
  budget: "waiting for budget",
  rateLimit: "waiting for the rate limit",
};

/** Returns the number of agents that an agent is waiting for. */
function awaitedAgents({ calls, runningChildren }: AgentView): number {
  return new Set(calls.flatMap(({ agents = [] }) => agents)).size || runningChildren;
}

/** Describes how a run ended. `end` is undefined if the process ended before the run did. */
export function endWords(end: RunEndWords | undefined): string {
  if (end?.limit?.unpriced) return "stopped: the price of its model is unknown, can be resumed";
  return end === undefined ? "cut off, can be resumed" : endings[end.reason];
}

type RunEndWords = Pick<RunEnd, "reason"> & {
  readonly limit?: Partial<NonNullable<RunEnd["limit"]>> | undefined;
};

const endings: Readonly<Record<EndReason, string>> = {
  done: "succeeded",
  max_turns: "cut by its turn limit, can be resumed",
  budget: "cut by its budget, can be resumed",
  stall: "stopped: the model sent nothing, can be resumed",
  timeout: "cut by its time limit, can be resumed",
  loop: "stopped: it repeated the same calls, can be resumed",
  output_limit: "cut by the response length limit, can be resumed",
  context_overflow: "stopped: its conversation is too long, can be resumed",
  refused: "failed: refused by the model",
  invalid_output: "failed: invalid output, can be resumed",
  model_error: "failed: model error, can be resumed",
  journal_error: "failed: transcript not written, can be resumed",
  internal_error: "failed: internal error, can be resumed",
  process_lost: "cut off: process lost, can be resumed",
  interrupted: "interrupted, can be resumed",
  stopped: "stopped, can be resumed",
  parked: "parked, continues when the session is resumed",
};

/** Marks that show how a run ended. */
export const outcomeMarks: Readonly<Record<Outcome, string>> = {
  succeeded: "✓",
  incomplete: "!",
  failed: "✗",
  stopped: "–",
};

/** Describes what an agent is doing, such as `editing src/a.ts`, or how it ended. */
export function activityWords(agent: AgentView): string {
  const { calls, announcement, draft } = agent;
  const state = stateOf(agent);
  const waiting = calls.findLast(isWaiting);
  if (state === "waitingForApproval" && waiting !== undefined) return wishWords(waiting, agent.cwd);
  if (state !== "running") return stateWords(agent);
  const open = calls.filter(({ requestedAt }) => requestedAt !== undefined);
  if (open.length > 0) return announcement || callsWords(open);
  const writing = draft?.parts.at(-1);
  if (writing?.kind === "call") return `preparing ${stripControls(writing.name)}`;
  if (writing !== undefined) return writing.kind === "text" ? "writing" : "thinking";
  return stepWords(agent);
}

/** Returns the last line that an agent has written or thought; may be empty. */
export function lastLineOf({ draft, lastText }: AgentView): string {
  const part = draft?.parts.findLast(({ kind }) => kind !== "call");
  const text = part === undefined || part.kind === "call" ? lastText : part.text;
  return oneLine(text.trimEnd().split("\n").at(-1) ?? "");
}

function stepWords({ step, runId }: AgentView): string {
  if (runId === undefined) return "starting";
  switch (step.kind) {
    case "asking":
      return "waiting for the model";
    case "retrying":
      return `retrying: ${causeOf(step.error).replace(/^(?:The|A|An|No|This|It)\b/, (word) => word.toLowerCase())}`;
    case "compacting":
      return "summarizing its conversation";
    case "done":
      return "finishing";
    default:
      return step.kind;
  }
}

/** Describes calls that are performed at the same time: `reading 3 files`, or the last one and the number of others. */
function callsWords(calls: readonly CallItem[]): string {
  const last = calls.at(-1);
  if (last === undefined) return "";
  const name = canonicalToolName(last.name);
  const objects = verbs[name]?.objects;
  if (calls.length > 1 && objects !== undefined && calls.every((call) => canonicalToolName(call.name) === name))
    return `${verbs[name]?.doing.replace(":", "")} ${calls.length} ${objects}`;
  return `${callWords(last)}${calls.length > 1 ? ` (+${calls.length - 1})` : ""}`;
}

/** Describes a call that is running: `editing src/a.ts`, `running: npm test`. */
export function callWords(call: Pick<CallPart, "name" | "target">): string {
  const doing = verbs[canonicalToolName(call.name)]?.doing ?? `using ${toolName(call.name)}`;
  return `${doing} ${call.target}`.trim().replace(/:$/, "");
}

/** Describes a call that is waiting for approval: `wants to run: npm test`. `cwd` is the directory of its agent. */
export function wishWords(call: Pick<ToolCall, "name" | "inputJson">, cwd?: string): string {
  const name = canonicalToolName(call.name);
  const target = describeCall(call, cwd);
  if (name === "AskUserQuestion") return `asks: ${target}`;
  return `wants to ${verbs[name]?.todo ?? `use ${toolName(call.name)}`} ${target}`.trim().replace(/:$/, "");
}

/** Returns a tool's name for display: `mcp__github__search` becomes `github search`. */
function toolName(name: string): string {
  return oneLine(name.replace(/^mcp__/, "").replaceAll("__", " "));
}

interface Verb {
  readonly doing: string;
  readonly todo: string;
  /**
   * Plural noun for the things that the tool acts on, such as `files`. If absent, calls to the tool are not counted
   * together.
   */
  readonly objects?: string;
}

const verbs: Readonly<Record<string, Verb>> = {
  Read: { doing: "reading", todo: "read", objects: "files" },
  Write: { doing: "writing", todo: "write", objects: "files" },
  Edit: { doing: "editing", todo: "edit", objects: "files" },
  NotebookEdit: { doing: "editing", todo: "edit", objects: "notebooks" },
  Bash: { doing: "running:", todo: "run:", objects: "commands" },
  BashOutput: { doing: "reading the output of", todo: "read the output of" },
  KillShell: { doing: "ending", todo: "end" },
  Grep: { doing: "searching for", todo: "search for", objects: "patterns" },
  Glob: { doing: "finding files:", todo: "find files:" },
  LS: { doing: "listing", todo: "list", objects: "directories" },
  TodoWrite: { doing: "updating its to-do list", todo: "update its to-do list" },
  WebFetch: { doing: "fetching", todo: "fetch", objects: "pages" },
  WebSearch: { doing: "searching the web for", todo: "search the web for" },
  Task: { doing: "delegating:", todo: "delegate:", objects: "tasks" },
  TaskOutput: { doing: "waiting for agent", todo: "wait for agent" },
  TaskStop: { doing: "stopping agent", todo: "stop agent" },
  SendMessage: { doing: "messaging", todo: "message" },
  Skill: { doing: "loading the skill", todo: "load the skill" },
  EnterPlanMode: { doing: "starting to plan", todo: "start planning" },
  ExitPlanMode: { doing: "presenting its plan", todo: "carry out its plan" },
  AskUserQuestion: { doing: "asking:", todo: "ask:" },
};

/** Describes a request that will be retried: `anthropic is overloaded; trying again in 8 s (2 of 5)`. */
export function retryWords({ error, delayMs, attempt, maxAttempts }: ModelRetry): string {
  const delay = Math.max(1, Math.round(delayMs / 1_000));
  return `${causeOf(error)}; trying again in ${delay} s (${attempt + 1} of ${maxAttempts})`;
}

/** Returns the first sentence of an error. The text after it is advice in case no attempt succeeds. */
function causeOf(error: string): string {
  const [cause = ""] = oneLine(error).split(/\.(?:\s|$)/, 1);
  return cause;
}

/** Describes a change in how an agent works. `nameOf` returns another agent's name. */
export function changeWords(
  { change, agentId = "", mode, restored = [] }: Extract<Item, { kind: "change" }>,
  nameOf: (agentId: AgentId) => string = (id) => id,
): string {
  const named = {
    "run.awaited": `waits for ${nameOf(agentId)}`,
    "agent.resumed": `${nameOf(agentId)} continues`,
    "mode.changed": `permission mode: ${mode ?? "unknown"}`,
    "plan.left": `plan mode ended${mode === undefined ? "" : `, permission mode: ${mode}`}`,
    "conversation.rewound": `went back to an earlier prompt${restored.length === 0 ? "" : `, restored ${fileNames(restored)}`}`,
  };
  return { ...changes, ...named }[change];
}

const changes = {
  "plan.entered": "plan mode: from here on, the agent only reads",
  "run.backgrounded": "in the background from here on",
};

/** Lists the names of files, without their directories: `price.ts, cart.ts, tax.ts and 2 more`. */
function fileNames(paths: readonly string[]): string {
  const names = paths.slice(0, MAX_NAMES).map((path) => path.slice(path.lastIndexOf("/") + 1));
  const more = paths.length - names.length;
  return `${names.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
}

const MAX_NAMES = 3;

/**
 * Removes agent ids from a receipt, for people who choose agents from a list: `Explore (call sites, a1b2…)` becomes
 * `Explore (call sites)`.
 */
export function withoutIds(message: string): string {
  return message.replace(/(?:, | \()a[0-9a-z]{12}\)/g, (found) => (found.startsWith(",") ? ")" : ""));
}
