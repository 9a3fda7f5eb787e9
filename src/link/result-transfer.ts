import { setTimeout as wait } from "node:timers/promises";
import { createId, formatCount, UserError } from "../lib/index.ts";
import type { ResultStore } from "../ports/index.ts";
import type { Link } from "./link.ts";
import {
  PART_CHARACTERS,
  type ReadPart,
  type ReadText,
  type SavedPart,
  type SavePart,
  type SessionRef,
} from "./protocol.ts";

/** Code of the error that a server returns for a session that it does not have open. */
export const UNKNOWN_SESSION = "unknown_session";

/** Time for which a worker waits until a server that was replaced has opened the session again. */
const REOPEN_MS = 30_000;

export interface RemoteResultsOptions {
  readonly link: Link;
  /** Returns the session as it is open now. */
  ref(): SessionRef;
}

/** Creates the store of a session's long results on a worker. It sends them to the server in parts. */
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

  return {
    save: async (id, text) => {
      const transfer = createId();
      const count = Math.max(1, Math.ceil(text.length / PART_CHARACTERS));
      for (let part = 0; ; ) {
        const from = part * PART_CHARACTERS;
        const sent: Omit<SavePart, keyof SessionRef> = {
          transfer,
          id,
          part,
          isLast: part === count - 1,
          text: text.slice(from, from + PART_CHARACTERS),
        };
        const saved = await request<SavedPart>("results/save", sent);
        if ("address" in saved) return saved.address;
        part = saved.next;
      }
    },
    read: async (address) => {
      const transfer = createId();
      const parts: string[] = [];
      for (let from = 0; ; ) {
        const asked: Omit<ReadPart, keyof SessionRef> = { transfer, address, from };
        const read = await request<ReadText>("results/read", asked);
        if (read === undefined) return undefined;
        parts.push(read.text);
        if (read.isLast) return parts.join("");
        from += read.text.length;
      }
    },
  };
}

/** Maximum number of parts of a text. */
const PARTS = 1_024;

/** Number of texts that can be under way at the same time. The oldest is given up when there are more. */
const TRANSFERS = 1_000;

interface Transfer {
  readonly parts: string[];
  /** Set when all parts have arrived, to the address of the text. */
  saved?: Promise<string> | undefined;
}

/** The server's end: stores the texts that arrive in parts, and returns stored texts in parts. */
export class ResultTransfers {
  private readonly store: ResultStore;
  private readonly saves = new Map<string, Transfer>();
  private readonly reads = new Map<string, Promise<string | undefined>>();

  constructor(store: ResultStore) {
    this.store = store;
  }

  async save({ transfer, id, part, isLast, text }: SavePart): Promise<SavedPart> {
    if (part >= PARTS) throw new Error(`The text has more than ${formatCount(PARTS * PART_CHARACTERS)} characters.`);
    const known = this.saves.get(transfer) ?? { parts: [] };
    keep(this.saves, transfer, known);
    const { parts } = known;
    if (known.saved === undefined && part === parts.length) {
      parts.push(text);
      if (isLast) known.saved = this.store.save(id, parts.splice(0).join(""));
    }
    // A part may be sent again, or belong to a text whose first parts another server has received.
    return known.saved && isLast ? { address: await known.saved } : { next: parts.length };
  }

  async read({ transfer, address, from }: ReadPart): Promise<ReadText> {
    const reading = this.reads.get(transfer) ?? this.store.read(address);
    keep(this.reads, transfer, reading);
    const text = await reading;
    if (text === undefined) return undefined;
    const part = text.slice(from, from + PART_CHARACTERS);
    const isLast = from + part.length >= text.length;
    if (isLast) this.reads.delete(transfer);
    return { text: part, isLast };
  }
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > TRANSFERS && oldest !== undefined) map.delete(oldest);
}
