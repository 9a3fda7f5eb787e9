import type { ResolvedAgent } from "../../agents/index.ts";
import type { HookScene } from "../../ports/index.ts";
import { type DurableEvent, type RunResult, runtimeText, textOf } from "../../protocol/index.ts";
import type { Thread } from "../thread/thread.ts";
import { askHooks, hookLines, sceneOf, withoutContext } from "./ask-hooks.ts";
import type { RunHost, RunServices } from "./run-host.ts";

/** Maximum number of times that Stop hooks can make a run continue. */
const MAX_CONTINUATIONS = 8;

/** Runs the hooks for the start of a run. Returns the reason if a hook rejected the prompt. */
export async function runStartHooks(host: RunHost): Promise<string | undefined> {
  const { subagent, opens, prompt } = host.request;
  if (subagent !== undefined) return runSubagentStartHooks(host);
  if (opens !== undefined) await askHooks(host, { event: "SessionStart" }, { source: opens });
  if (prompt.length === 0) return undefined;
  const answer = await askHooks(host, { event: "UserPromptSubmit" }, { prompt: textOf(prompt) });
  if (answer?.decision !== "deny") return undefined;
  return `A hook rejected the prompt${answer.reason === undefined ? "." : `: ${answer.reason}`}`;
}

/**
 * Runs the SubagentStart hooks. First records that they are about to run, so that they are always followed by
 * SubagentStop hooks, even after a crash.
 */
async function runSubagentStartHooks(host: RunHost): Promise<undefined> {
  const { services, request } = host;
  const { runId } = request;
  if (!services.hooks?.has("SubagentStart") && !services.hooks?.has("SubagentStop")) return;
  await host.record([{ type: "hooks.started", event: "SubagentStart", runId }]);
  host.startHooksRan = true;
  await askHooks(host, { event: "SubagentStart", runId }, { run_id: runId });
}

/** Runs the Stop hooks of a run that is done. Returns whether a hook asked the agent to continue. */
export async function isContinuedByHook(host: RunHost): Promise<boolean> {
  const times = host.continuations ?? 0;
  if (!host.services.hooks?.has("Stop")) return false;
  if (times >= MAX_CONTINUATIONS) {
    const message = `Stop hooks have made the agent continue ${times} times, which is the limit. The run ends now.`;
    await host.record([{ type: "notice.raised", code: "hook", message }]);
    return false;
  }
  const { run, turn } = host.thread.state;
  const facts = stopFacts(host, { outcome: "succeeded", reason: "done", text: run?.text ?? "" });
  const answer = await askHooks(host, { event: "Stop" }, facts);
  if (answer?.decision !== "deny" || host.outlet.signal.aborted) {
    host.stopHooksTurn = turn;
    return false;
  }
  host.continuations = times + 1;
  const text = runtimeText(`You are not done: ${answer.reason ?? "a Stop hook requires you to continue."}`);
  await host.record([{ type: "context.added", cause: "hook", text }]);
  return true;
}

/**
 * Runs the Stop and SubagentStop hooks after the end of a run. Stopping the run does not stop them; only their own time
 * limit does.
 */
export async function runEndHooks(host: RunHost, result: RunResult): Promise<void> {
  await runLateStopHooks(host, result);
  await runSubagentStopHooks(host, result);
}

/**
 * Runs the Stop hooks if they did not run before the run ended, for example after a limit or an error. They can't make
 * the run continue.
 */
async function runLateStopHooks(host: RunHost, result: RunResult): Promise<void> {
  const { services, thread } = host;
  const { runId, reason } = result;
  const wasAsked = host.stopHooksTurn === thread.state.turn && reason === "done";
  if (!services.hooks?.has("Stop") || wasAsked || host.isRejected) return;
  const outcome = await services.hooks.run("Stop", stopFacts(host, result), endScene(host));
  const { decision, reason: why } = outcome;
  const message = `A Stop hook asked the agent to continue, but the run had ended (${reason})${why === undefined ? "." : `: ${why}`}`;
  const ignored: DurableEvent[] = decision === "deny" ? [{ type: "notice.raised", code: "hook", message }] : [];
  await recordLate(host, [...hookLines({ event: "Stop", runId }, withoutContext(outcome)), ...ignored]);
}

async function runSubagentStopHooks(host: RunHost, result: RunResult): Promise<void> {
  const { hooks } = host.services;
  if (!host.startHooksRan || hooks === undefined) return;
  const { runId } = result;
  await recordLate(host, [{ type: "hooks.started", event: "SubagentStop", runId }]);
  const outcome = await hooks.run("SubagentStop", endFacts(result), endScene(host));
  await recordLate(host, hookLines({ event: "SubagentStop", runId }, withoutContext(outcome)));
}

/** Records events after the end of a run. Ignores errors, because the hooks run even if the journal has failed. */
async function recordLate(host: RunHost, events: readonly DurableEvent[]): Promise<void> {
  if (events.length > 0) await host.record(events).catch(() => undefined);
}

/**
 * Returns the `HookScene` for hooks at the end of a run, with a new signal, because the signal of a stopped run would
 * stop the hooks too.
 */
function endScene(host: RunHost): HookScene {
  return { ...sceneOf(host), signal: new AbortController().signal };
}

function stopFacts(
  { continuations = 0 }: RunHost,
  { outcome, reason, text }: Pick<RunResult, "outcome" | "reason" | "text">,
) {
  return { stop_hook_active: continuations > 0, outcome, reason, last_assistant_message: text };
}

/** Returns the facts about the end of a run for SubagentStop hooks. */
export function endFacts({ runId, outcome, reason, text }: Pick<RunResult, "runId" | "outcome" | "reason" | "text">) {
  return { run_id: runId, outcome, reason, last_assistant_message: text };
}

export async function runSessionEndHooks(
  { hooks, cwd }: RunServices,
  thread: Thread,
  { agentType, policy }: ResolvedAgent,
): Promise<void> {
  if (!hooks?.has("SessionEnd")) return;
  const { agentId } = thread;
  const { signal } = new AbortController();
  const scene = { agentId, agentType, depth: 0, cwd, permissionMode: policy.mode, signal };
  const outcome = await hooks.run("SessionEnd", { reason: "exit" }, scene);
  await thread.record(hookLines({ event: "SessionEnd" }, withoutContext(outcome))).catch(() => []);
}
