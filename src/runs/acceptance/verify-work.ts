import { isAbsolute } from "node:path";
import { boundText } from "../../lib/index.ts";
import { turnsLeft, withUnverified } from "../../loop/index.ts";
import {
  type AcceptanceResult,
  type CallId,
  type DurableEvent,
  type EndReason,
  runtimeText,
  runtimeTexts,
  VERIFIER,
} from "../../protocol/index.ts";
import type { RunHost } from "../host/run-host.ts";
import type { SubagentResult } from "../subagents/subagent.ts";
import { LONGEST_REPORT, resultText } from "../subagents/task-text.ts";
import { lastLines } from "./acceptance.ts";
import { verdictOf } from "./verdict.ts";

/** Suggests verification to an agent that has changed files, once per run. */
export async function suggestVerification(host: RunHost): Promise<void> {
  const { run } = host.thread.state;
  if (host.isToldToVerify || run === undefined || run.facts.filesChanged.length === 0) return;
  host.isToldToVerify = true;
  const text = `You have changed files. Unless the change is trivial, have it verified once it is complete, before you report: call Task with subagent_type ${VERIFIER}, and say in the prompt what was requested and what you changed. The agent works in its own copy.`;
  await host.record([{ type: "context.added", cause: "verification", text: runtimeText(text) }]);
}

/**
 * Before a run ends successfully, starts a verifier that tries to break what was changed and not verified yet, in this
 * run or earlier. Returns false if the verifier found a fault and the agent was asked to fix it, which happens at most
 * once per run.
 */
export async function verifyWork(host: RunHost): Promise<boolean> {
  const { acceptance, request, outlet, thread } = host;
  const hasFailed = acceptance?.ok === false && acceptance.verdict === undefined;
  // Work that already failed another check is not verified.
  if (hasFailed) return true;
  const { isDue, verdict } = thread.state.unverified;
  if (!isDue) {
    // Nothing has changed since the last verdict, so it is still valid, whatever the other checks say.
    host.acceptance = verdict ?? acceptance;
    return true;
  }
  const run = await verify(host);
  if (outlet.signal.aborted) return true;
  const result = resultOf(run);
  const { run: state } = thread.state;
  const hasTurns = state !== undefined && turnsLeft(state) > 0;
  const again = result.verdict === "fail" && !host.isToldToVerify && hasTurns;
  host.acceptance = result;
  if (again) host.isToldToVerify = true;
  const stillDue = "end" in run && run.end.outcome === "succeeded" ? undefined : true;
  const checked: DurableEvent = { type: "acceptance.checked", runId: request.runId, ...result, stillDue };
  await host.record([checked, ...(again && "end" in run ? [findingsMessage(run)] : [])]);
  return !again;
}

/** Returns the result of the checks at the end of a run. Says so if the run ends before its changes were verified. */
export function acceptanceAtEnd(
  { thread, request, acceptance, services }: RunHost,
  reason: EndReason,
): AcceptanceResult | undefined {
  if (request.verify !== "auto" || request.compaction !== undefined) return acceptance;
  const { background, unverified: own } = thread.state;
  if (reason === "done") return own.isDue ? acceptance : (acceptance ?? own.verdict);
  // Background agents that end with the program may have changed something that they will report in the next run.
  const unverified = (services.retinue?.registry.changesSoFar(background) ?? []).reduce(withUnverified, own);
  if (!unverified.isDue) return acceptance ?? unverified.verdict;
  const { text } = boundText([...unverified.files, ...unverified.commands].join(", "), { maxCharacters: 1_000 });
  const output = `The run ended early (${reason}), so its changes are not verified: ${text}. They are verified when the session is resumed and its work is done.`;
  return { command: VERIFIER, ok: false, exitCode: null, verdict: "inconclusive", output };
}

type Verification = SubagentResult | { readonly message: string };

async function verify(host: RunHost): Promise<Verification> {
  const { services, thread, request, outlet } = host;
  if (services.retinue === undefined) return { message: "There are no other agents in this session." };
  const callId: CallId = `${request.runId}_verify${thread.state.turn}`;
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
  const { asked, run, unverified } = host.thread.state;
  const { first = "", latest = "" } = asked ?? {};
  const { files, commands } = unverified;
  const parts = [
    `The request:\n${bounded(latest)}`,
    ...(first === latest ? [] : [`The first request of the conversation:\n${bounded(first)}`]),
    `The author's report:\n${bounded(run?.text ?? "")}`,
    ...(files.length === 0 ? [] : [`Changed files:\n${bounded(files.join("\n"))}`]),
    ...(commands.length === 0 ? [] : [`Commands that may have changed files:\n${bounded(commands.join("\n"))}`]),
    ...(files.length === 0 ? [unknownFiles] : []),
    ...(files.some(isAbsolute) ? [otherFiles] : []),
  ];
  return parts.join("\n\n");
}

const unknownFiles =
  "Which files the commands changed is not known. Find out with git. If nothing in the repository was changed, there is nothing to break, and the verdict is pass.";

const otherFiles =
  "Files with an absolute path are not in your copy. If another agent changed them in its worktree, find out with git whether your copy contains these changes. If it does not, test them where they are. The verdict is pass only if these changes are right too.";

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
  const text = `${runtimeTexts.verificationFailed}. Fix the findings that are correct, then report again.\n${resultText(run, report)}`;
  return { type: "context.added", cause: "verification", text: runtimeText(text) };
}
