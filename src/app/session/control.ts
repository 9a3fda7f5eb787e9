import { describeError, isRecord, matchAgentId, plural, UserError } from "../../lib/index.ts";
import type { Inbox, Journal } from "../../ports/index.ts";
import {
  type AgentId,
  type Command,
  MAIN_AGENT,
  type PromptId,
  type Receipt,
  textOf,
  type UserBlock,
} from "../../protocol/index.ts";
import type { Dispatcher, SessionApprovals, StopReceipt, Subagent, Thread } from "../../runs/index.ts";
import { aString, checkOptions, type OptionType, type OptionTypes, oneOf } from "../check-options.ts";
import { outlivesProcess } from "../commands/steer.ts";
import { isPromptContent, type MainRuns } from "./main-runs.ts";

export interface ControlOptions {
  readonly runs: MainRuns;
  readonly dispatcher: Dispatcher;
  readonly approvals: SessionApprovals;
  /** Commands of other processes, and the receipts of all commands. */
  readonly inbox: Inbox;
  /** Whether the session was resumed, so that an earlier process may have carried out a command. */
  readonly isResumed: boolean;
  readonly journal: Pick<Journal, "read">;
  /** Thread of the main agent. */
  readonly thread: Thread;
  readonly mayBackground: boolean;
  /** Whether the program closes the session when the main agent's run has ended. */
  readonly endsWithRun: boolean;
  /** Receives messages for the user. */
  readonly onTrouble: (message: string) => void;
  interrupt(): Promise<StopReceipt>;
  stopAll(): Promise<StopReceipt>;
  stopAgent(agentId: AgentId): Promise<StopReceipt>;
}

/** Carries out the commands of users and programs. */
export interface Control {
  /** Carries out a command. Never rejects: the receipt says why nothing happened. */
  send(command: Command): Promise<Receipt>;
  /** Carries out the commands that other processes send from now on. Returns a function that stops listening. */
  listen(): () => void;
  /** Returns whether other processes sent commands while the session was closed that are still to be delivered. */
  hasEarlier(): boolean;
  /** Delivers the prompts that other processes sent while the session was closed. Never rejects. */
  deliverEarlier(): Promise<void>;
}

type Done = Omit<Receipt, "commandId">;

