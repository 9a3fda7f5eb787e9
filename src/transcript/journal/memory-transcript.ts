import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { formatBytes, monotonic, nearest, newSessionId, UserError } from "../../lib/index.ts";
import type { Transcript } from "../../ports/index.ts";
import { type AgentId, type Line, MAIN_AGENT, parseAddress, resultAddress } from "../../protocol/index.ts";
import { createFeed } from "../feed/feed.ts";
import { lastSeq } from "../feed/session-lines.ts";
import { hashHead } from "./heads.ts";
import { resultName } from "./result-store.ts";
import type { TranscriptOptions } from "./transcript.ts";

export interface MemoryTranscriptOptions extends Partial<Pick<TranscriptOptions, "sessionId" | "clock">> {
  /** Each agent's lines so far. The oldest agent must come first. New lines continue the numbering. */
  readonly lines?: Iterable<readonly [AgentId, readonly Line[]]> | undefined;
}

/**
 * Creates a transcript that exists only in this process, for a read-only state directory and for tests. Replace some of
 * its methods to store a session elsewhere.
 *
 * ```ts
 * const session = await openSession({ transcript: createMemoryTranscript() });
 * ```
 */
export function createMemoryTranscript(options: MemoryTranscriptOptions = {}): Transcript {
  const { sessionId = newSessionId(), clock = { now: Date.now, monotonic }, lines: earlier = [], ...unknown } = options;
  refuseUnknown(Object.keys(unknown));
  const agents = new Map<AgentId, Line[]>([...earlier].map(([agentId, lines]) => [agentId, [...lines]]));
  const heads = new Map<string, string>();
  const results = new Map<string, Uint8Array>();
  let closed = false;
  const known = [...agents.values()].flat();
  // Earlier versions wrote lines without numbers, which are numbered in order.
  let seq = lastSeq(known) || known.length;
  const source = {
    agents: async () => [...agents.keys()].filter((agentId) => agentId !== MAIN_AGENT),
    read: async (agentId: AgentId) => [...(agents.get(agentId) ?? [])],
  };
  const feed = createFeed(source);
  const saveResult = (id: string, bytes: Uint8Array): string => {
    const name = resultName(id);
    results.set(name, bytes);
    return resultAddress(name);
  };

  return {
    ...source,
    feed,
    sessionId,
    path: undefined,
    inboxPath: undefined,
    problems: [],
    leftOpen: false,
    results: {
      save: async (id, content) => saveResult(id, Buffer.from(content as string)),
      saveFile: async (id, path, { whole = false } = {}) => saveResult(id, await readStart(path, whole)),
      async read(address) {
        const parsed = parseAddress(address);
        const bytes = parsed?.kind === "result" ? results.get(parsed.id) : undefined;
        return bytes && inOneChunk(bytes);
      },
    },
    async append(agentId, events) {
      if (closed) throw new Error(`The session ${sessionId} is closed; nothing can be appended.`);
      const lines = agents.get(agentId) ?? [];
      const before = lines.length;
      const at = clock.now();
      // Events are copied through JSON, so that later changes to an event do not change the record.
      const added = events.map((event, index): Line => {
        const last = before + index;
        const parentId = last === 0 ? null : String(last);
        const line = { v: 1, id: String(last + 1), parentId, seq: seq + index + 1, at, ...event };
        return JSON.parse(JSON.stringify(line));
      });
      lines.push(...added);
      agents.set(agentId, lines);
      seq += added.length;
      feed.publish(agentId, added);
      return added;
    },
    async sync() {},
    syncSoon() {},
    output: () => undefined,
    async saveHead(head) {
      const { hash, json } = hashHead(head);
      heads.set(hash, json);
      return hash;
    },
    async loadHead(hash) {
      const json = heads.get(hash);
      return json === undefined ? undefined : JSON.parse(json);
    },
    async close() {
      closed = true;
      feed.close();
    },
  };
}

/** Maximum size of a file to keep in memory for the rest of the session. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

async function readStart(path: string, whole: boolean): Promise<Uint8Array> {
  const { size } = await stat(path);
  if (whole && size > MAX_FILE_BYTES) throw new Error(`${path} is too large to be kept in memory`);
  const chunks: Buffer[] = await createReadStream(path, { end: MAX_FILE_BYTES - 1 }).toArray();
  if (size <= MAX_FILE_BYTES) return Buffer.concat(chunks);
  const note = `\n[Only the first ${formatBytes(MAX_FILE_BYTES)} of ${formatBytes(size)} were kept, because this session stores no files.]\n`;
  return Buffer.concat([...chunks, Buffer.from(note)]);
}

async function* inOneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** Throws a `UserError` for a misspelled option, which programs without type checking may pass. */
function refuseUnknown([name]: readonly string[]): void {
  if (name === undefined) return;
  const known = ["sessionId", "clock", "lines"];
  const [meant] = nearest(name, known);
  const fix = meant === undefined ? `Its options are ${known.join(", ")}.` : `Did you mean ${meant}?`;
  throw new UserError(`createMemoryTranscript has no option "${name}"`, { code: "options", fix, exitCode: 2 });
}
