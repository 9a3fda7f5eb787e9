import type { HookOutcome, HookScene, Hooks, Workspace } from "../ports/index.ts";
import type { AgentId, HookEvent, HookFacts, SessionId } from "../protocol/index.ts";
import { foldHooks } from "./fold-hooks.ts";
import type { Hook, HookInput } from "./hook.ts";
import { planHooks } from "./plan-hooks.ts";
import { runHook } from "./run-hook.ts";

export interface HooksOptions {
  /** In the order they are configured. */
  readonly hooks: readonly Hook[];
  /** Those of the definition of the session's agent: of no other. */
  readonly own?: readonly Hook[];
  /** Where commands run. */
  readonly workspace: Workspace;
  readonly sessionId: SessionId;
  readonly transcriptPath: (agentId: AgentId) => string | undefined;
}

export interface OpenHooks extends Hooks {
  /** Those of a subagent, with some of its own. The session's Stop hooks are about the session's agent. */
  forAgent(own: readonly Hook[]): Hooks;
  /** Settles when nothing is left of what commands have started. */
  close(): Promise<void>;
}

/** Plan, run, fold. */
export function createHooks(options: HooksOptions): OpenHooks {
  const sweeps = new Set<Promise<void>>();
  const onSwept = (swept: Promise<void>): void => {
    sweeps.add(swept);
    void swept.catch(() => undefined).finally(() => sweeps.delete(swept));
  };
  return {
    ...asked([...options.hooks, ...(options.own ?? [])], options, onSwept),
    forAgent: (own) => asked([...options.hooks.filter(({ event }) => event !== "Stop"), ...own], options, onSwept),
    close: async () => void (await Promise.allSettled(sweeps)),
  };
}

function asked(hooks: readonly Hook[], options: HooksOptions, onSwept: (swept: Promise<void>) => void): Hooks {
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
      const said = await Promise.all(
        plan.hooks.map(async (hook) => {
          const place = { workspace, tag: tag(scene), signal: scene.signal, onSwept };
          return { source: hook.source, answer: await runHook(hook, input, place) };
        }),
      );
      const outcome = foldHooks(said);
      return { ...outcome, notices: [...plan.notices, ...outcome.notices] };
    },
  };
}

/** What matchers are about; undefined: they have no meaning for this event. */
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
    ...("tool_name" in facts ? { tool: facts.tool_name } : {}),
    ...facts,
  } as unknown as HookInput;
}
