import { describeError, isRecord, withTimeLimit } from "../lib/index.ts";
import type { HookOutcome, HookScene, Hooks, WorkerSession } from "../ports/index.ts";
import type { AgentId, HookAnswer, HookEvent, HookFacts, SessionId } from "../protocol/index.ts";
import { failed, foldAnswers, foldOutcomes, readAnswer } from "./answers.ts";
import { factsForHooks, withoutUnchanged } from "./call-inputs.ts";
import { type FunctionHook, type Hook, type HookFunctionAnswer, type HookInput, nameOf } from "./hook.ts";
import { planHooks } from "./plan-hooks.ts";

export interface HooksOptions {
  /** Hooks in the order they are configured. */
  readonly hooks: readonly Hook[];
  /** Hooks from the main agent's definition. They do not apply to other agents. */
  readonly own?: readonly Hook[] | undefined;
  readonly runCommand: WorkerSession["runHook"];
  readonly sessionId: SessionId;
  readonly transcriptPath: (agentId: AgentId) => string | undefined;
}

export interface OpenHooks extends Hooks {
  /** Returns the hooks for a subagent, including its own. The session's Stop hooks do not apply to subagents. */
  forAgent(own: readonly Hook[]): Hooks;
}

/** Creates a session's hooks. An event is handled in three steps: plan, run, fold. */
export function createHooks(options: HooksOptions): OpenHooks {
  return {
    ...hooksOf([...options.hooks, ...(options.own ?? [])], options),
    forAgent: (own) => hooksOf([...options.hooks.filter(({ event }) => event !== "Stop"), ...own], options),
  };
}

function hooksOf(hooks: readonly Hook[], options: HooksOptions): Hooks {
  const { runCommand } = options;
  const events = new Set(hooks.map(({ event }) => event));
  return {
    has: (event) => events.has(event),
    run: async (event, facts, scene): Promise<HookOutcome> => {
      const plan = planHooks(hooks, event, subjectOf(event, facts, scene));
      const { agentId, signal } = scene;
      const outcomes: HookOutcome[] = [];
      for (const given of factsForHooks(facts, scene.input)) {
        const input = inputOf(event, given, { ...scene, ...options });
        const answers = await Promise.all(
          plan.hooks.map(async (hook) => {
            const answer = await runHook(hook, input, { agentId, signal, runCommand });
            return { source: hook.source, answer: withoutUnchanged(answer, { given, original: facts }) };
          }),
        );
        const outcome = foldAnswers(answers);
        outcomes.push(outcome);
        if (outcome.ran === 0 || outcome.decision === "deny" || outcome.input !== undefined) break;
      }
      const outcome = foldOutcomes(outcomes);
      return { ...outcome, notices: [...plan.notices, ...outcome.notices] };
    },
  };
}

/** Returns the text that matchers are compared with; undefined if the event has no matchers. */
function subjectOf<Event extends HookEvent>(
  event: Event,
  facts: HookFacts[Event],
  { agentType }: HookScene,
): string | undefined {
  if (event === "SubagentStart" || event === "SubagentStop") return agentType;
  const key = subjects[event as keyof typeof subjects];
  const subject = (facts as Readonly<Record<string, unknown>>)[key ?? ""];
  return typeof subject === "string" ? subject : undefined;
}

const subjects = {
  PreToolUse: "tool_name",
  PostToolUse: "tool_name",
  PermissionRequest: "tool_name",
  SessionStart: "source",
  SessionEnd: "reason",
  Notification: "notification_type",
  PreCompact: "trigger",
} as const;

function inputOf<Event extends HookEvent>(
  event: Event,
  facts: HookFacts[Event],
  scene: HookScene & Pick<HooksOptions, "sessionId" | "transcriptPath">,
): HookInput {
  const { agentId, agentType, parent, depth, cwd, permissionMode, sessionId } = scene;
  const transcriptPath = scene.transcriptPath(agentId) ?? null;
  return {
    hook_event_name: event,
    session_id: sessionId,
    agent_id: agentId,
    agent_type: agentType,
    parent_agent_id: parent ?? null,
    depth,
    transcript_path: transcriptPath,
    agent_transcript_path: event === "SubagentStop" ? transcriptPath : undefined,
    cwd,
    permission_mode: permissionMode,
    tool: "tool_name" in facts ? facts.tool_name : undefined,
    ...facts,
  } as unknown as HookInput;
}

