import { Chain, type WrittenPrompt } from "../../conversation/index.ts";
import { fold, initialState, type LoopState, recovery, userTurn } from "../../loop/index.ts";
import type { Checkpoint, Journal } from "../../ports/index.ts";
import type {
  AgentId,
  AssistantBlock,
  DurableEvent,
  EndReason,
  ForkOrigin,
  Head,
  Line,
  LineId,
  RunId,
  UserMessage,
} from "../../protocol/index.ts";
import { type Past, readPast } from "./fork-past.ts";
import { RecordQueue } from "./record-queue.ts";
import { FORMAT, isOfThisFormat, type ThreadFacts } from "./thread-facts.ts";

/**
 * One agent's life: its journal, and what follows from it (loop state, conversation). Nothing changes here
 * except by an event that was written first, so reading the journal again gives the same thread.
 */
export class Thread {
  readonly agentId: AgentId;
  private readonly journal: Journal;
  /** Told of every request, of restored ones too. */
  private readonly onRequest: ((prompt: WrittenPrompt) => void) | undefined;
  private readonly heads = new Map<string, Head>();
  private current: LoopState = initialState;
  private chain: Chain | undefined;
  private head: string | undefined;
  private prompt: WrittenPrompt | undefined;
  private ended: EndReason | undefined;
  private type: string | undefined;
  private lines = 0;
  private answer: LineId | undefined;
  private before: "same" | "changed" | "lost" | undefined;
  private isAtFork = false;
  private inherited = 0;
  private readonly kept = new Set<RunId>();
  private readonly queue: RecordQueue<LoopState>;

