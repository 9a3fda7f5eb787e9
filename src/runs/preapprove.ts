import type { AgentId, ApprovalQuestion, CallId, Rule, ToolCall } from "../protocol/index.ts";
import type { ReadyAgent } from "./agent-wish.ts";
import { requestIdOf } from "./question.ts";
import type { LiveAgent } from "./run-host.ts";

export interface Launch {
  readonly parent: LiveAgent;
  /** Of the parent. */
  readonly path: readonly AgentId[];
  readonly callId: CallId;
  readonly signal: AbortSignal;
}

/** Asks once, before an agent works in the background, for what its definition lists. A no leaves each call to its rules. */
export async function preapprove(prepared: ReadyAgent, launch: Launch): Promise<ReadyAgent> {
  const { parent, signal, callId } = launch;
  const { agent, grants = [] } = prepared;
  const known = new Set(agent.policy.rules.flatMap(({ effect, text }) => (effect === "allow" ? [text] : [])));
  const missing = grants.filter((rule) => !known.has(rule));
  const call = parent.thread.state.calls.find((each) => each.call.callId === callId)?.call;
  if (missing.length === 0 || call === undefined) return prepared;
  const question = questionAbout(call, { ...launch, agentType: agent.agentType, missing });
  const { requestId, decision } = question;
  const { name, inputJson } = call;
  const goOn = parent.yield();
  const answer = await parent.services.approvals
    .ask(question, {
      signal,
      onOpen: () =>
        parent.record([{ type: "approval.requested", requestId, callId, name, inputJson, reason: decision.reason }]),
      settledBy: async () => undefined,
    })
    .finally(() => goOn(signal));
  if (answer === undefined) return prepared;
  const feedback = answer.message === undefined ? {} : { message: answer.message };
  await parent.record([
    { type: "approval.answered", requestId, callId, answer: answer.answer, by: answer.by, ...feedback },
  ]);
  if (answer.answer !== "allow") return prepared;
  const allowed = missing.map((text): Rule => ({ text, effect: "allow", scope: "session" }));
  const { policy } = agent;
  return { ...prepared, agent: { ...agent, policy: { ...policy, rules: [...policy.rules, ...allowed] } } };
}

interface Granting extends Launch {
  readonly agentType: string;
  readonly missing: readonly string[];
}

function questionAbout(call: ToolCall, { parent, path, agentType, missing }: Granting): ApprovalQuestion {
  const { sessionId } = parent.services;
  const asker = { sessionId, agentId: parent.agentId, agentType: parent.agent.agentType, path };
  const reason = `${agentType} is to work in the background, and its definition lists ${missing.join(", ")}. Yes allows it that without further questions; no lets it start without.`;
  return {
    // The call itself may have been asked about under its own id.
    ...requestIdOf(asker, { ...call, callId: `${call.callId}_launch` }),
    kind: "launch",
    ...asker,
    call,
    decision: { effect: "ask", rule: "background.preapprove", scope: "builtin", reason },
    always: [],
    grants: missing,
  };
}
