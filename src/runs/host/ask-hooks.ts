import type { HookOutcome, HookScene } from "../../ports/index.ts";
import type { CallId, DurableEvent, HookEvent, HookFacts, HookRecord, RunId } from "../../protocol/index.ts";
import { currentPolicy } from "./plan-mode.ts";
import type { RunHost } from "./run-host.ts";

export interface Occasion<Event extends HookEvent = HookEvent> {
  readonly event: Event;
  readonly callId?: CallId;
  readonly runId?: RunId;
  /** What the model's words about it begin with; the event's name if absent. */
  readonly about?: string;
}

/** Asks or tells a run's hooks and records what they said. Undefined: nobody wanted to know. */
export async function askHooks<Event extends HookEvent>(
  host: RunHost,
  occasion: Occasion<Event>,
  facts: HookFacts[Event],
): Promise<HookOutcome | undefined> {
  const { hooks } = host.services;
  const { event } = occasion;
  if (!hooks?.has(event)) return undefined;
  const goOn = host.clocks.pause();
  const outcome = heard(event, await hooks.run(event, facts, sceneOf(host)).finally(goOn));
  const events = hookLines(occasion, outcome);
  if (events.length > 0) await host.record(events);
  return outcome.ran === 0 ? undefined : outcome;
}

/** Words for an agent that ends, or about a prompt that was sent back, have nobody to read them: they would wait for the next one. */
function heard(event: HookEvent, outcome: HookOutcome): HookOutcome {
  const isForNobody = (event === "Stop") !== (outcome.decision === "deny");
  return isForNobody && (event === "Stop" || event === "UserPromptSubmit") ? withoutContext(outcome) : outcome;
}

export function withoutContext({ context: _, ...outcome }: HookOutcome): HookOutcome {
  return outcome;
}

/** What stands in the transcript of hooks that were run. */
export function hookLines(
  { about, ...of }: Occasion,
  { ran, decision, reason, input, context, notices }: HookOutcome,
): DurableEvent[] {
  const record: HookRecord = {
    ...of,
    ran,
    decision,
    reason,
    ...(input === undefined ? {} : { inputJson: JSON.stringify(input) }),
    ...(context === undefined ? {} : { context: `[${about ?? `${of.event} hook`}: ${context}]` }),
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
    ...(spec === undefined ? {} : { parent: spec.parent.agentId }),
    depth: spec?.depth ?? 0,
    cwd: services.cwd,
    permissionMode: currentPolicy(host).mode,
    signal: outlet.signal,
  };
}
