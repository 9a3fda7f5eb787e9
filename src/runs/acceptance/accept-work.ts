import type { AcceptanceResult, DurableEvent } from "../../protocol/index.ts";
import { askerOf } from "../approvals/asker.ts";
import type { Acceptance, RunHost } from "../host/run-host.ts";
import { checkAcceptance } from "./acceptance.ts";

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
  const { hands, approvals, retinue } = services;
  const { runId } = request;
  const { signal } = outlet;
  let result: AcceptanceResult = { command: "", ok: true, exitCode: 0, output: "" };
  for (const command of commands) {
    result = await checkAcceptance({
      command,
      who: askerOf(host),
      runId,
      policy: approvals.policyFor(retinue?.policyOf(thread.agentId, policy) ?? policy),
      hands,
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
