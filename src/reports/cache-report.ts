import { type CacheLifetime, promptTokens } from "../protocol/index.ts";
import { readSession } from "../transcript/index.ts";
import {
  accountsOf,
  type BrokenPrefix,
  type CacheAccount,
  isBelowMinimum,
  type LifetimeChange,
  type MissReason,
} from "./cache-accounts.ts";
import { type AgentFigures, type CacheFigures, figuresByAgent, figuresOf } from "./cache-figures.ts";
import { replaySession } from "./cache-replay.ts";

export interface CacheReport {
  readonly sessionId: string;
  readonly total: CacheFigures;
  readonly agents: readonly AgentFigures[];
  /** Models with requests that were too short to be cached. Excludes models whose minimum is unknown. */
  readonly belowMinimum: readonly BelowMinimum[];
}

export interface BelowMinimum {
  readonly model: string;
  readonly minimumTokens: number;
  /** Number of answered requests to the model. */
  readonly requests: number;
  /** Number of answered requests with fewer tokens than the minimum. */
  readonly tooShort: number;
}

/** Reports how much prompt caches saved in the session whose transcript is at this path. */
export async function reportCache(transcriptPath: string): Promise<CacheReport> {
  const session = readSession(transcriptPath);
  const accounts = accountsOf(await replaySession(session));
  return {
    sessionId: session.sessionId,
    total: figuresOf(accounts),
    agents: figuresByAgent(accounts),
    belowMinimum: belowMinimum(accounts),
  };
}

function belowMinimum(accounts: readonly CacheAccount[]): readonly BelowMinimum[] {
  const byModel = new Map<string, BelowMinimum>();
  for (const account of accounts) {
    const { model, answer, cacheMinimumTokens } = account.request;
    if (answer === undefined || cacheMinimumTokens === undefined) continue;
    const { requests, tooShort } = byModel.get(model) ?? { requests: 0, tooShort: 0 };
    byModel.set(model, {
      model,
      minimumTokens: cacheMinimumTokens,
      requests: requests + 1,
      tooShort: tooShort + (isBelowMinimum(account) ? 1 : 0),
    });
  }
  return [...byModel.values()].filter(({ tooShort }) => tooShort > 0);
}

export interface ExplainedRequest {
  readonly agentId: string;
  readonly agentType: string;
  readonly model: string;
  /** Number of the request among its agent's requests, starting at 1. */
  readonly number: number;
  readonly sentAt: number;
  /** True if the request asked for a summary of the conversation. */
  readonly isSummary: boolean;
  /** Tokens in the request; undefined if no response was recorded. */
  readonly tokens?: ExplainedTokens | undefined;
  /** The model's minimum, if the whole request was too short to be cached. */
  readonly belowMinimum?: number | undefined;
  readonly reason?: MissReason | undefined;
  /** Lifetime that was requested for the missed tokens, if `reason` is set. */
  readonly keptFor?: CacheLifetime | undefined;
  /** Set if the `cache.lifetime` setting changed with this request. */
  readonly lifetimeChange?: LifetimeChange | undefined;
  readonly broken?: BrokenPrefix | undefined;
  /** True if the transcript was changed later, so that its bytes differ from those that were sent. */
  readonly isChanged: boolean;
}

export interface ExplainedTokens {
  readonly input: number;
  readonly read: number;
  readonly written: number;
  /** Part of `written` that is cached for an hour. */
  readonly written1h: number;
  readonly plain: number;
  /** Tokens that could have been read: the longest common prefix with an earlier request. */
  readonly ideal: number;
  readonly missed: number;
}

/** Explains for every request in a session how many tokens were written, read and missed, and why. */
export async function explainCache(transcriptPath: string): Promise<readonly ExplainedRequest[]> {
  return accountsOf(await replaySession(readSession(transcriptPath))).map(explained);
}

function explained(account: CacheAccount): ExplainedRequest {
  const { request, number, usage, idealTokens, missedTokens, reason, keptFor, lifetimeChange, broken } = account;
  const { agentId, agentType, model, sentAt, answer, prompt, cacheMinimumTokens } = request;
  const tokens: ExplainedTokens = {
    input: promptTokens(usage),
    read: usage.cacheReadTokens,
    written: usage.cacheWriteTokens,
    written1h: usage.cacheWrite1hTokens ?? 0,
    plain: usage.inputTokens,
    ideal: idealTokens,
    missed: missedTokens,
  };
  return {
    agentId,
    agentType,
    model,
    number,
    sentAt,
    isSummary: prompt === undefined,
    tokens: answer && tokens,
    belowMinimum: isBelowMinimum(account) ? cacheMinimumTokens : undefined,
    reason,
    keptFor,
    lifetimeChange,
    broken,
    isChanged: prompt?.isChanged ?? false,
  };
}
