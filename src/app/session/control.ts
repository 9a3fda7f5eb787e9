import { createDeferred, type Deferred, describeError, plural, UserError } from "../../lib/index.ts";
import type { Inbox, Journal } from "../../ports/index.ts";
import {
  type AgentId,
  type Command,
  type LineId,
  MAIN_AGENT,
  type PromptId,
  type Receipt,
  THE_PROGRAM,
  textOf,
  type UserBlock,
} from "../../protocol/index.ts";
import type { Dispatcher, LiveAgent, SessionApprovals, StopReceipt, Subagent, Thread } from "../../runs/index.ts";
import { hashCommand } from "../../transcript/index.ts";
import { idInUse, outlivesProcess, unmatchedAgent } from "../commands/steer.ts";
import { problemOf } from "./check-command.ts";
import type { MainRuns } from "./main-runs.ts";
import type { RewindOptions, RewindReport } from "./rewind.ts";

/** Settings that a command can change. */
export type Configuration = Pick<Extract<Command, { type: "configure" }>, "permissionMode" | "model">;

export interface ControlOptions {
  readonly runs: MainRuns;
  readonly dispatcher: Dispatcher;
  readonly approvals: SessionApprovals;
  /** Commands from other processes, and the receipts for all commands. */
  readonly inbox: Inbox;
  /** Whether the session was resumed, so that an earlier process may have carried out a command. */
  readonly isResumed: boolean;
  readonly journal: Pick<Journal, "read">;
  /** The main agent's thread. */
  readonly thread: Thread;
  readonly mayBackground: boolean;
  /** Whether the program closes the session when the main agent's run ends. */
  readonly endsWithRun: boolean;
  /** Receives messages for the user. */
  readonly onTrouble: (message: string) => void;
  /** Changes the permission mode and the model. Rejects and changes neither if one of them can't be used. */
  configure(changes: Configuration): Promise<void>;
  rewind(promptId: LineId, options: RewindOptions): Promise<RewindReport>;
  interrupt(): Promise<StopReceipt>;
  stopAll(): Promise<StopReceipt>;
  stopAgent(agentId: AgentId): Promise<StopReceipt>;
}

/** Carries out commands from users and programs. */
export interface Control {
  /** Carries out a command. Never rejects: the receipt says why nothing happened. */
  send(command: Command): Promise<Receipt>;
  /** Carries out the commands that other processes send from now on. Returns a function that stops listening. */
  listen(): () => void;
  /** Returns whether commands that other processes sent while the session was closed are still undelivered. */
  hasEarlier(): boolean;
  /** Removes the prompts that other processes withdrew while the session was closed. Never rejects. */
  withdrawEarlier(): Promise<void>;
  /** Delivers the prompts that other processes sent while the session was closed. Never rejects. */
  deliverEarlier(): Promise<void>;
}

/** Outcome of a command: done or refused, with a message. */
type Outcome = Omit<Receipt, "commandId">;

