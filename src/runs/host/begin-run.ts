import { headLength, SERIALIZER_VERSION } from "../../conversation/index.ts";
import {
  type ChildMetadata,
  type DurableEvent,
  type EndReason,
  type EventOf,
  FORK_INTRODUCTION,
  isUnfinished,
  MAIN_AGENT,
  type PermissionMode,
  runtimeText,
  runtimeTexts,
} from "../../protocol/index.ts";
import { headEvents, headNews } from "../head/kept-head.ts";
import { environmentEvents } from "./environment.ts";
import { startMentioned } from "./mentions.ts";
import { backgroundRoster } from "./notices.ts";
import { beginningMode, planEvents } from "./plan-mode.ts";
import { runStartHooks } from "./run-hooks.ts";
import type { RunHost, RunServices } from "./run-host.ts";

/**
 * Records the first lines of a run: the agent's creation if it is new, its head if that has changed, the start and the
 * prompt. Returns the reason if a hook rejected the prompt.
 */
export async function beginRun(host: RunHost): Promise<string | undefined> {
  const changes = await host.refresh();
  const { thread, request } = host;
  // The journal may have failed during an earlier run in this process and left that run without an end.
  for (const line of await thread.recover(host.services.executor.recall)) host.outlet.emit(line);
  const events: DurableEvent[] = [];
  if (thread.isEmpty) events.push(created(host));
  if (request.plan !== undefined) events.push(...planEvents(request.plan, request.agent));
  const newHead = await headEvents(host);
  const isBounded = request.subagent?.spec.fork?.turns !== undefined;
  if (newHead.some(({ hash }) => hash !== thread.headHash) || (thread.isNew && isBounded))
    host.before = thread.newestPrompt;
  events.push(...newHead);
  if (thread.hasUncertainThinking) {
    host.before = thread.newestPrompt;
    events.push({ type: "thinking.dropped", serializer: SERIALIZER_VERSION });
  }
  events.push(runStarted(host, beginningMode(host)));
  if (thread.past === "changed") events.push(...changedPast(host));
  for (const message of request.subagent?.notices ?? []) events.push({ type: "notice.raised", code: "agent", message });
  const { lastEnd } = thread;
  if (lastEnd !== undefined && lastEnd !== "done" && lastEnd !== "parked")
    events.push({ type: "context.added", cause: "resumed", text: runtimeText(resumedText(lastEnd, request)) });
  events.push(...(await backgroundRoster(host)));
  for (const message of changes) events.push({ type: "notice.raised", code: "agent", message });
  events.push(...(await headNews(host, newHead)));
  const { from = request.subagent ? "agent" : "person", promptId } = request;
  if (host.services.hooks) {
    await host.record(events.splice(0));
    const refusal = await runStartHooks(host);
    if (refusal !== undefined) return refusal;
  }
  events.push(...(await environmentEvents(host)));
  if (isNewFork(host)) events.push({ type: "context.added", cause: "fork", text: FORK_INTRODUCTION });
  const leftOver = request.leftOver?.() ?? [];
  for (const queued of leftOver) events.push({ type: "prompt.received", ...queued, from: "person" });
  if (request.prompt.length > 0) events.push({ type: "prompt.received", content: request.prompt, from, promptId });
  if (request.output)
    events.push({ type: "context.added", cause: "output", text: runtimeText(request.output.instruction) });
  await host.record(events);
  if (from === "person") await startMentioned(host, [...leftOver.flatMap(({ content }) => content), ...request.prompt]);
  // The request can be sent during this sync. The first side effect waits for the sync.
  thread.syncSoon();
  return undefined;
}

/** Returns whether a fork is about to get its first prompt. */
function isNewFork({ thread, request: { subagent, prompt } }: RunHost): boolean {
  return subagent?.spec.fork?.kind === "fork" && thread.state.asked === undefined && prompt.length > 0;
}

function created({ services, request: { subagent } }: RunHost): DurableEvent {
  const session = sessionCreated(services);
  if (subagent === undefined) return session;
  const { agentType, parent, by } = subagent.spec;
  const parentSessionId = parent.agentId === MAIN_AGENT ? session.sessionId : parent.agentId;
  const callId = by === undefined ? parent.callId : undefined;
  const metadata: ChildMetadata = { subagent: { parentSessionId, agentType, callId } };
  return { ...session, type: "agent.created", metadata, ...subagent.spec };
}

/** Returns the first line of a session's transcript. */
export function sessionCreated({
  sessionId,
  cwd,
  version,
}: Pick<RunServices, "sessionId" | "cwd" | "version">): EventOf<"session.created"> {
  return { type: "session.created", sessionId, cwd, version, serializer: SERIALIZER_VERSION };
}

function runStarted(host: RunHost, mode: PermissionMode): EventOf<"run.started"> {
  const { services, request, thread } = host;
  const { agent, runId, waits, subagent } = request;
  const { prices, cacheMinimumTokens, window } = services.model.describe();
  return {
    type: "run.started",
    runId,
    agentId: thread.agentId,
    agentType: agent.agentType,
    kind: thread.isNew ? (subagent?.spec.fork ? "fork" : "fresh") : "resume",
    requestedModel: agent.requestedModel,
    provider: agent.head.provider,
    model: agent.head.model,
    modelReason: agent.modelReason,
    permissionMode: mode,
    ...turnLimit(host),
    acceptance: subagent && request.acceptance?.commands[0],
    outputSchema: subagent && request.output?.schema,
    verifies: request.verify === "auto" || undefined,
    prices,
    // The offline model has no window.
    window: agent.head.provider === "offline" ? undefined : window,
    cacheMinimumTokens,
    waits: waits || undefined,
    tools: subagent?.tools,
    color: agent.color,
    policy: subagent?.policy,
    background: subagent?.background || undefined,
  };
}

/**
 * Returns the run's turn limit. A subagent's run that continues another one gets what is left of that run's limit. The
 * main agent's limit comes from the command or the program that continues the run, so it starts again.
 */
function turnLimit({
  thread,
  request: { agent, prompt, subagent },
}: RunHost): Pick<EventOf<"run.started">, "maxTurns" | "continues"> {
  const { maxTurns } = agent;
  const { lastEnd, state } = thread;
  if (prompt.length > 0 || lastEnd === undefined || !isUnfinished({ reason: lastEnd })) return { maxTurns };
  if (subagent === undefined) return { maxTurns, continues: { turns: 0 } };
  const { work } = state;
  return { maxTurns: Math.min(maxTurns, work.maxTurns), continues: { turns: work.done?.turns ?? 0 } };
}

/**
 * Reports that the transcript from which a fork was started has changed, so some of the bytes that were originally sent
 * are lost.
 */
function changedPast({ thread, request }: RunHost): DurableEvent[] {
  const message = `The conversation that ${thread.agentId} was forked from has changed. The agent continues from the current version of that conversation.`;
  return [
    { type: "notice.raised", code: "fork", message },
    {
      type: "cache.missed",
      dimension: "messages",
      firstDifference: headLength(request.agent.head),
      turn: thread.state.turn + 1,
    },
  ];
}

function resumedText(reason: EndReason, { subagent }: RunHost["request"]): string {
  const isStopped = reason === "interrupted" || reason === "stopped";
  if (!isStopped) return `${runtimeTexts.previousRun} ended early: ${reason}.`;
  // Unlike the main agent, a subagent can also be stopped by its parent.
  return subagent ? `${runtimeTexts.previousRun} was stopped.` : `${runtimeTexts.interrupted}.`;
}
