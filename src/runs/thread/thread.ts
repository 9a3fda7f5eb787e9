import { Chain, type PackedChain, SERIALIZER_VERSION, type WrittenPrompt } from "../../conversation/index.ts";
import {
  fold,
  foldPast,
  initialState,
  type LoopState,
  type RecalledCalls,
  recovery,
  rewound,
  startedCalls,
  userTurn,
} from "../../loop/index.ts";
import type { Checkpoint, Journal, ToolExecutor } from "../../ports/index.ts";
import {
  type AgentId,
  type AssistantBlock,
  type DurableEvent,
  type EndReason,
  type EventOf,
  type ForkOrigin,
  type Head,
  type Line,
  type LineId,
  MAIN_AGENT,
  type RunId,
  runtimeText,
  type ToolCall,
  type UserMessage,
} from "../../protocol/index.ts";
import { type Past, readPast } from "./fork-past.ts";
import { RecordQueue } from "./record-queue.ts";

/**
 * Version of the checkpoint format. Increase it whenever the contents of a checkpoint or the folding of lines change,
 * so that older checkpoints are ignored. A test pins the contents.
 */
const FORMAT = 11;

/** The part of a thread that a checkpoint stores as JSON. The bytes of the conversation are stored separately. */
interface ThreadFacts {
  readonly format: typeof FORMAT;
  readonly state: LoopState;
  readonly head: string;
  readonly ended: EndReason | undefined;
  readonly type: string | undefined;
  readonly lines: number;
  readonly answer: LineId | undefined;
  readonly serializer: number | undefined;
  readonly drops: number;
  readonly kept: readonly RunId[];
  readonly chain: PackedChain["facts"];
}

/** A conversation as it was before a run. */
interface Moment {
  readonly state: LoopState;
  readonly chain: Chain | undefined;
  readonly head: string | undefined;
  readonly prompt: WrittenPrompt | undefined;
  readonly answer: LineId | undefined;
  readonly drops: number;
}

export type Recall = NonNullable<ToolExecutor["recall"]>;

export interface RestoreOptions {
  readonly lines?: readonly Line[] | undefined;
  readonly recall?: Recall | undefined;
}

/**
 * The journal of one agent and what is derived from it: the loop state and the conversation. A thread changes only
 * through events that were written first, so reading the journal again gives the same thread.
 */
export class Thread {
  readonly agentId: AgentId;
  private readonly journal: Journal;
  /** Called for every request, including restored ones. `isRepeated`: the prompt replaces that of the last request. */
  private readonly onRequest: ((prompt: WrittenPrompt, isRepeated: boolean) => void) | undefined;
  private readonly heads = new Map<string, Head>();
  private current: LoopState = initialState;
  private chain: Chain | undefined;
  private head: string | undefined;
  private prompt: WrittenPrompt | undefined;
  private ended: EndReason | undefined;
  private type: string | undefined;
  private lines = 0;
  /** Whether a line has been passed to the journal, which may not have written it yet. */
  private isBegun = false;
  private answer: LineId | undefined;
  /** Version of the serializer that has produced the bytes since thinking was last dropped. */
  private serializer: number | undefined;
  /** Number of times that thinking was dropped. */
  private drops = 0;
  /** Whether thinking from earlier processes may follow other bytes than those that it was written after. */
  private isUncertain = false;
  private pastState: "same" | "changed" | "lost" | undefined;
  /** Whether the next request is the first one of a fork. */
  private isAtFork = false;
  private inheritedRequests = 0;
  private readonly uncleanedRuns = new Set<RunId>();
  /**
   * Conversations as they were before the runs that the user went back to. The key is the id of the run's `run.started`
   * line.
   */
  private readonly earlier = new Map<LineId, Moment>();
  private readonly queue: RecordQueue<LoopState>;

  constructor(agentId: AgentId, journal: Journal, onRequest?: (prompt: WrittenPrompt, isRepeated: boolean) => void) {
    this.agentId = agentId;
    this.journal = journal;
    this.onRequest = onRequest;
    this.queue = new RecordQueue({
      state: () => this.current,
      append: (events) => journal.append(agentId, events),
      apply: (event, line) => this.apply(event, line?.id),
    });
  }

  get state(): LoopState {
    return this.current;
  }

  /** Newest request. Before a fork's first request, the newest request in the conversation that the fork continues. */
  get newestPrompt(): WrittenPrompt | undefined {
    return this.prompt;
  }

  /** Conversation up to the newest response. Undefined before the head is set. */
  get conversation(): Chain | undefined {
    return this.chain;
  }

  get headHash(): string | undefined {
    return this.head;
  }

  /** Whether nothing has been recorded or is being recorded. */
  get isEmpty(): boolean {
    return this.lines === 0 && !this.isBegun;
  }

