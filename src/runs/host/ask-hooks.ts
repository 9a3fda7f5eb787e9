import { inputOf } from "../../loop/index.ts";
import type { HookOutcome, HookScene, JudgedInput } from "../../ports/index.ts";
import {
  type CallId,
  canonicalToolName,
  type DurableEvent,
  type HookEvent,
  type HookFacts,
  type HookRecord,
  type RunId,
  runtimeText,
  type ToolCall,
} from "../../protocol/index.ts";
import { currentPolicy } from "./plan-mode.ts";
import type { RunHost } from "./run-host.ts";

export interface Occasion<Event extends HookEvent = HookEvent> {
  readonly event: Event;
  readonly callId?: CallId;
  /** How the executor read the call's input. */
  readonly input?: JudgedInput | undefined;
  readonly runId?: RunId;
  /** Beginning of the text for the model. If absent, the name of the event is used. */
  readonly about?: string;
}

/** Returns the facts about a call. Models may use other names of a tool, but hooks compare names with its own. */
export function callFacts(call: ToolCall): HookFacts["PreToolUse"] {
  return { tool_name: canonicalToolName(call.name), tool_input: inputOf(call), tool_use_id: call.callId };
}

/** Runs the hooks for an event and records their answer. Returns undefined if no hook ran. */
export async function askHooks<Event extends HookEvent>(
  host: RunHost,
  occasion: Occasion<Event>,
  facts: HookFacts[Event],
): Promise<HookOutcome | undefined> {
  const { hooks } = host.services;
  const { event } = occasion;
  if (!hooks?.has(event)) return undefined;
  const scene = { ...sceneOf(host), input: occasion.input };
  const resume = host.clocks.pause();
  const outcome = withReadContext(event, await hooks.run(event, facts, scene).finally(resume));
  const events = hookLines(occasion, outcome);
  if (events.length > 0) await host.record(events);
  return outcome.ran === 0 ? undefined : outcome;
}

/**
 * Removes context that the agent would not read now, because it is stopping or its prompt was rejected. Otherwise, the
 * context would appear together with the next prompt.
 */
function withReadContext(event: HookEvent, outcome: HookOutcome): HookOutcome {
  const isUnread = (event === "Stop") !== (outcome.decision === "deny");
  return isUnread && (event === "Stop" || event === "UserPromptSubmit") ? withoutContext(outcome) : outcome;
}

export function withoutContext({ context: _, ...outcome }: HookOutcome): HookOutcome {
  return outcome;
}

/** Returns the lines that record the hooks' answers. */
export function hookLines(
  { about, input: _, ...of }: Occasion,
  { ran, decision, reason, input, output, context, notices }: HookOutcome,
): DurableEvent[] {
  const record: HookRecord = {
    ...of,
    ran,
    decision,
    reason,
    inputJson: input === undefined ? undefined : JSON.stringify(input),
    output: of.event === "PostToolUse" ? output : undefined,
    context: context === undefined ? undefined : runtimeText(`${about ?? `${of.event} hook`}: ${context}`),
  };
  const raised = notices.map((message): DurableEvent => ({ type: "notice.raised", code: "hook", message }));
  return [...raised, ...(ran === 0 ? [] : [{ type: "hooks.ran" as const, ...record }])];
}

export function sceneOf(host: RunHost): HookScene {
  const { thread, request, services, outlet } = host;
  const { spec } = request.subagent ?? {};
  return {
    agentId: thread.agentId,
    agentType: request.agent.agentType,
    parent: spec?.parent.agentId,
    depth: spec?.depth ?? 0,
    cwd: services.cwd,
    permissionMode: currentPolicy(host).mode,
    signal: outlet.signal,
  };
}
