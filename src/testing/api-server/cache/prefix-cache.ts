import type { CacheAccount, CacheOptions, Wire } from "../types.ts";
import type { Prefix } from "./prompt-prefixes.ts";

export type OpenEntry = {
  account: CacheAccount;
  /** Makes the prefixes that this request wrote available to other requests. */
  commit: (now: number) => void;
};

export type CachedRequest = { wire: Wire; model: string; prefixes: readonly Prefix[] };

export type PrefixCache = {
  /**
   * Opens an entry and reads from the cache immediately. Prefixes that the request writes can be read only after
   * `commit`.
   */
  open(request: CachedRequest, now: number): OpenEntry;
};

const lifetimes = { "5m": 5 * 60_000, "1h": 60 * 60_000 };
type Entry = { expiresAt: number; life: number };

/** Simulates the providers' prompt caches: Anthropic caches at marks, OpenAI automatically. */
export function createPrefixCache(options: CacheOptions = {}): PrefixCache {
  const entries = new Map<string, Entry>();
  /** Every prefix that was ever sent: the contents of the unlimited cache from which `idealRead` is computed. */
  const everSeen = new Set<string>();

  const isLive = (prefix: Prefix | undefined, now: number) => {
    return prefix !== undefined && (entries.get(prefix.hash)?.expiresAt ?? -Infinity) > now;
  };
  const refresh = (prefix: Prefix | undefined, now: number) => {
    const entry = prefix && entries.get(prefix.hash);
    if (entry) entry.expiresAt = now + entry.life;
  };
  const write = (prefix: Prefix, { life, now }: { life: number; now: number }) => {
    const longest = isLive(prefix, now) ? Math.max(life, entries.get(prefix.hash)?.life ?? 0) : life;
    entries.set(prefix.hash, { expiresAt: now + longest, life: longest });
  };

  return {
    open({ wire, model, prefixes }, now) {
      const known = prefixes[prefixes.findLastIndex((prefix) => everSeen.has(prefix.hash))]?.tokens ?? 0;
      for (const prefix of prefixes) everSeen.add(prefix.hash);
      const live = (index: number) => isLive(prefixes[index], now);
      const minimum = minimumOf(model, options);
      const plan =
        wire === "anthropic"
          ? planByMarks(prefixes, live, { minimum, window: options.lookBack ?? 20 })
          : planAutomatically(prefixes, live, options);
      refresh(prefixes[plan.readIndex], now);
      const idealRead = wire !== "anthropic" ? inSteps(known, options) : known < minimum ? 0 : known;
      const { read, written1h } = plan;
      const prompt = prefixes.at(-1)?.tokens ?? 0;
      // Only the Responses API reports what an automatic cache writes.
      const written = wire === "responses" ? Math.max(0, inSteps(prompt, options) - read) : plan.written;
      const account = { prompt, read, written, written1h, idealRead, missed: Math.max(0, idealRead - read) };
      return {
        account,
        commit(at) {
          for (const prefix of plan.writes) write(prefix, { life: lifetimes[prefix.mark ?? "5m"], now: at });
        },
      };
    },
  };
}

type Plan = { readIndex: number; read: number; written: number; written1h: number; writes: readonly Prefix[] };
type Live = (index: number) => boolean;

function minimumOf(model: string, { minimumTokens = 0 }: CacheOptions): number {
  return typeof minimumTokens === "number" ? minimumTokens : (minimumTokens[model] ?? 0);
}

type MarkRules = { minimum: number; window: number };

function planByMarks(prefixes: readonly Prefix[], live: Live, { minimum, window }: MarkRules): Plan {
  const marks = prefixes.flatMap((prefix, index) => {
    return prefix.mark !== undefined && prefix.tokens >= minimum ? [index] : [];
  });
  const readIndex = Math.max(-1, ...marks.map((mark) => lookBack(mark, live, window)));
  const read = prefixes[readIndex]?.tokens ?? 0;
  const upTo = (index: number | undefined) => Math.max(0, (prefixes[index ?? -1]?.tokens ?? 0) - read);
  return {
    readIndex,
    read,
    written: upTo(marks.at(-1)),
    written1h: upTo(marks.findLast((mark) => prefixes[mark]?.mark === "1h")),
    writes: marks.flatMap((mark) => prefixes[mark] ?? []),
  };
}

/** Returns the index of the nearest cached prefix at or before the mark, within the window; -1 if there is none. */
function lookBack(mark: number, live: Live, window: number): number {
  for (let index = mark; index >= 0 && index > mark - window; index -= 1) if (live(index)) return index;
  return -1;
}

function planAutomatically(prefixes: readonly Prefix[], live: Live, options: CacheOptions): Plan {
  const readIndex = prefixes.findLastIndex((_, index) => live(index));
  const read = inSteps(prefixes[readIndex]?.tokens ?? 0, options);
  return { readIndex, read, written: 0, written1h: 0, writes: prefixes };
}

function inSteps(tokens: number, { openaiMinimumTokens = 1024, openaiStepTokens = 128 }: CacheOptions): number {
  if (tokens < openaiMinimumTokens) return 0;
  return openaiMinimumTokens + Math.floor((tokens - openaiMinimumTokens) / openaiStepTokens) * openaiStepTokens;
}
