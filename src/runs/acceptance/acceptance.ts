import { turnsLeft } from "../../loop/index.ts";
import type { ToolExecutor } from "../../ports/index.ts";
import {
  type AcceptanceResult,
  type ApprovalAnswer,
  type CallId,
  type Decision,
  type DurableEvent,
  type FileImage,
  NO_APPROVER,
  type Policy,
  type RunId,
  runtimeText,
  runtimeTexts,
  type ToolCall,
  textOf,
} from "../../protocol/index.ts";
import type { ApprovalQueue } from "../approvals/approval-queue.ts";
import { type Asker, askerOf, questionAbout, ruleSettling } from "../approvals/question.ts";
import { grantOf } from "../calls/decide-call.ts";
import { describeTrespasses } from "../calls/review-trespasses.ts";
import type { Acceptance, RunHost } from "../host/run-host.ts";

interface AcceptanceRequest {
  readonly command: string;
  readonly asker: Asker;
  readonly runId: RunId;
  /** Policy of the agent whose work is checked. */
  readonly policy: Policy;
  readonly executor: ToolExecutor;
  /** Absent if the command needs no approval, because the user supplied it with the run. */
  readonly approvals?: ApprovalQueue | undefined;
  readonly signal: AbortSignal;
  /** Pauses the run's clocks while the command is waiting for approval. */
  readonly pause: () => () => void;
  /** Called if the command changed protected files although no rule permits it. */
  readonly onTrespass: (trespasses: readonly FileImage[]) => Promise<void>;
}

/** Time limit for an acceptance command. Test suites take minutes, so this is the longest timeout that Bash allows. */
const TIME_LIMIT_MS = 600_000;

/**
 * Runs an acceptance command as if the agent had run it: the agent's policy applies, and the command may need
 * approval. Never rejects.
 */
async function checkAcceptance(request: AcceptanceRequest): Promise<AcceptanceResult> {
  const { command, runId, policy, executor } = request;
  const call: ToolCall = {
    callId: `${runId}_acceptance` as CallId,
    name: "Bash",
    inputJson: JSON.stringify({ command, timeout: TIME_LIMIT_MS }),
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
    const grant = asks ? grantOf(call) : undefined;
    const { agentId } = request.asker;
    const result = await executor.execute({ agentId, call, policy, grant }, () => {}, request.signal);
    const exitCode = result.facts?.command?.exitCode ?? null;
    const { trespasses = [] } = result.facts ?? {};
    if (trespasses.length > 0) await request.onTrespass(trespasses);
    return {
      command,
      ok: result.outcome === "ok" && exitCode === 0,
      exitCode,
      output: lastLines(textOf(result.content)),
    };
  } catch (error) {
    return notRun(`The command could not be run: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function ask(
  call: ToolCall,
  { asker, policy, executor, signal, decision, pause }: AcceptanceRequest & { readonly decision: Decision },
  approvals: ApprovalQueue,
): Promise<ApprovalAnswer> {
  const question = await questionAbout({ ...asker, call, decision, policy, executor });
  const settledBy = () => ruleSettling(call, { executor, policy, now: approvals.policyFor(policy) });
  const resume = pause();
  const answer = await approvals.ask(question, { signal, settledBy, onOpen: async () => {} }).finally(resume);
  // The approver may not change the command.
  if (answer === undefined || (answer.inputJson ?? call.inputJson) !== call.inputJson)
    return { answer: "deny", by: NO_APPROVER };
  return answer;
}

export function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n").slice(-20).join("\n");
  return lines.length > 2_000 ? `…${lines.slice(-2_000)}` : lines;
}

/**
 * Checks work that the agent reports as done. Returns false if the check failed and the agent was asked to fix the
 * work, which happens at most once per run.
 */
export async function acceptWork(host: RunHost, acceptance: Acceptance): Promise<boolean> {
  const { request, thread, outlet } = host;
  const { runId } = request;
  const result = await firstFailure(host, acceptance);
  // A run that was stopped during the check has not failed the check.
  if (outlet.signal.aborted) return true;
  const { run } = thread.state;
  const hasTurns = run !== undefined && turnsLeft(run) > 0;
  // The agent can't fix a command that could not be started.
  const again = !result.ok && result.exitCode !== null && host.acceptance === undefined && hasTurns;
  host.acceptance = result;
  const checked: DurableEvent = { type: "acceptance.checked", runId, ...result };
  await host.record([checked, ...(again ? [failureMessage(result)] : [])]);
  return !again;
}

/** Returns the first failed check, or the last check if all succeed. */
async function firstFailure(host: RunHost, { commands, policy, granted = [] }: Acceptance): Promise<AcceptanceResult> {
  const { services, thread, request, outlet } = host;
  const { executor, approvals, retinue } = services;
  const { runId } = request;
  const { signal } = outlet;
  let result: AcceptanceResult = { command: "", ok: true, exitCode: 0, output: "" };
  for (const command of commands) {
    result = await checkAcceptance({
      command,
      asker: askerOf(host),
      runId,
      policy: approvals.policyFor(retinue?.policyOf(thread.agentId, policy) ?? policy),
      executor,
      approvals: granted.includes(command) ? undefined : approvals,
      signal,
      pause: () => host.pause(),
      onTrespass: async (trespasses) => {
        const message = `${describeTrespasses(trespasses, services.cwd)} Review the changes. They were not undone.`;
        await host.record([{ type: "notice.raised", code: "protected_files", message }]);
      },
    });
    if (!result.ok) break;
  }
  return result;
}

function failureMessage({ command, exitCode, output }: AcceptanceResult): DurableEvent {
  const text = `${runtimeTexts.acceptanceFailed}: ${command} exited with code ${exitCode}. Fix the cause, then report again. The last lines of its output:\n${output}`;
  return { type: "context.added", cause: "acceptance", text: runtimeText(text) };
}