const DEFAULT_SECONDS = 60;
const LONGEST_SECONDS = 3_600;

interface HookContext {
  readonly agentId: AgentId;
  readonly signal: AbortSignal;
  readonly runCommand: WorkerSession["runHook"];
}

/** Runs one hook within its time limit. Never rejects. */
async function runHook(hook: Hook, input: HookInput, context: HookContext): Promise<HookAnswer> {
  const { agentId, signal, runCommand } = context;
  const seconds = Math.min(hook.timeoutSeconds ?? DEFAULT_SECONDS, LONGEST_SECONDS);
  if (hook.kind === "function")
    return withTimeLimit(signal, seconds * 1_000, (own) => callFunction(hook, structuredClone(input), own));
  const { command, args, pluginRoot } = hook;
  const run = await runCommand(
    { agentId, command, args, pluginRoot, seconds, stdin: `${JSON.stringify(input)}\n` },
    signal,
  );
  return signal.aborted ? abortedAnswer(hook) : readAnswer(hook.event, run, nameOf(hook));
}

/** Returns the answer for a hook whose run was aborted. No message is needed, because the user aborted the run. */
function abortedAnswer({ event }: Hook): HookAnswer {
  return event === "PreToolUse" ? { decision: "deny", reason: "The run was interrupted." } : {};
}

async function callFunction(hook: FunctionHook, input: HookInput, signal: AbortSignal): Promise<HookAnswer> {
  const { event, run } = hook;
  const name = nameOf(hook).replace("a ", "A ");
  const call = run as (
    input: HookInput,
    signal: AbortSignal,
  ) => HookFunctionAnswer | undefined | Promise<HookFunctionAnswer | undefined>;
  try {
    const answer = (await Promise.race([call(input, signal), rejectOnAbort(signal)])) ?? {};
    const problem = answerProblem(answer);
    return problem === undefined
      ? asAnswer(event, answer)
      : failed(event, `${name} returned an invalid answer: ${problem}.`);
  } catch (error) {
    if (signal.aborted && !isTimeout(signal.reason)) return abortedAnswer(hook);
    if (isTimeout(signal.reason)) return failed(event, `${name} did not finish within its time limit.`);
    return failed(event, `${name} failed: ${describeError(error)}`);
  }
}

const answerFields: readonly string[] = ["decision", "reason", "input", "output", "context", "notice"];
const decisions: readonly unknown[] = [undefined, "allow", "ask", "deny", "block"];

/** Converts the answer from a function to the form that commands use. */
function asAnswer(event: HookEvent, { decision, context, ...rest }: HookFunctionAnswer): HookAnswer {
  const denies = decision === "deny" || decision === "block";
  // After a call, there is nothing left to deny, so the reason becomes context for the model.
  const parts = event === "PostToolUse" && denies ? [context, rest.reason] : [context];
  return { ...rest, decision: denies ? "deny" : decision, context: parts.filter(Boolean).join("\n") || undefined };
}

/**
 * Describes what is wrong with the answer that a function returned; undefined if the answer is valid. A misspelled
 * denial must not let a call pass.
 */
function answerProblem(answer: unknown): string | undefined {
  if (!isRecord(answer)) return "it must be an object or undefined";
  const unknown = Object.keys(answer).find((field) => !answerFields.includes(field));
  if (unknown !== undefined) return `unknown field ${unknown}; use ${answerFields.join(", ")}`;
  const { decision, output } = answer;
  if (output !== undefined && typeof output !== "string") return "output must be a string";
  return decisions.includes(decision)
    ? undefined
    : `decision must be allow, ask, deny or block, not ${JSON.stringify(decision)}`;
}

/** Rejects when the signal is aborted, because functions may ignore the signal. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
