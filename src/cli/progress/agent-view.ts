import { stripControls } from "../../lib/index.ts";
import {
  type AgentId,
  addUsage,
  type CallId,
  callsOf,
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
import { describeCall } from "../describe-call.ts";

/** What is known of a subagent from what was seen of it, over all its runs. */
export interface AgentView extends AgentSpent {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly description: string;
  /** From the main agent's child down to this one. */
  readonly path: readonly AgentId[];
  /** The call of its parent that it works on. */
  readonly callId: CallId | undefined;
  readonly background: boolean;
  readonly model: string;
  readonly startedAt: number;
  /** What it is at, where no call runs and nothing was said. */
  readonly doing: string;
  /** The end of what it said last. */
  readonly words: string;
  readonly lastTool: string | undefined;
  readonly running: ReadonlyMap<CallId, string>;
  readonly targets: ReadonlyMap<CallId, string>;
  /** Spent by its runs before this one. */
  readonly before: AgentSpent;
  /** Undefined while it runs. */
  readonly end: AgentEnd | undefined;
}

export interface AgentSpent {
  readonly turns: number;
  readonly toolCalls: number;
  readonly usage: Usage;
  /** Undefined: a part of it has no known price. */
  readonly costUsd: number | undefined;
  readonly denied: readonly DeniedFact[];
}

export interface AgentEnd {
  readonly outcome: Outcome;
  readonly reason: EndReason;
  readonly message?: string;
  readonly text: string;
  readonly milliseconds: number;
}

const nothing: AgentSpent = { turns: 0, toolCalls: 0, usage: noUsage, costUsd: 0, denied: [] };
const noCalls: ReadonlyMap<CallId, string> = new Map();
const longestWords = 400;

export function newAgentView({ agentId, agentType, path }: SubagentEvent, now: number): AgentView {
  return {
    turns: 0,
    toolCalls: 0,
    usage: noUsage,
    costUsd: 0,
    denied: [],
    before: nothing,
    agentId,
    agentType,
    path,
    description: "",
    callId: undefined,
    background: false,
    model: "",
    startedAt: now,
    doing: "starting",
    words: "",
    lastTool: undefined,
    running: noCalls,
    targets: noCalls,
    end: undefined,
  };
}

/** Pure: the same view where the event changes nothing that is shown. */
export function foldAgent(view: AgentView, event: SubagentEvent["event"], now: number): AgentView {
  switch (event.type) {
    case "agent.created":
      return { ...view, description: event.description, callId: event.parent.callId };
    case "run.started":
      return startRun(view, event, now);
    case "run.backgrounded":
      return { ...view, background: true };
    case "model.requested":
      return { ...view, turns: view.turns + 1, doing: "waiting for the model" };
    case "model.retried":
      return { ...view, doing: `trying again after ${stripControls(event.retry.error)}`, words: "" };
    case "thinking.delta":
      return view.doing === "thinking" ? view : { ...view, doing: "thinking" };
    case "text.delta":
      return say(view, event.text);
    case "call.delta": {
      const doing = `preparing ${stripControls(event.name)}`;
      return view.doing === doing ? view : { ...view, doing };
    }
    case "model.ended":
      return answer(view, event);
    case "model.failed":
    case "conversation.compacted":
      return event.usage ? { ...view, ...spend(view, event.usage, event.costUsd) } : view;
    case "tool.requested": {
      const words = `${stripControls(event.name)} ${view.targets.get(event.callId) ?? ""}`.trim();
      return { ...view, running: new Map(view.running).set(event.callId, words), lastTool: event.name };
    }
    case "tool.ended": {
      const { spent } = event.result.facts ?? {};
      const bill = spent ? spend(view, spent.usage, spent.costUsd) : {};
      return { ...view, ...bill, toolCalls: view.toolCalls + 1, ...without(view, event.callId) };
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
    doing: "starting",
    words: "",
    running: noCalls,
    targets: noCalls,
    end: undefined,
  };
}

function say(view: AgentView, text: string): AgentView {
  // Words of an earlier answer are no beginning of this one.
  const before = view.doing === "writing" ? view.words : "";
  return { ...view, doing: "writing", words: (before + text).slice(-longestWords) };
}

function answer(view: AgentView, event: EventOf<"model.ended">): AgentView {
  const { message, costUsd } = event;
  const targets = new Map(view.targets);
  for (const { callId, inputJson } of callsOf(message)) targets.set(callId, describeCall(inputJson));
  const text = textOf(message.content).trim();
  const words = text === "" ? view.words : text.slice(-longestWords);
  return { ...view, ...spend(view, paidUsage(event), costUsd), targets, words, doing: "working" };
}

function spend(view: AgentView, usage: Usage, costUsd: number | undefined): Pick<AgentView, "usage" | "costUsd"> {
  return { usage: addUsage(view.usage, usage), costUsd: sum(view.costUsd, costUsd) };
}

function without({ running, targets }: AgentView, callId: CallId): Pick<AgentView, "running" | "targets"> {
  const left = { running: new Map(running), targets: new Map(targets) };
  left.running.delete(callId);
  left.targets.delete(callId);
  return left;
}

/** What the run says of itself at its end counts: events on the way may have been missed. */
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
    targets: noCalls,
    end: { outcome, reason, text, milliseconds, ...(message === undefined ? {} : { message }) },
  };
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}

export function tokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}
