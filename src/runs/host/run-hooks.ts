import type { ResolvedAgent } from "../../agents/index.ts";
import { type DurableEvent, type RunResult, textOf } from "../../protocol/index.ts";
import type { Thread } from "../thread/thread.ts";
import { askHooks, hookLines, sceneOf, withoutContext } from "./ask-hooks.ts";
import type { RunHost, RunServices } from "./run-host.ts";

/** Limit for Stop hooks that ask an agent to continue. */
const MAX_CONTINUATIONS = 8;

/** Runs the hooks for the start of a run. Returns the reason if a hook rejected the prompt. */
export async function runStartHooks(host: RunHost): Promise<string | undefined> {
  const { subagent, opens, prompt } = host.request;
  if (subagent !== undefined) return runSubagentStartHooks(host);
  if (opens !== undefined) await askHooks(host, { event: "SessionStart" }, { source: opens });
  if (prompt.length === 0) return undefined;
  const answer = await askHooks(host, { event: "UserPromptSubmit" }, { prompt: textOf(prompt) });
  if (answer?.decision !== "deny") return undefined;
  return `A hook sent the prompt back${answer.reason === undefined ? "." : `: ${answer.reason}`}`;
}

/** Records the intent first, so that every SubagentStart hook is followed by a SubagentStop hook, also after a crash. */
async function runSubagentStartHooks(host: RunHost): Promise<undefined> {
  const { services, request } = host;
  const { runId } = request;
  if (!services.hooks?.has("SubagentStart") && !services.hooks?.has("SubagentStop")) return;
  await host.record([{ type: "hooks.started", event: "SubagentStart", runId }]);
  host.startHooksRan = true;
  await askHooks(host, { event: "SubagentStart", runId }, { run_id: runId });
}

/** Returns whether a Stop hook asks the agent to continue. */
export async function isContinuedByHook(host: RunHost): Promise<boolean> {
  const times = host.continuations ?? 0;
  if (!host.services.hooks?.has("Stop")) return false;
  if (times >= MAX_CONTINUATIONS) {
    const message = `Stop hooks have kept the agent going ${times} times, which is the limit: it ends now.`;
    await host.record([{ type: "notice.raised", code: "hook", message }]);
    return false;
  }
  const facts = { stop_hook_active: times > 0, last_assistant_message: host.thread.state.run?.text ?? "" };
  const answer = await askHooks(host, { event: "Stop" }, facts);
  if (answer?.decision !== "deny" || host.outlet.signal.aborted) return false;
  host.continuations = times + 1;
  const text = `[You are not done: ${answer.reason ?? "a hook wants you to go on."}]`;
  await host.record([{ type: "context.added", cause: "hook", text }]);
  return true;
}

/** Runs the SubagentStop hooks after the end of a run. Only their own time limit can end them early. */
export async function runSubagentStopHooks(host: RunHost, result: RunResult): Promise<void> {
  const { hooks } = host.services;
  if (!host.startHooksRan || hooks === undefined) return;
  const { runId } = result;
  // The hooks run even if that can't be recorded.
  const record = (events: readonly DurableEvent[]): Promise<void> => host.record(events).catch(() => undefined);
  await record([{ type: "hooks.started", event: "SubagentStop", runId }]);
  const { signal } = new AbortController();
  const outcome = await hooks.run("SubagentStop", endFacts(result), { ...sceneOf(host), signal });
  await record(hookLines({ event: "SubagentStop", runId }, withoutContext(outcome)));
}

/** Facts about the end of a run for SubagentStop hooks. */
export function endFacts({ runId, outcome, reason, text }: Pick<RunResult, "runId" | "outcome" | "reason" | "text">) {
  return { run_id: runId, outcome, reason, last_assistant_message: text };
}

/** Runs the SessionEnd hooks. */
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