/** Creates a session's control. */
export function createControl(options: ControlOptions): Control {
  const { runs, dispatcher, approvals, inbox, journal, thread } = options;
  const { registry } = dispatcher;
  /** Commands that are being carried out. The inbox has the receipts of the others. */
  const underWay = new Map<string, { readonly hash: string; readonly receipt: Promise<Receipt> }>();
  /** Promises that resolve when the parents of subagents have been notified that earlier prompts resumed them. */
  const woken = new Map<PromptId, Deferred<void>>();
  /** Commands that were sent before this process opened the session. */
  let earlier: readonly Command[] = [];

  function send(command: Command): Promise<Receipt> {
    const problem = problemOf(command);
    if (problem !== undefined) return Promise.resolve({ commandId: String(command?.id), ...refused(problem) });
    const hash = hashCommand(command);
    const known = underWay.get(command.id);
    if (inbox.isIdInUse(command) || (known && known.hash !== hash)) return Promise.resolve(idInUse(command.id));
    if (known !== undefined) return known.receipt;
    const receipt = carryOutOnce(command);
    underWay.set(command.id, { hash, receipt });
    return receipt;
  }

  /** Carries out a command, unless this process or an earlier one has done so. */
  async function carryOutOnce(command: Command): Promise<Receipt> {
    const earlierReceipt = inbox.receiptOf(command.id);
    if (earlierReceipt !== undefined) {
      underWay.delete(command.id);
      return earlierReceipt;
    }
    const isDelivered = command.type === "prompt" && options.isResumed && (await isReceived(command));
    const outcome = isDelivered
      ? done("The agent has received the message.")
      : await carryOut(command).catch(refusalOf);
    const receipt: Receipt = { commandId: command.id, ...outcome };
    // A command whose receipt can't be written must not be carried out again, so it stays in the list.
    await inbox.settle(receipt, command).then(
      () => underWay.delete(command.id),
      () => undefined,
    );
    return receipt;
  }

  async function carryOut(command: Command): Promise<Outcome> {
    switch (command.type) {
      case "prompt":
        return prompt(command);
      case "withdraw":
        return withdraw(command.promptId);
      case "answer":
        return answer(command);
      case "stop":
        return stop(command.what);
      case "resume":
        return resume(command.agent);
      case "background":
        return moveToBackground(command.agent);
      case "foreground":
        return moveToForeground(command.agent);
      case "configure":
        return configure(command);
      case "compact":
        return compact(command.instructions);
      case "rewind":
        return rewind(command);
    }
  }

  async function prompt({ id, to, content, when }: Extract<Command, { type: "prompt" }>): Promise<Outcome> {
    if (content.every((block) => block.type === "text" && block.text.trim() === ""))
      return refused("The prompt is empty.");
    if (isMain(to)) return promptMain(content, { promptId: id, when });
    if (when === "next") return refused('Only the main agent has a queue. Send the prompt with `when: "now"`.');
    const found = await find(to);
    if (!("agentId" in found)) return found;
    return promptSubagent(found, content, id);
  }

  async function promptMain(
    content: readonly UserBlock[],
    { promptId, when }: { readonly promptId: PromptId; readonly when: "now" | "next" },
  ): Promise<Outcome> {
    if (when === "now" && (await runs.tell(content, promptId)))
      return done("The main agent will read the message before its next step.");
    const { heldPrompts } = runs;
    const accepted = await runs.accept(content, promptId);
    if (accepted === "started") return done(`The main agent has started.${receivedFirst(heldPrompts)}`);
    const later = options.endsWithRun
      ? " The session ends with its current run; the prompt will be sent when it is resumed."
      : "";
    return done(`The prompt is in the main agent's queue.${later}`);
  }

  async function promptSubagent(
    subagent: Subagent,
    content: readonly UserBlock[],
    promptId: PromptId,
  ): Promise<Outcome> {
    const { agentId } = subagent;
    do {
      await dispatcher.resumptionOf(agentId)?.catch(() => undefined);
      if (await registry.live.get(agentId)?.tell({ content, from: "person", promptId }))
        return done(`${labelOf(subagent)} will read the message before its next step.`);
    } while (dispatcher.resumptionOf(agentId) !== undefined);
    const problem = await dispatcher.wake(subagent, "person", { prompt: textOf(content), promptId });
    woken.get(promptId)?.resolve();
    // The prompt can no longer be lost when the run has begun.
    if (problem === undefined) await registry.live.get(agentId)?.begun;
    return problem === undefined
      ? done(`${labelOf(subagent)} had ended. It continues in the background with the message.`)
      : refused(problem);
  }

  async function withdraw(promptId: PromptId): Promise<Outcome> {
    if (await runs.withdraw(promptId)) return done("The prompt was removed from the queue.");
    return refused(`There is no prompt ${promptId} in the queue. The agent may have received it already.`);
  }

  async function answer({ requestId, answer: given }: Extract<Command, { type: "answer" }>): Promise<Outcome> {
    const counted = await approvals.answer(requestId, { ...given, by: given.by ?? THE_PROGRAM });
    if (counted === undefined) return refused(`There is no open request ${requestId}.`);
    if (!counted.isOwn) return refused(`${requestId} was already answered by ${counted.answer.by}.`);
    return done(`${requestId} was ${given.answer === "allow" ? "allowed" : "denied"}.`);
  }

  async function configure({ permissionMode, model }: Extract<Command, { type: "configure" }>): Promise<Outcome> {
    if (permissionMode === undefined && model === undefined)
      return refused("There is nothing to change. Give `permissionMode` or `model`.");
    await options.configure({ permissionMode, model });
    const changes = [
      ...(permissionMode === undefined ? [] : [`The permission mode is now ${permissionMode}.`]),
      ...(model === undefined ? [] : [`The main agent will use the model ${model} from its next prompt on.`]),
    ];
    return done(changes.join(" "));
  }

  async function compact(instructions: string | undefined): Promise<Outcome> {
    await runs.acceptCompaction(instructions);
    return done("The main agent is summarizing its conversation.");
  }

  async function rewind({ to, files }: Extract<Command, { type: "rewind" }>): Promise<Outcome> {
    const { restored, kept, commands } = await options.rewind(to, { files });
    const parts = [
      "The conversation is as it was before the prompt.",
      ...(restored.length === 0 ? [] : [`Restored: ${restored.join(", ")}.`]),
      ...kept.map(({ path, reason }) => `Not restored: ${path} (${reason}).`),
      ...(commands.length === 0 ? [] : [`The effects of ${plural(commands.length, "command")} stay.`]),
    ];
    return done(parts.join(" "));
  }

  async function stop(what: string): Promise<Outcome> {
    if (isWholeSession(what)) return stopped(await options.stopAll(), runs.queue.length);
    if (what === "turn" || isMain(what)) return stopped(await options.interrupt(), runs.queue.length);
    const found = await find(what);
    return "agentId" in found ? stopped(await options.stopAgent(found.agentId)) : found;
  }

  async function resume(reference: string): Promise<Outcome> {
    if (isMain(reference)) {
      if (runs.isBusy) return refused("The main agent is already running.");
      const { queue, background } = thread.state;
      const hasWork = queue.length + background.length > 0;
      if (thread.isNew && !hasWork) return refused("The main agent has no prompt yet. Send it one.");
      if (thread.lastEnd === "done" && !hasWork)
        return refused("The main agent has finished its work. Send it a prompt to give it more.");
      const { heldPrompts } = runs;
      await runs.accept([]);
      return done(`The main agent continues.${receivedFirst(heldPrompts)}`);
    }
    const found = await find(reference);
    if (!("agentId" in found)) return found;
    const label = labelOf(found);
    if (found.running) return refused(`${label} is already running.`);
    if (found.end?.reason === "done")
      return refused(`${label} has finished its work. Send it a message to give it more.`);
    const problem = await dispatcher.wake(found, "person");
    return problem === undefined ? done(`${label} continues in the background.`) : refused(problem);
  }

  async function moveToBackground(reference: string): Promise<Outcome> {
    if (isMain(reference)) return refused("Only subagents can be moved to the background.");
    const found = await find(reference);
    if (!("agentId" in found)) return found;
    const label = labelOf(found);
    if (found.running === undefined) return refused(`${label} is not running.`);
    const parent = reportsTo(found);
    if (parent !== undefined && (await parent.endWait(found)))
      return done(
        `${capitalized(nameOf(parent))} is no longer waiting for ${label}, which continues in the background.`,
      );
    if (!options.mayBackground) return refused("Agents can't work in the background in this session.");
    if (await registry.detach(found.agentId, "person")) return done(`${label} is now working in the background.`);
    return refused(`${label} is already working in the background.`);
  }

  async function moveToForeground(reference: string): Promise<Outcome> {
    if (isMain(reference)) return refused("Only subagents can be moved to the foreground.");
    const found = await find(reference);
    if (!("agentId" in found)) return found;
    const { agentId, runId, running } = found;
    const label = labelOf(found);
    if (running === undefined) return refused(`${label} is not running.`);
    if (!running.background) return refused(`The caller of ${label} is already waiting for it.`);
    const parent = reportsTo(found);
    if (parent?.thread.state.run === undefined)
      return refused(
        `The caller of ${label} is not working now, so it can't wait. It gets the report when it continues.`,
      );
    if (parent.thread.state.awaited.includes(runId))
      return refused(`${capitalized(nameOf(parent))} is already waiting for ${label}.`);
    await parent.record([{ type: "run.awaited", agentId, runId }]);
    return done(`${capitalized(nameOf(parent))} will wait for ${label} before its next step.`);
  }

  /** Returns the running agent that is notified when a background agent ends. */
  function reportsTo({ runId }: Subagent): LiveAgent | undefined {
    const isTold = ({ thread: { state } }: LiveAgent) => state.background.some((run) => run.runId === runId);
    return [...registry.live.values()].find(isTold);
  }

  async function find(reference: string): Promise<Subagent | Outcome> {
    const found = await registry.find(reference);
    if (found !== undefined) return found;
    const { message, cure } = unmatchedAgent(reference, await registry.all());
    return { ...refused(`${message}. ${cure}`), code: "unknown_agent" };
  }

  /** Carries out a command from another process, and tells this process's user. Never rejects. */
  async function obey(command: Command): Promise<void> {
    // Otherwise, any process that can write to the inbox could give agents more permissions.
    if (command.type === "configure") {
      const message = "Another process can't change a session's settings. Change them where the session runs.";
      return inbox.settle({ commandId: command.id, ...refused(message) }, command).catch(() => undefined);
    }
    const receipt = send(command);
    const about = await describeRemote(command);
    if (about === undefined) return;
    // A stop is shown immediately, because its receipt arrives only after the run has ended.
    if (command.type === "stop" || (await receipt).status === "done") options.onTrouble(about);
  }

  /** Describes another process's command in one line. Returns undefined if there is nothing to report. */
  async function describeRemote(command: Command): Promise<string | undefined> {
    if (command.type === "withdraw") return "Another terminal removed a prompt from the queue.";
    if (command.type === "answer" || command.type === "configure") return undefined;
    if (command.type === "compact") return "Another terminal is compacting the conversation.";
    if (command.type === "rewind") return "Another terminal went back to an earlier prompt.";
    const reference = command.type === "prompt" ? command.to : command.type === "stop" ? command.what : command.agent;
    const isAll = command.type === "stop" && isWholeSession(reference);
    const isForMain = isAll || isMain(reference) || (command.type === "stop" && reference === "turn");
    const found = isForMain ? undefined : await registry.find(reference).catch(() => undefined);
    if (found === undefined && !isForMain) return undefined;
    const agent = found ? labelOf(found) : "the main agent";
    switch (command.type) {
      case "prompt":
        return `Message from another terminal to ${agent}: ${shortened(textOf(command.content))}`;
      case "stop":
        return `Another terminal is stopping ${isAll ? "all agents" : agent}.`;
      case "resume":
        return `Another terminal resumed ${agent}.`;
      case "background":
        return `Another terminal moved ${agent} to the background.`;
      case "foreground": {
        const parent = found && reportsTo(found);
        const waits = parent ? `: ${nameOf(parent)} will wait for it` : "";
        return `Another terminal moved ${agent} to the foreground${waits}.`;
      }
    }
  }

  /** Returns whether stopping this target stops all agents. The session may end with its main agent's run. */
  function isWholeSession(what: string): boolean {
    return what === "tree" || ((what === "turn" || isMain(what)) && options.endsWithRun);
  }

  /** Returns whether an earlier process delivered a prompt but could not write the receipt. */
  async function isReceived({ id, to }: Extract<Command, { type: "prompt" }>): Promise<boolean> {
    const agentId = isMain(to) ? MAIN_AGENT : (await registry.find(to))?.agentId;
    const lines = agentId === undefined ? [] : await journal.read(agentId);
    return lines.some(
      (line) => (line.type === "prompt.received" || line.type === "prompt.queued") && line.promptId === id,
    );
  }

  /** Carries out a command that was sent while the session was closed, and notifies the user. Never rejects. */
  async function deliver(command: Command): Promise<void> {
    const isForMain = command.type === "prompt" && isMain(command.to);
    const isLater = outlivesProcess(command) && !isForMain && !isMainResumption(command);
    const outcome = isLater ? await send(command) : await deliverToMain(command).catch(refusalOf);
    if (command.type === "prompt") options.onTrouble(await describeDelivery(command, outcome));
    if (!isLater) await inbox.settle({ commandId: command.id, ...outcome }, command).catch(() => undefined);
  }

  async function describeDelivery(
    { to, content }: Extract<Command, { type: "prompt" }>,
    { status, message }: Outcome,
  ): Promise<string> {
    if (status === "refused") return `A message that was sent earlier could not be delivered: ${message}`;
    const found = isMain(to) ? undefined : await registry.find(to).catch(() => undefined);
    const agent = found === undefined ? "the main agent" : labelOf(found);
    return `Message sent while the session was closed, to ${agent}: ${shortened(textOf(content))}`;
  }

  /** Returns whether a prompt was both sent and withdrawn while the session was closed. */
  function isWithdrawn(promptId: PromptId): boolean {
    return earlier.some((command) => command.type === "withdraw" && command.promptId === promptId);
  }

  /** Removes the prompts that were withdrawn while the session was closed. Never rejects. */
  async function withdrawEarlier(): Promise<void> {
    const isDone = (command: Command): boolean =>
      command.type === "withdraw" || (command.type === "prompt" && isWithdrawn(command.id));
    const commands = earlier.filter(isDone);
    earlier = earlier.filter((command) => !commands.includes(command));
    for (const command of commands) {
      if (command.type === "withdraw") await send(command);
      else
        await inbox
          .settle({ commandId: command.id, ...refused("The prompt was withdrawn.") }, command)
          .catch(() => undefined);
    }
  }

  /** Leaves a prompt to the main agent's run that is about to begin. */
  async function deliverToMain(command: Command): Promise<Outcome> {
    if (isMainResumption(command)) return done("The main agent continues.");
    if (command.type !== "prompt") return refused("The session ended before it could carry out this command.");
    if (!(await isReceived(command)))
      await thread.record([{ type: "prompt.queued", promptId: command.id, content: command.content }]);
    return done("The main agent has received the message.");
  }

  return {
    send,
    listen() {
      earlier = inbox.commands();
      let seen = new Set(earlier.map(({ id }) => id));
      const look = (): void => {
        const commands = inbox.commands();
        const added = commands.filter(({ id }) => !seen.has(id));
        seen = new Set(commands.map(({ id }) => id));
        for (const command of added) void obey(command);
      };
      return inbox.watch(look, { idle: true });
    },
    hasEarlier: () => earlier.some(({ id, type }) => type === "resume" || (type === "prompt" && !isWithdrawn(id))),
    withdrawEarlier,
    async deliverEarlier() {
      await withdrawEarlier();
      const commands = earlier;
      earlier = [];
      for (const command of commands) {
        const isWoken = createDeferred<void>();
        woken.set(command.id, isWoken);
        // A subagent may have to wait for a slot before it can begin, but its parent must not get a notice that it has
        // ended.
        await Promise.race([deliver(command), isWoken.promise]);
        woken.delete(command.id);
      }
    },
  };
}

