import { describeError, matchAgentId, plural } from "../../lib/index.ts";
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
import { outlivesProcess } from "../commands/steer.ts";
import type { MainRuns } from "./main-runs.ts";

export interface ControlOptions {
  readonly runs: MainRuns;
  readonly dispatcher: Dispatcher;
  readonly approvals: SessionApprovals;
  readonly journal: Pick<Journal, "read">;
  /** Thread of the main agent. */
  readonly thread: Thread;
  readonly mayBackground: boolean;
  interrupt(): Promise<StopReceipt>;
  stopAll(): Promise<StopReceipt>;
  stopAgent(agentId: AgentId): Promise<StopReceipt>;
}

/** Carries out the commands of users and programs. */
export interface Control {
  /** Carries out a command. Never rejects: the receipt says why nothing happened. */
  send(command: Command): Promise<Receipt>;
  /** Carries out the commands that other processes send from now on. Returns a function that stops listening. */
  listen(inbox: Inbox): () => void;
  /** Delivers the prompts that other processes sent while the session was closed. Never rejects. */
  deliverEarlier(inbox: Inbox): Promise<void>;
}

type Done = Omit<Receipt, "commandId">;

/** Creates the control of a session. */
export function createControl(options: ControlOptions): Control {
  const { runs, dispatcher, approvals, journal, thread } = options;
  const { registry } = dispatcher;
  const receipts = new Map<string, Promise<Receipt>>();
  /** Commands that were sent before this process opened the session. */
  let earlier: readonly Command[] = [];

  function send(command: Command): Promise<Receipt> {
    const known = receipts.get(command.id);
    if (known !== undefined) return known;
    const receipt = carryOut(command)
      .catch((error: unknown) => refused(describeError(error)))
      .then((done): Receipt => ({ commandId: command.id, ...done }));
    receipts.set(command.id, receipt);
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
    if (content.length === 0) return refused("The prompt is empty.");
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
    if (what === "tree") return stopped(await options.stopAll());
    if (what === "turn" || isMain(what)) return stopped(await options.interrupt());
    const found = await find(what);
    return "agentId" in found ? stopped(await options.stopAgent(found.agentId)) : found;
  }

  async function resume(reference: string): Promise<Done> {
    if (isMain(reference)) {
      if (runs.isBusy) return refused("The main agent is already running.");
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
    if (parent === undefined) return refused(`No running agent gets the report of agent ${agentId}.`);
    await parent.record([{ type: "run.awaited", agentId, runId }]);
    const who = parent.agentId === MAIN_AGENT ? "The main agent" : `Agent ${parent.agentId}`;
    return done(`${who} waits for agent ${agentId} before its next step.`);
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

  async function deliver(command: Command): Promise<Receipt> {
    const commandId = command.id;
    if (!outlivesProcess(command))
      return { commandId, ...refused("The session ended before it could carry out this command.") };
    // The run that is about to begin continues the main agent.
    if (command.type === "resume" && isMain(command.agent)) return { commandId, ...done("The main agent continues.") };
    if (command.type !== "prompt") return send(command);
    if (await isReceived(command)) return { commandId, ...done("The agent has received the message.") };
    if (!isMain(command.to)) return send(command);
    // The run that is about to begin takes the prompt from the queue.
    await thread.record([{ type: "prompt.queued", promptId: commandId, content: command.content }]);
    return { commandId, ...done("The main agent has received the message.") };
  }

  return {
    send,
    listen(inbox) {
      earlier = inbox.commands();
      const seen = new Set(earlier.map(({ id }) => id));
      const look = (): void => {
        for (const command of inbox.commands().filter(({ id }) => !seen.has(id))) {
          seen.add(command.id);
          void send(command).then((receipt) => inbox.settle(receipt).catch(() => undefined));
        }
      };
      return inbox.watch(look, { idle: true });
    },
    async deliverEarlier(inbox) {
      const commands = earlier;
      earlier = [];
      for (const command of commands) {
        const failed = (error: unknown): Receipt => ({ commandId: command.id, ...refused(describeError(error)) });
        const settled = deliver(command)
          .catch(failed)
          .then((receipt) => inbox.settle(receipt).catch(() => undefined));
        // A subagent may have to wait for a slot before it can begin.
        if (command.type !== "prompt" || isMain(command.to)) await settled;
      }
    },
  };
}

function isMain(reference: string): boolean {
  return reference === MAIN_AGENT;
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
