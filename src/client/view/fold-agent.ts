import {
  type AgentLiveEvent,
  type AssistantBlock,
  addUsage,
  type CallId,
  callsOf,
  type EventOf,
  isUnfinished,
  type Line,
  paidUsage,
  textOf,
  type Usage,
} from "../../protocol/index.ts";
import { announcementOf, describeCall } from "../words/describe-call.ts";
import { withItem, withinBounds } from "./agent-items.ts";
import type { CallItem, CallPart } from "./items.ts";
import { itemsIn } from "./items-in.ts";
import { elements } from "./persistent.ts";
import { type AgentView, type Draft, type DraftPart, type SessionView, type Step, tokensOf } from "./session-view.ts";

type Context = Pick<SessionView, "keep" | "connectedAt">;

/** Applies an event to its agent's view. Returns the same view if the event changes nothing that is shown. */
export function foldAgent(agent: AgentView, event: Line | AgentLiveEvent, { keep, connectedAt }: Context): AgentView {
  if (!("at" in event)) return foldLive(agent, event, connectedAt);
  const items = itemsIn(event, { position: agent.dropped + agent.items.length, cwd: agent.cwd });
  const calls = items.filter((item) => item.kind === "call");
  const next = foldLine(agent, event, calls);
  return { ...next, ...withinBounds(items.reduce(withItem, next), keep), lastEventAt: event.at };
}

/**
 * Applies a live event. It changes only parts that a recorded event replaces later: the draft of a response, and the
 * progress of a call. A view that saw no live events is therefore the same once everything is recorded.
 */
function foldLive(agent: AgentView, event: AgentLiveEvent, connectedAt: number): AgentView {
  switch (event.type) {
    case "text.delta":
      return withDelta(agent, event, { connectedAt, part: { kind: "text", text: event.text } });
    case "thinking.delta":
      return withDelta(agent, event, { connectedAt, part: { kind: "thinking", text: event.text } });
    case "call.delta": {
      const { index, name, json } = event;
      return withDelta(agent, event, { connectedAt, part: { kind: "call", index, name, json } });
    }
    case "tool.progressed": {
      const { callId, text: progress } = event;
      return { ...agent, calls: agent.calls.map((call) => (call.callId === callId ? { ...call, progress } : call)) };
    }
  }
}

interface Delta {
  readonly part: DraftPart;
  readonly connectedAt: number;
}

type DeltaEvent = Extract<AgentLiveEvent, { readonly turn: number }>;

function withDelta(
  agent: AgentView,
  { turn, repeated, isAfterGap }: DeltaEvent,
  { part, connectedAt }: Delta,
): AgentView {
  // A live event can arrive after the line that records it.
  if (agent.end !== undefined || agent.step.kind === "working" || agent.step.kind === "done") return agent;
  const isPartial = agent.step.since < connectedAt ? true : undefined;
  const draft: Draft =
    repeated === 0 ? { turn, parts: [] } : agent.draft?.turn === turn ? agent.draft : { turn, parts: [], isPartial };
  // Text after a gap is kept separate from the text before it.
  if (isAfterGap && part.kind !== "call")
    return { ...agent, draft: { ...draft, parts: [...draft.parts, part], hasGaps: true } };
  const parts = joined(draft.parts, part);
  return { ...agent, draft: isAfterGap ? { ...draft, parts, hasGaps: true } : { ...draft, parts } };
}

function joined(parts: readonly DraftPart[], part: DraftPart): readonly DraftPart[] {
  const index =
    part.kind === "call"
      ? parts.findLastIndex((each) => each.kind === "call" && each.index === part.index)
      : parts.length - 1;
  const before = parts[index];
  if (before?.kind === "call" && part.kind === "call")
    return parts.with(index, { ...before, json: before.json + part.json });
  if (before === undefined || before.kind === "call" || part.kind === "call" || before.kind !== part.kind)
    return [...parts, part];
  return parts.with(index, { kind: part.kind, text: before.text + part.text });
}