function isMainResumption(command: Command): boolean {
  return command.type === "resume" && isMain(command.agent);
}

/** Returns the outcome of a failed command, with the reason. */
export function refusalOf(error: unknown): Outcome {
  return refused(error instanceof UserError ? withCure(error) : describeError(error));
}

function withCure({ message, cure }: UserError): string {
  return `${message.replace(/\.$/, "")}.${cure === undefined ? "" : ` ${cure}`}`;
}

function isMain(reference: string): boolean {
  return reference === MAIN_AGENT;
}

function nameOf({ agentId, agent }: LiveAgent): string {
  return labelOf({ agentId, agentType: agent.agentType });
}

/**
 * Returns an agent's label with its name or type, its task and its id, such as `Explore (call sites, a1b2c3d4e5f6g)`.
 */
function labelOf({ agentId, agentType, name, description = "" }: Labelled): string {
  if (isMain(agentId)) return "the main agent";
  return `${name ?? agentType} (${description === "" ? "" : `${shortened(description)}, `}${agentId})`;
}

interface Labelled extends Pick<Subagent, "agentId" | "agentType"> {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

/** Maximum number of agents that a receipt names. */
const MAX_NAMED = 5;

function listed(agents: readonly Labelled[]): string {
  const more = agents.length - MAX_NAMED;
  return `${agents.slice(0, MAX_NAMED).map(labelOf).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Maximum number of characters of a message that are shown to the session's user. */
const MAX_SHOWN = 100;

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= MAX_SHOWN ? line : `${line.slice(0, MAX_SHOWN)}…`;
}

function done(message: string): Outcome {
  return { status: "done", message };
}

function refused(message: string): Outcome {
  return { status: "refused", message };
}

/** Says that a new run also receives the prompts in the queue. */
function receivedFirst(count: number): string {
  return count === 0 ? "" : ` It also gets ${plural(count, "prompt")} from the queue.`;
}

/** Describes what was stopped, and the prompts that are still in the main agent's queue. */
function stopped({ stopped: ended, goesOn }: StopReceipt, queued = 0): Outcome {
  const isIdle = ended.length === 0 && goesOn.length === 0;
  const parts = [
    isIdle ? "Nothing was running." : ended.length === 0 ? "Nothing was stopped." : `Stopped ${listed(ended)}.`,
    ...(goesOn.length === 0 ? [] : [`${plural(goesOn.length, "agent")} still running: ${listed(goesOn)}.`]),
    ...(queued === 0 ? [] : [`${plural(queued, "prompt")} ${queued === 1 ? "stays" : "stay"} in the queue.`]),
  ];
  return done(parts.join(" "));
}
