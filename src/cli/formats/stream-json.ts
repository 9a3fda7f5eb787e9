import { type Session, VERSION } from "../../app/index.ts";
import { type AgentView, tokensOf } from "../../client/index.ts";
import type { EventOf, Line, Outcome, PermissionMode, SubagentEvent } from "../../protocol/index.ts";
import { outputFileOf } from "../progress/agent-transcripts.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { Format } from "./format.ts";
import { createResultCollector, failureObject } from "./json.ts";
import { createSteps } from "./stream-steps.ts";

interface StreamOptions {
  readonly partialMessages: boolean;
  /** Includes subagents' text, not only their tool calls. */
  readonly subagentText: boolean;
  readonly agents: AgentViews;
  readonly newId: () => string;
}

/** Prints every step as a line of JSON. The last line is the result or a failure. */
export function createStreamJsonFormat({ partialMessages, subagentText, agents, newId }: StreamOptions): Format {
  const collector = createResultCollector(agents);
  let sessionId: string | null = null;
  let mode: PermissionMode | undefined;
  let transcriptPath: string | undefined;
  const steps = createSteps({ partialMessages, text: true, parent: () => null });
  const tasks = createTasks({ agents, partialMessages, text: subagentText, transcriptPath: () => transcriptPath });
  const line = (body: object): string => `${JSON.stringify({ ...body, session_id: sessionId, uuid: newId() })}\n`;
  /** Returns a message if the main agent's permission mode has changed. */
  const changedMode = (): object[] => {
    const { permissionMode = mode } = agents.main ?? {};
    if (permissionMode === mode) return [];
    mode = permissionMode;
    return [{ type: "system", subtype: "status", status: null, permissionMode }];
  };
  return {
    opened: (session) => {
      sessionId = session.id;
      mode = session.permissionMode;
      transcriptPath = session.transcriptPath;
      return line(initMessage(session));
    },
    update: (update) => {
      collector.observe(update);
      const messages = update.type === "subagent.event" ? tasks(update) : [...changedMode(), ...steps(update)];
      return messages.map(line).join("");
    },
    notice: (message) => line({ type: "system", subtype: "notice", message }),
    result: (result, cache) => line(collector.resultObject(result, cache)),
    failure: (failure) => line(failureObject(failure, sessionId)),
  };
}

function initMessage({ cwd, tools, agents, mcpServers, model, permissionMode }: Session): object {
  return {
    type: "system",
    subtype: "init",
    cwd,
    tools,
    mcp_servers: mcpServers,
    model: model.model,
    permissionMode,
    slash_commands: [],
    agents,
    skills: [],
    plugins: [],
    apiKeySource: model.provider === "offline" ? "none" : "user",
    output_style: "default",
    // This field belongs to the compatible format; the value is Retinue's version.
    claude_code_version: VERSION,
    capabilities: [],
    provider: model.provider,
  };
}

interface TaskOptions {
  readonly agents: AgentViews;
  readonly partialMessages: boolean;
  /** Includes subagents' text, not only their tool calls. */
  readonly text: boolean;
  readonly transcriptPath: () => string | undefined;
}

/** Converts subagents' updates to messages: their steps, and their start, progress and end. */
function createTasks({ agents, partialMessages, text, transcriptPath }: TaskOptions) {
  const steps = new Map<string, ReturnType<typeof createSteps>>();
  const startedAt = new Map<string, number>();
  const stepsOf = (agentId: string): ReturnType<typeof createSteps> => {
    const known = steps.get(agentId);
    if (known) return known;
    const parent = (): string | null => agents.get(agentId)?.callId ?? null;
    const made = createSteps({ partialMessages: partialMessages && text, text, parent, agentId });
    steps.set(agentId, made);
    return made;
  };
  return ({ agentId, event }: SubagentEvent): object[] => {
    const view = agents.get(agentId);
    if (view === undefined) return [];
    if (event.type === "run.started") startedAt.set(agentId, event.at);
    const duration = "at" in event ? event.at - (startedAt.get(agentId) ?? event.at) : 0;
    const messages = stepsOf(agentId)(event);
    if (event.type === "run.started") return [startedMessage(view), ...messages];
    if (event.type === "run.backgrounded") messages.push(updatedMessage(view, { is_backgrounded: view.background }));
    if (event.type === "tool.ended") messages.push(progressMessage(view, duration));
    if (event.type === "run.ended")
      messages.push(updatedMessage(view, endedPatch(event)), endedMessage(view, transcriptPath()));
    return messages;
  };
}

function startedMessage(view: AgentView): object {
  return {
    type: "system",
    subtype: "task_started",
    task_id: view.agentId,
    tool_use_id: view.callId,
    description: view.description,
    task_type: "local_agent",
    subagent_type: view.agentType,
    is_backgrounded: view.background,
    spawn_depth: view.path.length,
  };
}

function updatedMessage({ agentId }: AgentView, patch: object): object {
  return { type: "system", subtype: "task_updated", task_id: agentId, patch };
}

function endedPatch({ outcome, message, at }: Line & EventOf<"run.ended">): object {
  return { status: taskStatuses[outcome], end_time: at, error: outcome === "succeeded" ? undefined : message };
}

const taskStatuses: Record<Outcome, string> = {
  succeeded: "completed",
  incomplete: "killed",
  failed: "failed",
  stopped: "killed",
};

function progressMessage(view: AgentView, duration: number): object {
  return {
    type: "system",
    subtype: "task_progress",
    task_id: view.agentId,
    tool_use_id: view.callId,
    description: view.description,
    subagent_type: view.agentType,
    usage: usageOf(view, duration),
    last_tool_name: view.lastCall?.name,
  };
}

const notificationStatuses: Record<Outcome, string> = {
  succeeded: "completed",
  // A limit ended the agent, so its status is not `completed`.
  incomplete: "stopped",
  failed: "failed",
  stopped: "stopped",
};

function endedMessage(view: AgentView, transcriptPath: string | undefined): object {
  const { agentId, callId, background, end } = view;
  if (end === undefined) throw new Error(`agent ${agentId} ended, but its view has no end`);
  return {
    type: "system",
    subtype: "task_notification",
    task_id: agentId,
    tool_use_id: callId,
    // The compatible format has only three states; `outcome` and `reason` are exact.
    status: notificationStatuses[end.outcome],
    outcome: end.outcome,
    reason: end.reason,
    output_file: background && transcriptPath !== undefined ? outputFileOf(transcriptPath, agentId) : "",
    summary: end.message ?? view.description,
    usage: usageOf(view, end.milliseconds),
  };
}

function usageOf({ usage, toolCalls }: AgentView, duration: number): object {
  return { total_tokens: tokensOf(usage), tool_uses: toolCalls, duration_ms: duration };
}
