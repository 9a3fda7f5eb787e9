import type {
  CallId,
  ContextCause,
  DurableEvent,
  EndedNotice,
  EndReason,
  EventOf,
  ModelError,
  Notice,
  RunFacts,
  ToolCall,
  ToolResult,
  UserBlock,
  UserMessage,
} from "../protocol/index.ts";
import { addUsage, callsOf, paidUsage, textOf } from "../protocol/index.ts";
import { mayHaveChanged } from "./call-effects.ts";
import type { CallState } from "./call-state.ts";
import { answered, compacted, failed, requested, restarted } from "./context.ts";
import { forked, resultBlocks } from "./forked.ts";
import { countTurn, newCount } from "./repetition.ts";
import { type ActiveRun, type LoopState, newRun } from "./state.ts";
import { foldUnderWay } from "./under-way.ts";

/** Two cut answers in a row can be an accident; three are a task that does not fit. */
const CUT_OFF_LIMIT = 3;

/** What an event means for the loop. Total: an event that means nothing here leaves the state as it is. */
export function fold(state: LoopState, event: DurableEvent): LoopState {
  const folded = foldEvent(state, event);
  const underWay = foldUnderWay(state.underWay, event);
  return underWay === folded.underWay ? folded : { ...folded, underWay };
}

function foldEvent(state: LoopState, event: DurableEvent): LoopState {
  switch (event.type) {
    case "agent.created":
      return event.fork ? forked(state, event.fork) : state;
    case "run.started":
      return {
        ...state,
        run: newRun(event),
        repetition: newCount(state.turn),
        cutOff: 0,
        toTell: undefined,
        context: restarted(state.context),
      };
    case "prompt.received":
      return promptReceived(state, event);
    case "context.added":
      return contextAdded(state, event);
    case "hooks.ran":
      return hooksRan(state, event);
    case "model.requested":
      return modelRequested(state, event);
    case "model.ended":
      return modelEnded(state, event);
    case "model.failed":
      return modelFailed(state, event);
    case "spend.recorded":
      return spendRecorded(state, event);
    case "tool.requested":
      return withCall(state, event.callId, { status: "asked", readsOnly: event.readsOnly });
    case "approval.answered":
      return approvalAnswered(state, event);
    case "tool.started":
      return withCall(state, event.callId, { status: "started", resumable: event.resumable });
    case "agent.spawned":
      return withCall(state, event.callId, { status: "started", agentId: event.agentId });
    case "agent.resumed":
      return withCall(state, event.callId, { status: "started", agentId: event.agentId, resumes: event.runId });
    case "tool.ended":
      return toolEnded(state, event);
    case "notices.delivered":
      return noticesDelivered(state, event);
    case "conversation.compacted":
      return conversationCompacted(state, event);
    case "plan.entered":
      return { ...restartCount(state), plan: "entered" };
    case "plan.left":
      return { ...restartCount(state), plan: "left" };
    case "run.ended":
      return { ...state, run: undefined };
    default:
      return state;
  }
}

/** The user turn that the next request seals, or undefined when nothing was added since the last one. */
export function userTurn(state: LoopState): UserMessage | undefined {
  const content = [...resultBlocks(state.calls), ...state.said];
  return content.length === 0 ? undefined : { role: "user", content };
}

function promptReceived(state: LoopState, { content }: EventOf<"prompt.received">): LoopState {
  const words = textOf(content);
  return {
    ...restartCount(state),
    said: [...state.said, ...content],
    asked: words.trim() === "" ? state.asked : { first: state.asked?.first ?? words, latest: words },
  };
}

/** Causes of words that tell the agent nothing new about its work. */
const ownCauses = new Set<ContextCause>(["loop", "cut_off", "budget", "reminder"]);

function contextAdded(state: LoopState, { text, cause }: EventOf<"context.added">): LoopState {
  const { repetition } = ownCauses.has(cause) ? state : restartCount(state);
  return {
    ...state,
    said: [...state.said, { type: "text", text }],
    toTell: state.toTell?.cause === cause ? undefined : state.toTell,
    repetition: cause === "loop" ? { ...repetition, warned: true } : repetition,
  };
}

/** Called when repeating a call may give something new: the world may have changed, or the agent knows more. */
function restartCount(state: LoopState): LoopState {
  return { ...state, repetition: newCount(state.turn) };
}

/** What hooks made of a call is what it is from there on, also for a process that takes it up. */
function hooksRan(state: LoopState, { callId, decision, inputJson, context }: EventOf<"hooks.ran">): LoopState {
  const told: LoopState =
    context === undefined ? state : { ...state, said: [...state.said, { type: "text", text: context }] };
  const call = callId === undefined ? undefined : findCall(state, callId)?.call;
  if (call === undefined) return told;
  return withCall(told, call.callId, {
    ...(inputJson === undefined ? {} : { call: { ...call, inputJson } }),
    ...(decision === "allow" ? { granted: true } : {}),
  });
}

