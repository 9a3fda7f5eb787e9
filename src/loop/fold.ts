import type {
  ContextCause,
  DurableEvent,
  EndedNotice,
  EndReason,
  EventOf,
  ForkOrigin,
  ModelError,
  PromptId,
  RunRef,
  ToolResult,
  UserBlock,
  UserMessage,
} from "../protocol/index.ts";
import {
  addUsage,
  callsOf,
  isRuntimeText,
  isUnfinished,
  paidUsage,
  type ResultBlock,
  textOf,
  withoutRuntimeTag,
} from "../protocol/index.ts";
import { mayHaveChanged } from "./call-effects.ts";
import { type CallState, findCall, forkedCalls, indexOfCall, resultBlocks, toldCalls } from "./call-state.ts";
import { answered, compacted, failed, inherited, requested, restarted } from "./context.ts";
import { foldWork } from "./continued-work.ts";
import { countTurn, newCount } from "./repetition.ts";
import { isCut, withCallFacts, withChanges } from "./run-facts.ts";
import { type ActiveRun, type LoopState, newRun } from "./state.ts";
import { foldUnderWay, sumCosts } from "./under-way.ts";
import { foldUnverified } from "./unverified.ts";

/**
 * Number of consecutive cut-off responses after which a run ends. Two in a row may be a coincidence; three mean that
 * the task is too large for one response.
 */
const CUT_OFF_LIMIT = 3;

/** Returns the state after an event. Events that the loop does not use leave the state unchanged. */
export function fold(state: LoopState, event: DurableEvent): LoopState {
  return withLasting(state, event, foldEvent(state, event));
}

/** Applies only those effects of an event that outlast its run. */
export function foldPast(state: LoopState, event: DurableEvent): LoopState {
  return withLasting(state, event, state);
}

function withLasting(before: LoopState, event: DurableEvent, folded: LoopState): LoopState {
  const underWay = foldUnderWay(before.underWay, event);
  const work = foldWork(before.work, event);
  const unverified = foldUnverified(before, event);
  const isSame = underWay === folded.underWay && work === folded.work && unverified === folded.unverified;
  return isSame ? folded : { ...folded, underWay, work, unverified };
}

function foldEvent(state: LoopState, event: DurableEvent): LoopState {
  switch (event.type) {
    case "agent.created":
      return event.fork ? agentForked(state, event.fork) : state;
    case "run.started":
      return {
        ...state,
        run: newRun(event),
        repetition: newCount(state.turn),
        cutOff: 0,
        toTell: undefined,
        context: restarted(state.context, event),
      };
    case "prompt.queued":
      return promptQueued(state, event);
    case "prompt.withdrawn":
      return withoutQueued(state, event.promptId);
    case "prompt.received":
      return promptReceived(withoutQueued(state, event.promptId), event);
    case "head.set":
      return event.reason === "settings" ? state : { ...state, toldHead: undefined };
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
    case "agent.spawned": {
      const { callId, agentId, runId } = event;
      if (runId !== undefined) return withBackground(state, [{ agentId, runId }]);
      return withCall(state, callId, { status: "started", agentId });
    }
    case "agent.resumed":
      return agentResumed(state, event);
    case "run.awaited":
      return runAwaited(state, event);
    case "wait.ended":
      return { ...state, awaited: state.awaited.filter((runId) => runId !== event.runId) };
    case "tool.ended":
      return toolEnded(state, event);
    case "notices.delivered":
      return noticesDelivered(state, event);
    case "conversation.compacted":
      return conversationCompacted(state, event);
    case "plan.entered":
      return { ...restartCount(state), plan: "entered", afterPlan: event.afterPlan };
    case "plan.left":
      return { ...restartCount(state), plan: "left" };
    case "mode.changed":
      return event.mode === "plan" ? state : { ...state, mode: event.mode };
    case "run.ended":
      // An unfinished run is continued when the session is resumed. The agent then waits for the same background runs.
      return { ...state, run: undefined, awaited: isUnfinished(event) ? state.awaited : [] };
    default:
      return state;
  }
}

/**
 * Returns the state after the user has rewound the conversation to an earlier state. Pending work and reports stay
 * unchanged, and turn numbers continue, because they are part of call ids.
 */
export function rewound(now: LoopState, earlier: LoopState): LoopState {
  const { run, turn, underWay, queue, background, plan, afterPlan, mode, work, unverified } = now;
  const kept = { run, turn, underWay, queue, background, plan, afterPlan, mode, work, unverified };
  return { ...earlier, ...kept, awaited: [], repetition: newCount(turn) };
}

