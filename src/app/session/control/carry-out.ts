import { plural } from "../../../lib/index.ts";
import {
  type AgentId,
  type Command,
  type LineId,
  type PromptId,
  THE_PROGRAM,
  textOf,
  type UserBlock,
} from "../../../protocol/index.ts";
import type { Dispatcher, LiveAgent, SessionApprovals, StopReceipt, Subagent, Thread } from "../../../runs/index.ts";
import { unmatchedAgent } from "../../commands/steer.ts";
import type { MainRuns } from "../main-runs.ts";
import type { RewindOptions, RewindReport } from "../rewind.ts";
import {
  capitalized,
  done,
  isMain,
  labelOf,
  nameOf,
  type Outcome,
  receivedFirst,
  refused,
  shortened,
  stopped,
} from "./outcome.ts";

/** Settings that a command can change. */
export type Configuration = Pick<Extract<Command, { type: "configure" }>, "permissionMode" | "model">;

export interface CommandOptions {
  readonly runs: MainRuns;
  readonly dispatcher: Dispatcher;
  readonly approvals: SessionApprovals;
  /** The main agent's thread. */
  readonly thread: Thread;
  readonly mayBackground: boolean;
  /** Whether the program closes the session when the main agent's run ends. */
  readonly endsWithRun: boolean;
  /** Continues the main agent's last run, and then the queue, if that run was parked or lost. Never rejects. */
  continueInterrupted(): Promise<void>;
  /** Changes the permission mode and the model. If one of them can't be used, rejects and changes neither. */
  configure(changes: Configuration): Promise<void>;
  rewind(promptId: LineId, options: RewindOptions): Promise<RewindReport>;
  interrupt(): Promise<StopReceipt>;
  stopAll(): Promise<StopReceipt>;
  stopAgent(agentId: AgentId): Promise<StopReceipt>;
}

/** Carries out a session's commands. Does not record which commands were carried out. */
export interface Commands {
  /** Carries out a command. Rejects with a `UserError` if the command can't be carried out. */
  carryOut(command: Command): Promise<Outcome>;
  /** Describes another process's command in one line. Returns undefined if there is nothing to report. */
  describe(command: Command): Promise<string | undefined>;
}

/**
 * Creates the functions that carry out a session's commands. `onWoken` is called when a prompt has resumed a subagent
 * and the subagent's parent knows about it.
 */
export function createCommands(options: CommandOptions, onWoken: (promptId: PromptId) => void): Commands {
  const { runs, dispatcher, approvals, thread } = options;
  const { registry } = dispatcher;

  async function carryOut(command: Command): Promise<Outcome> {
    switch (command.type) {
      case "prompt":
        return prompt(command);
      case "edit":
        return edit(command);
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
    if (isEmpty(content)) return refused("The prompt is empty.");
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
    if (when === "next") await options.continueInterrupted();
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
    onWoken(promptId);
    // Once the run has begun, the prompt can no longer be lost.
    if (problem === undefined) await registry.live.get(agentId)?.begun;
    return problem === undefined
      ? done(`${labelOf(subagent)} had ended. It continues in the background with the message.`)
      : refused(problem);
  }

  async function edit({ promptId, content }: Extract<Command, { type: "edit" }>): Promise<Outcome> {
    if (isEmpty(content)) return refused("The prompt is empty. To remove it from the queue, withdraw it.");
    return (await runs.edit(promptId, content)) ? done("The queued prompt was changed.") : notQueued(promptId);
  }

  async function withdraw(promptId: PromptId): Promise<Outcome> {
    return (await runs.withdraw(promptId)) ? done("The prompt was removed from the queue.") : notQueued(promptId);
  }

  async function answer({ requestId, answer: given }: Extract<Command, { type: "answer" }>): Promise<Outcome> {
    const counted = await approvals.answer(requestId, { ...given, by: given.by ?? THE_PROGRAM });
    if (counted === undefined) return refused(`There is no open request ${requestId}.`);
    if (!counted.isOwn) return refused(`${requestId} was already answered by ${counted.answer.by}.`);
    return done(`${requestId} was ${given.answer === "allow" ? "allowed" : "denied"}.`);
  }

  async function configure({ permissionMode, model }: Extract<Command, { type: "configure" }>): Promise<Outcome> {
    if (permissionMode === undefined && model === undefined)
      return refused("There is nothing to change. Pass `permissionMode` or `model`.");
    await options.configure({ permissionMode, model });
    const changes = [
      ...(permissionMode === undefined ? [] : [`The permission mode is now ${permissionMode}.`]),
      ...(model === undefined ? [] : [`The main agent will use the model ${model} for its next prompt.`]),
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
      ...(files === false ? [] : kept.map(({ path, reason }) => `Not restored: ${path} (${reason}).`)),
      ...(commands.length === 0 ? [] : [notUndone(commands)]),
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
    const parent = found.running.background ? reportsTo(found) : undefined;
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
    const { message, fix } = unmatchedAgent(reference, await registry.all());
    return { ...refused(`${message}. ${fix}`), code: "unknown_agent" };
  }

  /** Describes another process's command in one line. Returns undefined if there is nothing to report. */
  async function describe(command: Command): Promise<string | undefined> {
    if (command.type === "edit") return "Another terminal changed a prompt in the queue.";
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

  /**
   * Returns whether stopping this target stops all agents, which is also the case if it ends the main agent's run and
   * the session ends with that run.
   */
  function isWholeSession(what: string): boolean {
    return what === "tree" || ((what === "turn" || isMain(what)) && options.endsWithRun);
  }

  return { carryOut, describe };
}

function isEmpty(content: readonly UserBlock[]): boolean {
  return content.every((block) => block.type === "text" && block.text.trim() === "");
}

function notQueued(promptId: PromptId): Outcome {
  return refused(`There is no prompt ${promptId} in the queue. The agent may have received it already.`);
}

/** Maximum number of commands that a receipt names. */
const MAX_COMMANDS = 5;
/** Maximum number of characters shown for each command. */
const MAX_COMMAND = 80;

/** Lists the commands whose effects remain after going back. */
function notUndone(commands: readonly string[]): string {
  const named = commands.slice(0, MAX_COMMANDS).map((command) => {
    const line = command.replace(/\s+/g, " ");
    return line.length > MAX_COMMAND ? `${line.slice(0, MAX_COMMAND - 1)}…` : line;
  });
  const more = commands.length > MAX_COMMANDS ? ` and ${commands.length - MAX_COMMANDS} more` : "";
  return `The effects of ${plural(commands.length, "command")} were not undone: ${named.join("; ")}${more}.`;
}
