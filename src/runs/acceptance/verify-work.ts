import { boundText } from "../../lib/index.ts";
import { type AcceptanceResult, type CallId, type DurableEvent, runtimeTexts, VERIFIER } from "../../protocol/index.ts";
import type { RunHost } from "../host/run-host.ts";
import type { SubagentResult } from "../subagents/subagent.ts";
import { LONGEST_REPORT, resultText } from "../subagents/task-text.ts";
import { lastLines } from "./acceptance.ts";
import { verdictOf } from "./verdict.ts";

/** Suggests verification to an agent that has changed files, once per run. */
export async function suggestVerification(host: RunHost): Promise<void> {
  if (host.verification !== undefined || changedFiles(host).length === 0) return;
  host.verification = { calls: callsOf(host) };
  const text = `[You have changed files. Unless the change is trivial, have it verified once it is complete, before you report: call Task with subagent_type ${VERIFIER}, and say in the prompt what was requested and what you changed. The agent works in its own copy.]`;
  await host.record([{ type: "context.added", cause: "verification", text }]);
}

/**
 * Before a run that changed files ends successfully, starts a verifier that tries to break its work. Returns
 * false if the verifier found a fault and the agent was asked to fix it, which happens at most once per run.
 */
export async function verifyWork(host: RunHost): Promise<boolean> {
  const { verification, acceptance, request, outlet } = host;
  const calls = callsOf(host);
  const hasFailed = acceptance?.ok === false && acceptance.verdict === undefined;
  // Work that already failed another check is not verified.
  if (hasFailed || changedFiles(host).length === 0) return true;
  if (verification?.calls === calls) {
    // The agent has made no calls since the last verdict, so the verdict is still valid, whatever the other checks say.
    host.acceptance = verification.result ?? acceptance;
    return true;
  }
  const run = await verify(host);
  if (outlet.signal.aborted) return true;
  const result = resultOf(run);
  const { run: state } = host.thread.state;
  const hasTurns = state !== undefined && state.turns < state.maxTurns;
  const again = result.verdict === "fail" && verification === undefined && hasTurns;
  host.acceptance = result;
  host.verification = { calls, result };
  const checked: DurableEvent = { type: "acceptance.checked", runId: request.runId, ...result };
  await host.record([checked, ...(again && "end" in run ? [findingsMessage(run)] : [])]);
  return !again;
}

type Verification = SubagentResult | { readonly message: string };

async function verify(host: RunHost): Promise<Verification> {
  const { services, thread, request, outlet } = host;
  if (services.retinue === undefined) return { message: "There are no other agents in this session." };
  const callId: CallId = `${request.runId}_verify${callsOf(host)}`;
  const spawn = {
    agentType: VERIFIER,
    description: "verify the work",
    prompt: verifierPrompt(host),
    background: true,
  };
  const resume = host.pause();
  const caller = { agentId: thread.agentId, callId, signal: outlet.signal };
  return services.retinue.delegate(spawn, caller).finally(resume);
}

const LONGEST_PART = 8_000;

function verifierPrompt(host: RunHost): string {
  const { asked, run } = host.thread.state;
  const { first = "", latest = "" } = asked ?? {};
  const parts = [
    `The request:\n${bounded(latest)}`,
    ...(first === latest ? [] : [`The first request of the conversation:\n${bounded(first)}`]),
    `The author's report:\n${bounded(run?.text ?? "")}`,
    `Changed files:\n${bounded(changedFiles(host).join("\n"))}`,
  ];
  return parts.join("\n\n");
}

function bounded(text: string): string {
  return boundText(text.trim(), { maxCharacters: LONGEST_PART }).text;
}

function resultOf(run: Verification): AcceptanceResult {
  const shared = { command: VERIFIER, exitCode: null } as const;
  if (!("end" in run)) return { ...shared, ok: false, verdict: "inconclusive", output: run.message };
  const verdict = verdictOf(run.end);
  const { text, message, outcome } = run.end;
  const output = outcome === "succeeded" ? text : [text, message ?? ""].join("\n");
  return { ...shared, ok: verdict === "pass", verdict, output: lastLines(output) };
}

function findingsMessage(run: SubagentResult): DurableEvent {
  const { text: report } = boundText(run.end.text, { maxCharacters: LONGEST_REPORT });
  const text = `${runtimeTexts.verificationFailed}. Fix the findings that are correct, then report again.]\n${resultText(run, report)}`;
  return { type: "context.added", cause: "verification", text };
}

function changedFiles({ thread }: RunHost): readonly string[] {
  return thread.state.run?.facts.filesChanged ?? [];
}

function callsOf({ thread }: RunHost): number {
  return Object.values(thread.state.run?.facts.toolCalls ?? {}).reduce((sum, count) => sum + count, 0);
}