/** Returns the user turn of the next request. Undefined if nothing has been added since the last request. */
export function userTurn({ calls, said, record, unanswered }: LoopState): UserMessage | undefined {
  const isNeeded = calls.length > 0 || said.length > 0 || unanswered;
  const recorded: UserBlock[] = record === undefined || !isNeeded ? [] : [{ type: "text", text: record }];
  const content = [...resultBlocks(calls), ...recorded, ...said];
  return content.length === 0 ? undefined : { role: "user", content };
}

/** Returns the state in which the results of calls are text, because the response with the calls is not kept. */
export function withToldCalls(state: LoopState, isOld?: boolean): LoopState {
  if (state.calls.length === 0) return state;
  return { ...state, calls: [], said: [...toldCalls(state.calls, isOld), ...state.said] };
}

/**
 * Returns blocks that Retinue did not write, without its tag. All text in a user turn comes through here, unless
 * Retinue itself wrote it.
 */
function foreign<Block extends UserBlock | ResultBlock>(blocks: readonly Block[]): readonly Block[] {
  return blocks.map((block) => {
    if (block.type !== "text") return block;
    const text = withoutRuntimeTag(block.text);
    return text === block.text ? block : { ...block, text };
  });
}

function agentForked(state: LoopState, origin: ForkOrigin): LoopState {
  const { calls, environment } = origin;
  return { ...state, calls: forkedCalls(calls), environment, context: inherited(state.context, origin) };
}

function promptQueued(state: LoopState, { promptId, content }: EventOf<"prompt.queued">): LoopState {
  const index = state.queue.findIndex((queued) => queued.promptId === promptId);
  const prompt = { promptId, content };
  return { ...state, queue: index === -1 ? [...state.queue, prompt] : state.queue.with(index, prompt) };
}

function withoutQueued(state: LoopState, promptId: PromptId | undefined): LoopState {
  const queue = state.queue.filter((queued) => queued.promptId !== promptId);
  return queue.length === state.queue.length ? state : { ...state, queue };
}

/** Makes the agent wait for a background run, unless the agent has already been notified that the run has ended. */
function runAwaited(state: LoopState, { runId }: EventOf<"run.awaited">): LoopState {
  const isKnown = state.background.some((run) => run.runId === runId);
  return isKnown ? { ...state, awaited: [...state.awaited, runId] } : state;
}

/** Applies the resumption of a subagent, whether or not this agent made the call that resumed it. */
function agentResumed(state: LoopState, event: EventOf<"agent.resumed">): LoopState {
  const { callId, agentId, runId, by, replaces, reportsTo } = event;
  if (callId !== undefined) return withCall(state, callId, { status: "started", agentId, resumes: runId });
  if (reportsTo === "program") return state;
  // A run that continues an interrupted run replaces it. If a person resumed the agent, the earlier run's report is
  // still delivered.
  const isAdded = by === "person" && replaces !== true;
  const others = state.background.filter((each) => isAdded || each.agentId !== agentId);
  const earlier = new Set(state.background.flatMap((each) => (each.agentId === agentId ? [each.runId] : [])));
  const awaited = state.awaited.map((each) => (earlier.has(each) ? runId : each));
  return withBackground({ ...state, background: others, awaited }, [{ agentId, runId }]);
}

function promptReceived(state: LoopState, event: EventOf<"prompt.received">): LoopState {
  const content = foreign(event.content);
  const prompt = textOf(content);
  return {
    ...restartCount(state),
    awaited: [],
    said: [...state.said, ...content],
    asked: prompt.trim() === "" ? state.asked : { first: state.asked?.first ?? prompt, latest: prompt },
  };
}

/** Causes of messages that tell the agent nothing new about its work. */
const ownCauses = new Set<ContextCause>(["loop", "cut_off", "budget", "reminder", "turns"]);

function contextAdded(state: LoopState, { text, cause, environment, head }: EventOf<"context.added">): LoopState {
  const { repetition } = ownCauses.has(cause) ? state : restartCount(state);
  return {
    ...state,
    said: [...state.said, { type: "text", text }],
    toTell: state.toTell?.cause === cause ? undefined : state.toTell,
    repetition: cause === "loop" ? { ...repetition, warned: true } : repetition,
    environment: environment ?? state.environment,
    toldHead: head ?? state.toldHead,
  };
}

/**
 * Restarts the detection of repeated turns. Called when repeating a call may give a new result, because something may
 * have changed or the agent has learned something.
 */
