import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type AppendFile, describeError, isRecord, openAppendFile, parseJsonLines } from "../lib/index.ts";
import { type CallId, type ToolResult, textResult } from "../protocol/index.ts";
import { SharedWork } from "./shared-work.ts";

/** Outcome of an earlier call. `lost`: it is not known whether the call had an effect. */
export type Recalled = ToolResult | "never begun" | "lost";

interface Entry {
  readonly callId: CallId;
  /** The running call; undefined once it has ended. */
  running?: SharedWork<ToolResult> | undefined;
  /** Position of the result in the file. */
  stored?: Place | undefined;
  /** The result, if it could not be written. */
  unwritten?: ToolResult | undefined;
}

interface Place {
  readonly offset: number;
  readonly length: number;
}

/** Size above which the file is rewritten without the results that are no longer needed. */
const LARGE_BYTES = 4 * 1_024 * 1_024;

/** Maximum number of forgotten calls whose ids are kept. */
const FORGOTTEN_IDS = 10_000;

/**
 * Records a session's calls on a worker: the start of a call before it has an effect, and its result before the result
 * is sent. A call is therefore performed only once, no matter how often it is requested, and its result survives if the
 * worker crashes before the server has recorded it. Only the positions of results are kept in memory.
 */
export class CallLedger {
  private readonly path: string;
  private file: AppendFile;
  private readonly entries = new Map<string, Entry>();
  /** Newest entry of each call. A call is requested again under a new id if a run is continued. */
  private readonly newest = new Map<CallId, Entry>();
  /** Ids of requests and calls whose results were acknowledged, and are therefore no longer stored. */
  private readonly forgotten = new Set<string>();
  private isInterrupted = false;
  /** Whether the ledger existed before, so that a call that is not in it never began. */
  private isComplete: boolean;

  /** Opens a session's ledger, or creates it. Throws if the file can't be written. */
  constructor(path: string) {
    this.path = path;
    this.isComplete = existsSync(path);
    if (this.isComplete) this.load();
    this.file = openAppendFile(path, { createDirectory: true });
  }

  /** Calls whose results have not been acknowledged. */
  get open(): readonly CallId[] {
    return [...this.newest.keys()];
  }

  /**
   * Called when another server opens the session. From then on, every call that a server can ask about is in the
   * ledger.
   */
  reopen(): void {
    this.isComplete = true;
  }

  /** Called when the worker is stopping, before it ends running calls that the server did not ask it to end. */
  interrupt(): void {
    this.isInterrupted = true;
  }

  /**
   * Performs a call. If another request with the same id is already performing the call, waits for its result. Never
   * rejects.
   */
  async perform(
    { id, callId }: { readonly id: string; readonly callId: CallId },
    work: (signal: AbortSignal) => Promise<ToolResult>,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const known = this.entries.get(id);
    if (known) return known.running?.join(signal) ?? this.resultOf(known) ?? goneResult;
    if (this.forgotten.has(id)) return goneResult;
    try {
      this.file.append(line({ started: id, call: callId }));
    } catch (error) {
      return textResult("error", `The call was not started, because it could not be recorded: ${describeError(error)}`);
    }
    const entry: Entry = { callId };
    this.entries.set(id, entry);
    this.newest.set(callId, entry);
    entry.running = new SharedWork(async (own) => {
      const given = await work(own).catch((error: unknown) => textResult("error", describeError(error)));
      const result = this.isInterrupted && given.outcome === "cancelled" ? interruptedResult : given;
      this.finish(id, entry, result);
      return result;
    });
    return entry.running.join(signal);
  }

  /** Returns the outcome of a call. Waits for a call that is running, and cancels it if the signal aborts. */
  async recall(callId: CallId, signal?: AbortSignal): Promise<Recalled> {
    const entry = this.newest.get(callId);
    if (entry) return (await entry.running?.join(signal)) ?? this.resultOf(entry) ?? "lost";
    return this.isComplete && !this.forgotten.has(callId) ? "never begun" : "lost";
  }

