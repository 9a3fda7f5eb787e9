import type { ResolvedAgent } from "../../agents/index.ts";
import { createId, describeError, UserError } from "../../lib/index.ts";
import type { QueuedPrompt } from "../../loop/index.ts";
import { PLAN_APPROVAL } from "../../permissions/index.ts";
import type {
  ClosingOptions,
  ConnectedMcpServer,
  FeedPosition,
  Inbox,
  Model,
  ModelDescription,
  ToolExecutor,
} from "../../ports/index.ts";
import {
  type AgentId,
  type ApprovalQuestion,
  type Command,
  type ContextReport,
  isUnfinished,
  type LineId,
  MAIN_AGENT,
  type PastPrompt,
  type PermissionMode,
  permissionModes,
  type Receipt,
  type SessionId,
  type SessionUpdate,
  type ToolReport,
  type UserBlock,
} from "../../protocol/index.ts";
import { reportContext } from "../../reports/index.ts";
import {
  type Dispatcher,
  type LiveAgent,
  type RunServices,
  runSessionEndHooks,
  type SessionApprovals,
  type StopCause,
  type StopReceipt,
  sessionCreated,
  stopWithReceipt,
  type Thread,
} from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import {
  anAbortSignal,
  anObject,
  checkNames,
  checkOptions,
  type OptionTypes,
  oneOf,
  optional,
  optionError,
  unknownOption,
} from "../check-options.ts";
import type { NewCommand } from "../commands/steer.ts";
import { checkModel, modelOption } from "../opening/check-session-options.ts";
import { promptOptionHints } from "../opening/session-option-hints.ts";
import { isSchema, type Schema } from "../schemas/schema.ts";
import { createStructuredOutput } from "../schemas/structured-output.ts";
import type { Configuration } from "./control/carry-out.ts";
import { createControl } from "./control/control.ts";
import { refusalOf } from "./control/outcome.ts";
import { closedSession, type MainAgentChoice, MainRuns, type MainRunsOptions } from "./main-runs.ts";
import { isPromptContent, textBlocks, wrongBlock } from "./prompt-content.ts";
import { createPromptRun, type OutputValue, type PromptOptions, type Run } from "./prompt-run.ts";
import {
  type RewindOptions,
  type RewindParts,
  type RewindReport,
  readPrompts,
  rewindOptionTypes,
  rewindTo,
  unknownPrompt,
} from "./rewind.ts";
import { readSpending, type SessionSpending } from "./session-spending.ts";
import { createSubagents, type Subagents } from "./subagents.ts";