/** Applies a line. `calls` contains the calls in the line, if it is a response. */
function foldLine(agent: AgentView, line: Line, calls: readonly CallItem[]): AgentView {
  switch (line.type) {
    case "agent.created": {
      const { description, name, parent, cwd } = line;
      const step: Step = { kind: "starting", since: line.at };
      return { ...agent, agentType: line.agentType, description, name, cwd, callId: parent.callId, step };
    }
    case "session.created":
      return { ...agent, cwd: line.cwd };
    case "run.started":
      return startRun(agent, line);
    case "run.backgrounded":
      return { ...agent, background: true };
    case "run.delayed":
      return { ...agent, step: { kind: "delayed", by: line.by, since: line.at } };
    case "run.continued":
      return { ...agent, step: continued(agent.step, line.at) };
    case "model.requested": {
      const step: Step = { kind: "asking", since: line.at };
      return { ...agent, step, turns: agent.turns + 1, reserved: line.reserved, draft: undefined };
    }
    case "model.retried":
      return { ...agent, step: { kind: "retrying", since: line.at, error: line.retry.error }, draft: undefined };
    case "model.ended":
      return endResponse(agent, line, calls);
    case "model.failed":
      return {
        ...agent,
        ...(line.usage ? spend(agent, line.usage, line.costUsd) : {}),
        step: { kind: "working", since: line.at },
        reserved: undefined,
        draft: undefined,
      };
    case "spend.reserved":
      return line.request === "compaction" ? { ...agent, step: { kind: "compacting", since: line.at } } : agent;
    case "conversation.compacted":
      return {
        ...agent,
        ...(line.usage ? spend(agent, line.usage, line.costUsd) : {}),
        contextTokens: line.after ?? 0,
        step: { kind: "working", since: line.at },
      };
    case "spend.recorded":
      return {
        ...agent,
        ...spend(agent, line.usage, line.costUsd),
        isCostAtMost: line.estimated ?? agent.isCostAtMost,
      };
    case "mode.changed":
      return { ...agent, permissionMode: line.mode };
    case "plan.entered":
      return { ...agent, permissionMode: "plan" };
    case "plan.left":
      // If the line does not contain the mode, a line that follows does.
      return {
        ...agent,
        permissionMode: line.mode ?? (agent.permissionMode === "plan" ? undefined : agent.permissionMode),
      };
    case "conversation.rewound":
      return { ...agent, openCalls: undefined };
    case "run.ended":
      return endRun(agent, line);
    default:
      return foldCall(agent, line);
  }
}

function continued(step: Step, since: number): Step {
  if (step.kind !== "delayed") return step;
  return { kind: step.by === "rateLimit" ? "asking" : "working", since };
}

/** Applies an event to its call. */
function foldCall(agent: AgentView, line: Line): AgentView {
  switch (line.type) {
    case "tool.requested": {
      const { callId, decision, at } = line;
      return withCall(withOpenCall(agent, line), callId, { decision, requestedAt: at });
    }
    case "approval.requested": {
      const { requestId, reason, at } = line;
      return withCall(withOpenCall(agent, line), line.callId, { approval: { requestId, reason, askedAt: at } });
    }
    case "approval.answered": {
      const call = agent.calls.find(({ callId }) => callId === line.callId);
      if (call === undefined) return agent;
      const { approval, target } = call;
      const { answer, by, message, always, replies, inputJson } = line;
      const answered = withCall(agent, line.callId, {
        approval: approval && { ...approval, answer: { answer, by, message, always, replies } },
        waitedMs: waitedUntil(call, line.at),
      });
      if (inputJson === undefined) return answered;
      const { targetBefore = target } = call;
      return withInput(withCall(answered, line.callId, { targetBefore }), line.callId, inputJson);
    }
    case "hooks.ran":
      return line.callId === undefined || line.inputJson === undefined
        ? agent
        : withInput(agent, line.callId, line.inputJson);
    case "tool.started":
      return withCall(agent, line.callId, { startedAt: line.at });
    case "agent.spawned":
      return withCallAgent(agent, line);
    case "agent.resumed":
      return line.callId === undefined ? agent : withCallAgent(agent, { callId: line.callId, agentId: line.agentId });
    case "tool.ended":
      return endCall(agent, line);
    default:
      return agent;
  }
}

/** Reopens a call that was open when an earlier run ended, or adds one whose response was not seen. */
function withOpenCall(agent: AgentView, line: Line & EventOf<"tool.requested" | "approval.requested">): AgentView {
  const { calls, items } = agent;
  if (calls.some(({ callId }) => callId === line.callId)) return agent;
  const known = [...elements(items, items.length - MAX_LOOKED_AT)].findLast(
    (item) => item.kind === "call" && item.callId === line.callId && item.result === undefined,
  );
  const call = (known as CallItem | undefined) ?? unseenCall(line);
  return { ...agent, calls: [...calls, { ...call, approval: undefined }] };
}

/** Number of most recent items that are searched for a call. */
const MAX_LOOKED_AT = 200;

function startRun(agent: AgentView, line: Line & EventOf<"run.started">): AgentView {
  const { turns, toolCalls, usage, costUsd, denied, filesChanged, commands } = agent;
  return {
    ...clearRun(agent),
    // A run without a recorded end was lost with its process, and its calls are still open.
    calls: agent.openCalls ?? agent.calls,
    openCalls: undefined,
    agentType: line.agentType,
    before: { turns, toolCalls, usage, costUsd, denied, filesChanged, commands },
    runId: line.runId,
    background: line.background === true,
    color: line.color,
    model: line.model,
    window: line.window,
    permissionMode: line.permissionMode,
    maxTurns: line.maxTurns,
    continuedTurns: line.continues?.turns,
    startedAt: line.at,
    step: { kind: "starting", since: line.at },
    lastText: "",
    end: undefined,
    isCutOff: undefined,
  };
}

const MAX_LAST_TEXT = 400;