  /** Forgets results that the server has recorded. */
  acknowledge(ids: readonly string[]): void {
    for (const id of ids) {
      const entry = this.entries.get(id);
      if (entry === undefined || entry.running) continue;
      this.entries.delete(id);
      this.forgotten.add(id);
      if (this.newest.get(entry.callId) !== entry) continue;
      this.newest.delete(entry.callId);
      this.forgotten.add(entry.callId);
    }
    for (const id of this.forgotten) {
      if (this.forgotten.size <= FORGOTTEN_IDS) break;
      this.forgotten.delete(id);
    }
    if (this.file.size > LARGE_BYTES && this.resultBytes * 2 <= this.file.size) this.rewrite();
  }

  /** Size of the results in the file that are still needed. */
  private get resultBytes(): number {
    let bytes = 0;
    for (const { stored } of this.entries.values()) bytes += stored?.length ?? 0;
    return bytes;
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  async remove(): Promise<void> {
    await this.close();
    rmSync(this.path, { force: true });
  }

  private finish(id: string, entry: Entry, result: ToolResult): void {
    const text = line({ ended: id, result });
    try {
      this.file.append(text);
      const length = Buffer.byteLength(text);
      entry.stored = { offset: this.file.size - length, length };
    } catch {
      // The result can still be sent, but after a crash the call is treated as lost.
      entry.unwritten = result;
    }
    entry.running = undefined;
  }

  private resultOf({ stored, unwritten }: Entry): ToolResult | undefined {
    if (stored === undefined) return unwritten;
    try {
      return JSON.parse(this.textAt(stored)).result;
    } catch {
      return undefined;
    }
  }

  private textAt({ offset, length }: Place): string {
    const descriptor = openSync(this.path, "r");
    try {
      const bytes = Buffer.alloc(length);
      readSync(descriptor, bytes, 0, length, offset);
      return bytes.toString("utf8");
    } finally {
      closeSync(descriptor);
    }
  }

  /** Reads the lines from earlier processes. Calls that these processes started but did not end are lost. */
  private load(): void {
    for (const { value, offset, text } of parseJsonLines(readFileSync(this.path)).records) {
      if (!isRecord(value)) continue;
      const { started, call, ended, forgotten } = value;
      if (typeof started === "string" && typeof call === "string") {
        const entry: Entry = { callId: call };
        this.entries.set(started, entry);
        this.newest.set(call, entry);
      }
      const entry = typeof ended === "string" ? this.entries.get(ended) : undefined;
      if (entry) entry.stored = { offset, length: Buffer.byteLength(text) };
      if (Array.isArray(forgotten)) for (const id of forgotten) this.forgotten.add(String(id));
    }
  }

  private rewrite(): void {
    const texts: string[] = [];
    const places = new Map<Entry, Place>();
    let offset = 0;
    const add = (value: object): Place => {
      const text = line(value);
      const place = { offset, length: Buffer.byteLength(text) };
      texts.push(text);
      offset += place.length;
      return place;
    };
    add({ forgotten: [...this.forgotten] });
    for (const [id, entry] of this.entries) {
      add({ started: id, call: entry.callId });
      const result = this.resultOf(entry);
      if (result !== undefined) places.set(entry, add({ ended: id, result }));
    }
    if (offset * 2 > this.file.size) return;
    try {
      const next = `${this.path}.new`;
      writeFileSync(next, texts.join(""), { mode: 0o600 });
      renameSync(next, this.path);
    } catch {
      return;
    }
    void this.file.close();
    this.file = openAppendFile(this.path);
    for (const [entry, place] of places) entry.stored = place;
  }
}

/** Returns the outcome of a call in a session that is not open. */
export async function recallFromFile(path: string, callId: CallId): Promise<Recalled> {
  if (!existsSync(path)) return "lost";
  const ledger = new CallLedger(path);
  try {
    return await ledger.recall(callId);
  } finally {
    await ledger.close();
  }
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

const interruptedResult = textResult(
  "unknown",
  "Outcome unknown: the worker was stopped while this call was running. The call may or may not have taken effect. Check before you repeat it.",
);

const goneResult = textResult("unknown", "Outcome unknown: the worker no longer has the result of this call.");
