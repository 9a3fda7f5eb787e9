import { declareTool, type ResolvedAgent } from "../../agents/index.ts";
import { matchId, newRunId } from "../../lib/index.ts";
import type { ConnectedMcpServer, FeedPosition, ModelDescription, ToolExecutor } from "../../ports/index.ts";
import {
  type AgentId,
  MAIN_AGENT,
  type PermissionMode,
  type SessionId,
  type SessionUpdate,
  type ToolDeclaration,
  type ToolReport,
  type UserBlock,
} from "../../protocol/index.ts";
import {
  type Dispatcher,
  type RefreshedAgent,
  type Run,
  type RunRequest,
  type RunServices,
  runSessionEndHooks,
  type StopCause,
  type StopReceipt,
  startRun,
  stopWithReceipt,
  type Thread,
} from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import type { AgentCallback } from "../agents/define-agent.ts";
import { optionError } from "../check-options.ts";
import type { ContextUpdate } from "./context-updates.ts";
import { planChange } from "./session-permissions.ts";
import { withCallback } from "./with-callback.ts";

export interface Session {
  readonly id: SessionId;
  readonly cwd: string;
  readonly model: ModelDescription;
  /** Type of the main agent: `main`, or the name of a definition. */
  readonly agentType: string;
  /** Prompt that the agent gets first in a new session, before the user's prompt. */
  readonly initialPrompt: string | undefined;
  readonly tools: readonly string[];
  /** Names of the agents that the main agent can start. */
  readonly agents: readonly string[];
  readonly mcpServers: readonly ConnectedMcpServer[];
  /** Tools that the agent's definition asked for and tools that it got. */
  readonly toolReport: ToolReport;
  /** Built-in tools that this session does not have, with the reasons. */
  readonly absentTools: readonly { readonly name: string; readonly reason: string }[];
  /** Current mode. It changes when the agent enters or leaves plan mode. */
  readonly permissionMode: PermissionMode;
  /** Messages for the user, for example about the offline model, an invalid rule or a repaired transcript. */
  readonly notices: readonly string[];
  /** Path of the transcript; undefined if the session stores nothing on disk. */
  readonly transcriptPath: string | undefined;
  /** Starts a run. Only one run can be in progress at a time. An empty prompt continues the conversation. */
  prompt(prompt: string | readonly UserBlock[]): Run;
  /**
   * Returns everything that happens in the session, for all agents and also between runs: the recorded lines after a
   * position, oldest first, then updates as they happen. Ends when the session is closed or the signal fires.
   */
  events(position?: FeedPosition): AsyncIterable<SessionUpdate>;
  /** Moves the foreground subagents of the main agent to the background. Returns their ids. */
  moveToBackground(): Promise<readonly AgentId[]>;
  /** Stops the current run and its foreground subagents. Background agents continue. */
  interrupt(): Promise<StopReceipt>;
  /**
   * Stops an agent by its name, its id, or the start or end of its id. The background agents that it started continue.
   * Returns undefined if there is no such agent; throws a `UserError` if several match.
   */
  stopAgent(reference: string): Promise<StopReceipt | undefined>;
  /** Stops the current run and all agents. The session stays open. */
  stopAll(): Promise<StopReceipt>;
  /** Stops everything and closes the session. If the disk is full, does not wait for free space. */
  close(): Promise<void>;
}

export interface SessionParts {
  readonly transcript: Transcript;
  readonly agent: ResolvedAgent;
  readonly thread: Thread;
  readonly services: RunServices & { readonly executor: ToolExecutor };
  readonly dispatcher: Dispatcher;
  readonly info: Pick<Session, "absentTools" | "mcpServers" | "notices" | "toolReport">;
  /** Options for every run of the main agent. */
  readonly runOptions: Pick<RunRequest, "acceptance" | "verify"> & { readonly waits: boolean };
  readonly mayBackground: boolean;
  /** Mode that was requested when the session was opened. */
  readonly requestedMode?: PermissionMode | undefined;
  /** Describes changes to agents, skills and instructions since the last prompt, for the agent and the user. */
  readonly contextUpdates: () => Promise<ContextUpdate>;
  /** Returns the declaration of Task with the agents that are available now; undefined if there are none. */
  readonly taskTool: () => ToolDeclaration | undefined;
  readonly callback?: AgentCallback | undefined;
  readonly stopWaiting: AbortController;
  /** Releases everything that the session uses besides its executor and its transcript. */
  readonly release: () => Promise<void>;
}

