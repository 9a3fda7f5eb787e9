import {
  type AgentId,
  type EventOf,
  type Line,
  MAIN_AGENT,
  type PromptId,
  type SessionUpdate,
  type WireAgent,
} from "../../protocol/index.ts";
import { withinBounds } from "./agent-items.ts";
import { foldAgent, withoutLive } from "./fold-agent.ts";
import { elements, get, listOf, push, replace, set } from "./persistent.ts";
import { type AgentView, agentOf, newAgentView, parentOf, type SessionView } from "./session-view.ts";

/** An update from a session. If the agent's creation was not seen, its type and path are taken from the update. */
export type ViewUpdate = SessionUpdate & Partial<WireAgent>;

/**
 * Applies an update to a session's view, without side effects and in constant time. Updates must arrive in order. An
 * update whose position was already applied changes nothing.
 *
 * ```ts
 * let view = newSessionView();
 * for await (const update of client.sessions.open(id).events()) view = foldSession(view, update);
 * ```
 */
export function foldSession(view: SessionView, update: ViewUpdate): SessionView {
  const { seq } = update;
  if (seq !== undefined && seq <= view.seq) return view;
  const next = tolerantly(view, update);
  return seq === undefined ? next : { ...next, seq };
}

/**
 * Applies an update, or counts it as skipped if that fails. Files can be damaged, and newer versions may write other
 * fields, but one bad line must not hide the others.
 */
function tolerantly(view: SessionView, update: ViewUpdate): SessionView {
  try {
    return applied(view, update);
  } catch {
    return { ...view, skipped: view.skipped + 1 };
  }
}

function applied(view: SessionView, update: ViewUpdate): SessionView {
  const { agentId, event } = update;
  const known = knownAgent(view, update);
  const before = agentOf(known, agentId);
  if (before === undefined) return known;
  const after = foldAgent(before, event, known);
  const changed = withAgents(known, before === after ? [] : [after]);
  return withSession(withRunning(changed, { before, after }), update);
}

/** Adds the update's agent if it is not known yet. */
function knownAgent(view: SessionView, { agentId, agentType, path, event }: ViewUpdate): SessionView {
  const isCreated = event.type === "agent.created";
  if (get(view.indexes, agentId) !== undefined) return view;
  const started = event.type === "run.started" || isCreated ? event.agentType : undefined;
  const agent = newAgentView({
    agentId,
    agentType: started ?? agentType ?? (agentId === MAIN_AGENT ? MAIN_AGENT : "unknown"),
    path: path ?? pathTo(view, agentId, isCreated ? event.parent.agentId : MAIN_AGENT),
    startedAt: "at" in event ? event.at : 0,
  });
  const { agents, indexes } = view;
  return { ...view, agents: push(agents, agent), indexes: set(indexes, agentId, agents.length) };
}

function pathTo(view: SessionView, agentId: AgentId, parentId: AgentId): readonly AgentId[] {
  if (agentId === MAIN_AGENT) return [];
  const above = parentId === MAIN_AGENT ? [] : (agentOf(view, parentId)?.path ?? [parentId]);
  // A damaged file can make an agent its own ancestor.
  return above.includes(agentId) ? [agentId] : [...above, agentId];
}

function withAgents(view: SessionView, changed: readonly AgentView[]): SessionView {
  let { agents } = view;
  for (const agent of changed) agents = replace(agents, get(view.indexes, agent.agentId) ?? 0, agent);
  return agents === view.agents ? view : { ...view, agents };
}

/** Keeps count of the agents that have a run in progress. */
function withRunning(view: SessionView, { before, after }: { before: AgentView; after: AgentView }): SessionView {
  const difference = Number(isRunning(after)) - Number(isRunning(before));
  if (difference === 0) return view;
  const { agentId } = after;
  const at = view.running.indexOf(agentId);
  const others = at === -1 ? view.running : view.running.toSpliced(at, 1);
  const running = difference > 0 ? [...others, agentId] : others;
  const parentId = parentOf(after);
  const parent = parentId === undefined ? undefined : agentOf(view, parentId);
  const counted = parent && { ...parent, runningChildren: parent.runningChildren + difference };
  return withAgents({ ...view, running }, counted ? [counted] : []);
}

