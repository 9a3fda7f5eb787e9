import { foldSession, type ViewUpdate } from "./fold-session.ts";
import { foldSpans, noSpans, type Span, type SpanLane, type Spans } from "./fold-spans.ts";
import { foldUsage, noSessionUsage, type SessionUsage } from "./fold-usage.ts";
import { elements, emptyList, emptyMap, type List, push, set } from "./persistent.ts";
import { type AgentView, newSessionView, type SessionView, type ViewOptions } from "./session-view.ts";

/** Everything that a user interface can show about a session: its view, its timeline's spans, and its usage. */
export interface FoldedSession {
  readonly view: SessionView;
  /** Changed in place by `foldAll`. */
  readonly spans: Spans;
  readonly usage: SessionUsage;
}

/** Returns the state of a session before its first update. */
export function newFoldedSession(options: ViewOptions = {}): FoldedSession {
  return { view: newSessionView(options), spans: noSpans(), usage: noSessionUsage };
}

/** Applies an update. An update whose position was already applied changes nothing. */
export function foldAll(folded: FoldedSession, update: ViewUpdate): FoldedSession {
  const { view, spans, usage } = folded;
  if (update.seq !== undefined && update.seq <= view.seq) return folded;
  return {
    view: foldSession(view, update),
    spans: foldSpans(spans, update),
    usage: foldUsage(usage, update),
  };
}

/**
 * Part of a folded session, in the form that a server sends: `view_loading` while it reads the session's files, then
 * `view_started`, the agents in the order of the view, and `view_complete`. The agents' items are not sent; they are
 * treated as dropped and can be restored from an agent's lines.
 */
export type ViewPart =
  /** `events`: number of events read so far. */
  | { readonly type: "view_loading"; readonly events: number }
  | {
      readonly type: "view_started";
      readonly view: Omit<SessionView, "agents" | "indexes" | "keep">;
      readonly usage: SessionUsage;
      readonly spans: Omit<Spans, "lanes" | "version">;
      /** Number of agents that follow. */
      readonly agents: number;
    }
  | { readonly type: "view_agents"; readonly agents: readonly SentAgent[] }
  | { readonly type: "view_complete" };

interface SentAgent {
  readonly agent: Omit<AgentView, "items">;
  readonly lane?: SentLane | undefined;
}

/** A lane as JSON. Open spans are indexes into `spans`. */
interface SentLane {
  readonly spans: SpanLane["spans"];
  readonly open: readonly (readonly [key: string, index: number])[];
  readonly names: readonly (readonly [callId: string, call: Pick<Span, "name" | "target">])[];
}

/** Number of agents in one part. Reading a part must not take longer than a frame. */
const PART = 50;

/** Yields a folded session in parts. All of them must be read before the next update is applied. */
export function* partsOf({ view, spans, usage }: FoldedSession): Generator<ViewPart> {
  const { agents, indexes: _indexes, keep: _keep, ...rest } = view;
  const { lanes, version: _version, ...times } = spans;
  yield { type: "view_started", view: rest, usage, spans: times, agents: agents.length };
  for (let from = 0; from < agents.length; from += PART) {
    const some = [...elements(agents, from, from + PART)];
    yield { type: "view_agents", agents: some.map((agent) => sentAgent(agent, lanes.get(agent.agentId))) };
  }
  yield { type: "view_complete" };
}

function sentAgent({ items, ...agent }: AgentView, lane: SpanLane | undefined): SentAgent {
  const sent = { ...agent, dropped: agent.dropped + items.length, isOpened: undefined };
  if (lane === undefined) return { agent: sent };
  const { spans, open, names } = lane;
  const opened = [...open].map(([key, span]) => [key, spans.lastIndexOf(span)] as const);
  return { agent: sent, lane: { spans, open: opened, names: [...names] } };
}

/** How much of a session's view has arrived. */
export interface ViewProgress {
  /** Number of events that the server has read. */
  readonly events: number;
  /** Number of agents that have arrived. */
  readonly agents: number;
  /** Number of all agents; undefined while the server is reading. */
  readonly allAgents?: number | undefined;
}

/** Reassembles a folded session from its parts. */
export class PartReader {
  progress: ViewProgress = { events: 0, agents: 0 };
  private folded = newFoldedSession();
  private agents: List<AgentView> = emptyList;
  private indexes: SessionView["indexes"] = emptyMap;

  /** Adds a part. Returns the session once it is complete. */
  add(part: ViewPart): FoldedSession | undefined {
    const { view, spans } = this.folded;
    switch (part.type) {
      case "view_loading":
        this.progress = { events: part.events, agents: 0 };
        return undefined;
      case "view_started":
        this.progress = { events: part.view.seq, agents: 0, allAgents: part.agents };
        this.agents = emptyList;
        this.indexes = emptyMap;
        this.folded = {
          view: { ...view, ...part.view },
          spans: { ...noSpans(), ...part.spans, version: 1 },
          usage: part.usage,
        };
        return undefined;
      case "view_agents":
        for (const { agent, lane } of part.agents) {
          this.indexes = set(this.indexes, agent.agentId, this.agents.length);
          this.agents = push(this.agents, { ...agent, items: emptyList });
          if (lane !== undefined) spans.lanes.set(agent.agentId, receivedLane(lane));
        }
        this.progress = { ...this.progress, agents: this.agents.length };
        return undefined;
      case "view_complete":
        return { ...this.folded, view: { ...view, agents: this.agents, indexes: this.indexes } };
    }
  }
}

function receivedLane({ spans, open, names }: SentLane): SpanLane {
  const opened = open.flatMap(([key, index]) => {
    const span = spans[index];
    return span === undefined ? [] : [[key, span] as const];
  });
  return { spans, open: new Map(opened), names: new Map(names) };
}