function restartCount(state: LoopState): LoopState {
  return { ...state, repetition: newCount(state.turn) };
}

/**
 * Applies the results of hooks, which may change or approve a call, or replace its result. The results also apply in a
 * process that resumes the run.
 */
function hooksRan(state: LoopState, { callId, decision, inputJson, output, context }: EventOf<"hooks.ran">): LoopState {
  const next: LoopState =
    context === undefined ? state : { ...state, said: [...state.said, { type: "text", text: context }] };
  const made = callId === undefined ? undefined : findCall(state, callId);
  if (made === undefined) return next;
  const { call, granted, result } = made;
  const content = output === undefined ? undefined : foreign([{ type: "text", text: output }]);
  return withCall(next, call.callId, {
    result: result && content ? { ...result, content } : result,
    call: inputJson === undefined ? call : { ...call, inputJson },
    granted: decision === "allow" ? true : granted,
  });
}

/** Applies an approver's answer, which may change the call. */
function approvalAnswered(state: LoopState, event: EventOf<"approval.answered">): LoopState {
  const { callId, answer, inputJson, replies } = event;
  const call = findCall(state, callId)?.call;
  if (call === undefined || answer !== "allow") return state;
  return withCall(state, callId, {
    call: inputJson === undefined ? call : { ...call, inputJson },
    granted: true,
    replies,
  });
}

function modelRequested(state: LoopState, { turn }: EventOf<"model.requested">): LoopState {
  const context = requested(state.context, userTurn(state));
  return withRun({ ...state, turn, unanswered: true, calls: [], said: [], record: undefined, context }, (run) => ({
    turns: run.turns + 1,
  }));
}

function conversationCompacted(before: LoopState, event: EventOf<"conversation.compacted">): LoopState {
  const { usage, costUsd, provided, milliseconds = 0 } = event;
  const record = provided?.record;
  const told = event.kept === 0 ? withToldCalls(before, !isRuntimeText(record ?? event.summary)) : before;
  const state = { ...told, record };
  const context = compacted(state.context, event, userTurn(state));
  return withRun({ ...restartCount(state), context, environment: undefined, toldHead: undefined }, (run) => ({
    usage: usage ? addUsage(run.usage, usage) : run.usage,
    costUsd: usage ? sumCosts(run.costUsd, costUsd) : run.costUsd,
    modelMilliseconds: run.modelMilliseconds + milliseconds,
  }));
}

function spendRecorded(state: LoopState, { usage, costUsd }: EventOf<"spend.recorded">): LoopState {
  return withRun(state, (run) => ({ usage: addUsage(run.usage, usage), costUsd: sumCosts(run.costUsd, costUsd) }));
}

function modelEnded(state: LoopState, event: EventOf<"model.ended">): LoopState {
  const calls = callsOf(event.message).map(
    ({ callId, name, inputJson }): CallState => ({ call: { callId, name, inputJson }, status: "new" }),
  );
  const text = textOf(event.message.content);
  // The request may be missing from a damaged transcript. Its number is part of call ids and must not be reused.
  const turn = Math.max(state.turn, event.turn);
  const context = answered(state.context, event);
  const before = calls.length === 0 ? restartCount(state) : state;
  const spent = withRun({ ...before, turn, unanswered: event.stopReason === "pause", calls, context }, (run) => ({
    usage: addUsage(run.usage, paidUsage(event)),
    costUsd: sumCosts(run.costUsd, event.costUsd),
    modelMilliseconds: run.modelMilliseconds + event.milliseconds,
    text: text.trim() === "" ? run.text : text,
  }));
  if (event.stopReason === "refusal") return ending(spent, "refused", text.trim() || "The model refused to answer.");
  const cut = event.stopReason === "max_tokens" || event.incompleteCalls > 0;
  if (!cut) return { ...spent, cutOff: 0 };
  const isShort = state.underWay.some(({ request, reserved }) => request === "turn" && reserved.shortened);
  if (isShort) return { ...spent, toTell: { cause: "budget", text: shortAnswerText(event.incompleteCalls) } };
  if (spent.cutOff + 1 >= CUT_OFF_LIMIT) {
    return ending(spent, "output_limit", "The model's responses reached the output limit several times in a row.");
  }
  return { ...spent, cutOff: spent.cutOff + 1, toTell: { cause: "cut_off", text: cutOffText(event.incompleteCalls) } };
}

