import type { HookOutcome, HookScene, Hooks, Workspace } from "../ports/index.ts";
import type { AgentId, HookEvent, HookFacts, SessionId } from "../protocol/index.ts";
import { foldAnswers } from "./answers.ts";
import type { Hook, HookInput } from "./hook.ts";
import { planHooks } from "./plan-hooks.ts";
import { runHook } from "./run-hook.ts";

export interface HooksOptions {
  /** Hooks in the order in which they are configured. */
  readonly hooks: readonly Hook[];
  /** Hooks from the definition of the session's own agent. They do not apply to other agents. */
  readonly own?: readonly Hook[] | undefined;
  /** Workspace in which commands run. */
  readonly workspace: Workspace;
  readonly sessionId: SessionId;
  readonly transcriptPath: (agentId: AgentId) => string | undefined;
}

export interface OpenHooks extends Hooks {
  /** Returns the hooks of a subagent, including its own. The session's Stop hooks do not apply to subagents. */
  forAgent(own: readonly Hook[]): Hooks;
  /** Settles when all processes that hook commands started have ended. */
  close(): Promise<void>;
}

/** Creates the hooks of a session. An event is handled in three steps: plan, run, fold. */
export function createHooks(options: HooksOptions): OpenHooks {
  const sweeps = new Set<Promise<void>>();
  const onSwept = (swept: Promise<void>): void => {
    sweeps.add(swept);
    void swept.catch(() => undefined).finally(() => sweeps.delete(swept));
  };
  return {
    ...hooksOf([...options.hooks, ...(options.own ?? [])], options, onSwept),
    forAgent: (own) => hooksOf([...options.hooks.filter(({ event }) => event !== "Stop"), ...own], options, onSwept),
    close: async () => void (await Promise.allSettled(sweeps)),
  };
}

function hooksOf(hooks: readonly Hook[], options: HooksOptions, onSwept: (swept: Promise<void>) => void): Hooks {
  const { workspace, sessionId } = options;
  const events = new Set(hooks.map(({ event }) => event));
  let count = 0;
  const tag = ({ agentId }: HookScene): readonly string[] => {
    count += 1;
    return [sessionId, `${sessionId}-hook-${agentId}-${count}`.replaceAll(/[^\w.-]/g, "_")];
  };
  return {
    has: (event) => events.has(event),
    run: async (event, facts, scene): Promise<HookOutcome> => {
      const plan = planHooks(hooks, event, subjectOf(event, facts, scene));
      const input = inputOf(event, facts, { ...scene, ...options });
      const answers = await Promise.all(
        plan.hooks.map(async (hook) => {
          const context = { workspace, tag: tag(scene), signal: scene.signal, onSwept };
          return { source: hook.source, answer: await runHook(hook, input, context) };
        }),
      );
      const outcome = foldAnswers(answers);
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
  const { agentId, agentType, parent, depth, cwd, permissionMode, sessionId, transcriptPath } = scene;
  return {
    hook_event_name: event,
    session_id: sessionId,
    agent_id: agentId,
    agent_type: agentType,
    parent_agent_id: parent ?? null,
    depth,
    transcript_path: transcriptPath(agentId) ?? null,
    cwd,
    permission_mode: permissionMode,
    tool: "tool_name" in facts ? facts.tool_name : undefined,
    ...facts,
  } as unknown as HookInput;
}
