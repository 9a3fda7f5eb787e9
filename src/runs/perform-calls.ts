import type { ApprovalAnswer, HandsRequest, Judgement } from "../ports/index.ts";
import type { CallOutcome, Decision, DurableEvent, Grant, ToolCall, ToolResult } from "../protocol/index.ts";
import type { RunHost } from "./run-host.ts";

/** Performs the calls of one answer: neighbours that may run side by side do, all others alone and in order. */
export async function performCalls(host: RunHost, calls: readonly ToolCall[]): Promise<void> {
  let index = 0;
  while (index < calls.length) {
    const batch = [calls[index] as ToolCall];
    while (sideBySide(host, batch[0]) && sideBySide(host, calls[index + batch.length])) {
      batch.push(calls[index + batch.length] as ToolCall);
    }
    index += batch.length;
    await settled(batch.map((call) => performCall(host, call)));
  }
}

/** Waits for all before it fails with the first failure: none may go on alone behind the host's back. */
async function settled(running: readonly Promise<void>[]): Promise<void> {
  if (running.length === 1) return running[0];
  const failed = (await Promise.allSettled(running)).find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
}

function sideBySide(host: RunHost, call: ToolCall | undefined): boolean {
  return call !== undefined && host.services.hands.traits(call.name).parallel;
}

async function performCall(host: RunHost, call: ToolCall): Promise<void> {
  const { services, request, outlet, thread } = host;
  const policy = services.retinue?.policyOf(thread.agentId, request.agent.policy) ?? request.agent.policy;
  const startedAt = services.clock.monotonic();
  const ended = (result: ToolResult): DurableEvent => ({
    type: "tool.ended",
    callId: call.callId,
    name: call.name,
    result,
    milliseconds: Math.round(services.clock.monotonic() - startedAt),
  });
  if (outlet.signal.aborted) return host.record([ended(notStarted)]);

  const known = thread.state.calls.find(({ call: { callId } }) => callId === call.callId);
  // Work was given away before a restart: decided, asked and begun it is already.
  if (known?.status === "started")
    return host.record([ended(await execute(host, { call, policy, ...(known.granted ? grantOf(call) : {}) }))]);

  const judgement = await services.hands.judge(call, policy);
  const requested = requestedEvent(call, judgement);
  if (judgement.kind === "invalid") return host.record([requested, ended(textResult("error", judgement.message))]);
  const { decision, denial = decision.reason } = judgement;
  const started: DurableEvent = { type: "tool.started", callId: call.callId };
  let grant: { grant?: Grant } = {};
  if (decision.effect === "deny") {
    return host.record([requested, ended(textResult("denied", denial))]);
  }
  if (decision.effect === "ask") {
    const answer = await askPerson(host, { call, decision, requested });
    if (answer === "cancelled") return host.record([ended(notStarted)]);
    if (answer.answer === "deny") return host.record([ended(textResult("denied", answer.message ?? denial))]);
    grant = grantOf(call);
    await host.record([started]);
  } else {
    await host.record([requested, started]);
  }

  const { effects } = services.hands.traits(call.name);
  if (effects) await thread.sync();
  const result = await execute(host, { call, policy, ...grant });
  await host.record([ended(result)]);
  // The next request may leave meanwhile; the next side effect waits for its own sync, which covers this one.
  if (effects) void thread.sync().catch(() => undefined);
}

function grantOf({ callId, inputJson }: ToolCall): { readonly grant: Grant } {
  return { grant: { callId, inputJson, by: "person" } };
}

function execute(host: RunHost, request: Omit<HandsRequest, "agentId">): Promise<ToolResult> {
  const { services, outlet, thread } = host;
  const { callId } = request.call;
  const progress = (text: string): void => outlet.emit({ type: "tool.progressed", callId, text });
  return services.hands.execute({ agentId: thread.agentId, ...request }, progress, outlet.signal);
}

interface Question {
  readonly call: ToolCall;
  readonly decision: Decision;
  readonly requested: DurableEvent;
}

async function askPerson(
  host: RunHost,
  { call, decision, requested }: Question,
): Promise<"cancelled" | ApprovalAnswer> {
  const { callId, name, inputJson } = call;
  const { approvals } = host.services;
  const requestId = `ask_${callId}`;
  await host.record([
    requested,
    { type: "approval.requested", requestId, callId, name, inputJson, reason: decision.reason },
  ]);
  const { agentId } = host.thread;
  const goOn = host.clocks.pause();
  const answer = await approvals.ask({ requestId, agentId, call, decision }, host.outlet.signal).finally(goOn);
  if (host.outlet.signal.aborted) return "cancelled";
  const message = answer.message === undefined ? {} : { message: answer.message };
  await host.record([
    { type: "approval.answered", requestId, callId, answer: answer.answer, by: answer.by, ...message },
  ]);
  return answer;
}

function requestedEvent(call: ToolCall, judgement: Judgement): DurableEvent {
  const request: DurableEvent = { type: "tool.requested", callId: call.callId, name: call.name };
  if (judgement.kind === "invalid") return request;
  const { effect, rule, scope, reason } = judgement.decision;
  return { ...request, decision: { effect, rule, scope, ...(effect === "allow" ? {} : { reason }) } };
}

function textResult(outcome: CallOutcome, text: string): ToolResult {
  return { outcome, content: [{ type: "text", text }] };
}

const notStarted = textResult("cancelled", "Cancelled before it began: the run was stopped.");
