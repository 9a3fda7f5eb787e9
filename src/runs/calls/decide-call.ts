import { isDeepStrictEqual } from "node:util";
import type { HookOutcome, Judgement } from "../../ports/index.ts";
import type { Decision, DurableEvent, Grant, JsonValue, Policy, ToolCall } from "../../protocol/index.ts";
import { askHooks } from "../host/ask-hooks.ts";
import type { RunHost } from "../host/run-host.ts";

/** What comes of a call before a person is asked; the call is as hooks left it. */
export type DecidedCall = { readonly call: ToolCall; readonly requested: DurableEvent } & (
  | { readonly effect: "refused"; readonly outcome: "error" | "denied"; readonly message: string }
  | { readonly effect: "ask"; readonly decision: Decision; readonly denial: string }
  | { readonly effect: "allow"; readonly grant?: Grant }
);

/** Hooks that go on changing what they have changed would never come to an end. */
const MOST_CHANGES = 5;

/** Rules and mode, then hooks. Input that a hook changed is decided about from the start. */
export async function decideCall(host: RunHost, made: ToolCall, policy: Policy): Promise<DecidedCall> {
  let call = made;
  for (let changes = 0; changes <= MOST_CHANGES; changes++) {
    const judgement = await host.services.executor.judge(call, policy);
    const about = { call, requested: requestedEvent(call, judgement) };
    if (judgement.kind === "invalid")
      return { ...about, effect: "refused", outcome: "error", message: judgement.message };
    const { decision, denial = decision.reason } = judgement;
    if (decision.effect === "deny") return { ...about, effect: "refused", outcome: "denied", message: denial };
    const word = await consult(host, { call, decision, policy });
    if (word.kind === "changed") call = { ...call, inputJson: word.inputJson };
    else if (word.kind === "deny") return { ...about, effect: "refused", outcome: "denied", message: word.message };
    else if (word.kind === "allow")
      return { ...about, effect: "allow", ...(word.granted ? { grant: grantOf(call, "hook") } : {}) };
    else {
      const no = word.decision === decision ? denial : `Nobody allowed this call. ${word.decision.reason}`;
      return { ...about, effect: "ask", decision: word.decision, denial: no };
    }
  }
  const message = `Hooks changed the input of this call ${MOST_CHANGES + 1} times in a row, so it was not made. A hook must leave alone what it has changed.`;
  return { call, requested: requestedEvent(call), effect: "refused", outcome: "denied", message };
}

export function grantOf({ callId, inputJson }: ToolCall, by: Grant["by"]): Grant {
  return { callId, inputJson, by };
}

/** Parses an input that the executor has already found to be JSON. */
export function inputOf({ inputJson }: ToolCall): JsonValue {
  try {
    return JSON.parse(inputJson) as JsonValue;
  } catch {
    return {};
  }
}

interface Considered {
  readonly call: ToolCall;
  /** Allow or ask. */
  readonly decision: Decision;
  readonly policy: Policy;
}

type Word =
  | { readonly kind: "allow"; readonly granted?: true }
  | { readonly kind: "ask"; readonly decision: Decision }
  | { readonly kind: "deny"; readonly message: string }
  /** Decide again, about this input. */
  | { readonly kind: "changed"; readonly inputJson: string };

/** First who wants to see every call; then, where a person would be asked, who may answer in their place. */
async function consult(host: RunHost, considered: Considered): Promise<Word> {
  const { call, policy } = considered;
  if (host.services.hooks === undefined && considered.decision.effect === "allow") return { kind: "allow" };
  const { callId, name } = call;
  const facts = { tool_name: name, tool_input: inputOf(call), tool_use_id: callId };
  const before = { event: "PreToolUse", callId, about: `PreToolUse hook on ${name}` } as const;
  const word = wordOf(await askHooks(host, before, facts), considered);
  if (word.kind !== "ask") return word;
  const { decision } = word;
  if (policy.mode === "dontAsk" || policy.unattended) return { kind: "deny", message: decision.reason };
  const instead = { event: "PermissionRequest", callId, about: `PermissionRequest hook on ${name}` } as const;
  const answer = await askHooks(host, instead, { ...facts, reason: decision.reason });
  return wordOf(answer, { ...considered, decision });
}

/** A hook can tighten; it can loosen only what rules leave open, and files of others not what the user wants to be asked. */
function wordOf(outcome: HookOutcome | undefined, { call, decision }: Considered): Word {
  const isOpen = decision.effect === "ask";
  if (outcome?.decision === "deny") return { kind: "deny", message: deniedText(outcome.reason) };
  if (outcome?.input !== undefined && !isDeepStrictEqual(outcome.input, inputOf(call)))
    return { kind: "changed", inputJson: JSON.stringify(outcome.input) };
  if (outcome?.decision === "ask") return { kind: "ask", decision: isOpen ? decision : asking(outcome.reason) };
  if (!isOpen) return { kind: "allow" };
  const mayLoosen = outcome?.allowedBy === "user" || !isUsersWord(decision);
  return outcome?.decision === "allow" && mayLoosen ? { kind: "allow", granted: true } : { kind: "ask", decision };
}

function isUsersWord({ scope }: Decision): boolean {
  return scope === "user" || scope === "managed" || scope === "flag" || scope === "session";
}

function asking(reason = "A hook wants a person to decide."): Decision {
  return { effect: "ask", rule: "PreToolUse hook", scope: "session", reason };
}

function deniedText(reason: string | undefined): string {
  return reason === undefined ? "A hook said no to this call." : `A hook said no to this call: ${reason}`;
}

function requestedEvent(call: ToolCall, judgement?: Judgement): DurableEvent {
  const request: DurableEvent = { type: "tool.requested", callId: call.callId, name: call.name };
  if (judgement?.kind !== "decided") return request;
  const { effect, rule, scope, reason } = judgement.decision;
  // A denied call has no effect anyway.
  const proof = judgement.readsOnly && effect !== "deny" ? { readsOnly: true as const } : {};
  return { ...request, decision: { effect, rule, scope, ...(effect === "allow" ? {} : { reason }) }, ...proof };
}