  /** Whether the agent has had no run. */
  get isNew(): boolean {
    return this.type === undefined;
  }

  /** Whether the agent has received nothing yet, or the user has gone back to the beginning. */
  get hasNoConversation(): boolean {
    return (this.chain?.length ?? 0) === 0 && this.current.said.length === 0;
  }

  /** Reason why the newest run ended. */
  get lastEnd(): EndReason | undefined {
    return this.ended;
  }

  /** Ids of the runs that have no `run.cleaned` line. */
  get uncleaned(): readonly RunId[] {
    return [...this.uncleanedRuns];
  }

  /** Agent type of the newest run. */
  get agentType(): string | undefined {
    return this.type;
  }

  /** Id of the line with the newest response. */
  get answerLine(): LineId | undefined {
    return this.answer;
  }

  /** State of the conversation that this fork continues. Undefined if the agent is not a fork. */
  get past(): "same" | "changed" | "lost" | undefined {
    return this.pastState;
  }

  /** Whether the conversation has thinking whose prefix may have changed since the agent was restored. */
  get hasUncertainThinking(): boolean {
    return this.isUncertain && this.chain?.hasThinking === true;
  }

  /** Number of requests made in this conversation and in those that it continues. The number is part of call ids. */
  get requests(): number {
    return this.inheritedRequests + this.current.turn;
  }

  /** Makes this thread continue another conversation. Called on a new thread, before its first line. */
  inherit({ chain, headHash, prompt, requests, isSame }: Past): void {
    this.chain = chain;
    this.head = headHash;
    this.prompt = prompt;
    this.inheritedRequests = requests;
    this.pastState = isSame ? "same" : "changed";
    this.isAtFork = true;
  }

  /**
   * Folds the journal's lines and ends the run that an earlier process left open. Returns the lines that were added.
   * Pass `lines` if the whole journal has already been read. `recall` looks up calls whose results were not recorded.
   */
  async restore({ lines, recall }: RestoreOptions = {}): Promise<readonly Line[]> {
    const { agentId, journal } = this;
    // `onRequest` must be called for every request, so all lines are read, even if there is a checkpoint.
    const saved = this.onRequest || lines ? undefined : journal.checkpoints?.take(agentId);
    const isRestored =
      saved !== undefined && !goesBackBefore(saved.lines) && (await this.restoreCheckpoint(saved.checkpoint));
    await this.replay(isRestored ? saved.lines : (lines ?? (await journal.read(agentId))));
    this.isUncertain =
      this.pastState === "changed" || (this.serializer !== undefined && this.serializer !== SERIALIZER_VERSION);
    return this.recover(recall);
  }

  /** Ends the run that was left open. Returns the lines that were added. */
  async recover(recall: Recall | undefined): Promise<readonly Line[]> {
    const left = recovery(this.current, recall && (await recallCalls(startedCalls(this.current), recall)));
    return left.length > 0 ? this.record(left) : [];
  }

  private async replay(lines: readonly Line[]): Promise<this> {
    const open = openRun(lines);
    const targets = new Set(lines.flatMap((line) => (line.type === "conversation.rewound" ? [line.line] : [])));
    // If the user went back, the newest response may be an earlier one, so the progress of all calls is folded.
    const newest = targets.size > 0 ? -1 : lines.findLastIndex(({ type }) => type === "model.ended");
    for (const [index, line] of lines.entries()) {
      if (line.type === "agent.created" && line.fork) await this.inheritFrom(line.fork);
      if (line.type === "head.set") await this.loadHead(line.hash);
      if (line.type === "run.started" && targets.has(line.id)) this.earlier.set(line.id, this.moment());
      // The `run.started` line sets the counters of a run, which matter only while the run is open.
      const isOver = line.type === "run.started" ? line !== open : index < newest && progressOfCalls.has(line.type);
      if (isOver) {
        this.note(line);
        this.current = foldPast(this.current, line);
      } else this.apply(line, line.id);
    }
    return this;
  }

  private moment(): Moment {
    const { chain, head, prompt, answer, drops } = this;
    return { state: this.current, chain: chain?.copy(), head, prompt, answer, drops };
  }

  /**
   * Goes back to the conversation before the run with this `run.started` line. `restored` lists the files that were
   * restored. Returns false if there is no such run.
   */
  async rewind(line: LineId, restored: readonly string[]): Promise<boolean> {
    const lines = await this.journal.read(this.agentId);
    const index = lines.findIndex(({ id, type }) => id === line && type === "run.started");
    if (index === -1) return false;
    const earlier = await new Thread(this.agentId, this.journal).replay(lines.slice(0, index));
    this.earlier.set(line, earlier.moment());
    await this.record([{ type: "conversation.rewound", line, restored }]);
    return true;
  }

