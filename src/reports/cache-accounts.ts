import { type CacheDifference, cacheDifference, excerptAt, lifetimeAt } from "../conversation/index.ts";
import { type CacheLifetime, noUsage, promptTokens, type Usage } from "../protocol/index.ts";
import type { ConversationChange, SentPrompt, SentRequest } from "./cache-replay.ts";

/** Tokens that a cache returned for one request, and tokens that it could have returned. */
export interface CacheAccount {
  readonly request: SentRequest;
  /** Number of the request within its agent, starting at 1. */
  readonly number: number;
  readonly usage: Usage;
  /**
   * Tokens that an unlimited cache would have returned: the longest prefix shared with an earlier request, or 0 if that
   * prefix is below the model's minimum.
   */
  readonly idealTokens: number;
  /** Part of `idealTokens` that was not read from the cache. */
  readonly missedTokens: number;
  /** Explains a large `missedTokens` value; otherwise undefined. */
  readonly reason?: MissReason | undefined;
  /** Cache lifetime requested for the missed tokens. Set only if `reason` is. */
  readonly keptFor?: CacheLifetime | undefined;
  /** Set if the requested cache lifetime changed with this request. */
  readonly lifetimeChange?: LifetimeChange | undefined;
  /** Set if the request does not continue the previous one. */
  readonly broken?: BrokenPrefix | undefined;
}

/**
 * Why tokens were not read from the cache.
 *
 * - early: the request was sent before the one that writes the prefix was answered.
 * - expired: the prefix was not used within its lifetime.
 * - lifetime: the prefix was written with a different lifetime than the one requested now.
 * - small: the prefix is too small for most providers to cache, and the model's minimum is unknown.
 * - unreported: the provider reports no cache usage.
 * - provider: the provider did not use its cache although the bytes were identical.
 */
export type MissReason = "early" | "expired" | "lifetime" | "small" | "unreported" | "provider";

export interface LifetimeChange {
  readonly before: CacheLifetime;
  readonly after: CacheLifetime;
}

export interface BrokenPrefix extends CacheDifference {
  /** What the transcript says about it. */
  readonly change?: ConversationChange | undefined;
  /** Estimated number of tokens that could have been read if the prefix had not changed. */
  readonly tokens: number;
  readonly before: string;
  readonly after: string;
}

/** Computes an account for each request. The requests must be in the order they were sent. */
export function accountsOf(requests: readonly SentRequest[]): readonly CacheAccount[] {
  const seen: SeenPoints = new Map();
  const tokens = new Map<SentPrompt, number>();
  const numbers = new Map<string, number>();
  const siblings = new Map<string, SentPrompt>();
  const reporting = new Set(requests.flatMap(({ model, answer }) => (answer && reports(answer.usage) ? [model] : [])));
  return requests.map((request): CacheAccount => {
    const { agentId, agentType, model, answer, prompt, cacheMinimumTokens } = request;
    const number = (numbers.get(agentId) ?? 0) + 1;
    numbers.set(agentId, number);
    const usage = answer?.usage ?? noUsage;
    const read = usage.cacheReadTokens;
    if (prompt === undefined || answer === undefined)
      return { request, number, usage, idealTokens: read, missedTokens: 0 };
    const total = promptTokens(usage);
    tokens.set(prompt, total);
    const longest = longestSeen(prompt, { total, seen });
    const shared = longest && longest.tokens >= (cacheMinimumTokens ?? 0) ? longest : undefined;
    const idealTokens = Math.max(read, shared?.tokens ?? 0);
    const missedTokens = idealTokens - read;
    const sibling = siblings.get(`${agentType} ${model}`);
    const broken = brokenPrefix(request, { sibling, tokens });
    const reason = shared && reasonOf(request, { shared, missedTokens, reports: reporting.has(model) });
    remember(prompt, { seen, sentAt: request.sentAt, answeredAt: answer.at, total });
    if (prompt.before === undefined) siblings.set(`${agentType} ${model}`, prompt);
    return {
      request,
      number,
      usage,
      idealTokens,
      missedTokens,
      reason,
      keptFor: reason && shared?.point.lifetime,
      lifetimeChange: changeOfLifetime(prompt),
      broken,
    };
  });
}

/** Returns whether the whole request was too short for the model to cache any of it. */
export function isBelowMinimum({ request: { answer, cacheMinimumTokens = 0 } }: CacheAccount): boolean {
  return answer !== undefined && !reports(answer.usage) && promptTokens(answer.usage) < cacheMinimumTokens;
}

function reports({ cacheReadTokens, cacheWriteTokens }: Usage): boolean {
  return cacheReadTokens + cacheWriteTokens > 0;
}

interface SeenPoint {
  /** Time of the first response to a request with this prefix. */
  answeredAt: number;
  /** Time of the last request with this prefix. */
  usedAt: number;
  /** Longest lifetime that was requested for this prefix. */
  lifetime: CacheLifetime;
  /** Number of tokens up to this point; known only if a request ended here. */
  tokens?: number;
}

type SeenPoints = Map<string, SeenPoint>;

