import type { ResolvedAgent } from "../../agents/index.ts";
import { newRunId } from "../../lib/index.ts";
import type { ConnectedMcpServer, ModelDescription, ToolExecutor } from "../../ports/index.ts";
import {
  type AgentId,
  MAIN_AGENT,
  type PermissionMode,
  type SessionId,
  type ToolReport,
  type UserBlock,
} from "../../protocol/index.ts";
import {
  type Acceptance,
  type Dispatcher,
  type Run,
  type RunServices,
  runSessionEndHooks,
  type StopCause,
  type StopReceipt,
  startRun,
  stopWithReceipt,
  type Thread,
} from "../../runs/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import type { AgentCallback } from "../agents/define-agent.ts";
import { planChange } from "./plan-mode.ts";
import { withCallback } from "./with-callback.ts";

export interface Session {
  readonly id: SessionId;
  readonly cwd: string;
  readonly model: ModelDescription;
  /** Who works: `main`, or the name of a definition. */
  readonly agentType: string;
  /** What the agent is told first in a new session, before anybody's words. */
  readonly initialPrompt: string | undefined;
  readonly tools: readonly string[];
  /** Those that it can give work to, by name. */
  readonly agents: readonly string[];
  readonly mcpServers: readonly ConnectedMcpServer[];
  /** What the agent's definition asked for and what it got. */
  readonly toolReport: ToolReport;
  /** Built-in tools this session does not have, and why. */
  readonly absentTools: readonly { readonly name: string; readonly reason: string }[];
  /** As it is now: plan mode may have been entered or left. */
  readonly permissionMode: PermissionMode;
  /** Worth a line to the user: an offline model, a rule that can't be read, a repaired transcript. */
  readonly notices: readonly string[];
  /** Undefined where nothing is kept. */
  readonly transcriptPath: string | undefined;
  /** Starts a run. One at a time; without words it goes on with what is there. */
  prompt(words: string | readonly UserBlock[]): Run;
  /** Whom the main agent waits for now, it no longer waits for: they go on in the background. Answers with their ids. */
  moveToBackground(): Promise<readonly AgentId[]>;
  /** Ends the turn under way, with the agents that it waits for; those in the background go on. */
  interrupt(): Promise<StopReceipt>;
  /** By id, the beginning of one, or name. Its own agents in the background go on. Undefined: there is no such agent. */
  stopAgent(reference: string): Promise<StopReceipt | undefined>;
  /** Ends the turn under way and every agent. The session stays open. */
  stopAll(): Promise<StopReceipt>;
  /** Ends what is still running and gives up the session. */
  close(): Promise<void>;
}

export interface SessionParts extends Pick<Session, "absentTools" | "mcpServers" | "notices" | "toolReport"> {
  readonly transcript: Transcript;
  readonly agent: ResolvedAgent;
  readonly thread: Thread;
  readonly services: RunServices & { readonly executor: ToolExecutor };
  readonly dispatcher: Dispatcher;
  /** A run ends only after the agents it has in the background. */
  readonly waits: boolean;
  /** Agents may go on without anybody who waits for them. */
  readonly mayBackground: boolean;
  /** The mode that was asked for with this opening of the session. */
  readonly askedMode?: PermissionMode | undefined;
  /** What has changed around the session since its last prompt, in words for its agent. */
  readonly news: () => Promise<string | undefined>;
  /** What its work has to stand. */
  readonly acceptance?: Acceptance | undefined;
  /** Whether somebody else tries to break work that changed files. */
  readonly verify?: "suggest" | "auto" | undefined;
  /** Releases what the session holds besides its executor. */
  readonly release: () => Promise<void>;
  readonly callback?: AgentCallback | undefined;
}

export function createSessionOf({
  transcript,
  agent,
  thread,
  services,
  absentTools,
  mcpServers,
  notices,
  toolReport,
  dispatcher,
  waits,
  mayBackground,
  askedMode,
  news,
  acceptance,
  verify,
  release,
  callback,
}: SessionParts): Session {
  let running: Run | undefined;
  /** Somebody has begun to work in it. */
  let isOpen = false;
  const opening = (): readonly UserBlock[] => (thread.isNew ? blocksOf(agent.initialPrompt ?? "") : []);
  const plan = () => planChange({ asked: askedMode, mode: agent.policy.mode, before: thread.state.plan });
  /** Of the main agent, with what that stops. */
  const stopRun = async (cause: StopCause, stopOthers: () => Promise<unknown>): Promise<StopReceipt> => {
    const run = running;
    run?.stop(cause);
    const receipt = await stopWithReceipt(dispatcher.registry.working(), () =>
      Promise.all([run?.result, stopOthers()]),
    );
    const end = await run?.result;
    if (end?.outcome !== "stopped") return receipt;
    const own = { agentId: MAIN_AGENT, agentType: agent.agentType, runId: end.runId, turns: end.turns };
    return { ...receipt, stopped: [own, ...receipt.stopped] };
  };
  return {
    id: services.sessionId,
    cwd: services.cwd,
    model: services.model.describe(),
    agentType: agent.agentType,
    initialPrompt: agent.initialPrompt,
    tools: agent.policy.pool,
    agents: agent.policy.pool.includes("Task") ? dispatcher.offered() : [],
    mcpServers,
    toolReport,
    absentTools,
    get permissionMode() {
      return dispatcher.policyOf(MAIN_AGENT, agent.policy).mode;
    },
    notices,
    transcriptPath: transcript.path,
    prompt: (words) => {
      if (running) throw new Error("a run is under way in this session: wait for its result first");
      services.budget.resetSpawns();
      const prompt = [...opening(), ...blocksOf(words)];
      const place = isOpen ? { news } : { opens: thread.isNew ? ("startup" as const) : ("resume" as const), ...plan() };
      isOpen = true;
      const check = {
        acceptance,
        verify,
      };
      const run = startRun(services, thread, { runId: newRunId(), agent, prompt, waits, ...check, ...place });
      running = run;
      void run.result.finally(() => {
        running = undefined;
      });
      if (callback === undefined) return run;
      const record = thread.record.bind(thread);
      return withCallback(run, callback, { agentType: agent.agentType, clock: services.clock, record });
    },
    moveToBackground: async () => (mayBackground ? dispatcher.registry.detachChildren(MAIN_AGENT, "person") : []),
    interrupt: () => stopRun("interrupted", async () => undefined),
    stopAll: () => stopRun("stopped", () => dispatcher.registry.stopAll()),
    stopAgent: async (reference) => {
      const found = await dispatcher.registry.find(reference);
      return found && stopWithReceipt(dispatcher.registry.working(), () => dispatcher.registry.stop(found.agentId));
    },
    close: async () => {
      running?.stop("stopped");
      await running?.result;
      await dispatcher.registry.stopAll();
      if (isOpen) await runSessionEndHooks(services, thread, agent);
      await services.executor.close();
      await release();
      await thread.recordCleaned().catch(() => undefined);
      thread.saveCheckpoint();
      await transcript.close();
    },
  };
}

function blocksOf(words: string | readonly UserBlock[]): readonly UserBlock[] {
  if (typeof words !== "string") return words;
  return words.trim() === "" ? [] : [{ type: "text", text: words }];
}
