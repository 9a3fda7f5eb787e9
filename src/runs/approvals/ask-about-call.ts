import { findCall } from "../../loop/index.ts";
import type { AgentId, ApprovalAnswer, ApprovalQuestion, CallId, ToolCall } from "../../protocol/index.ts";
import type { LiveAgent } from "../host/run-host.ts";
import { requestIdOf } from "./approval-queue.ts";

/** A call that has begun, and turned out to need somebody's word. */
export interface BegunCall {
  readonly parent: LiveAgent;
  /** Of the parent. */
  readonly path: readonly AgentId[];
  /** It or one that it works for is in the background. */
  readonly isBehind: boolean;
  readonly callId: CallId;
  readonly signal: AbortSignal;
}

export interface Concern extends Pick<ApprovalQuestion, "kind" | "grants"> {
  /** Names the question: the call itself may have been asked about under its own id. */
  readonly about: string;
  /** The setting or promise that asks. */
  readonly rule: string;
  readonly reason: string;
}

/** While somebody is asked the caller waits as it does for an agent. Undefined: nobody wants to know any more. */
export async function askAboutCall(begun: BegunCall, concern: Concern): Promise<ApprovalAnswer | undefined> {
  const { parent, signal, callId } = begun;
  const call = findCall(parent.thread.state, callId)?.call;
  if (call === undefined) return undefined;
  const question = questionAbout(call, begun, concern);
  const { requestId } = question;
  const { name, inputJson } = call;
  const { reason } = concern;
  const goOn = parent.yield();
  const answer = await parent.services.approvals
    .ask(question, {
      signal,
      onOpen: () => parent.record([{ type: "approval.requested", requestId, callId, name, inputJson, reason }]),
      settledBy: async () => undefined,
    })
    .finally(() => goOn(signal));
  if (answer === undefined) return undefined;
  const feedback = answer.message === undefined ? {} : { message: answer.message };
  await parent.record([
    { type: "approval.answered", requestId, callId, answer: answer.answer, by: answer.by, ...feedback },
  ]);
  return answer;
}

function questionAbout(call: ToolCall, { parent, path, isBehind }: BegunCall, concern: Concern): ApprovalQuestion {
  const { about, rule, reason, ...rest } = concern;
  const { sessionId } = parent.services;
  const asker = { sessionId, agentId: parent.agentId, agentType: parent.agent.agentType, path };
  return {
    ...requestIdOf(asker, { ...call, callId: `${call.callId}_${about}` }),
    ...asker,
    ...(isBehind ? { background: true } : {}),
    call,
    decision: { effect: "ask", rule, scope: "builtin", reason },
    always: [],
    ...rest,
  };
}