function isRunning({ runId, end, isCutOff, step }: AgentView): boolean {
  return (runId !== undefined || step.kind === "delayed") && end === undefined && !isCutOff;
}

/** Applies an event's effect on the session as a whole. */
function withSession(view: SessionView, { agentId, event }: ViewUpdate): SessionView {
  switch (event.type) {
    case "session.created":
      return { ...view, sessionId: event.sessionId, cwd: event.cwd };
    case "prompt.queued":
      return withQueued(view, agentId, event);
    case "prompt.withdrawn":
    case "prompt.received":
      return withoutQueued(view, event.promptId);
    case "agent.spawned":
      return withSpawned(view, agentId, event);
    case "agent.resumed":
      return withResumption(view, agentId, event);
    case "notices.delivered":
      return withoutLostStarts(view, event);
    case "approval.requested":
      return withApproval(view, agentId, event);
    case "approval.answered":
      return withoutApproval(view, ({ requestId }) => requestId === event.requestId);
    case "tool.ended":
      return withoutApproval(view, (each) => each.agentId === agentId && each.call.callId === event.callId);
    case "run.started":
    case "run.ended": {
      const rest = withoutApproval(view, (each) => each.agentId === agentId);
      return event.type === "run.ended" && agentId === MAIN_AGENT ? clearSubagents(rest) : rest;
    }
    default:
      return view;
  }
}

function withQueued(view: SessionView, agentId: AgentId, event: EventOf<"prompt.queued">): SessionView {
  const { promptId, content } = event;
  const prompt = { agentId, promptId, content };
  const index = view.queue.findIndex((queued) => queued.promptId === promptId);
  return { ...view, queue: index === -1 ? [...view.queue, prompt] : view.queue.with(index, prompt) };
}

function withoutQueued(view: SessionView, promptId: PromptId | undefined): SessionView {
  const queue = view.queue.filter((queued) => queued.promptId !== promptId);
  return queue.length === view.queue.length ? view : { ...view, queue };
}

/** Adds an agent that was spawned. Its own first event follows as soon as it has a slot. */
function withSpawned(view: SessionView, by: AgentId, event: Line & EventOf<"agent.spawned">): SessionView {
  const { agentId, agentType, description, callId, at } = event;
  if (get(view.indexes, agentId) !== undefined) return view;
  const known = knownAgent(view, { agentId, agentType, path: pathTo(view, agentId, by), event });
  const before = agentOf(known, agentId);
  if (before === undefined) return known;
  const after: AgentView = { ...before, description, callId, step: { kind: "delayed", by: "slot", since: at } };
  return withRunning(withAgents(known, [after]), { before, after });
}

/**
 * Notes that an agent is about to continue. Its run starts as soon as it has a slot. The agent's creation may precede
 * the first update, so its task is taken from the call that resumes it.
 */
function withResumption(view: SessionView, by: AgentId, event: Line & EventOf<"agent.resumed">): SessionView {
  const { agentId, runId, callId, at } = event;
  const known = knownAgent(view, { agentId, path: pathTo(view, agentId, by), event });
  const before = agentOf(known, agentId);
  if (before === undefined) return known;
  const call = callId && agentOf(known, by)?.calls.find((each) => each.callId === callId);
  const named: AgentView = {
    ...before,
    callId: callId ?? before.callId,
    description: before.description || (call ? call.target : ""),
  };
  // The parent's line can arrive after the start of the run.
  const after = before.runId === runId ? named : { ...awaitingSlot(named, at), runId };
  return withRunning(withAgents(known, [after]), { before, after });
}

function awaitingSlot(agent: AgentView, since: number): AgentView {
  const { calls, openCalls = calls } = agent;
  const step = { kind: "delayed", by: "slot", since } as const;
  return { ...agent, calls: [], openCalls, end: undefined, isCutOff: undefined, step };
}

/**
 * Applies notices about runs that have ended. A run that was waiting for a slot when its process was lost has no other
 * record of its end.
 */
