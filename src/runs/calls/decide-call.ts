import { checkRules, explainRefusal, PLAN_APPROVAL } from "../../permissions/index.ts";
import type { HookOutcome, JudgedInput, Judgment } from "../../ports/index.ts";
import {
  type ApprovalAnswer,
  type Decision,
  type DurableEvent,
  type Grant,
  NO_APPROVER,
  type Policy,
  type ToolCall,
} from "../../protocol/index.ts";
import { askerOf, questionAbout, ruleSettling } from "../approvals/question.ts";
import { goneTool } from "../head/kept-head.ts";
import { askHooks, callFacts } from "../host/ask-hooks.ts";
import { planApprovalText } from "../host/plan-mode.ts";
import type { RunHost } from "../host/run-host.ts";
import { questionsIn } from "../tools/ask-user-question.ts";

/** A call whose input was read. */
export interface ReadCall {
  readonly call: ToolCall;
  /** How the executor read the input. Absent if the call was not judged. */
  readonly input?: JudgedInput | undefined;
}

/** Decision on a call by rules and hooks. Hooks may have changed the call's input. */
export type DecidedCall = ReadCall & { readonly requested: DurableEvent } & (
    | { readonly effect: "refused"; readonly outcome: "error" | "denied"; readonly message: string }
    | CallToApprove
    | { readonly effect: "allow"; readonly grant?: Grant | undefined }
  );

interface CallToApprove {
  readonly effect: "ask";
  readonly decision: Decision;
  /** Result that the model gets if no one can approve the call. */
  readonly denial: string;
}

/** Maximum number of times that hooks may change the input of one call, so that they can't keep changing it forever. */
const MOST_CHANGES = 5;

/**
 * Decides whether to allow a call: first by rules and mode, then by hooks. If a hook changes the input, the decision
 * starts over.
 */
export async function decideCall(host: RunHost, made: ToolCall, policy: Policy): Promise<DecidedCall> {
  let call = made;
  const gone = goneTool(host, made.name);
  if (gone !== undefined)
    return { call, requested: requestedEvent(call), effect: "refused", outcome: "denied", message: gone };
  for (let changes = 0; changes <= MOST_CHANGES; changes++) {
    const judgment = await host.services.executor.judge(call, policy, host.thread.agentId);
    const common = { call, requested: requestedEvent(call, judgment) };
    if (judgment.kind === "invalid")
      return { ...common, effect: "refused", outcome: "error", message: judgment.message };
    const decision = withPlanText(host, judgment.decision);
    const { denial = decision.reason, paths, ignored } = judgment;
    const input = { paths, ignored };
    host.services.retinue?.judged(decision, policy);
    if (decision.effect === "deny") return { ...common, effect: "refused", outcome: "denied", message: denial };
    const verdict = await consultHooks(host, { call, input, decision, policy });
    if (verdict.kind === "changed") call = { ...call, inputJson: verdict.inputJson };
    else if (verdict.kind === "deny")
      return { ...common, effect: "refused", outcome: "denied", message: verdict.message };
    else if (verdict.kind === "allow")
      return { ...common, input, effect: "allow", grant: verdict.granted ? grantOf(call) : undefined };
    else {
      const message = verdict.decision === decision ? denial : `This call was not approved. ${verdict.decision.reason}`;
      return { ...common, input, effect: "ask", decision: verdict.decision, denial: message };
    }
  }
  const message = `Hooks changed the input of this call ${MOST_CHANGES + 1} times in a row, so the call was not made. A hook must accept input that it has already changed.`;
  return { call, requested: requestedEvent(call), effect: "refused", outcome: "denied", message };
}

/** Adds the permission mode that follows to a decision about a plan, so that whoever approves the plan knows it. */
function withPlanText({ services: { retinue } }: RunHost, decision: Decision): Decision {
  if (decision.rule !== PLAN_APPROVAL || retinue === undefined) return decision;
  return { ...decision, reason: planApprovalText(retinue.afterPlan) };
}

export function grantOf({ callId, inputJson }: ToolCall, replies?: Grant["replies"]): Grant {
  return { callId, inputJson, replies };
}

interface ConsideredCall extends ReadCall {
  /** Decision by the rules and the mode: allow or ask, never deny. */
  readonly decision: Decision;
  readonly policy: Policy;
}

type HookVerdict =
  | { readonly kind: "allow"; readonly granted?: true }
  | { readonly kind: "ask"; readonly decision: Decision }
  | { readonly kind: "deny"; readonly message: string }
  /** A hook changed the input, so a new decision on the call is needed. */
  | { readonly kind: "changed"; readonly inputJson: string };

/** Runs PreToolUse hooks for every call, then PermissionRequest hooks if the call needs approval. */
async function consultHooks(host: RunHost, considered: ConsideredCall): Promise<HookVerdict> {
  const { call, input, policy } = considered;
  if (host.services.hooks === undefined && considered.decision.effect === "allow") return { kind: "allow" };
  const { callId, name } = call;
  const facts = callFacts(call);
  const before = { event: "PreToolUse", callId, input, about: `PreToolUse hook on ${name}` } as const;
  const verdict = verdictOf(await askHooks(host, before, facts), considered);
  if (verdict.kind !== "ask") return verdict;
  const { decision } = verdict;
  if (policy.mode === "dontAsk" || policy.unattended) return { kind: "deny", message: decision.reason };
  const permission = { event: "PermissionRequest", callId, input, about: `PermissionRequest hook on ${name}` } as const;
  const answer = await askHooks(host, permission, { ...facts, reason: decision.reason });
  return verdictOf(answer, { ...considered, decision });
}