interface SharedPrefix {
  readonly tokens: number;
  readonly point: SeenPoint;
}

function longestSeen(
  prompt: SentPrompt,
  { total, seen }: { readonly total: number; readonly seen: SeenPoints },
): SharedPrefix | undefined {
  for (let at: SentPrompt | undefined = prompt; at !== undefined; at = at.continues) {
    for (const { key, bytes } of at.points.toReversed()) {
      const point = seen.get(key);
      // If no request ended at this point, the number of tokens up to it is estimated from the number of bytes.
      if (point) return { point, tokens: Math.min(total, point.tokens ?? Math.round((total * bytes) / prompt.bytes)) };
    }
  }
  return undefined;
}

interface Sent {
  readonly seen: SeenPoints;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly total: number;
}

function remember(prompt: SentPrompt, { seen, sentAt, answeredAt, total }: Sent): void {
  const { view } = prompt.prompt;
  const lifetime = lifetimeAt(view, view.segments - 1);
  for (let at: SentPrompt | undefined = prompt; at !== undefined; at = at.continues) {
    for (const { key } of at.points) {
      const point = seen.get(key) ?? { answeredAt, usedAt: sentAt, lifetime };
      point.answeredAt = Math.min(point.answeredAt, answeredAt);
      use(point, sentAt, lifetime);
      seen.set(key, point);
    }
    const next: SentPrompt | undefined = at.continues;
    const known = next && seen.get(next.end.key);
    // The points before this one are known too, because they were remembered together with it.
    if (known) {
      use(known, sentAt, lifetime);
      break;
    }
  }
  // Every request renews the lifetime of the parts that precede the messages.
  for (const { key } of prompt.head) {
    const point = seen.get(key);
    if (point) use(point, sentAt, view.head.cacheLifetime ?? "5m");
  }
  const end = seen.get(prompt.end.key);
  if (end) end.tokens ??= total;
}

function use(point: SeenPoint, at: number, lifetime: CacheLifetime): void {
  point.usedAt = at;
  if (lifetime === "1h") point.lifetime = lifetime;
}

/**
 * Returns whether a request asks for this lifetime at its start or its end. The two can differ in a fork, which
 * inherits the start from its parent's request.
 */
function asksFor({ prompt: { view } }: SentPrompt, lifetime: CacheLifetime): boolean {
  return lifetimeAt(view, 0) === lifetime || lifetimeAt(view, view.segments - 1) === lifetime;
}

function changeOfLifetime({ prompt, before }: SentPrompt): LifetimeChange | undefined {
  const [earlier = "5m", after = "5m"] = [before?.prompt.head.cacheLifetime, prompt.head.cacheLifetime];
  return before === undefined || earlier === after ? undefined : { before: earlier, after };
}

const LIVES_MS: Readonly<Record<CacheLifetime, number>> = { "5m": 5 * 60_000, "1h": 60 * 60_000 };
/** Smallest prefix that most providers cache. Used only if the model's minimum is unknown. */
const SMALLEST = 1_024;
/** Some providers report cached tokens in multiples of this number. */
const STEP = 128;

interface Miss {
  readonly shared: SharedPrefix;
  readonly missedTokens: number;
  readonly reports: boolean;
}

function reasonOf(
  { sentAt, prompt, cacheMinimumTokens }: SentRequest,
  { shared: { tokens, point }, missedTokens, reports: isReported }: Miss,
): MissReason | undefined {
  if (missedTokens <= Math.max(STEP, tokens / 100)) return undefined;
  if (!isReported) return "unreported";
  if (point.answeredAt > sentAt) return "early";
  if (sentAt - point.usedAt > LIVES_MS[point.lifetime]) return "expired";
  if (cacheMinimumTokens === undefined && tokens < SMALLEST) return "small";
  return prompt && !asksFor(prompt, point.lifetime) ? "lifetime" : "provider";
}

interface Earlier {
  /** First request of the previous agent with the same type and model. */
  readonly sibling: SentPrompt | undefined;
  readonly tokens: ReadonlyMap<SentPrompt, number>;
}

function brokenPrefix({ prompt, change }: SentRequest, { sibling, tokens }: Earlier): BrokenPrefix | undefined {
  if (prompt === undefined) return undefined;
  const { before, continues } = prompt;
  const earlier = before ?? sibling;
  if (continues !== undefined || earlier === undefined) return undefined;
  const difference = cacheDifference(earlier.prompt, prompt.prompt);
  // Agents of the same type share only the prefix before their messages.
  if (difference === undefined || (before === undefined && difference.dimension === "messages")) return undefined;
  const until = before === undefined ? (earlier.head.at(-1)?.bytes ?? 0) : earlier.bytes;
  const share = Math.max(0, until - difference.firstDifference) / earlier.bytes;
  return {
    ...difference,
    change: before && change,
    tokens: Math.round((tokens.get(earlier) ?? 0) * share),
    before: excerptAt(earlier.prompt, difference.firstDifference),
    after: excerptAt(prompt.prompt, difference.firstDifference),
  };
}