/** Creates the control of a session. */
export function createControl(options: ControlOptions): Control {
  const { runs, dispatcher, approvals, inbox, journal, thread } = options;
  const { registry } = dispatcher;
  const receipts = new Map<string, Promise<Receipt>>();
  /** Commands that were sent before this process opened the session. */
  let earlier: readonly Command[] = [];

  function send(command: Command): Promise<Receipt> {
    const problem = problemOf(command);
    if (problem !== undefined) return Promise.resolve({ commandId: String(command?.id), ...refused(problem) });
    const known = receipts.get(command.id);
    if (known !== undefined) return known;
    const receipt = carryOutOnce(command);
    receipts.set(command.id, receipt);
    return receipt;
  }

  /** Carries out a command, unless this process or an earlier one has done so. */
  async function carryOutOnce(command: Command): Promise<Receipt> {
    const earlierReceipt = inbox.receiptOf(command.id);
    if (earlierReceipt !== undefined) return earlierReceipt;
    const isDelivered = command.type === "prompt" && options.isResumed && (await isReceived(command));
    const outcome = isDelivered ? done("The agent has received the message.") : await carryOut(command).catch(failed);
    const receipt: Receipt = { commandId: command.id, ...outcome };
    await inbox.settle(receipt).catch(() => undefined);
    return receipt;
  }

  async function carryOut(command: Command): Promise<Done> {
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
    }
  }

  async function prompt({ id, to, content, when }: Extract<Command, { type: "prompt" }>): Promise<Done> {
    if (content.every((block) => block.type === "text" && block.text.trim() === ""))
      return refused("The prompt is empty.");
    if (isMain(to)) return promptMain(content, { promptId: id, when });
    const found = await find(to);
    if (!("agentId" in found)) return found;
    return promptSubagent(found, content, id);
  }

  async function promptMain(
    content: readonly UserBlock[],
    { promptId, when }: { readonly promptId: PromptId; readonly when: "now" | "next" },
  ): Promise<Done> {
    if (when === "now" && (await runs.tell(content, promptId)))
      return done("The main agent reads the message before its next step.");
    const accepted = await runs.accept(content, promptId);
    return done(
      accepted === "queued" ? "The prompt is in the queue of the main agent." : "The main agent has started.",
    );
  }

  async function promptSubagent(subagent: Subagent, content: readonly UserBlock[], promptId: PromptId): Promise<Done> {
    const { agentId } = subagent;
    do {
      await dispatcher.resumptionOf(agentId)?.catch(() => undefined);
      if (await registry.live.get(agentId)?.tell({ content, from: "person", promptId }))
        return done(`Agent ${agentId} reads the message before its next step.`);
    } while (dispatcher.resumptionOf(agentId) !== undefined);
    const problem = await dispatcher.wake(subagent, "person", { prompt: textOf(content), promptId });
    return problem === undefined
      ? done(`Agent ${agentId} had ended. It continues in the background with the message.`)
      : refused(problem);
  }

  async function withdraw(promptId: PromptId): Promise<Done> {
    if (await runs.withdraw(promptId)) return done("The prompt was removed from the queue.");
    return refused(`There is no prompt ${promptId} in the queue. The agent may have taken it already.`);
  }

  async function answer({ requestId, answer: given }: Extract<Command, { type: "answer" }>): Promise<Done> {
    const counted = await approvals.answer(requestId, given);
    if (counted === undefined) return refused(`There is no open request ${requestId}.`);
    if (!counted.isOwn) return refused(`${requestId} was already answered by ${counted.answer.by}.`);
    return done(`${requestId} was ${given.answer === "allow" ? "allowed" : "denied"}.`);
  }

  async function stop(what: string): Promise<Done> {
    const isMainOnly = what === "turn" || isMain(what);
    // If the session ends with the run of the main agent, its background agents end too.
    if (what === "tree" || (isMainOnly && options.endsWithRun)) return stopped(await options.stopAll());
    if (isMainOnly) return stopped(await options.interrupt());
    const found = await find(what);
    return "agentId" in found ? stopped(await options.stopAgent(found.agentId)) : found;
  }

  async function resume(reference: string): Promise<Done> {
    if (isMain(reference)) {
      if (runs.isBusy) return refused("The main agent is already running.");
      const { queue, background } = thread.state;
      if (thread.lastEnd === "done" && queue.length + background.length === 0)
        return refused("The main agent has finished its work. Send it a prompt to give it more.");
      await runs.accept([]);
      return done("The main agent continues.");
    }
    const found = await find(reference);
    if (!("agentId" in found)) return found;
    const { agentId, end, running } = found;
    if (running) return refused(`Agent ${agentId} is already running.`);
    if (end?.reason === "done")
      return refused(`Agent ${agentId} has finished its work. Send it a message to give it more.`);
    const problem = await dispatcher.wake(found, "person");
    return problem === undefined ? done(`Agent ${agentId} continues in the background.`) : refused(problem);
  }

  async function moveToBackground(reference: string): Promise<Done> {
    if (!options.mayBackground) return refused("Agents can't work in the background in this session.");
    if (isMain(reference)) return refused("Only subagents can be moved to the background.");
    const found = await find(reference);
    if (!("agentId" in found)) return found;
    const { agentId, running } = found;
    if (running === undefined) return refused(`Agent ${agentId} is not running.`);
    if (await registry.detach(agentId, "person")) return done(`Agent ${agentId} goes on in the background.`);
    return refused(`Agent ${agentId} already works in the background.`);
  }

  async function moveToForeground(reference: string): Promise<Done> {
    if (isMain(reference)) return refused("Only subagents can be moved to the foreground.");
    const found = await find(reference);
    if (!("agentId" in found)) return found;
    const { agentId, runId, running } = found;
    if (running === undefined) return refused(`Agent ${agentId} is not running.`);
    if (!running.background) return refused(`The caller of agent ${agentId} is already waiting for it.`);
    const threads = [...registry.live.values()].map((live) => live.thread);
    const parent = [thread, ...threads].find(({ state }) => state.background.some((run) => run.runId === runId));
    if (parent?.state.run === undefined)
      return refused(`No agent that is running gets the report of agent ${agentId}. The report is delivered later.`);
    if (parent.state.awaited.includes(runId))
      return refused(`${nameOf(parent)} is already waiting for agent ${agentId}.`);
    await parent.record([{ type: "run.awaited", agentId, runId }]);
    return done(`${nameOf(parent)} waits for agent ${agentId} before its next step.`);
  }

  async function find(reference: string): Promise<Subagent | Done> {
    const found = await registry.find(reference);
    if (found !== undefined) return found;
    const all = await registry.all();
    const match = matchAgentId(
      all.map(({ agentId }) => agentId),
      reference,
    );
    if (match.kind === "many")
      return refused(`"${reference}" matches several agents: ${match.ids.join(", ")}. Use more of the id.`);
    const known = all.map(({ agentId, agentType, name }) => `${agentId} (${name ?? agentType})`);
    const listed = known.length === 0 ? "It has no subagents." : `Its agents are main, ${known.join(", ")}.`;
    return refused(`There is no agent "${reference}" in this session. ${listed}`);
  }

  /** Returns whether an earlier process delivered a prompt but could not write the receipt. */
  async function isReceived({ id, to }: Extract<Command, { type: "prompt" }>): Promise<boolean> {
    const agentId = isMain(to) ? MAIN_AGENT : (await registry.find(to))?.agentId;
    const lines = agentId === undefined ? [] : await journal.read(agentId);
    return lines.some(
      (line) => (line.type === "prompt.received" || line.type === "prompt.queued") && line.promptId === id,
    );
  }

  /** Carries out a command that was sent while the session was closed. Never rejects. */
  async function deliver(command: Command): Promise<void> {
    const isForMain = command.type === "prompt" && isMain(command.to);
    if (outlivesProcess(command) && !isForMain && !isMainResumption(command)) {
      const { status, message } = await send(command);
      if (status === "refused") options.onTrouble(`A message that was sent earlier could not be delivered: ${message}`);
      return;
    }
    const outcome = await deliverToMain(command).catch(failed);
    await inbox.settle({ commandId: command.id, ...outcome }).catch(() => undefined);
  }

  /** Leaves a prompt to the run of the main agent that is about to begin. */
  async function deliverToMain(command: Command): Promise<Done> {
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
      const seen = new Set(earlier.map(({ id }) => id));
      const look = (): void => {
        for (const command of inbox.commands().filter(({ id }) => !seen.has(id))) {
          seen.add(command.id);
          void send(command);
        }
      };
      return inbox.watch(look, { idle: true });
    },
    hasEarlier: () => earlier.some(outlivesProcess),
    async deliverEarlier() {
      const commands = earlier;
      earlier = [];
      for (const command of commands) {
        const delivered = deliver(command);
        // A subagent may have to wait for a slot before it can begin.
        if (command.type !== "prompt" || isMain(command.to)) await delivered;
      }
    },
  };
}

