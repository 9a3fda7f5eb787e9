import type { Fault, Matcher, RecordedRequest, Reply, ReplyFunction, Script, Step } from "../types.ts";
import { messagesOf, systemOf, toolNamesOf } from "./messages-of.ts";

export type Choice = {
  reply: Reply | ReplyFunction;
  /** The step's fault for this attempt. */
  fault: Fault | undefined;
  count: number;
  conversation: string;
  /** Makes the step available again if its response did not deliver a complete message. */
  release: () => void;
};

export type RunningScript = {
  /**
   * Chooses a step and uses it up immediately, so that requests in flight never share one. Returns a message if no step
   * matches. If the server already has a fault for this request, the step keeps its own fault for a later request.
   */
  choose(request: RecordedRequest, hasFault: boolean): Choice | string;
  /** Returns one line for each step that was not used up. */
  unused(): readonly string[];
};

export function runScript(script: Script): RunningScript {
  if (typeof script === "function") return runFunction(script);
  const conversations =
    "conversations" in script
      ? script.conversations.map((one, index) => start({ ...one, name: one.name ?? `conversation ${index + 1}` }))
      : [start({ name: "script", steps: script.map(asStep) })];
  return {
    choose(request, hasFault) {
      const conversation = conversations.find((one) => matches(one.match, request));
      if (conversation === undefined) return `no conversation in the script matches this request: ${sketch(request)}`;
      return chooseStep(conversation, request, hasFault);
    },
    unused: () => conversations.flatMap(unusedSteps),
  };
}

export function turnOf(request: RecordedRequest): number {
  return 1 + messagesOf(request).filter((message) => message.role === "assistant").length;
}

type RunningStep = Step & { label: string; used: number; faultsServed: number };
type RunningConversation = {
  name: string;
  match: Matcher | ((request: RecordedRequest) => boolean) | undefined;
  steps: readonly RunningStep[];
  count: number;
};

function runFunction(reply: ReplyFunction): RunningScript {
  let count = 0;
  return {
    choose() {
      count += 1;
      return { reply, fault: undefined, count, conversation: "script", release: () => undefined };
    },
    unused: () => [],
  };
}

function start(conversation: { name: string; match?: RunningConversation["match"]; steps: readonly Step[] }) {
  const steps = conversation.steps.map((step, index) => ({
    ...step,
    label: `${conversation.name}, step ${index + 1}${step.name === undefined ? "" : ` (${step.name})`}`,
    used: 0,
    faultsServed: 0,
  }));
  return { name: conversation.name, match: conversation.match, steps, count: 0 };
}

function asStep(entry: Step | Reply): Step {
  return "reply" in entry ? entry : { reply: entry };
}

function chooseStep(conversation: RunningConversation, request: RecordedRequest, hasFault: boolean): Choice | string {
  const step = conversation.steps.find((one) => remaining(one) > 0 && matches(one.when, request));
  if (step === undefined) return `no step left in ${conversation.name} for this request: ${sketch(request)}`;
  conversation.count += 1;
  step.used += 1;
  const fault = hasFault ? undefined : step.faults?.[step.faultsServed];
  if (fault !== undefined) step.faultsServed += 1;
  return {
    reply: step.reply,
    fault,
    count: conversation.count,
    conversation: conversation.name,
    release: () => {
      step.used -= 1;
    },
  };
}

function remaining(step: RunningStep): number {
  return step.times === "always" ? Infinity : (step.times ?? 1) - step.used;
}

function unusedSteps(conversation: RunningConversation): readonly string[] {
  const waiting = conversation.steps.filter((step) => step.times !== "always" && remaining(step) > 0);
  return waiting.map((step) => `${step.label} was used ${step.used} of ${step.times ?? 1} times`);
}

function matches(matcher: RunningConversation["match"], request: RecordedRequest): boolean {
  if (matcher === undefined) return true;
  if (typeof matcher === "function") return matcher(request);
  if (matcher.wire !== undefined && matcher.wire !== request.wire) return false;
  if (matcher.model !== undefined && matcher.model !== request.model) return false;
  if (matcher.turn !== undefined && matcher.turn !== turnOf(request)) return false;
  if (matcher.systemContains !== undefined && !systemOf(request).includes(matcher.systemContains)) return false;
  if (matcher.offersTool !== undefined && !toolNamesOf(request).includes(matcher.offersTool)) return false;
  return matchesMessages(matcher, request);
}

function matchesMessages(matcher: Matcher, request: RecordedRequest): boolean {
  const messages = messagesOf(request);
  const users = messages.filter((message) => message.role === "user");
  const last = messages.at(-1);
  const { firstUserContains, lastUserContains, toolResultContains, afterTool } = matcher;
  if (firstUserContains !== undefined && !users[0]?.text.includes(firstUserContains)) return false;
  if (lastUserContains !== undefined && !users.at(-1)?.text.includes(lastUserContains)) return false;
  const results = last?.toolResults ?? [];
  if (toolResultContains !== undefined && !results.some((one) => one.text.includes(toolResultContains))) return false;
  if (afterTool === undefined) return true;
  if (afterTool === "*") return results.length > 0;
  const calls = messages.flatMap((message) => message.toolCalls);
  return results.some((result) => calls.some((call) => call.id === result.id && call.name === afterTool));
}

function sketch(request: RecordedRequest): string {
  const messages = messagesOf(request);
  const last = messages.at(-1);
  const text = [last?.text, ...(last?.toolResults ?? []).map((result) => result.text)].join(" ").trim();
  return `${request.wire}, turn ${turnOf(request)}, ${messages.length} messages, the last one contains ${JSON.stringify(text.slice(0, 200))}`;
}
