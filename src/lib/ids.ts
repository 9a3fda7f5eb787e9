import { createHash, randomFillSync } from "node:crypto";

export interface IdSource {
  /** Fills the array with random bytes and returns it. */
  random?: (bytes: Uint8Array) => Uint8Array;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Creates a lower-case ULID (10 characters of time, 16 random characters) after an optional prefix. Ids sort by
 * creation time in milliseconds.
 */
export function createId(prefix = "", { random, now = Date.now }: IdSource = {}): string {
  return prefix + encodeTime(now()) + randomText(16, random);
}

export function newSessionId(source: IdSource = {}): string {
  return createId("", source);
}

/** Creates a short id that is random right after its prefix, because people type only the beginning of an id. */
export function newAgentId({ random }: Pick<IdSource, "random"> = {}): string {
  return `a${randomText(12, random)}`;
}

export function newRunId({ random }: Pick<IdSource, "random"> = {}): string {
  return `r${randomText(12, random)}`;
}

export type IdMatch = { kind: "one"; id: string } | { kind: "none" } | { kind: "many"; ids: string[] };

/**
 * Minimum number of characters for a match at the end of an id. Ids created on the same day share their first
 * characters, so people type the end; anything shorter would match by accident.
 */
export const SHORTEST_END = 4;

/** Finds the ids that start or end with `part`, ignoring case. A complete id matches only itself. */
export function matchId(ids: Iterable<string>, part: string): IdMatch {
  const wanted = part.toLowerCase();
  const maybeEnd = wanted.length >= SHORTEST_END;
  if (wanted === "") return { kind: "none" };
  const found = new Set<string>();
  for (const id of ids) {
    const candidate = id.toLowerCase();
    if (candidate === wanted) return { kind: "one", id };
    if (candidate.startsWith(wanted) || (maybeEnd && candidate.endsWith(wanted))) found.add(id);
  }
  const [first, second] = found;
  if (first === undefined) return { kind: "none" };
  return second === undefined ? { kind: "one", id: first } : { kind: "many", ids: [...found] };
}

/** Finds agents as `matchId` does. Files and notices refer to an agent as `agent-<id>`, so that prefix is ignored. */
export function matchAgentId(ids: Iterable<string>, part: string): IdMatch {
  return matchId(ids, part.replace(/^agent-/i, ""));
}

// Crockford's base 32, without i, l, o and u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

function encodeTime(milliseconds: number): string {
  let rest = Math.floor(milliseconds);
  if (!(rest >= 0 && rest < 2 ** 48)) throw new RangeError(`${milliseconds} is not a time that an id can contain.`);
  let text = "";
  for (let position = 0; position < 10; position++) {
    text = alphabet.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function randomText(length: number, random: IdSource["random"] = randomFillSync): string {
  let text = "";
  for (const byte of random(new Uint8Array(length))) text += alphabet.charAt(byte & 31);
  return text;
}

/**
 * Hashes a list of strings to 16 characters (96 bits). Different lists have different hashes even if their
 * concatenations are identical.
 */
export function hashTexts(texts: Iterable<string>): string {
  let joined = "";
  for (const text of texts) joined += `${text.length}:${text}`;
  return createHash("sha256").update(joined).digest("base64url").slice(0, 16);
}

/** Returns the SHA-256 of bytes as hexadecimal digits. */
export function hashBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
