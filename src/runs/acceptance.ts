import type { Approvals, Hands } from "../ports/index.ts";
import {
  type AcceptanceResult,
  type AgentId,
  type CallId,
  type Policy,
  type RunId,
  type ToolCall,
  textOf,
} from "../protocol/index.ts";

export interface AcceptanceRequest {
  readonly command: string;
  readonly agentId: AgentId;
  readonly runId: RunId;
  /** Of the agent whose work it is. */
  readonly policy: Policy;
  readonly hands: Hands;
  readonly approvals: Approvals;
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
    const answer = decision.effect === "ask" ? await ask(call, { ...request, decision }) : undefined;
    if (answer?.answer === "deny") return notRun(answer.message ?? denial);
    const grant = answer ? { grant: { callId: call.callId, inputJson: call.inputJson, by: "person" as const } } : {};
    const { agentId, signal } = request;
    const result = await hands.execute({ agentId, call, policy, ...grant }, () => {}, signal);
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

function ask(
  call: ToolCall,
  {
    agentId,
    approvals,
    signal,
    decision,
    pause,
  }: AcceptanceRequest & { readonly decision: Parameters<Approvals["ask"]>[0]["decision"] },
): ReturnType<Approvals["ask"]> {
  const goOn = pause();
  return approvals.ask({ requestId: `ask_${call.callId}`, agentId, call, decision }, signal).finally(goOn);
}

function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n").slice(-20).join("\n");
  return lines.length > 2_000 ? `…${lines.slice(-2_000)}` : lines;
}
