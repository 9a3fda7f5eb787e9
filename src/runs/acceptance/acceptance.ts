import type { Hands } from "../../ports/index.ts";
import {
  type AcceptanceResult,
  type ApprovalAnswer,
  type CallId,
  type Decision,
  type Policy,
  type RunId,
  type ToolCall,
  textOf,
} from "../../protocol/index.ts";
import type { ApprovalDesk } from "../approvals/approval-queue.ts";
import type { Asker } from "../approvals/asker.ts";

export interface AcceptanceRequest {
  readonly command: string;
  readonly who: Asker;
  readonly runId: RunId;
  /** Of the agent whose work it is. */
  readonly policy: Policy;
  readonly hands: Hands;
  /** Absent: who gave the command has allowed it. */
  readonly approvals?: ApprovalDesk;
  readonly signal: AbortSignal;
  /** Stops the clocks while a person is asked. */
  readonly pause: () => () => void;
}

/** Runs the command that says whether an agent's work holds, as a command of that agent: decided, asked about, limited in time. Never rejects. */
export async function checkAcceptance(request: AcceptanceRequest): Promise<AcceptanceResult> {
  const { command, runId, policy, hands } = request;
  const call: ToolCall = {
    callId: `${runId}_acceptance` as CallId,
    name: "Bash",
    inputJson: JSON.stringify({ command }),
  };
  const notRun = (why: string): AcceptanceResult => ({ command, ok: false, exitCode: null, output: why });
  try {
    const judged = await hands.judge(call, policy);
    if (judged.kind === "invalid") return notRun(judged.message);
    const { decision, denial = decision.reason } = judged;
    if (decision.effect === "deny") return notRun(denial);
    const asks = decision.effect === "ask";
    const answer = asks && request.approvals ? await ask(call, { ...request, decision }, request.approvals) : undefined;
    if (answer?.answer === "deny") return notRun(answer.message ?? denial);
    const grant = asks ? { grant: { callId: call.callId, inputJson: call.inputJson, by: "person" as const } } : {};
    const { who, signal } = request;
    const result = await hands.execute({ agentId: who.agentId, call, policy, ...grant }, () => {}, signal);
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
  { who, policy, hands, signal, decision, pause }: AcceptanceRequest & { readonly decision: Decision },
  approvals: ApprovalDesk,
): Promise<ApprovalAnswer> {
  const { questionAbout, ruleSettling } = await import("../approvals/question.ts");
  const question = await questionAbout({ ...who, call, decision, policy, hands });
  const settledBy = () => ruleSettling(call, { hands, policy, now: approvals.policyFor(policy) });
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
