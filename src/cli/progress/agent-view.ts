import { stripControls } from "../../lib/index.ts";
import {
  type AgentId,
  addUsage,
  type CallId,
  type DeniedFact,
  type EndReason,
  type EventOf,
  noUsage,
  type Outcome,
  paidUsage,
  type SubagentEvent,
  textOf,
  type Usage,
} from "../../protocol/index.ts";
import { announcementOf, callsAfter, callText, type ShownCall } from "../describe-call.ts";

/** State of a subagent, computed from the updates of all its runs. */
export interface AgentView extends AgentTotals {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly description: string;
  /** Ids from the main agent's child down to this agent. */
  readonly path: readonly AgentId[];
  /** The parent's call that started or resumed this agent. */
  readonly callId: CallId | undefined;
  readonly background: boolean;
  readonly model: string;
  readonly startedAt: number;
  /** Shown while no tool call is running and the agent has written nothing. */
  readonly activity: string;
  /** The end of the most recent text that the agent wrote. */
  readonly lastText: string;
  readonly lastTool: string | undefined;
  /** Purpose of the running calls, in the agent's words; may be empty. */
  readonly announcement: string;
  /** Descriptions of the running calls. */
  readonly running: ReadonlyMap<CallId, string>;
  /** Calls that have not ended. */
  readonly calls: ReadonlyMap<CallId, ShownCall>;
  /** Totals of the agent's earlier runs. */
  readonly before: AgentTotals;
  /** How the last run ended; undefined while the agent is running. */
  readonly end: AgentEnd | undefined;
}

interface AgentTotals {
  readonly turns: number;
  readonly toolCalls: number;
  readonly usage: Usage;
  /** Total cost; undefined if a part has no known price. */
  readonly costUsd: number | undefined;
  readonly denied: readonly DeniedFact[];
}

interface AgentEnd {
  readonly outcome: Outcome;
  readonly reason: EndReason;
  readonly message: string | undefined;
  readonly text: string;
  readonly milliseconds: number;
}

const noTotals: AgentTotals = { turns: 0, toolCalls: 0, usage: noUsage, costUsd: 0, denied: [] };
const noCalls: ReadonlyMap<CallId, never> = new Map<CallId, never>();
const MAX_LAST_TEXT = 400;

export function newAgentView(
  { agentId, agentType, path }: Pick<SubagentEvent, "agentId" | "agentType" | "path">,
  now: number,
): AgentView {
  return {
    ...noTotals,
    before: noTotals,
    agentId,
    agentType,
    path,
    description: "",
    callId: undefined,
    background: false,
    model: "",
    startedAt: now,
    activity: "starting",
    lastText: "",
    lastTool: undefined,
    announcement: "",
    running: noCalls,
    calls: noCalls,
    end: undefined,
  };
}

/**
 * Applies an event to a view, without side effects. Returns the same view if the event changes nothing that is shown.
 */
export function foldAgent(view: AgentView, event: SubagentEvent["event"], now: number): AgentView {
  switch (event.type) {
    case "agent.created":
      return { ...view, description: event.description, callId: event.parent.callId };
    case "run.started":
      return startRun(view, event, now);
    case "run.backgrounded":
      return { ...view, background: true };
    case "model.requested":
      return { ...view, turns: view.turns + 1, activity: "waiting for the model" };
    case "model.retried":
      return { ...view, activity: `trying again after ${stripControls(event.retry.error)}`, lastText: "" };
    case "thinking.delta":
      return view.activity === "thinking" ? view : { ...view, activity: "thinking" };
    case "text.delta":
      return addText(view, event.text);
    case "call.delta": {
      const activity = `preparing ${stripControls(event.name)}`;
      return view.activity === activity ? view : { ...view, activity };
    }
    case "model.ended":
      return endAnswer(view, event);
    case "model.failed":
    case "conversation.compacted":
      return event.usage ? { ...view, ...spend(view, event.usage, event.costUsd) } : view;
    case "tool.requested": {
      const call = view.calls.get(event.callId) ?? { name: event.name, target: "" };
      return { ...view, running: new Map(view.running).set(event.callId, callText(call)), lastTool: event.name };
    }
    case "approval.answered":
    case "hooks.ran":
      return changeCalls(view, event);
    case "tool.ended": {
      const { spent } = event.result.facts ?? {};
      const paid = spent ? spend(view, spent.usage, spent.costUsd) : {};
      return { ...view, ...paid, toolCalls: view.toolCalls + 1, ...without(view, event.callId) };
    }
    case "run.ended":
      return endRun(view, event);
    default:
      return view;
  }
}

function startRun(view: AgentView, event: EventOf<"run.started">, now: number): AgentView {
  const { turns, toolCalls, usage, costUsd, denied } = view;
  return {
    ...view,
    before: { turns, toolCalls, usage, costUsd, denied },
    background: event.background === true,
    model: event.model,
    startedAt: now,
    activity: "starting",
    lastText: "",
    running: noCalls,
    calls: noCalls,
    end: undefined,
  };
}

function addText(view: AgentView, text: string): AgentView {
  // Text from an earlier response does not belong to this one.
  const before = view.activity === "writing" ? view.lastText : "";
  return { ...view, activity: "writing", lastText: (before + text).slice(-MAX_LAST_TEXT) };
}

function endAnswer(view: AgentView, event: EventOf<"model.ended">): AgentView {
  const { message, costUsd } = event;
  const text = textOf(message.content).trim();
  const lastText = text === "" ? view.lastText : text.slice(-MAX_LAST_TEXT);
  return {
    ...view,
    ...spend(view, paidUsage(event), costUsd),
    calls: new Map([...view.calls, ...callsAfter(event, view.calls)]),
    lastText,
    announcement: announcementOf(message),
    activity: "working",
  };
}

function spend(view: AgentView, usage: Usage, costUsd: number | undefined): Pick<AgentView, "usage" | "costUsd"> {
  return { usage: addUsage(view.usage, usage), costUsd: sum(view.costUsd, costUsd) };
}

/** Applies a change of a call's input. */
function changeCalls(view: AgentView, event: EventOf<"approval.answered" | "hooks.ran">): AgentView {
  const changed = callsAfter(event, view.calls);
  if (changed.length === 0) return view;
  const running = changed.flatMap(([callId, call]) =>
    view.running.has(callId) ? [[callId, callText(call)] as const] : [],
  );
  return {
    ...view,
    calls: new Map([...view.calls, ...changed]),
    running: new Map([...view.running, ...running]),
  };
}

function without({ running, calls }: AgentView, callId: CallId): Pick<AgentView, "running" | "calls"> {
  const left = { running: new Map(running), calls: new Map(calls) };
  left.running.delete(callId);
  left.calls.delete(callId);
  return left;
}

/** Takes the totals of a run from the event that ended it, because earlier events may have been missed. */
function endRun(view: AgentView, event: EventOf<"run.ended">): AgentView {
  const { outcome, reason, message, text, milliseconds, facts } = event;
  const { before } = view;
  const calls = Object.values(facts.toolCalls).reduce((left, right) => left + right, 0);
  return {
    ...view,
    turns: before.turns + event.turns,
    toolCalls: before.toolCalls + calls,
    usage: addUsage(before.usage, event.usage),
    costUsd: sum(before.costUsd, event.costUsd),
    denied: [...before.denied, ...facts.denied],
    running: noCalls,
    calls: noCalls,
    end: { outcome, reason, message, text, milliseconds },
  };
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}

export function tokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}