/** Who allows a call may change it first. */
function approvalAnswered(state: LoopState, { callId, answer, inputJson }: EventOf<"approval.answered">): LoopState {
  const call = findCall(state, callId)?.call;
  if (call === undefined || answer !== "allow") return state;
  return withCall(state, callId, {
    granted: true,
    ...(inputJson === undefined ? {} : { call: { ...call, inputJson } }),
  });
}

function modelRequested(state: LoopState, { turn }: EventOf<"model.requested">): LoopState {
  const context = requested(state.context, userTurn(state));
  return withRun({ ...state, turn, unanswered: true, calls: [], said: [], context }, (run) => ({
    turns: run.turns + 1,
  }));
}

function conversationCompacted(state: LoopState, event: EventOf<"conversation.compacted">): LoopState {
  const { usage, costUsd, milliseconds = 0 } = event;
  return withRun({ ...restartCount(state), context: compacted(state.context, event, userTurn(state)) }, (run) => ({
    ...(usage ? { usage: addUsage(run.usage, usage), costUsd: sum(run.costUsd, costUsd) } : {}),
    modelMilliseconds: run.modelMilliseconds + milliseconds,
  }));
}

function spendRecorded(state: LoopState, { usage, costUsd }: EventOf<"spend.recorded">): LoopState {
  return withRun(state, (run) => ({ usage: addUsage(run.usage, usage), costUsd: sum(run.costUsd, costUsd) }));
}

function modelEnded(state: LoopState, event: EventOf<"model.ended">): LoopState {
  const calls = callsOf(event.message).map(
    ({ callId, name, inputJson }): CallState => ({ call: { callId, name, inputJson }, status: "new" }),
  );
  const text = textOf(event.message.content);
  // A damaged transcript may have lost the request; its number must not be given again, it is part of call ids.
  const turn = Math.max(state.turn, event.turn);
  const context = answered(state.context, event);
  const before = calls.length === 0 ? restartCount(state) : state;
  const spent = withRun({ ...before, turn, unanswered: event.stopReason === "pause", calls, context }, (run) => ({
    usage: addUsage(run.usage, paidUsage(event)),
    costUsd: sum(run.costUsd, event.costUsd),
    modelMilliseconds: run.modelMilliseconds + event.milliseconds,
    text: text.trim() === "" ? run.text : text,
  }));
  if (event.stopReason === "refusal") return ending(spent, "refused", text.trim() || "The model refused to answer.");
  const cut = event.stopReason === "max_tokens" || event.incompleteCalls > 0;
  if (!cut) return { ...spent, cutOff: 0 };
  const isShort = state.underWay.some(({ request, reserved }) => request === "turn" && reserved.shortened);
  if (isShort) return { ...spent, toTell: { cause: "budget", text: shortAnswerText(event.incompleteCalls) } };
  if (spent.cutOff + 1 >= CUT_OFF_LIMIT) {
    return ending(spent, "output_limit", "The model's answers were cut at its output limit several times in a row.");
  }
  return { ...spent, cutOff: spent.cutOff + 1, toTell: { cause: "cut_off", text: cutOffText(event.incompleteCalls) } };
}

function modelFailed(state: LoopState, event: EventOf<"model.failed">): LoopState {
  const partial = textOf(event.partial);
  const context = failed(state.context, event);
  const spent = withRun({ ...state, unanswered: partial.trim() === "", context }, (run) => ({
    ...(event.usage ? { usage: addUsage(run.usage, event.usage) } : {}),
    costUsd: event.usage ? sum(run.costUsd, event.costUsd) : run.costUsd,
    modelMilliseconds: run.modelMilliseconds + event.milliseconds,
    text: partial.trim() === "" ? run.text : partial,
  }));
  // There is a cure that was not tried yet: a shorter conversation.
  if (context.overflow !== undefined) return spent;
  return ending(spent, reasonOf(event.error), event.error.message);
}

function reasonOf(error: ModelError): EndReason {
  if (error.code === "aborted") return "interrupted";
  if (error.code === "context_overflow") return "context_overflow";
  if (error.code === "stalled") return "stall";
  if (error.code === "budget") return "budget";
  return "model_error";
}

function noticesDelivered(state: LoopState, { notices, text }: EventOf<"notices.delivered">): LoopState {
  const told = new Set(notices.map(({ runId }) => runId));
  const said: UserBlock = { type: "text", text };
  const left = { ...restartCount(state), background: state.background.filter(({ runId }) => !told.has(runId)) };
  const inherited = notices.flatMap(({ unreturned = [] }) => unreturned).filter(({ runId }) => !told.has(runId));
  const cut = notices.filter(isCut).length;
  return withRun({ ...awaiting(left, inherited), said: [...state.said, said] }, ({ facts }) => ({
    facts: cut === 0 ? facts : { ...facts, agentsCut: facts.agentsCut + cut },
  }));
}

/** What it said is not all that was asked for. */
function isCut({ outcome }: EndedNotice): boolean {
  return outcome === "incomplete";
}