function modelFailed(state: LoopState, event: EventOf<"model.failed">): LoopState {
  const partial = textOf(event.partial);
  const context = failed(state.context, event);
  const spent = withRun({ ...state, unanswered: partial.trim() === "", context }, (run) => ({
    usage: event.usage ? addUsage(run.usage, event.usage) : run.usage,
    costUsd: event.usage ? sumCosts(run.costUsd, event.costUsd) : run.costUsd,
    modelMilliseconds: run.modelMilliseconds + event.milliseconds,
    text: partial.trim() === "" ? run.text : partial,
  }));
  // Compacting the conversation may help and has not been tried yet.
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
  const said: UserBlock = { type: "text", text };
  return { ...withoutEnded(state, notices), said: [...state.said, said] };
}

/**
 * Removes background runs whose ends have been reported to the agent. Adds the background runs that they started and
 * whose ends they never learned about, because these ends are now reported to this agent.
 */
function withoutEnded(state: LoopState, notices: readonly EndedNotice[]): LoopState {
  const ended = new Set(notices.map(({ runId }) => runId));
  const left = {
    ...restartCount(state),
    background: state.background.filter(({ runId }) => !ended.has(runId)),
    awaited: state.awaited.filter((runId) => !ended.has(runId)),
  };
  const inherited = notices.flatMap(({ unreturned = [] }) => unreturned).filter(({ runId }) => !ended.has(runId));
  const cut = notices.filter(isCut).length;
  const changes = notices.flatMap((notice) => notice.changes ?? []);
  return withRun(withBackground(left, inherited), ({ facts }) => ({
    facts: { ...changes.reduce(withChanges, facts), agentsCut: facts.agentsCut + cut },
  }));
}

/** Adds background runs whose outcomes must be reported to this agent. */
function withBackground(state: LoopState, more: readonly RunRef[]): LoopState {
  const added = more.filter(({ runId }) => !state.background.some((known) => known.runId === runId));
  return added.length === 0 ? state : { ...state, background: [...state.background, ...added] };
}

function toolEnded(before: LoopState, event: EventOf<"tool.ended">): LoopState {
  const { launched, agent, reported } = event.result.facts ?? {};
  const isAwaited = before.background.some(({ runId }) => runId === reported?.runId);
  const known = reported && isAwaited ? withoutEnded(before, [reported]) : before;
  const state = withBackground(known, [...(launched ? [launched] : []), ...(agent?.unreturned ?? [])]);
  const made = findCall(state, event.callId);
  if (made === undefined) return state;
  const ended = withCall(state, event.callId, {
    status: "ended",
    result: { ...event.result, content: foreign(event.result.content) },
  });
  if (state.run === undefined) return ended;
  const counted = withRun(ended, (run) => ({
    facts: withCallFacts(run.facts, made.call, event.result),
    ...withSpent(run, event.result),
  }));
  const left = mayHaveChanged(made, event.result) ? restartCount(counted) : counted;
  return left.calls.every(({ status }) => status === "ended") ? turnEnded(left) : left;
}

/**
 * Returns what may be running in the background. The journal does not record the end of a background shell, so any
 * shell that was started may still be running.
 */
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

/** Charges the cost of a call that itself used a model to the run that made the call. */
function withSpent(run: ActiveRun, { facts }: ToolResult): Partial<ActiveRun> {
  const spent = facts?.spent;
  if (spent === undefined) return {};
  return { usage: addUsage(run.usage, spent.usage), costUsd: sumCosts(run.costUsd, spent.costUsd) };
}

function ending(state: LoopState, reason: EndReason, message: string): LoopState {
  return withRun(state, (run) => ({ ending: run.ending ?? { reason, message } }));
}

function withRun(state: LoopState, change: (run: ActiveRun) => Partial<ActiveRun>): LoopState {
  return state.run === undefined ? state : { ...state, run: { ...state.run, ...change(state.run) } };
}

function withCall(state: LoopState, callId: string, change: Partial<CallState>): LoopState {
  const index = indexOfCall(callId, state.calls);
  const before = state.calls[index];
  if (before === undefined) return state;
  return { ...state, calls: state.calls.with(index, { ...before, ...change }) };
}

function shortAnswerText(incompleteCalls: number): string {
  const lost = incompleteCalls > 0 ? " A tool call that it contained was incomplete and was not run." : "";
  return `Your response was cut short because the budget is almost used up.${lost} Finish with what you have, in a few sentences.`;
}

function cutOffText(incompleteCalls: number): string {
  if (incompleteCalls > 0) {
    return "Your response reached the output limit in the middle of a tool call, so that call was not run. Split the work into several smaller calls.";
  }
  return "Your response reached the output limit and was cut off. Continue from where it stopped.";
}