/** A conversation with an agent, which has tools, permissions and subagents. `openSession` opens one. */
export interface Session {
  readonly id: SessionId;
  readonly cwd: string;
  /** The model that the next run will use. */
  readonly model: ModelDescription;
  /** Type of the main agent: `main`, or the name of a definition. */
  readonly agentType: string;
  /** Prompt that the agent gets first in a new session, before the user's prompt. */
  readonly initialPrompt: string | undefined;
  readonly tools: readonly string[];
  /** Names of the agents that the main agent can start. */
  readonly agents: readonly string[];
  readonly mcpServers: readonly ConnectedMcpServer[];
  /** Tools that the agent's definition requested, and tools that the agent has. */
  readonly toolReport: ToolReport;
  /** Built-in tools that this session does not have, with the reasons. */
  readonly absentTools: readonly { readonly name: string; readonly reason: string }[];
  /** Current permission mode, which also changes when the agent enters or leaves plan mode. */
  readonly permissionMode: PermissionMode;
  /** Rules that the answer "always" has added for this session, oldest first. */
  readonly sessionRules: readonly string[];
  /**
   * `running`: at least one agent is working. `waiting`: every agent with work to do is waiting for approval. `idle`:
   * no agent has anything to do.
   */
  readonly state: "running" | "waiting" | "idle";
  /** Messages for the user, for example about the offline model, an invalid rule or a repaired transcript. */
  readonly notices: readonly string[];
  /** Path of the transcript; undefined if the session stores nothing on disk. */
  readonly transcriptPath: string | undefined;
  /**
   * Starts a run. An empty prompt continues the conversation. If there is no conversation to continue, a `UserError` is
   * thrown. If a run is in progress, the prompt is queued, and its run starts when the runs ahead of it have ended.
   * Stopping a run that has not started withdraws its prompt.
   */
  prompt<const Output extends Schema | undefined = undefined>(
    prompt: string | readonly UserBlock[],
    options?: PromptOptions<Output>,
  ): Run<OutputValue<Output>>;
  /**
   * Writes the first line of the transcript now instead of with the first prompt, so that the session can be resumed
   * even if it gets no prompt. Await the promise before you send a prompt.
   */
  save(): Promise<void>;
  /** Returns the queued prompts, oldest first. */
  queue(): readonly QueuedPrompt[];
  /**
   * Carries out a command: sends a prompt to any agent, withdraws a queued prompt, answers a request for approval, stops
   * or resumes an agent, moves one to the background or back, changes the permission mode or the model, compacts the
   * conversation, or goes back to an earlier prompt. Sending the same id again has no effect. Never rejects.
   */
  send(command: Command): Promise<Receipt>;
  /**
   * Changes the permission mode immediately, even during a run. Subagents whose own mode is stricter keep it. Throws a
   * `UserError` if the settings forbid the mode.
   */
  setPermissionMode(mode: PermissionMode): Promise<void>;
  /**
   * Uses another model starting with the next run. Throws a `UserError` if the provider is unknown or has no key. The
   * provider checks the model's name when it gets the first request.
   */
  setModel(model: string | Model): Promise<void>;
  /**
   * Starts a run that replaces the conversation with a summary. The instructions say what the summary should contain.
   * Throws a `UserError` during a run, and if there is nothing to compact.
   */
  compact(instructions?: string): Run;
  /** Returns the conversation's prompts that `rewind` can go back to, oldest first. */
  prompts(): Promise<readonly PastPrompt[]>;
  /**
   * Goes back to the conversation before a prompt. Restores files that editing tools have changed since, unless someone
   * else has changed them too. The effects of commands are not undone. Prompts that arrive while this is in progress
   * are queued. Throws a `UserError` while agents are working.
   */
  rewind(promptId: LineId, options?: RewindOptions): Promise<RewindReport>;
  /**
   * Reports what fills an agent's context window. `agent` is a name or an id; defaults to the main agent. Resolves to
   * undefined if there is no such agent, or if it has made no request.
   */
  context(agent?: string): Promise<ContextReport | undefined>;
  /**
   * Returns the spending of all of the session's agents, including in earlier processes, and the remaining budget.
   */
  spent(): Promise<SessionSpending>;
  /**
   * Known cost of all agents so far, in US dollars. Undefined if no price is known. In a resumed session without a
   * budget, it excludes earlier processes; `spent()` includes them.
   */
  readonly costUsd: number | undefined;
  /** Whether `costUsd` includes the maximum cost of requests whose responses were lost. */
  readonly isCostAtMost: boolean;
  /** The agents that this session has started, including in earlier processes. */
  readonly subagents: Subagents;
  /**
   * Returns all events of the session and its agents, even between runs: the recorded lines after a position, oldest
   * first, then updates as they happen. Ends when the session is closed or the signal fires.
   */
  events(position?: FeedPosition): AsyncIterable<SessionUpdate>;
  /**
   * Moves the main agent's foreground subagents to the background, and ends its waits for background agents. Returns the
   * ids of the agents that it is no longer waiting for.
   */
  moveToBackground(): Promise<readonly AgentId[]>;
  /**
   * Stops the current run and its foreground subagents. Background agents continue. Queued prompts stay in the queue,
   * and the next run receives them.
   */
  interrupt(): Promise<StopReceipt>;
  /**
   * Stops the current run and all agents. The session stays open. Queued prompts stay in the queue, and the next run
   * receives them.
   */
  stopAll(): Promise<StopReceipt>;
  /**
   * Continues all agents that were working when the session's last process ended, even if it was killed. Then runs each
   * queued prompt in turn. Returns messages about agents that can't continue.
   */
  continueWork(): Promise<readonly string[]>;
  /**
   * Closes the session so that it continues where it stopped when it is resumed: requests for approval stay open and
   * can be answered while it is closed, and background agents continue with the next run. A reason is recorded as a
   * notice.
   */
  park(reason?: string): Promise<void>;
  /** Stops everything and closes the session. Does not wait for free space if the disk is full. */
  close(): Promise<void>;
  /** Closes the session at the end of a block: `await using session = await openSession()`. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface SessionParts
  extends Pick<MainRunsOptions, "callback" | "refresh" | "requestedMode" | "runOptions">,
    Pick<RewindParts, "worker"> {
  readonly transcript: Transcript;
  readonly agent: ResolvedAgent;
  readonly thread: Thread;
  readonly services: RunServices & { readonly executor: ToolExecutor };
  readonly dispatcher: Dispatcher;
  readonly approvals: SessionApprovals;
  readonly inbox: Inbox;
  readonly info: Pick<Session, "absentTools" | "mcpServers" | "notices" | "toolReport">;
  readonly mayBackground: boolean;
  /** Whether the program closes the session when the main agent's run ends. */
  readonly endsWithRun: boolean;
  readonly stopWaiting: AbortController;
  /** Resolves the main agent for another model. Throws a `UserError` if there is no such model. */
  readonly withModel: (model: string | Model) => MainAgentChoice;
  /** Throws a `UserError` if the settings forbid a mode. */
  readonly checkMode: (mode: PermissionMode) => void;
  /** Receives messages for the user. */
  readonly onTrouble: (message: string) => void;
  /** Releases everything that the session uses, except its executor and its transcript. */
  readonly release: (options: ClosingOptions) => Promise<void>;
}