/** The ends of these are to be told too. */
function awaiting(state: LoopState, more: readonly Notice[]): LoopState {
  const added = more.filter(({ runId }) => !state.background.some((known) => known.runId === runId));
  return added.length === 0 ? state : { ...state, background: [...state.background, ...added] };
}

function toolEnded(before: LoopState, event: EventOf<"tool.ended">): LoopState {
  const { launched, agent } = event.result.facts ?? {};
  const state = awaiting(before, [...(launched ? [launched] : []), ...(agent?.unreturned ?? [])]);
  const made = findCall(state, event.callId);
  if (made === undefined) return state;
  const ended = withCall(state, event.callId, { status: "ended", result: event.result });
  if (state.run === undefined) return ended;
  const counted = withRun(ended, (run) => ({
    facts: withFacts(run.facts, made.call, event.result),
    ...withSpent(run, event.result),
  }));
  const left = mayHaveChanged(made, event.result) ? restartCount(counted) : counted;
  return left.calls.every(({ status }) => status === "ended") ? turnEnded(left) : left;
}

/** The journal has no line for the end of a background shell, so one that was started may still run. */
function backgroundOf({ background, run }: LoopState): "agent" | "shell" | undefined {
  if (background.length > 0) return "agent";
  return run?.facts.commands.some(({ exitCode }) => exitCode === null) ? "shell" : undefined;
}

/** Called when all calls of the turn have ended. Checks whether the newest turns form a cycle. */
function turnEnded(state: LoopState): LoopState {
  const { turn, calls } = state;
  const { repetition, verdict } = countTurn(state.repetition, { turn, calls, background: backgroundOf(state) });
  const counted = { ...state, repetition };
  if (verdict?.kind === "end") return ending(counted, "loop", verdict.text);
  return verdict ? { ...counted, toTell: state.toTell ?? { cause: "loop", text: verdict.text } } : counted;
}

/** A call that asked a model is on the bill of the run that made it. */
function withSpent(run: ActiveRun, { facts }: ToolResult): Partial<ActiveRun> {
  const spent = facts?.spent;
  if (spent === undefined) return {};
  return { usage: addUsage(run.usage, spent.usage), costUsd: sum(run.costUsd, spent.costUsd) };
}

function withFacts(facts: RunFacts, call: ToolCall, result: ToolResult): RunFacts {
  const changed = (result.facts?.filesChanged ?? []).filter((file) => !facts.filesChanged.includes(file));
  const command = result.facts?.command;
  const denied = result.outcome === "denied";
  return {
    toolCalls: { ...facts.toolCalls, [call.name]: (facts.toolCalls[call.name] ?? 0) + 1 },
    filesChanged: changed.length === 0 ? facts.filesChanged : [...facts.filesChanged, ...changed],
    commands: command ? [...facts.commands, command] : facts.commands,
    denied: denied
      ? [...facts.denied, { tool: call.name, input: call.inputJson, reason: textOf(result.content) }]
      : facts.denied,
    unknown: result.outcome === "unknown" ? [...facts.unknown, call.callId] : facts.unknown,
    agentsCut: result.facts?.agent && isCut(result.facts.agent) ? facts.agentsCut + 1 : facts.agentsCut,
  };
}

function ending(state: LoopState, reason: EndReason, message: string): LoopState {
  return withRun(state, (run) => ({ ending: run.ending ?? { reason, message } }));
}

function withRun(state: LoopState, change: (run: ActiveRun) => Partial<ActiveRun>): LoopState {
  return state.run === undefined ? state : { ...state, run: { ...state.run, ...change(state.run) } };
}

function withCall(state: LoopState, callId: string, change: Partial<CallState>): LoopState {
  const at = placeOf(callId, state.calls);
  const before = state.calls[at];
  if (before === undefined) return state;
  return { ...state, calls: state.calls.with(at, { ...before, ...change }) };
}

/** A call of the newest answer. */
export function findCall({ calls }: LoopState, callId: CallId): CallState | undefined {
  return calls[placeOf(callId, calls)];
}

/** Its id ends with its place, and an answer may have a thousand calls. */
function placeOf(callId: CallId, calls: readonly CallState[]): number {
  const place = Number(callId.slice(callId.lastIndexOf("_") + 1));
  return calls[place]?.call.callId === callId ? place : calls.findIndex(({ call }) => call.callId === callId);
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}

function shortAnswerText(incompleteCalls: number): string {
  const lost = incompleteCalls > 0 ? " A tool call that it had begun was not run." : "";
  return `Your answer was cut short because the budget is almost used up.${lost} Finish with what you have, in a few sentences.`;
}

function cutOffText(incompleteCalls: number): string {
  if (incompleteCalls > 0) {
    return "Your answer reached the output limit in the middle of a tool call, so that call was not run. Make it again, smaller: split the work into several calls.";
  }
  return "Your answer reached the output limit and was cut. Go on from where it stopped.";
}