  private async inheritFrom(origin: ForkOrigin): Promise<void> {
    const { journal } = this;
    const past = await readPast(origin, journal, (agentId, lines) => new Thread(agentId, journal).replay(lines));
    if (past) this.inherit(past);
    else this.pastState = "lost";
  }

  /** Saves a checkpoint, so that the next process does not have to read a long journal. */
  saveCheckpoint(): void {
    this.journal.checkpoints?.keep(this.agentId, () => this.checkpoint());
  }

  /**
   * Creates a checkpoint. Returns undefined during a run, and for forks, because a checkpoint does not contain their
   * past.
   */
  private checkpoint(): { readonly facts: ThreadFacts; readonly bytes: readonly Uint8Array[] } | undefined {
    const { head, ended, type, lines, answer, serializer, drops } = this;
    if (this.current.run || head === undefined || this.pastState !== undefined) return undefined;
    const packed = this.chain?.pack(this.prompt);
    if (packed === undefined) return undefined;
    const kept = [...this.uncleanedRuns];
    const state = this.current;
    const own = { head, ended, type, lines, answer, serializer, drops, kept };
    return { facts: { format: FORMAT, state, ...own, chain: packed.facts } as const, bytes: packed.bytes };
  }

  private async restoreCheckpoint({ facts, bytes }: Checkpoint): Promise<boolean> {
    if (!hasCurrentFormat(facts)) return false;
    await this.loadHead(facts.head);
    const head = this.heads.get(facts.head);
    if (head === undefined) return false;
    const { chain, prompt } = Chain.unpack(head, facts.chain, bytes);
    this.current = { ...initialState, ...facts.state };
    this.chain = chain;
    this.prompt = prompt;
    this.head = facts.head;
    this.ended = facts.ended;
    this.type = facts.type;
    this.lines = facts.lines;
    this.answer = facts.answer;
    this.serializer = facts.serializer;
    this.drops = facts.drops;
    for (const runId of facts.kept) this.uncleanedRuns.add(runId);
    return true;
  }

  /** Records that all resources of the agent's runs are released. */
  async recordCleaned(): Promise<void> {
    const cleaned = this.uncleaned.map((runId): DurableEvent => ({ type: "run.cleaned", runId }));
    if (cleaned.length > 0) await this.record(cleaned);
  }

  /** Stores the head and returns its hash, for a `head.set` event. */
  async keepHead(head: Head): Promise<string> {
    const hash = await this.journal.saveHead(head);
    if (!this.heads.has(hash)) this.heads.set(hash, head);
    return hash;
  }

  /** Returns a head that was stored for this agent. Undefined if it is no longer on disk. */
  async storedHead(hash: string): Promise<Head | undefined> {
    await this.loadHead(hash);
    return this.heads.get(hash);
  }

  /** Writes the events to the journal, then folds them. Events from different calls are never interleaved. */
  record(events: readonly DurableEvent[]): Promise<readonly Line[]> {
    this.isBegun = true;
    // Without a condition, the events are always recorded.
    return this.queue.record(undefined, events) as Promise<readonly Line[]>;
  }

  /** Records events if `allows` returns true when it is their turn. Otherwise returns undefined and records nothing. */
  recordIf(
    allows: (state: LoopState) => boolean,
    events: readonly DurableEvent[],
  ): Promise<readonly Line[] | undefined> {
    return this.queue.record(allows, events);
  }

  /** Resolves when everything recorded so far is safe from a power cut. */
  sync(): Promise<void> {
    return this.journal.sync(this.agentId);
  }

  /** Starts a sync without waiting for it. */
  syncSoon(): void {
    this.journal.syncSoon(this.agentId);
  }

  private async loadHead(hash: string): Promise<void> {
    if (this.heads.has(hash)) return;
    const head = await this.journal.loadHead(hash);
    if (head) this.heads.set(hash, head);
  }

  /** Extracts facts from every line, including lines that are not folded. */
  private note(event: DurableEvent): void {
    this.lines += 1;
    if (event.type === "run.ended") this.ended = event.reason;
    if (event.type === "run.cleaned") this.uncleanedRuns.delete(event.runId);
    if ("serializer" in event) this.serializer = event.serializer;
    if (event.type !== "run.started") return;
    this.type = event.agentType;
    this.uncleanedRuns.add(event.runId);
  }

  private apply(event: DurableEvent, id: LineId | undefined): void {
    this.note(event);
    if (event.type === "model.ended") this.answer = id;
    if (event.type === "conversation.rewound") this.goBackTo(event.line);
    else if (event.type === "thinking.dropped") this.dropThinking(event);
    else this.extendConversation(event);
    this.current = fold(this.current, event);
  }

