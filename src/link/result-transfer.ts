import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { createId, formatCount, UserError } from "../lib/index.ts";
import type { ResultStore } from "../ports/index.ts";
import type { Link } from "./link.ts";
import { PART_CHARACTERS, type SavedPart, type SavePart, type SessionRef } from "./protocol.ts";

/** Code of the error that a server returns for a session that it does not have open. */
export const UNKNOWN_SESSION = "unknown_session";

/** Maximum time that a worker waits for a replaced server to open the session again. */
const REOPEN_MS = 30_000;

export interface RemoteResultsOptions {
  readonly link: Link;
  /** Returns the session and its current lease. */
  ref(): SessionRef;
}

/** Creates the worker's store for a session's long results, which sends them to the server in parts. */
export function createRemoteResults({ link, ref }: RemoteResultsOptions): ResultStore {
  async function request<Answer>(method: string, parameters: object): Promise<Answer> {
    for (const deadline = performance.now() + REOPEN_MS; ; await wait(100)) {
      try {
        return await link.request<Answer>(method, { ...ref(), ...parameters });
      } catch (error) {
        const mayReopen = error instanceof UserError && error.code === UNKNOWN_SESSION;
        if (!mayReopen || performance.now() > deadline) throw error;
      }
    }
  }

  async function send(id: string, source: PartSource): Promise<string> {
    const transfer = createId();
    for (let part = 0; ; ) {
      const sent: Omit<SavePart, keyof SessionRef> = { transfer, id, part, ...(await source(part)) };
      const saved = await request<SavedPart>("results/save", sent);
      if ("address" in saved) return saved.address;
      part = saved.next;
    }
  }

  return {
    save: (id, content) => send(id, typeof content === "string" ? partsOf(content) : partsOfBytes(content)),
    saveFile: async (id, path) => {
      const file = await open(path);
      try {
        return await send(id, partsOfFile(file));
      } finally {
        await file.close();
      }
    },
  };
}

/** Returns a part of the text by its number. Parts up to the last one that was returned can be requested again. */
type PartSource = (part: number) => SourcePart | Promise<SourcePart>;

type SourcePart = Pick<SavePart, "text" | "isLast" | "isBase64">;

function partsOf(text: string): PartSource {
  const count = Math.max(1, Math.ceil(text.length / PART_CHARACTERS));
  return (part) => {
    const from = part * PART_CHARACTERS;
    return { text: text.slice(from, from + PART_CHARACTERS), isLast: part === count - 1 };
  };
}

/** Number of bytes in a part of a file, which are `PART_CHARACTERS` characters in base64. */
const PART_BYTES = (PART_CHARACTERS / 4) * 3;

function partsOfBytes(bytes: Uint8Array): PartSource {
  return (part) => inBase64(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES));
}

/** Reads the parts of a file, which must not change. */
function partsOfFile(file: FileHandle): PartSource {
  return async (part) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(PART_BYTES), 0, PART_BYTES, part * PART_BYTES);
    return inBase64(buffer.subarray(0, bytesRead));
  };
}

function inBase64(bytes: Uint8Array): SourcePart {
  return { text: Buffer.from(bytes).toString("base64"), isBase64: true, isLast: bytes.length < PART_BYTES };
}

/** Maximum number of parts per transfer. */
const PARTS = 1_024;

/** Maximum total length in characters of a session's incomplete transfers. */
const HELD = 512 * 1_024 * 1_024;

/** Maximum number of concurrent transfers. When another transfer begins, the oldest one is dropped. */
const TRANSFERS = 1_000;

interface Transfer {
  readonly parts: string[];
  /** Address of the text. Set when all parts have arrived. */
  saved?: Promise<string> | undefined;
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, "base64");
}

/** The server's end: stores text that arrives in parts. */
export class ResultTransfers {
  private readonly store: ResultStore;
  private readonly saves = new Map<string, Transfer>();
  /** Total length in characters of incomplete transfers. */
  private held = 0;

  constructor(store: ResultStore) {
    this.store = store;
  }

  async save({ transfer, id, part, isLast, text, isBase64 }: SavePart): Promise<SavedPart> {
    const problem = this.problemOf(part, text);
    if (problem !== undefined) {
      // The sender stops sending this text when it gets the error.
      this.drop(transfer);
      throw new Error(problem);
    }
    const known = this.saves.get(transfer) ?? { parts: [] };
    this.saves.set(transfer, known);
    const [oldest] = this.saves.keys();
    if (this.saves.size > TRANSFERS && oldest !== undefined) this.drop(oldest);
    const { parts } = known;
    if (known.saved === undefined && part === parts.length) {
      parts.push(text);
      this.held += text.length;
      if (isLast) {
        const all = parts.splice(0);
        for (const { length } of all) this.held -= length;
        known.saved = this.store.save(id, isBase64 ? Buffer.concat(all.map(fromBase64)) : all.join(""));
      }
    }
    // A part may have been sent before, or may belong to a transfer that began on another server.
    return known.saved && isLast ? { address: await known.saved } : { next: parts.length };
  }

  private problemOf(part: number, text: string): string | undefined {
    if (part >= PARTS) return `The text has more than ${formatCount(PARTS * PART_CHARACTERS)} characters.`;
    if (typeof text !== "string" || text.length > PART_CHARACTERS)
      return `A part may have at most ${formatCount(PART_CHARACTERS)} characters.`;
    return this.held + text.length > HELD ? "Too much text is being sent at the same time." : undefined;
  }

  private drop(transfer: string): void {
    for (const text of this.saves.get(transfer)?.parts ?? []) this.held -= text.length;
    this.saves.delete(transfer);
  }
}