  constructor(agentId: AgentId, journal: Journal, onRequest?: (prompt: WrittenPrompt) => void) {
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

  /** The newest request; before the first that of the conversation it goes on from, if any. */
  get newestPrompt(): WrittenPrompt | undefined {
    return this.prompt;
  }

  /** The conversation without what the next request will add; undefined before the head is set. */
  get conversation(): Chain | undefined {
    return this.chain;
  }

  get headHash(): string | undefined {
    return this.head;
  }

  get isNew(): boolean {
    return this.lines === 0;
  }

  /** How the newest run ended. */
  get lastEnd(): EndReason | undefined {
    return this.ended;
  }

  /** Runs of which no line says that what was made for them is gone. */
  get uncleaned(): readonly RunId[] {
    return [...this.kept];
  }

  /** Who worked in the newest run. */
  get agentType(): string | undefined {
    return this.type;
  }

  /** Of the newest answer. */
  get answerLine(): LineId | undefined {
    return this.answer;
  }

  /** Whether the conversation that this one goes on from is what it was then; undefined: it goes on from none. */
  get past(): "same" | "changed" | "lost" | undefined {
    return this.before;
  }

  /** Made in this conversation, also by who it comes from: by their number its calls are told apart. */
  get requests(): number {
    return this.inherited + this.current.turn;
  }

  /** Goes on from another conversation. For a new thread, before its first line. */
  inherit({ chain, headHash, prompt, requests, isSame }: Past): void {
    this.chain = chain;
    this.head = headHash;
    this.prompt = prompt;
    this.inherited = requests;
    this.before = isSame ? "same" : "changed";
    this.isAtFork = true;
  }

  /**
   * Folds what the journal holds, and ends the run that an earlier process left open. Returns the lines that this adds.
   * `lines` are all lines of the journal, if the caller has read them already.
   */
  async restore(lines?: readonly Line[]): Promise<readonly Line[]> {
    const { agentId, journal } = this;
    // A listener has to see every request, so all lines are read for it.
    const kept = this.onRequest || lines ? undefined : journal.checkpoints?.take(agentId);
    const isTakenUp = kept !== undefined && (await this.takeUp(kept.checkpoint));
    await this.replay(isTakenUp ? kept.lines : (lines ?? (await journal.read(agentId))));
    const left = recovery(this.current);
    return left.length > 0 ? this.record(left) : [];
  }

  private async replay(lines: readonly Line[]): Promise<this> {
    const open = openRun(lines);
    const newest = lines.findLastIndex(({ type }) => type === "model.ended");
    for (const [index, line] of lines.entries()) {
      if (line.type === "agent.created" && line.fork) await this.inheritFrom(line.fork);
      if (line.type === "head.set") await this.loadHead(line.hash);
      // What a run counts is gone with its end: those that ended need not be counted again.
      const isOver = line.type === "run.started" ? line !== open : index < newest && passing.has(line.type);
      if (isOver) this.pass(line);
      else this.apply(line, line.id);
    }
    return this;
  }

  private async inheritFrom(origin: ForkOrigin): Promise<void> {
    const { journal } = this;
    const past = await readPast(origin, journal, (agentId, lines) => new Thread(agentId, journal).replay(lines));
    if (past) this.inherit(past);
    else this.before = "lost";
  }

  /** Spares the next process the reading of a long life. */
  keep(): void {
    this.journal.checkpoints?.keep(this.agentId, () => this.checkpoint());
  }

  /** Undefined in the middle of a run, and where there is more to know than a checkpoint says. */
  private checkpoint(): { readonly facts: ThreadFacts; readonly bytes: readonly Uint8Array[] } | undefined {
    const { head, ended, type, lines, answer } = this;
    if (this.current.run || head === undefined || this.before !== undefined) return undefined;
    const packed = this.chain?.pack(this.prompt);
    if (packed === undefined) return undefined;
    const kept = [...this.kept];
    const state = this.current;
    const facts = { format: FORMAT, state, head, ended, type, lines, answer, kept, chain: packed.facts } as const;
    return { facts, bytes: packed.bytes };
  }

  private async takeUp({ facts, bytes }: Checkpoint): Promise<boolean> {
    if (!isOfThisFormat(facts)) return false;
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
    for (const runId of facts.kept) this.kept.add(runId);
    return true;
  }

  /** When all that was made for its runs is gone. */
  async clean(): Promise<void> {
    const cleaned = this.uncleaned.map((runId): DurableEvent => ({ type: "run.cleaned", runId }));
    if (cleaned.length > 0) await this.record(cleaned);
  }

  /** Stores the head and gives its hash, for a `head.set`. */
  async keepHead(head: Head): Promise<string> {
    const hash = await this.journal.saveHead(head);
    if (!this.heads.has(hash)) this.heads.set(hash, head);
    return hash;
  }

  /** Journal first, then the fold. Batches of several callers are written whole, one after the other. */
  record(events: readonly DurableEvent[]): Promise<readonly Line[]> {
    // Without a condition there are always lines.
    return this.queue.record(undefined, events) as Promise<readonly Line[]>;
  }

  /** Undefined, and nothing recorded, when the state does not allow it once its turn to be written has come. */
  recordIf(
    allows: (state: LoopState) => boolean,
    events: readonly DurableEvent[],
  ): Promise<readonly Line[] | undefined> {
    return this.queue.record(allows, events);
  }

  /** Resolves when all that was recorded so far survives a power cut. */
  sync(): Promise<void> {
    return this.journal.sync(this.agentId);
  }

  /** For whom nobody waits. */
  syncSoon(): void {
    this.journal.syncSoon(this.agentId);
  }

  private async loadHead(hash: string): Promise<void> {
    if (this.heads.has(hash)) return;
    const head = await this.journal.loadHead(hash);
    if (head) this.heads.set(hash, head);
  }

  /** What counts of a line in any case. */
  private pass(event: DurableEvent): void {
    this.lines += 1;
    if (event.type === "run.ended") this.ended = event.reason;
    if (event.type === "run.cleaned") this.kept.delete(event.runId);
    if (event.type !== "run.started") return;
    this.type = event.agentType;
    this.kept.add(event.runId);
  }

  private apply(event: DurableEvent, id: LineId | undefined): void {
    this.pass(event);
    if (event.type === "model.ended") this.answer = id;
    this.converse(event);
    this.current = fold(this.current, event);
  }

  /** What an event adds to the conversation. Runs before the fold: a request seals the turn that led to it. */
  private converse(event: DurableEvent): void {
    if (event.type === "head.set") {
      // A fork stands on the head of who it comes from, marks and all.
      if (event.hash === this.head) return;
      const head = this.heads.get(event.hash) ?? lostHead;
      this.chain = this.chain ? this.chain.withHead(head) : new Chain(head);
      this.head = head === lostHead ? undefined : event.hash;
      return;
    }
    // A damaged transcript may have lost the line that sets the head.
    this.chain ??= new Chain(lostHead);
    const { chain } = this;
    if (event.type === "model.requested") {
      this.sealTurn(chain);
      if (this.isAtFork) chain.markForkPoint();
      this.isAtFork = false;
      this.prompt = chain.request();
      this.onRequest?.(this.prompt);
    } else if (event.type === "model.ended") {
      // Nothing is left to seal here unless a damaged transcript has lost the request: no call may stay without a result.
      // Words that came while the model answered belong to the next turn.
      if (!this.current.unanswered) this.sealTurn(chain);
      if (chain.length === 0) chain.append(lostWords);
      chain.append(event.message);
    } else if (event.type === "model.failed") {
      const text = event.partial.filter(hasText);
      if (text.length > 0) chain.append({ role: "assistant", content: text });
    } else if (event.type === "conversation.compacted") {
      this.chain = chain.compact(event.summary, event.kept).chain;
    }
  }

  private sealTurn(chain: Chain): void {
    const turn = userTurn(this.current);
    if (turn) chain.append(turn);
  }
}

/**
 * They say how far a call of the newest answer has come; of older answers only the results count. Loops are counted by
 * them too, but a restored run is ended, and the next run starts a new count.
 */
const passing = new Set<string>(["tool.requested", "tool.started", "approval.requested", "approval.answered"]);

/** The beginning of the run that has no end. */
function openRun(lines: readonly Line[]): Line | undefined {
  const last = lines.findLast(({ type }) => type === "run.started" || type === "run.ended");
  return last?.type === "run.started" ? last : undefined;
}

function hasText(block: AssistantBlock): boolean {
  return block.type === "text" && block.text.trim() !== "";
}

/** A conversation begins with a user's words; a damaged transcript may have lost them. */
const lostWords: UserMessage = {
  role: "user",
  content: [{ type: "text", text: "[What was said here is lost: the transcript is damaged.]" }],
};

/** Stands in for a head that is gone from the disk: its bytes are lost, the words spoken under it are not. */
const lostHead: Head = {
  provider: "lost",
  model: "lost",
  dialect: "anthropic",
  tools: [],
  system: "",
  systemContext: "",
  userContext: "",
};
