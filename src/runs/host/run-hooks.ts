import type { ResolvedAgent } from "../../agents/index.ts";
import { type DurableEvent, type RunResult, textOf } from "../../protocol/index.ts";
import type { Thread } from "../thread/thread.ts";
import { askHooks, hookLines, sceneOf, withoutContext } from "./ask-hooks.ts";
import type { RunHost, RunServices } from "./run-host.ts";

/** A hook that is never content must not keep an agent going for ever. */
const MOST_TIMES_KEPT_GOING = 8;

/** Before the first words of a run are its own: who hears of its beginning. Gives why its prompt was sent back, if it was. */
export async function tellOfBeginning(host: RunHost): Promise<string | undefined> {
  const { subagent, opens, prompt } = host.request;
  if (subagent !== undefined) return tellOfSubagent(host);
  if (opens !== undefined) await askHooks(host, { event: "SessionStart" }, { source: opens });
  if (prompt.length === 0) return undefined;
  const word = await askHooks(host, { event: "UserPromptSubmit" }, { prompt: textOf(prompt) });
  if (word?.decision !== "deny") return undefined;
  return `A hook sent the prompt back${word.reason === undefined ? "." : `: ${word.reason}`}`;
}

/** The intent comes first: who was told of a beginning is told of the end, whatever comes between. */
async function tellOfSubagent(host: RunHost): Promise<undefined> {
  const { services, request } = host;
  const { runId } = request;
  if (!services.hooks?.has("SubagentStart") && !services.hooks?.has("SubagentStop")) return;
  await host.record([{ type: "hooks.started", event: "SubagentStart", runId }]);
  host.isTold = true;
  await askHooks(host, { event: "SubagentStart", runId }, { run_id: runId });
}

/** Whether a hook wants more of an agent that is done. */
export async function isKeptGoing(host: RunHost): Promise<boolean> {
  const times = host.keptGoing ?? 0;
  if (!host.services.hooks?.has("Stop")) return false;
  if (times >= MOST_TIMES_KEPT_GOING) {
    const message = `Stop hooks have kept the agent going ${times} times, which is the limit: it ends now.`;
    await host.record([{ type: "notice.raised", code: "hook", message }]);
    return false;
  }
  const facts = { stop_hook_active: times > 0, last_assistant_message: host.thread.state.run?.text ?? "" };
  const word = await askHooks(host, { event: "Stop" }, facts);
  if (word?.decision !== "deny" || host.outlet.signal.aborted) return false;
  host.keptGoing = times + 1;
  const text = `[You are not done: ${word.reason ?? "a hook wants you to go on."}]`;
  await host.record([{ type: "context.added", cause: "hook", text }]);
  return true;
}

/** Behind the end of a subagent's run, whatever ended it: nobody can break this off but the hook's own time limit. */
export async function tellOfEnd(host: RunHost, result: RunResult): Promise<void> {
  const { hooks } = host.services;
  if (!host.isTold || hooks === undefined) return;
  const { runId } = result;
  // Who must hear of the end hears of it, whether or not that can be written.
  const record = (events: readonly DurableEvent[]): Promise<void> => host.record(events).catch(() => undefined);
  await record([{ type: "hooks.started", event: "SubagentStop", runId }]);
  const { signal } = new AbortController();
  const outcome = await hooks.run("SubagentStop", endFacts(result), { ...sceneOf(host), signal });
  await record(hookLines({ event: "SubagentStop", runId }, withoutContext(outcome)));
}

/** What a hook of an end is told. */
export function endFacts({ runId, outcome, reason, text }: Pick<RunResult, "runId" | "outcome" | "reason" | "text">) {
  return { run_id: runId, outcome, reason, last_assistant_message: text };
}

/** Before a session is given up. */
export async function tellOfSessionEnd(
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
