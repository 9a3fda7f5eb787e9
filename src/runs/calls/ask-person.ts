import type { Decision, DurableEvent, Grant, Policy, ToolCall } from "../../protocol/index.ts";
import { askerOf, questionAbout, ruleSettling } from "../approvals/question.ts";
import { askHooks } from "../host/ask-hooks.ts";
import type { RunHost } from "../host/run-host.ts";
import { type DecidedCall, decideCall, grantOf } from "./decide-call.ts";

/** A call that rules and hooks leave to a person. */
export interface OpenCall {
  readonly call: ToolCall;
  readonly decision: Decision;
  /** What the model is told if it stays at no. */
  readonly denial: string;
  readonly requested: DurableEvent;
}

/** What came of it; everything but the end of a call that is not made is recorded. */
export type Answered =
  | { readonly kind: "allowed"; readonly call: ToolCall; readonly grant?: Grant }
  | { readonly kind: "refused"; readonly outcome: "error" | "denied"; readonly message: string }
  | { readonly kind: "cancelled" };

/** Asks until there is a word about the call as it is: what a person changes is decided about from the start. */
export async function askPerson(host: RunHost, asked: OpenCall, policy: Policy): Promise<Answered> {
  let open = asked;
  for (;;) {
    const answer = await ask(host, open, policy);
    if (answer === undefined) return { kind: "cancelled" };
    if (answer.answer !== "allow")
      return { kind: "refused", outcome: "denied", message: answer.message ?? open.denial };
    const { inputJson = open.call.inputJson } = answer;
    const { call } = open;
    if (inputJson === call.inputJson) return { kind: "allowed", call, grant: grantOf(call, "person") };
    const decided: DecidedCall = await decideCall(host, { ...call, inputJson }, policy);
    if (host.outlet.signal.aborted) return { kind: "cancelled" };
    if (decided.effect === "ask") {
      open = decided;
      continue;
    }
    await host.record([decided.requested]);
    return decided.effect === "refused" ? { kind: "refused", ...decided } : { kind: "allowed", ...decided };
  }
}

async function ask(host: RunHost, { call, decision, requested }: OpenCall, policy: Policy) {
  const { services, outlet } = host;
  const { approvals, executor } = services;
  const { callId, name, inputJson } = call;
  const question = await questionAbout({ ...askerOf(host), call, decision, policy, executor });
  const { requestId, always } = question;
  const choices = always.length === 0 ? {} : { always };
  const resume = host.pause();
  let telling: Promise<unknown> | undefined;
  const answer = await approvals
    .ask(question, {
      signal: outlet.signal,
      onOpen: async () => {
        const { reason } = decision;
        await host.record([
          requested,
          { type: "approval.requested", requestId, callId, name, inputJson, reason, ...choices },
        ]);
        const message = `${name} waits for an answer: ${reason}`;
        telling = askHooks(host, { event: "Notification" }, { message, notification_type: "permission_prompt" });
        // It is waited for below.
        telling.catch(() => {});
      },
      settledBy: () => ruleSettling(call, { executor, policy, now: approvals.policyFor(policy) }),
    })
    .finally(resume);
  await telling;
  // One that was answered before this process was there.
  if (telling === undefined) await host.record([requested]);
  if (answer === undefined || outlet.signal.aborted) return undefined;
  await host.record([{ type: "approval.answered", requestId, callId, ...answer }]);
  return answer;
}