/**
 * Returns the hooks' verdict. A hook can always deny or ask. Hooks from projects and plugins can approve only calls
 * that a project's allow rule could allow. The user's own hooks can approve every call that needs approval. No hook can
 * answer a question to the user.
 */
function verdictOf(outcome: HookOutcome | undefined, { call, decision }: ConsideredCall): HookVerdict {
  const isOpen = decision.effect === "ask";
  if (outcome?.decision === "deny") return { kind: "deny", message: deniedText(outcome.reason) };
  if (outcome?.input !== undefined) return { kind: "changed", inputJson: JSON.stringify(outcome.input) };
  if (outcome?.decision === "ask") return { kind: "ask", decision: isOpen ? decision : hookAsks(outcome.reason) };
  if (!isOpen) return { kind: "allow" };
  const mayLoosen = (outcome?.allowedBy === "user" || !decision.insists) && questionsIn(call) === undefined;
  return outcome?.decision === "allow" && mayLoosen ? { kind: "allow", granted: true } : { kind: "ask", decision };
}

function hookAsks(reason = "A hook requires approval for this call."): Decision {
  return { effect: "ask", rule: "PreToolUse hook", scope: "session", reason, insists: true };
}

function deniedText(reason: string | undefined): string {
  return reason === undefined ? "A hook denied this call." : `A hook denied this call: ${reason}`;
}

function requestedEvent(call: ToolCall, judgment?: Judgment): DurableEvent {
  const { callId, name } = call;
  if (judgment?.kind !== "decided") return { type: "tool.requested", callId, name };
  const { effect, rule, scope, reason } = judgment.decision;
  return {
    type: "tool.requested",
    callId,
    name,
    decision: { effect, rule, scope, reason: effect === "allow" ? undefined : reason },
    // For a denied call, it does not matter whether the call only reads.
    readsOnly: judgment.readsOnly && effect !== "deny" ? true : undefined,
  };
}

export type ApprovedCall =
  | (ReadCall & { readonly kind: "allowed"; readonly grant?: Grant | undefined })
  | { readonly kind: "refused"; readonly outcome: "error" | "denied"; readonly message: string }
  | { readonly kind: "cancelled" };

/**
 * Asks for approval. If the approver changed the call, a new decision is made on the changed call, which may need
 * approval again. Records the questions and answers. If the call is not performed, the caller must record its end.
 */
export async function approveCall(
  host: RunHost,
  asked: DecidedCall & CallToApprove,
  policy: Policy,
): Promise<ApprovedCall> {
  let open = asked;
  for (;;) {
    const answer = await askForApproval(host, open, policy);
    if (answer === undefined) return { kind: "cancelled" };
    if (answer.answer !== "allow") {
      const denial = answer.by === NO_APPROVER ? open.denial : explainRefusal(open.decision);
      return { kind: "refused", outcome: "denied", message: answer.message ?? denial };
    }
    const { inputJson = open.call.inputJson, replies } = answer;
    const { call, input } = open;
    if (inputJson === call.inputJson) return { kind: "allowed", call, input, grant: grantOf(call, replies) };
    const decided = await decideCall(host, { ...call, inputJson }, policy);
    if (host.outlet.signal.aborted) return { kind: "cancelled" };
    if (decided.effect === "ask") {
      open = decided;
      continue;
    }
    await host.record([decided.requested]);
    return decided.effect === "refused" ? { kind: "refused", ...decided } : { kind: "allowed", ...decided };
  }
}

async function askForApproval(
  host: RunHost,
  { call, decision, requested }: DecidedCall & CallToApprove,
  policy: Policy,
): Promise<ApprovalAnswer | undefined> {
  const { services, outlet } = host;
  const { approvals, executor } = services;
  const { callId, name, inputJson } = call;
  const question = await questionAbout({ ...askerOf(host), call, decision, policy, executor });
  const { requestId } = question;
  const always = question.always.length === 0 ? undefined : question.always;
  const attended = approvals.canAnswer(question.background === true) ? undefined : false;
  const resume = host.pause();
  let notification: Promise<unknown> | undefined;
  const answer = await approvals
    .ask(question, {
      signal: outlet.signal,
      onOpen: async () => {
        const { reason } = decision;
        await host.record([
          requested,
          { type: "approval.requested", requestId, callId, name, inputJson, reason, always, attended },
        ]);
        const message = `${name} is waiting for your answer: ${reason}`;
        notification = askHooks(host, { event: "Notification" }, { message, notification_type: "permission_prompt" });
        // Errors are handled where the notification is awaited, below.
        notification.catch(() => {});
      },
      settledBy: () => ruleSettling(call, { executor, policy, now: approvals.policyFor(policy) }),
    })
    .finally(resume);
  await notification;
  // The question was answered in an earlier process, so `onOpen` was not called.
  if (notification === undefined) await host.record([requested]);
  if (answer === undefined || outlet.signal.aborted) return undefined;
  await host.record([{ type: "approval.answered", requestId, callId, ...answer }, ...ruleNotices(answer, policy)]);
  return answer;
}

/** Reports an invalid rule in an answer. The call is allowed, but the rule has no effect. */
function ruleNotices({ answer, always }: ApprovalAnswer, { pool }: Policy): readonly DurableEvent[] {
  if (answer !== "allow" || always === undefined) return [];
  const problems = checkRules([{ text: always.rule, effect: "allow", scope: "session" }], pool);
  return problems.map(({ message }) => ({ type: "notice.raised", code: "rule_invalid", message }));
}