  /** Restores the conversation before a run. Has no effect if its line is missing from a damaged transcript. */
  private goBackTo(line: LineId): void {
    const earlier = this.earlier.get(line);
    if (earlier === undefined) return;
    this.earlier.delete(line);
    this.chain = this.drops > earlier.drops ? earlier.chain?.withoutThinking() : earlier.chain;
    this.prompt = earlier.prompt;
    this.head = earlier.head;
    this.answer = earlier.answer;
    this.current = rewound(this.current, earlier.state);
  }

  /**
   * Adds an event to the conversation. Called before the event is folded, because a request seals the turn that
   * precedes it.
   */
  private extendConversation(event: DurableEvent): void {
    if (event.type === "session.created") return;
    if (event.type === "head.set") {
      // A fork keeps the head and the cache marks of its origin.
      if (event.hash === this.head) return;
      const head = this.heads.get(event.hash) ?? lostHead;
      this.chain = this.chain ? this.chain.withHead(head) : new Chain(head);
      this.head = head === lostHead ? undefined : event.hash;
      return;
    }
    // In a damaged transcript, the line that sets the head may be missing.
    this.chain ??= new Chain(lostHead);
    const { chain } = this;
    if (event.type === "model.requested") {
      this.sealTurn(chain);
      const isFirstOfSubagent = this.agentId !== MAIN_AGENT && chain.length === 1;
      if (this.isAtFork || isFirstOfSubagent) chain.markSiblings();
      this.isAtFork = false;
      this.prompt = chain.request();
      this.onRequest?.(this.prompt, false);
    } else if (event.type === "model.ended") {
      // Usually the request has sealed the turn. If the request is missing from a damaged transcript, the calls'
      // results must be added here. Prompts that arrived while the model was answering belong to the next turn.
      if (!this.current.unanswered) this.sealTurn(chain);
      if (chain.length === 0) chain.append(lostPrompt);
      chain.append(event.message);
    } else if (event.type === "model.failed") {
      const text = event.partial.filter(hasText);
      if (text.length > 0) chain.append({ role: "assistant", content: text });
    } else if (event.type === "conversation.compacted") {
      this.chain = chain.compact(event.provided?.block ?? event.summary, event.kept).chain;
    }
  }

  private dropThinking({ resends }: EventOf<"thinking.dropped">): void {
    this.drops += 1;
    this.isUncertain = false;
    this.chain = this.chain?.withoutThinking();
    if (resends === undefined || this.chain === undefined) return;
    this.prompt = this.chain.request();
    this.onRequest?.(this.prompt, true);
  }

  private sealTurn(chain: Chain): void {
    const turn = userTurn(this.current);
    if (turn) chain.append(turn);
  }
}

/** Returns the results of the calls that are not lost. */
async function recallCalls(calls: readonly ToolCall[], recall: Recall): Promise<RecalledCalls> {
  const answers = await Promise.all(calls.map(async (call) => [call.callId, await recall(call)] as const));
  return new Map(answers.flatMap(([callId, answer]) => (answer === "lost" ? [] : [[callId, answer]])));
}

/**
 * Events about a call's progress. They matter only for calls in the newest response; older calls need only their
 * results. Loop detection uses these events too, but a restored run is ended, and the next run starts a new count.
 */
const progressOfCalls = new Set<string>(["tool.requested", "tool.started", "approval.requested", "approval.answered"]);

function hasCurrentFormat(facts: unknown): facts is ThreadFacts {
  return (facts as ThreadFacts).format === FORMAT;
}

/** Returns whether the user went back to a run that precedes these lines. */
function goesBackBefore(lines: readonly Line[]): boolean {
  const ids = new Set(lines.map(({ id }) => id));
  return lines.some((line) => line.type === "conversation.rewound" && !ids.has(line.line));
}

/** Returns the `run.started` line of the run that has not ended, if there is one. */
function openRun(lines: readonly Line[]): Line | undefined {
  const last = lines.findLast(({ type }) => type === "run.started" || type === "run.ended");
  return last?.type === "run.started" ? last : undefined;
}

function hasText(block: AssistantBlock): boolean {
  return block.type === "text" && block.text.trim() !== "";
}

/**
 * First message of a conversation whose first prompt is missing from a damaged transcript. A conversation must begin
 * with a user message.
 */
const lostPrompt: UserMessage = {
  role: "user",
  content: [{ type: "text", text: runtimeText("This message is lost because the transcript is damaged.") }],
};

/**
 * Head to use if the actual head is missing from the disk. The messages that were sent with the missing head are kept.
 */
const lostHead: Head = {
  provider: "lost",
  model: "lost",
  dialect: "anthropic",
  tools: [],
  system: "",
  systemContext: "",
  userContext: "",
};