function isMainResumption(command: Command): boolean {
  return command.type === "resume" && isMain(command.agent);
}

function failed(error: unknown): Done {
  return refused(describeError(error));
}

const content: OptionType = { accepts: isPromptContent, description: "a list of text and image blocks" };
const answerType: OptionType = { accepts: isAnswer, description: 'an object such as { answer: "allow", by: "Ana" }' };
const id = aString;
const type = aString;

/** Fields of the commands, which programs without type checking may get wrong. */
const commandFields: { readonly [Type in Command["type"]]: OptionTypes<Extract<Command, { type: Type }>> } = {
  prompt: { id, type, to: aString, content, when: oneOf(["now", "next"]) },
  withdraw: { id, type, promptId: aString },
  answer: { id, type, requestId: aString, answer: answerType },
  stop: { id, type, what: aString },
  resume: { id, type, agent: aString },
  background: { id, type, agent: aString },
  foreground: { id, type, agent: aString },
};

/** Returns what is wrong with a command. */
function problemOf(command: unknown): string | undefined {
  const name = isRecord(command) ? String(command["type"]) : "";
  const fields = Object.hasOwn(commandFields, name) ? commandFields[name as Command["type"]] : undefined;
  if (fields === undefined) return `The type of a command must be one of ${Object.keys(commandFields).join(", ")}.`;
  try {
    checkOptions(`The command "${name}"`, command, fields as OptionTypes<unknown>);
    return undefined;
  } catch (error) {
    return error instanceof UserError ? `${error.message}. ${error.cure}` : describeError(error);
  }
}

function isAnswer(value: unknown): boolean {
  if (!isRecord(value) || (value["answer"] !== "allow" && value["answer"] !== "deny")) return false;
  const { by, inputJson } = value;
  return typeof by === "string" && (inputJson === undefined || isJsonObject(inputJson));
}

function isJsonObject(text: unknown): boolean {
  try {
    return isRecord(JSON.parse(String(text)));
  } catch {
    return false;
  }
}

function isMain(reference: string): boolean {
  return reference === MAIN_AGENT;
}

function nameOf({ agentId }: Thread): string {
  return agentId === MAIN_AGENT ? "The main agent" : `Agent ${agentId}`;
}

function done(message: string): Done {
  return { status: "done", message };
}

function refused(message: string): Done {
  return { status: "refused", message };
}

function stopped({ stopped: ended, goesOn }: StopReceipt): Done {
  if (ended.length === 0 && goesOn.length === 0) return done("Nothing was running.");
  const names = ended.map(({ agentId }) => agentId).join(", ");
  const what = ended.length === 0 ? "Nothing was stopped." : `Stopped ${names}.`;
  const others = goesOn.map(({ agentId }) => agentId).join(", ");
  return done(goesOn.length === 0 ? what : `${what} ${plural(goesOn.length, "agent")} still running: ${others}.`);
}