/**
 * A session, and its main agent for use as the parent of subagents that are resumed while it has no run in progress.
 */
export interface CreatedSession {
  readonly session: Session;
  readonly idleMain: () => LiveAgent;
}

export function createSession(parts: SessionParts): CreatedSession {
  const { transcript, thread, services, dispatcher, inbox } = parts;
  const { registry } = dispatcher;
  const live = (): LiveAgent | undefined => registry.live.get(MAIN_AGENT);
  const runs = new MainRuns({ ...parts, live, onFirstRun });
  const { agent } = parts;
  let closing: Promise<void> | undefined;
  let created: Promise<unknown> | undefined;

  const control = createControl({
    ...parts,
    runs,
    journal: transcript,
    isResumed: !thread.isEmpty,
    continueInterrupted: async () => void (isInterrupted() && (await continueMain())),
    configure,
    rewind,
    interrupt,
    stopAll,
    stopAgent: (agentId) => stopWithReceipt(registry.working(), () => registry.stop(agentId, "stopped_by_person")),
  });
  const stopListening = control.listen();
  const stopContinuing = inbox.watch(() => void (runs.hasStarted && continueUnfinished()), { idle: true });

  async function onFirstRun(): Promise<void> {
    if (thread.isEmpty) return;
    await control.deliverEarlier();
    await continueUnfinished();
  }

  /** Continues agents that were parked, or that were waiting for approval when their process ended. Never rejects. */
  async function continueUnfinished(): Promise<void> {
    if (closing !== undefined) return;
    const problems = await dispatcher.continueUnfinished(inbox.askedCalls).catch((error) => [describeError(error)]);
    for (const problem of problems) parts.onTrouble(problem);
  }

  /** Continues the main agent's interrupted run, then gives each prompt in the queue its own run. Never rejects. */
  async function continueMain(): Promise<void> {
    await control.withdrawEarlier();
    if (!thread.isEmpty) await control.queueEarlier();
    if (!runs.isBusy) await runs.continueWork({ isUnfinished: isInterrupted() || control.hasEarlier() });
  }

  /** Returns whether the main agent's last run was parked or lost, and no run has continued it. */
  function isInterrupted(): boolean {
    return !runs.isBusy && thread.lastEnd !== undefined && isUnfinished({ reason: thread.lastEnd });
  }

  async function stop(cause: StopCause, stopSubagents: () => Promise<unknown>): Promise<StopReceipt> {
    const run = runs.running;
    // A queued prompt must not start as soon as the previous run has been stopped.
    runs.holdQueue();
    run?.stop(cause);
    const receipt = await stopWithReceipt(registry.working(), () => Promise.all([run?.result, stopSubagents()]));
    const end = await run?.result;
    if (end?.outcome !== "stopped") return receipt;
    const main = { agentId: MAIN_AGENT, agentType: agent.agentType, runId: end.runId, turns: end.turns };
    return { ...receipt, stopped: [main, ...receipt.stopped] };
  }

  async function setPermissionMode(mode: PermissionMode): Promise<void> {
    checkOpen();
    checkPermissionMode(mode);
    await changeMode(mode);
  }

  /** Changes the permission mode. A plan that is waiting for approval no longer needs it once plan mode is off. */
  async function changeMode(mode: PermissionMode): Promise<void> {
    await runs.changeMode(mode);
    if (mode === "plan") return;
    for (const { requestId, decision } of inbox.open()) {
      if (decision.rule !== PLAN_APPROVAL) continue;
      await parts.approvals.answer(requestId, { answer: "allow", by: "the change of the permission mode" });
    }
  }

  async function setModel(model: string | Model): Promise<void> {
    checkOpen();
    checkOptions("session.setModel", { model }, { model: modelOption });
    if (typeof model === "object") checkModel(model);
    runs.use(parts.withModel(model));
  }

  /** Changes the permission mode and the model. Changes neither if one of them can't be used. */
  async function configure({ permissionMode, model }: Configuration): Promise<void> {
    checkOpen();
    if (permissionMode !== undefined) checkPermissionMode(permissionMode);
    const choice = model === undefined ? undefined : parts.withModel(model);
    if (permissionMode !== undefined) await changeMode(permissionMode);
    if (choice !== undefined) runs.use(choice);
  }

  /** Throws a `UserError` if a permission mode can't be used. */
  function checkPermissionMode(mode: PermissionMode): void {
    const known = oneOf(permissionModes);
    if (!known.accepts(mode))
      throw optionError(`The permission mode can't be ${JSON.stringify(mode)}`, `Use ${known.description}.`);
    parts.checkMode(mode);
  }

  async function rewind(promptId: LineId, options: RewindOptions = {}): Promise<RewindReport> {
    checkOpen();
    checkOptions("session.rewind", options, rewindOptionTypes);
    if (runs.isHeld)
      throw new UserError("The session is already going back to a prompt", {
        code: "rewind",
        fix: "Wait until it has finished.",
      });
    if (runs.isBusy || registry.working().length > 0)
      throw new UserError("Agents are working", { code: "rewind", fix: "Wait for them, or stop them first." });
    // A queued prompt can't be the first line of a transcript.
    if (thread.isEmpty) throw unknownPrompt(promptId);
    return runs.hold(() => rewindTo(promptId, options, { ...parts, cwd: services.cwd }));
  }

  /** Throws a `UserError` if there is nothing that a run without a prompt could continue. */
  function checkUnfinished(): void {
    const { queue, background, said } = thread.state;
    if (queue.length + background.length + said.length > 0 || control.hasEarlier() || runs.isBusy) return;
    const isUnused = thread.hasNoConversation;
    if (isUnused ? agent.initialPrompt !== undefined : thread.lastEnd !== "done") return;
    const why = isUnused ? "there is no conversation to continue" : "the agent has finished its work";
    throw optionError(`The prompt is empty, and ${why}`, "Pass a prompt.");
  }

  /** Throws a `UserError` if the session is closed or being closed. */
  function checkOpen(): void {
    if (closing !== undefined) throw closedSession(services.sessionId, transcript);
  }

  /** Writes the first line of the transcript if there is none. */
  async function begin(): Promise<void> {
    checkOpen();
    const run = live();
    // If there is no run, nothing may be awaited between the check and the write, because the first prompt could arrive
    // in between.
    if (run !== undefined) await run.begun;
    if (thread.isEmpty) created = thread.record([sessionCreated(services)]);
    await created;
  }

  /** Makes the main agent stop waiting for background agents. Returns their ids. */
  async function endWaits(): Promise<readonly AgentId[]> {
    const { awaited, background } = thread.state;
    const ended: AgentId[] = [];
    for (const run of background.filter(({ runId }) => awaited.includes(runId)))
      if (await live()?.endWait(run)) ended.push(run.agentId);
    return ended;
  }

  function interrupt(): Promise<StopReceipt> {
    return stop("interrupted", async () => undefined);
  }

  function stopAll(): Promise<StopReceipt> {
    return stop("stopped", () => registry.stopAll("stopped_by_person"));
  }

  async function sendCommand(command: Command): Promise<Receipt> {
    if (closing === undefined) return control.send(command);
    return { commandId: String(command?.id), ...refusalOf(closedSession(services.sessionId, transcript)) };
  }

  const send = (command: NewCommand): Promise<Receipt> => sendCommand({ ...command, id: createId("command_") });

  const session: Session = {
    ...parts.info,
    id: services.sessionId,
    cwd: services.cwd,
    get model() {
      return runs.model.describe();
    },
    agentType: agent.agentType,
    initialPrompt: agent.initialPrompt,
    tools: agent.policy.pool,
    agents: agent.policy.pool.includes("Task") ? dispatcher.offered() : [],
    get permissionMode() {
      return runs.mode;
    },
    get sessionRules() {
      const { policy } = runs.agent;
      return parts.approvals
        .policyFor(policy)
        .rules.slice(policy.rules.length)
        .map(({ text }) => text);
    },
    get state() {
      const working = [...(runs.isBusy ? [MAIN_AGENT] : []), ...registry.working().map(({ agentId }) => agentId)];
      if (working.length === 0) return "idle";
      const blocked = new Set(inbox.open().flatMap(blockedBy));
      return working.every((agentId) => blocked.has(agentId)) ? "waiting" : "running";
    },
    transcriptPath: transcript.path,
    prompt: (prompt, options = {}) => {
      checkNames("session.prompt", options, promptOptionHints);
      checkOptions("session.prompt", options, promptOptionTypes);
      const content = blocksOf(prompt);
      if (content.length === 0) checkUnfinished();
      const output = options.output && createStructuredOutput(options.output, options.outputSchema);
      const promptId = content.length === 0 ? undefined : createId("prompt_");
      const run = runs.prompt(content, { promptId, output });
      return createPromptRun(run, { promptId, signal: options.signal, output });
    },
    save: begin,
    queue: () => runs.queue,
    send: sendCommand,
    setPermissionMode,
    setModel,
    compact: (instructions) => createPromptRun(runs.compact(instructions), {}),
    prompts: () => readPrompts(transcript, services.cwd),
    rewind,
    context: async (reference = MAIN_AGENT) => {
      const agentId = reference === MAIN_AGENT ? MAIN_AGENT : (await registry.find(reference))?.agentId;
      return agentId === undefined ? undefined : reportContext(transcript, agentId);
    },
    spent: () => readSpending(transcript, services.budget),
    get costUsd() {
      const { usd, unpriced } = services.budget.spent();
      return usd === 0 && unpriced > 0 ? undefined : usd;
    },
    get isCostAtMost() {
      return services.budget.spent().estimated !== undefined;
    },
    subagents: createSubagents({ dispatcher, begin, transcript, send, interrupt }),
    events: (position) => transcript.feed.read(checkPosition(position)),
    moveToBackground: async () =>
      parts.mayBackground
        ? [...new Set([...(await registry.detachChildren(MAIN_AGENT, "person")), ...(await endWaits())])]
        : [],
    interrupt,
    stopAll,
    continueWork: async () => {
      checkOpen();
      const problems = await dispatcher.continueUnfinished(inbox.askedCalls, { lost: true });
      await continueMain();
      return problems;
    },
    park: (reason) => {
      parts.approvals.park();
      closing ??= close("parked", reason);
      return closing;
    },
    close: () => {
      closing ??= close("stopped");
      return closing;
    },
    [Symbol.asyncDispose]: () => session.close(),
  };
  return { session, idleMain: () => runs.asIdleParent() };

  async function close(cause: "stopped" | "parked", reason?: string): Promise<void> {
    stopListening();
    stopContinuing();
    parts.stopWaiting.abort();
    const noted =
      reason === undefined || thread.isEmpty
        ? undefined
        : thread.record([{ type: "notice.raised", code: cause, message: reason }]).catch(() => undefined);
    // All agents are stopped together, so that the main agent does not mistake the end of a parked subagent, or of a
    // call on a lost worker, for its result.
    if (cause === "parked") await Promise.all([dispatcher.park(), runs.close(cause)]);
    await runs.close(cause);
    await noted;
    await registry.stopAll(cause);
    if (runs.hasStarted) await runSessionEndHooks(services, thread, runs.agent);
    await services.executor.close();
    await parts.release({ keepsCalls: cause === "parked" });
    await thread.recordCleaned().catch(() => undefined);
    thread.saveCheckpoint();
    await transcript.close();
  }
}

