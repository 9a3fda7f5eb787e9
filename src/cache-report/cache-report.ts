import type { CacheLifetime } from "../protocol/index.ts";
import { readSession } from "../transcript/index.ts";
import {
  accountsOf,
  type BrokenPrefix,
  type CacheAccount,
  inputOf,
  type LifetimeChange,
  type MissReason,
} from "./cache-accounts.ts";
import { type AgentFigures, type CacheFigures, figuresByAgent, figuresOf } from "./cache-figures.ts";
import { replaySession } from "./cache-replay.ts";

export interface CacheReport {
  readonly sessionId: string;
  readonly total: CacheFigures;
  readonly agents: readonly AgentFigures[];
}

/** What the caches of providers gave in a session, by the path of its transcript. */
export async function reportCache(transcriptPath: string): Promise<CacheReport> {
  const session = readSession(transcriptPath);
  const accounts = accountsOf(await replaySession(session));
  return { sessionId: session.sessionId, total: figuresOf(accounts), agents: figuresByAgent(accounts) };
}

export interface ExplainedRequest {
  readonly agentId: string;
  readonly agentType: string;
  readonly model: string;
  /** Of its agent, from 1. */
  readonly number: number;
  readonly sentAt: number;
  /** Made to sum a conversation up. */
  readonly isSummary: boolean;
  /** Undefined where no answer was recorded. */
  readonly tokens?: ExplainedTokens;
  readonly reason?: MissReason;
  /** With a reason: how long the provider was asked to keep what was missed. */
  readonly keptFor?: CacheLifetime;
  /** The setting `cache.lifetime` is another one from this request on. */
  readonly lifetimeChange?: LifetimeChange;
  readonly broken?: BrokenPrefix;
  /** The transcript was changed since: what is said of its bytes is not what was sent. */
  readonly isChanged: boolean;
}

export interface ExplainedTokens {
  readonly input: number;
  readonly read: number;
  readonly written: number;
  /** Of these for an hour. */
  readonly written1h: number;
  readonly plain: number;
  /** What could have been read: the longest prefix that an earlier request had. */
  readonly ideal: number;
  readonly missed: number;
}

/** Every request of a session and its agents: what was written, read and missed, and why. */
export async function explainCache(transcriptPath: string): Promise<readonly ExplainedRequest[]> {
  return accountsOf(await replaySession(readSession(transcriptPath))).map(explained);
}

function explained({
  request,
  number,
  usage,
  idealTokens,
  missedTokens,
  reason,
  keptFor,
  lifetimeChange,
  broken,
}: CacheAccount): ExplainedRequest {
  const { agentId, agentType, model, sentAt, answer, prompt } = request;
  const tokens: ExplainedTokens = {
    input: inputOf(usage),
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
    ...(answer && { tokens }),
    ...(reason && { reason }),
    ...(keptFor && { keptFor }),
    ...(lifetimeChange && { lifetimeChange }),
    ...(broken && { broken }),
    isChanged: prompt?.isChanged ?? false,
  };
}
