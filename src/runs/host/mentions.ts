import { createId, stripControls } from "../../lib/index.ts";
import { type DurableEvent, isSameAgent, runtimeText, type UserBlock } from "../../protocol/index.ts";
import type { SpawnRequest } from "../subagents/subagent.ts";
import { readRequest } from "../tools/task-spec.ts";
import { askHooks, callFacts } from "./ask-hooks.ts";
import { currentPolicy } from "./plan-mode.ts";
import type { RunHost } from "./run-host.ts";

/** An agent that the user starts by mentioning it in a prompt. */
export interface Mention {
  readonly agentType: string;
  readonly task: string;
}

/**
 * Returns the agents that a prompt starts. `@NAME` starts an agent only at the beginning of a paragraph and only with
 * the agent's exact name, because files and code use the same sign. `@agent-NAME` starts an agent anywhere. What follows
 * the mention at the beginning of a paragraph is the agent's task; otherwise, it is the whole prompt.
 */
export function mentionsIn(text: string, known: readonly string[]): readonly Mention[] {
  const found = new Map<string, Mention>();
  for (const { 0: word, index } of text.matchAll(/(?<!\S)@\S+/g)) {
    if (found.size === MOST_MENTIONS || word.length > LONGEST_NAME) continue;
    const name = word.slice(1).replace(/[.,;:!?)]{1,9}$/, "");
    const agentType = known.includes(name) ? name : explicitName(name, known);
    if (agentType === undefined || found.has(agentType)) continue;
    const isFirst = beginsParagraph(text, index);
    if (!isFirst && agentType === name) continue;
    const task = (isFirst ? text.slice(index + word.length) : text).trim();
    if (task !== "") found.set(agentType, { agentType, task });
  }
  return [...found.values()];
}

const MOST_MENTIONS = 10;
const LONGEST_NAME = 200;

function explicitName(name: string, known: readonly string[]): string | undefined {
  const [, explicit] = /^agent-([\p{L}\p{N}_:.-]+)$/u.exec(name) ?? [];
  return explicit && (known.find((each) => isSameAgent(each, explicit)) ?? explicit);
}

function beginsParagraph(text: string, index: number): boolean {
  const before = text.slice(0, index);
  const gap = before.slice(before.trimEnd().length);
  return gap === before || gap.split("\n").length > 2;
}

/**
 * Starts the agents that the user's prompt mentions, under the same rules and hooks as Task calls. The main agent waits
 * for them and gets their reports with the prompt.
 */
export async function startMentioned(host: RunHost, content: readonly UserBlock[]): Promise<void> {
  const { services, request } = host;
  if (services.retinue === undefined || request.subagent !== undefined) return;
  const texts = content.flatMap((block) => (block.type === "text" && block.text.includes("@") ? [block.text] : []));
  if (texts.length === 0) return;
  const known = services.retinue.mentionable();
  for (const { agentType, task } of texts.flatMap((text) => mentionsIn(text, known)))
    await host.record(await start(host, { agentType, task }));
}

/** Starts an agent. Returns the lines that tell the main agent about it. */
async function start(host: RunHost, { agentType, task }: Mention): Promise<readonly DurableEvent[]> {
  const request = await allowed(host, { agentType, task });
  if (typeof request === "string") return refused(agentType, request);
  const { services, outlet } = host;
  const started = await services.retinue?.startWithoutCall("person", request, outlet.signal);
  if (started === undefined || "status" in started) return refused(agentType, started?.message ?? "");
  const { agentId, runId, running } = started;
  const onAbort = (): void => {
    if (running?.background === false) running.run.stop(outlet.cause() === "parked" ? "parked" : "interrupted");
  };
  outlet.signal.addEventListener("abort", onAbort);
  if (outlet.signal.aborted) onAbort();
  void running?.done.finally(() => outlet.signal.removeEventListener("abort", onAbort));
  void running?.detached.promise.then(() => host.endWait({ agentId, runId }));
  const text = `The user's mention has started the agent "${started.agentType}" (${agentId}) with this task. Its report arrives in a notice. Do not start it again for this task.`;
  return [{ type: "context.added", cause: "agents", text: runtimeText(text) }];
}

/** Returns the request to start an agent, or the reason if rules or hooks deny it. */
async function allowed(host: RunHost, { agentType, task }: Mention): Promise<SpawnRequest | string> {
  const { services } = host;
  const description = stripControls(task).slice(0, LONGEST_DESCRIPTION);
  const input = { description, prompt: task, subagent_type: agentType };
  const call = { callId: createId("mention_"), name: "Task", inputJson: JSON.stringify(input) };
  const policy = services.approvals.policyFor(currentPolicy(host));
  if (!policy.pool.includes("Task")) return "The main agent can't start agents in this session.";
  const judgment = await services.executor.judge(call, policy);
  if (judgment.kind === "invalid") return judgment.message;
  // The user does not have to approve what the user requested.
  if (judgment.decision.effect === "deny") return judgment.decision.reason;
  const about = "PreToolUse hook on Task";
  const outcome = await askHooks(host, { event: "PreToolUse", callId: call.callId, about }, callFacts(call));
  if (outcome?.decision === "deny") return `A hook denied it${outcome.reason ? `: ${outcome.reason}` : "."}`;
  return { ...readRequest(outcome?.input ?? input, false), background: false };
}

const LONGEST_DESCRIPTION = 60;

function refused(agentType: string, reason: string): readonly DurableEvent[] {
  const text = runtimeText(`The agent "${agentType}" was not started. ${reason}`);
  return [
    { type: "notice.raised", code: "agent", message: `@${agentType} was not started. ${reason}` },
    { type: "context.added", cause: "agents", text },
  ];
}