export const promptOptionTypes: OptionTypes<PromptOptions<Schema>> = {
  signal: optional(anAbortSignal),
  output: optional({ accepts: isSchema, description: "a schema from a library, or a JSON Schema" }),
  outputSchema: optional(anObject),
};

/** Returns the agents that can't continue until a question is answered: the one that asked and those waiting for it. */
function blockedBy({ agentId, path, background }: ApprovalQuestion): readonly AgentId[] {
  return [agentId, ...path, ...(background ? [] : [MAIN_AGENT])];
}

function checkPosition(position: FeedPosition = {}): FeedPosition {
  const { after = 0, signal, onCaughtUp, ...unknown } = position;
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw unknownOption("session.events", name, ["after", "signal", "onCaughtUp"]);
  if (!Number.isSafeInteger(after) || after < 0)
    throw optionError("The `after` option of session.events must be a whole number", "Pass the `seq` of an update.");
  return { after, signal, onCaughtUp };
}

function blocksOf(prompt: string | readonly UserBlock[]): readonly UserBlock[] {
  if (typeof prompt === "string") return textBlocks(prompt);
  if (isPromptContent(prompt)) return prompt;
  const wrong = Array.isArray(prompt) ? wrongBlock(prompt) : undefined;
  if (wrong !== undefined)
    throw optionError(
      `The prompt is not valid: ${wrong}`,
      'Use { type: "text", text } or { type: "image", mediaType, data }, with data in base64 and mediaType image/png, image/jpeg, image/gif or image/webp.',
    );
  throw optionError(
    "The prompt of a session must be a string or an array of text and image blocks",
    'Use "" to continue without one.',
  );
}
