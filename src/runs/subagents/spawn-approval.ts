import { findCall } from "../../loop/index.ts";
import type { ApprovalAnswer, ApprovalQuestion, CallId, Rule } from "../../protocol/index.ts";
import { requestIdOf } from "../approvals/approval-queue.ts";
import type { Asker } from "../approvals/question.ts";
import type { Budget, BudgetRefusal } from "../budget/budget.ts";
import type { LiveAgent } from "../host/run-host.ts";
import type { PreparedAgent } from "./prepared-agent.ts";

/** A call that turned out to need approval after it had started. */
export interface StartedCall {
  readonly parent: LiveAgent;
  readonly asker: Asker;
  readonly callId: CallId;
  readonly signal: AbortSignal;
}

/** Reason to ask for approval of a call that has already started. */
export interface Concern extends Pick<ApprovalQuestion, "kind" | "grants"> {
  /** Makes the id of the question unique, because there may already have been a question about the call itself. */
  readonly about: string;
  /** Setting that requires the approval. */
  readonly rule: string;
  readonly reason: string;
}

/**
 * Asks for approval of a call that has already started. Meanwhile, the caller is paused, as when it waits for an agent.
 * Returns undefined if the call was aborted.
 */
export async function askAboutCall(started: StartedCall, concern: Concern): Promise<ApprovalAnswer | undefined> {
  const { parent, asker, signal, callId } = started;
  const call = findCall(parent.thread.state, callId)?.call;
  if (call === undefined) return undefined;
  const { about, rule, reason, ...rest } = concern;
  const question: ApprovalQuestion = {
    ...requestIdOf(asker, { ...call, callId: `${callId}_${about}` }),
    ...asker,
    call,
    decision: { effect: "ask", rule, scope: "builtin", reason },
    always: [],
    ...rest,
  };
  const { requestId } = question;
  const { name, inputJson } = call;
  const resume = parent.yield();
  const approval = await parent.services.approvals
    .ask(question, {
      signal,
      onOpen: () => parent.record([{ type: "approval.requested", requestId, callId, name, inputJson, reason }]),
      settledBy: async () => undefined,
    })
    .finally(() => resume(signal));
  if (approval === undefined) return undefined;
  const { answer, by, message } = approval;
  await parent.record([{ type: "approval.answered", requestId, callId, answer, by, message }]);
  return approval;
}

/** Asks for approval. Returns undefined if no approver is available. */
type Ask = (concern: Concern) => Promise<ApprovalAnswer | undefined>;

/**
 * Counts agents before they start. If one prompt starts too many agents, the user is asked whether to allow the same
 * number again.
 */
export class SpawnGate {
  private asksForMore: Promise<boolean> | undefined;

  async enter(budget: Budget, ask: Ask): Promise<BudgetRefusal | undefined> {
    const refusal = budget.spawn();
    if (refusal?.limit !== "promptSpawns") return refusal;
    // Several calls in the same response share one question.
    this.asksForMore ??= askForMore(refusal, budget, ask).finally(() => {
      this.asksForMore = undefined;
    });
    return (await this.asksForMore) ? this.enter(budget, ask) : refusal;
  }
}

async function askForMore({ message }: BudgetRefusal, budget: Budget, ask: Ask): Promise<boolean> {
  const reason = `${message} If you allow this, the prompt can start the same number of agents again.`;
  const approval = await ask({ kind: "call", about: "spawns", rule: "subagents.maxSpawns", reason });
  if (approval?.answer !== "allow") return false;
  budget.resetSpawns();
  return true;
}

/**
 * Asks the user once, before an agent works in the background, to approve the rules that its definition lists. If the
 * user denies them, each of the agent's calls is decided separately.
 */
export async function preapprove(prepared: PreparedAgent, launch: StartedCall): Promise<PreparedAgent> {
  const { agent, grants = [] } = prepared;
  const { policy, agentType } = agent;
  const known = new Set(policy.rules.flatMap(({ effect, text }) => (effect === "allow" ? [text] : [])));
  const missing = grants.filter((rule) => !known.has(rule));
  if (missing.length === 0) return prepared;
  const reason = `${agentType} will work in the background, and its definition lists ${missing.join(", ")}. If you allow this, those calls need no further approval. If you deny it, the agent starts without these permissions.`;
  const concern = { kind: "launch", about: "launch", rule: "background.preapprove", reason, grants: missing } as const;
  if ((await askAboutCall(launch, concern))?.answer !== "allow") return prepared;
  const allowed = missing.map((text): Rule => ({ text, effect: "allow", scope: "session" }));
  return { ...prepared, agent: { ...agent, policy: { ...policy, rules: [...policy.rules, ...allowed] } } };
}