export function createSession(parts: SessionParts): Session {
  const { transcript, thread, services, dispatcher, callback } = parts;
  const { registry } = dispatcher;
  let { agent } = parts;
  let running: Run | undefined;
  let isStarted = false;
  let closing: Promise<void> | undefined;

  function start(prompt: readonly UserBlock[]): Run {
    if (running) throw new Error("this session already has a run in progress: wait for its result first");
    services.budget.resetSpawns();
    const initial = thread.isNew ? blocksOf(agent.initialPrompt ?? "") : [];
    const request = { ...parts.runOptions, runId: newRunId(), agent, prompt: [...initial, ...prompt] };
    const stage = isStarted ? { refresh } : opening();
    isStarted = true;
    const run = startRun(services, thread, { ...request, ...stage });
    running = run;
    void run.result.finally(() => {
      running = undefined;
    });
    return run;
  }

  async function refresh(): Promise<RefreshedAgent> {
    const { text, notices } = await parts.contextUpdates();
    agent = withTaskTool(agent, parts.taskTool());
    return { agent, news: text, notices };
  }

  function opening(): Pick<RunRequest, "opens" | "plan"> {
    const modes = { requested: parts.requestedMode, mode: agent.policy.mode, before: thread.state.plan };
    return { opens: thread.isNew ? "startup" : "resume", ...planChange(modes) };
  }

  async function stop(cause: StopCause, stopSubagents: () => Promise<unknown>): Promise<StopReceipt> {
    const run = running;
    run?.stop(cause);
    const receipt = await stopWithReceipt(registry.working(), () => Promise.all([run?.result, stopSubagents()]));
    const end = await run?.result;
    if (end?.outcome !== "stopped") return receipt;
    const main = { agentId: MAIN_AGENT, agentType: agent.agentType, runId: end.runId, turns: end.turns };
    return { ...receipt, stopped: [main, ...receipt.stopped] };
  }

  return {
    ...parts.info,
    id: services.sessionId,
    cwd: services.cwd,
    model: services.model.describe(),
    agentType: agent.agentType,
    initialPrompt: agent.initialPrompt,
    tools: agent.policy.pool,
    agents: agent.policy.pool.includes("Task") ? dispatcher.offered() : [],
    get permissionMode() {
      return dispatcher.policyOf(MAIN_AGENT, agent.policy).mode;
    },
    transcriptPath: transcript.path,
    prompt: (prompt) => {
      const run = start(blocksOf(prompt));
      if (callback === undefined) return run;
      const record = thread.record.bind(thread);
      return withCallback(run, callback, { agentType: agent.agentType, clock: services.clock, record });
    },
    events: (position) => transcript.feed.read(checkPosition(position)),
    moveToBackground: async () => (parts.mayBackground ? registry.detachChildren(MAIN_AGENT, "person") : []),
    interrupt: () => stop("interrupted", async () => undefined),
    stopAll: () => stop("stopped", () => registry.stopAll()),
    stopAgent: async (reference) => {
      const found = await registry.find(reference);
      if (found === undefined) await throwIfAmbiguous(reference);
      return found && stopWithReceipt(registry.working(), () => registry.stop(found.agentId));
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };

  async function throwIfAmbiguous(reference: string): Promise<void> {
    const match = matchId(
      (await registry.all()).map(({ agentId }) => agentId),
      reference,
    );
    if (match.kind !== "many") return;
    throw optionError(`"${reference}" matches several agents: ${match.ids.join(", ")}`, "Use more of the id.");
  }

  async function close(): Promise<void> {
    parts.stopWaiting.abort();
    running?.stop("stopped");
    await running?.result;
    await registry.stopAll();
    if (isStarted) await runSessionEndHooks(services, thread, agent);
    await services.executor.close();
    await parts.release();
    await thread.recordCleaned().catch(() => undefined);
    thread.saveCheckpoint();
    await transcript.close();
  }
}

function checkPosition(position: FeedPosition = {}): FeedPosition {
  const { after = 0, signal, ...unknown } = position;
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw optionError(`session.events has no option "${name}"`, "It takes `after` and `signal`.");
  if (!Number.isSafeInteger(after) || after < 0)
    throw optionError("The option `after` of session.events must be a whole number", "Pass the `seq` of an update.");
  return { after, signal };
}

function blocksOf(prompt: string | readonly UserBlock[]): readonly UserBlock[] {
  if (Array.isArray(prompt)) return prompt;
  if (typeof prompt !== "string") {
    throw optionError(
      "The prompt of a session must be a string or an array of blocks",
      'Use "" to continue without one.',
    );
  }
  return prompt.trim() === "" ? [] : [{ type: "text", text: prompt }];
}

/** Returns the agent with another declaration of Task, or the same agent if the declaration is unchanged. */
function withTaskTool(agent: ResolvedAgent, task: ToolDeclaration | undefined): ResolvedAgent {
  const { head, policy } = agent;
  const before = head.tools.find(({ name }) => name === "Task");
  const now = task && declareTool(task, policy.pool);
  if (!now || !before || JSON.stringify(before) === JSON.stringify(now)) return agent;
  return { ...agent, head: { ...head, tools: head.tools.map((tool) => (tool === before ? now : tool)) } };
}