function withoutLostStarts(view: SessionView, { notices }: EventOf<"notices.delivered">): SessionView {
  const ended = notices.flatMap((notice) => [notice, ...(notice.unreturned ?? [])]);
  const lost = ended.filter(({ agentId, runId }) => {
    const agent = view.running.includes(agentId) ? agentOf(view, agentId) : undefined;
    const isQueued = agent?.step.kind === "delayed" && agent.step.by === "slot";
    return isQueued && (agent.runId === undefined || agent.runId === runId);
  });
  return cutOff(
    view,
    lost.map(({ agentId }) => agentId),
  );
}

function withApproval(view: SessionView, agentId: AgentId, line: Line & EventOf<"approval.requested">): SessionView {
  const agent = agentOf(view, agentId);
  if (agent === undefined) return view;
  const { requestId, callId, name, inputJson, reason, always = [], at: askedAt } = line;
  const { agentType, path } = agent;
  const call = { callId, name, inputJson };
  const others = view.approvals.filter((each) => each.requestId !== requestId);
  const request = { requestId, agentId, agentType, path, call, decision: { reason }, always, askedAt };
  return { ...view, approvals: [...others, request] };
}

function withoutApproval(
  view: SessionView,
  isSettled: (approval: SessionView["approvals"][number]) => boolean,
): SessionView {
  const approvals = view.approvals.filter((approval) => !isSettled(approval));
  return approvals.length === view.approvals.length ? view : { ...view, approvals };
}

/**
 * Called when the main agent's run has ended. Subagents that it was waiting for are no longer running, even if their
 * ends were not seen. Background agents, and the agents below them, keep running.
 */
function clearSubagents(view: SessionView): SessionView {
  const waitedFor = view.running.filter((agentId) => {
    const agent = agentOf(view, agentId);
    return agent !== undefined && !isInBackground(view, agent);
  });
  return cutOff(view, waitedFor);
}

/**
 * Notes that no process has the session open anymore. Agents without a recorded end are considered cut off until they
 * are resumed.
 */
export function sessionClosed(view: SessionView): SessionView {
  return cutOff(view, view.running);
}

function cutOff(view: SessionView, agentIds: readonly AgentId[]): SessionView {
  return agentIds.reduce((next, agentId) => {
    // Cutting off a child may have changed the agent.
    const before = agentOf(next, agentId);
    if (before === undefined) return next;
    const after = { ...withoutLive(before), isCutOff: true } as const;
    return withRunning(withAgents(next, [after]), { before, after });
  }, view);
}

function isInBackground(view: SessionView, { path, background }: AgentView): boolean {
  return background || path.some((agentId) => agentOf(view, agentId)?.background === true);
}

/**
 * Keeps all of an agent's items from now on. Items that were dropped before are restored from `lines`, the lines of its
 * transcript.
 */
export function openAgent(view: SessionView, agentId: AgentId, lines: readonly Line[] = []): SessionView {
  const agent = agentOf(view, agentId);
  if (agent === undefined) return view;
  const opened: AgentView = { ...agent, isOpened: true };
  const { agentType, path, startedAt, dropped } = agent;
  const empty: AgentView = { ...newAgentView({ agentId, agentType, path, startedAt }), isOpened: true };
  const { items } = dropped === 0 ? empty : lines.reduce((before, line) => foldAgent(before, line, view), empty);
  // Without all of the dropped items, the list would have a gap.
  if (items.length < dropped) return withAgents(view, [opened]);
  const whole = listOf([...elements(items, 0, dropped), ...elements(agent.items)]);
  return withAgents(view, [{ ...opened, items: whole, dropped: 0 }]);
}

/** Goes back to keeping only an agent's last items, if the number of items is limited. */
export function closeAgent(view: SessionView, agentId: AgentId): SessionView {
  const agent = agentOf(view, agentId);
  if (agent === undefined) return view;
  return withAgents(view, [{ ...agent, ...withinBounds({ ...agent, isOpened: undefined }, view.keep) }]);
}

/**
 * Notes that live events have been arriving over a new connection since `connectedAt`, in milliseconds since 1970. From
 * then on, parts of the text that is being written may be missing.
 */
export function reconnected(view: SessionView, connectedAt: number): SessionView {
  const drafted = [...elements(view.agents)].filter(({ draft }) => draft !== undefined);
  const partial = drafted.map(
    (agent): AgentView => ({ ...agent, draft: agent.draft && { ...agent.draft, isPartial: true } }),
  );
  return withAgents({ ...view, connectedAt }, partial);
}