function endResponse(agent: AgentView, line: Line & EventOf<"model.ended">, calls: readonly CallItem[]): AgentView {
  const { content } = line.message;
  // Some models say what they are about to do only in their thinking.
  const text = textOf(content).trim() || lastThought(content);
  return {
    ...agent,
    ...spend(agent, paidUsage(line), line.costUsd),
    contextTokens: tokensOf(line.usage) || agent.contextTokens,
    calls: [...agent.calls, ...calls],
    lastText: text === "" ? agent.lastText : text.slice(-MAX_LAST_TEXT),
    announcement: announcementOf(line.message),
    step: { kind: callsOf(line.message).length === 0 ? "done" : "working", since: line.at },
    reserved: undefined,
    draft: undefined,
  };
}

function lastThought(content: readonly AssistantBlock[]): string {
  const block = content.findLast(({ type }) => type === "thinking");
  return block?.type === "thinking" ? block.text.trim() : "";
}

function spend(
  { usage, costUsd }: AgentView,
  spent: Usage,
  spentUsd: number | undefined,
): Pick<AgentView, "usage" | "costUsd"> {
  return { usage: addUsage(usage, spent), costUsd: sum(costUsd, spentUsd) };
}

/** Ends a run, with the totals from the event that ended it, because earlier events may have been missed. */
function endRun(agent: AgentView, line: Line & EventOf<"run.ended">): AgentView {
  const { type: _type, v: _v, id: _id, parentId: _parentId, seq: _seq, at: _at, ...end } = line;
  const { before } = agent;
  return {
    ...clearRun(agent),
    turns: before.turns + end.turns,
    toolCalls: before.toolCalls + Object.values(end.facts.toolCalls).reduce((left, right) => left + right, 0),
    usage: addUsage(before.usage, end.usage),
    costUsd: sum(before.costUsd, end.costUsd),
    denied: [...before.denied, ...end.facts.denied],
    filesChanged: [...new Set([...before.filesChanged, ...end.facts.filesChanged])],
    commands: [...before.commands, ...end.facts.commands],
    openCalls: isUnfinished(end) ? agent.calls : undefined,
    end,
  };
}

/** Removes the parts of a view that apply only while a run is in progress. */
function clearRun(agent: AgentView): AgentView {
  return { ...agent, calls: [], announcement: "", draft: undefined, reserved: undefined };
}

/** Removes the parts of a view that live events have added. */
export function withoutLive(agent: AgentView): AgentView {
  return { ...agent, draft: undefined, calls: agent.calls.map((call) => ({ ...call, progress: undefined })) };
}

/** Replaces fields of a call that has no result yet, in the open calls and in the items. */
function withCall(agent: AgentView, callId: CallId, change: Partial<CallPart>): AgentView {
  const index = agent.calls.findIndex((call) => call.callId === callId);
  const call = agent.calls[index];
  if (call === undefined) return agent;
  const changed: CallItem = { ...call, ...change };
  const { items } = withItem(agent, { ...changed, progress: undefined });
  return { ...agent, items, calls: agent.calls.with(index, changed) };
}

function withInput(agent: AgentView, callId: CallId, inputJson: string): AgentView {
  const name = agent.calls.find((call) => call.callId === callId)?.name ?? "";
  return withCall(agent, callId, { inputJson, target: describeCall({ name, inputJson }, agent.cwd) });
}

function withCallAgent(
  agent: AgentView,
  { callId, agentId }: Pick<EventOf<"agent.spawned">, "callId" | "agentId">,
): AgentView {
  const { agents = [] } = agent.calls.find((call) => call.callId === callId) ?? {};
  return withCall(agent, callId, { agents: [...agents, agentId] });
}

function endCall(agent: AgentView, line: Line & EventOf<"tool.ended">): AgentView {
  const { callId, result, milliseconds } = line;
  const { outcome, content, details, facts } = result;
  const call = agent.calls.find((each) => each.callId === callId) ?? unseenCall(line);
  const waitedMs = waitedUntil(call, line.at);
  const ended = withCall(agent, callId, { result: { outcome, content, details, milliseconds }, waitedMs });
  return {
    ...ended,
    ...(facts?.spent ? spend(agent, facts.spent.usage, facts.spent.costUsd) : {}),
    toolCalls: agent.toolCalls + 1,
    lastCall: { ...call, progress: undefined },
    calls: ended.calls.filter((each) => each.callId !== callId),
  };
}

/** Returns how long a call has waited for approval in total, until the given time; undefined if it needed none. */
function waitedUntil({ approval, waitedMs = 0 }: CallItem, time: number): number | undefined {
  if (approval === undefined) return undefined;
  return approval.answer === undefined ? waitedMs + Math.max(0, time - approval.askedAt) : waitedMs;
}

/** Describes a call whose response was not seen. It has no place among the items. */
function unseenCall(line: Line & EventOf<"tool.requested" | "approval.requested" | "tool.ended">): CallItem {
  const { callId, name, at } = line;
  const inputJson = line.type === "approval.requested" ? line.inputJson : "";
  return { kind: "call", position: -1, at, callId, name, inputJson, target: describeCall({ name, inputJson }) };
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}
