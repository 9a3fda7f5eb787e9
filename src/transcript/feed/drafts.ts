import type { AgentId, AgentLiveEvent, Line, SessionUpdate } from "../../protocol/index.ts";

/** Maximum number of characters of one response that are kept for later readers. */
const MAX_RESPONSE = 100_000;
/** Maximum number of characters that are kept of all responses together. */
const MAX_TOTAL = 5_000_000;

type Delta = Extract<AgentLiveEvent, { turn: number }>;

interface Draft {
  readonly turn: number;
  readonly parts: Delta[];
  length: number;
}

/**
 * Keeps responses that are being written, so that new readers get them from the beginning. Does not keep a response
 * that is too long.
 */
export class Drafts {
  private readonly drafts = new Map<AgentId, Draft>();
  private total = 0;

  add(agentId: AgentId, event: AgentLiveEvent): void {
    if (event.type === "tool.progressed") return;
    let draft = this.drafts.get(agentId);
    if (draft?.turn !== event.turn) {
      this.remove(agentId);
      draft = { turn: event.turn, parts: [], length: 0 };
      this.drafts.set(agentId, draft);
    }
    const added = event.type === "call.delta" ? event.json.length + event.name.length : event.text.length;
    draft.length += added;
    this.total += added;
    if (draft.length <= MAX_RESPONSE && this.total <= MAX_TOTAL) join(draft.parts, event);
    // The rest is useless without its beginning. The length is kept, so that the response is not stored again.
    else this.empty(draft);
  }

  /** Discards the responses that these lines record or end. */
  record(agentId: AgentId, lines: readonly Line[]): void {
    if (this.drafts.has(agentId) && lines.some(({ type }) => endings.has(type))) this.remove(agentId);
  }

  /** Returns all responses that are being written, as events. */
  updates(): readonly SessionUpdate[] {
    return [...this.drafts].flatMap(([agentId, { parts }]) =>
      parts.map((part, repeated) => ({ agentId, event: { ...part, repeated } })),
    );
  }

  clear(): void {
    this.drafts.clear();
    this.total = 0;
  }

  private empty(draft: Draft): void {
    this.total -= draft.length;
    draft.parts.length = 0;
    draft.length = Number.POSITIVE_INFINITY;
  }

  private remove(agentId: AgentId): void {
    const draft = this.drafts.get(agentId);
    if (draft !== undefined && Number.isFinite(draft.length)) this.total -= draft.length;
    this.drafts.delete(agentId);
  }
}

const endings: ReadonlySet<string> = new Set([
  "model.requested",
  "model.ended",
  "model.failed",
  "model.retried",
  "run.ended",
]);

/** Adds a delta to the part that it continues. */
function join(parts: Delta[], event: Delta): void {
  const index =
    event.type === "call.delta"
      ? parts.findLastIndex((part) => part.type === "call.delta" && part.index === event.index)
      : parts.length - 1;
  const last = parts[index];
  if (last?.type === "call.delta" && event.type === "call.delta")
    parts[index] = { ...last, json: last.json + event.json };
  else if (last !== undefined && last.type !== "call.delta" && event.type === last.type)
    parts[index] = { ...last, text: last.text + event.text };
  else parts.push(event);
}
