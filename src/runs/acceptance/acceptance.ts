import type { ToolExecutor } from "../../ports/index.ts";
import {
  type AcceptanceResult,
  type ApprovalAnswer,
  type CallId,
  type Decision,
  type DurableEvent,
  type Policy,
  type RunId,
  type ToolCall,
  textOf,
} from "../../protocol/index.ts";
import type { ApprovalQueue } from "../approvals/approval-queue.ts";
import { type Asker, askerOf } from "../approvals/question.ts";
import type { Acceptance, RunHost } from "../host/run-host.ts";

export interface AcceptanceRequest {
  readonly command: string;
  readonly who: Asker;
  readonly runId: RunId;
  /** Of the agent whose work it is. */
  readonly policy: Policy;
  readonly executor: ToolExecutor;
  /** Absent: who gave the command has allowed it. */
  readonly approvals?: ApprovalQueue;
  readonly signal: AbortSignal;
  /** Stops the clocks while a person is asked. */
  readonly pause: () => () => void;
}

/** Runs the command that says whether an agent's work holds, as a command of that agent: decided, asked about, limited in time. Never rejects. */
async function checkAcceptance(request: AcceptanceRequest): Promise<AcceptanceResult> {
  const { command, runId, policy, executor } = request;
  const call: ToolCall = {
    callId: `${runId}_acceptance` as CallId,
    name: "Bash",
    inputJson: JSON.stringify({ command }),
  };
  const notRun = (why: string): AcceptanceResult => ({ command, ok: false, exitCode: null, output: why });
  try {
    const judged = await executor.judge(call, policy);
    if (judged.kind === "invalid") return notRun(judged.message);
    const { decision, denial = decision.reason } = judged;
    if (decision.effect === "deny") return notRun(denial);
    const asks = decision.effect === "ask";
    const answer = asks && request.approvals ? await ask(call, { ...request, decision }, request.approvals) : undefined;
    if (answer?.answer === "deny") return notRun(answer.message ?? denial);
    const grant = asks ? { grant: { callId: call.callId, inputJson: call.inputJson, by: "person" as const } } : {};
    const { who, signal } = request;
    const result = await executor.execute({ agentId: who.agentId, call, policy, ...grant }, () => {}, signal);
    const exitCode = result.facts?.command?.exitCode ?? null;
    return {
      command,
      ok: result.outcome === "ok" && exitCode === 0,
      exitCode,
      output: lastLines(textOf(result.content)),
    };
  } catch (error) {
    return notRun(`It could not be run: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function ask(
  call: ToolCall,
  { who, policy, executor, signal, decision, pause }: AcceptanceRequest & { readonly decision: Decision },
  approvals: ApprovalQueue,
): Promise<ApprovalAnswer> {
  const { questionAbout, ruleSettling } = await import("../approvals/question.ts");
  const question = await questionAbout({ ...who, call, decision, policy, executor });
  const settledBy = () => ruleSettling(call, { executor, policy, now: approvals.policyFor(policy) });
  const goOn = pause();
  const answer = await approvals.ask(question, { signal, settledBy, onOpen: async () => {} }).finally(goOn);
  // What the check is, is not for who answers to change.
  if (answer === undefined || (answer.inputJson ?? call.inputJson) !== call.inputJson)
    return { answer: "deny", by: "nobody" };
  return answer;
}

export function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n").slice(-20).join("\n");
  return lines.length > 2_000 ? `…${lines.slice(-2_000)}` : lines;
}

/** Holds what is called done against its checks. False: it did not stand them, the agent was told why, and has one more go. */
export async function acceptWork(host: RunHost, acceptance: Acceptance): Promise<boolean> {
  const { request, thread, outlet } = host;
  const { runId } = request;
  const result = await firstFailure(host, acceptance);
  // Who was stopped in the middle has not failed.
  if (outlet.signal.aborted) return true;
  const { run } = thread.state;
  const hasTurns = run !== undefined && run.turns < run.maxTurns;
  // What could not be run the agent can't mend.
  const again = !result.ok && result.exitCode !== null && host.acceptance === undefined && hasTurns;
  host.acceptance = result;
  const checked: DurableEvent = { type: "acceptance.checked", runId, ...result };
  await host.record([checked, ...(again ? [tellingOf(result)] : [])]);
  return !again;
}

/** Or the last success, when there is none. */
async function firstFailure(host: RunHost, { commands, policy, granted = [] }: Acceptance): Promise<AcceptanceResult> {
  const { services, thread, request, outlet } = host;
  const { executor, approvals, retinue } = services;
  const { runId } = request;
  const { signal } = outlet;
  let result: AcceptanceResult = { command: "", ok: true, exitCode: 0, output: "" };
  for (const command of commands) {
    result = await checkAcceptance({
      command,
      who: askerOf(host),
      runId,
      policy: approvals.policyFor(retinue?.policyOf(thread.agentId, policy) ?? policy),
      executor,
      ...(granted.includes(command) ? {} : { approvals }),
      signal,
      pause: () => host.pause(),
    });
    if (!result.ok) break;
  }
  return result;
}

function tellingOf({ command, exitCode, output }: AcceptanceResult): DurableEvent {
  const text = `[Your work is not accepted yet: ${command} ended with exit code ${exitCode}. Mend it, then report again. Its last lines:]\n${output}`;
  return { type: "context.added", cause: "acceptance", text };
}
