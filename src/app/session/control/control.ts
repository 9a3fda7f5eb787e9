import { createDeferred, type Deferred } from "../../../lib/index.ts";
import type { Inbox, Journal } from "../../../ports/index.ts";
import { type Command, MAIN_AGENT, type PromptId, type Receipt, textOf } from "../../../protocol/index.ts";
import { hashCommand } from "../../../transcript/index.ts";
import { idInUse, outlivesProcess } from "../../commands/steer.ts";
import { type CommandOptions, createCommands } from "./carry-out.ts";
import { problemOf } from "./check-command.ts";
import { done, isMain, labelOf, type Outcome, refusalOf, refused, shortened } from "./outcome.ts";

export interface ControlOptions extends CommandOptions {
  /** Commands from other processes, and the receipts for all commands. */
  readonly inbox: Inbox;
  /** Whether the session was resumed, so that an earlier process may have carried out a command. */
  readonly isResumed: boolean;
  readonly journal: Pick<Journal, "read">;
  /** Receives messages for the user. */
  readonly onTrouble: (message: string) => void;
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
  /**
   * Queues the prompts for the main agent's next run that other processes sent while the session was closed. Never
   * rejects.
   */
  queueEarlier(): Promise<void>;
  /** Delivers the prompts that other processes sent while the session was closed. Never rejects. */
  deliverEarlier(): Promise<void>;
}

/** Creates the object that carries out a session's commands, each of them once. */
export function createControl(options: ControlOptions): Control {
  const { inbox, journal, thread } = options;
  const { registry } = options.dispatcher;
  /** Commands that are being carried out. The inbox contains the receipts of all other commands. */
  const underWay = new Map<string, { readonly hash: string; readonly receipt: Promise<Receipt> }>();
  /** Promises for earlier prompts that resume a subagent. Each resolves when the subagent's parent has been notified. */
  const woken = new Map<PromptId, Deferred<void>>();
  const { carryOut, describe } = createCommands(options, (promptId) => woken.get(promptId)?.resolve());
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
    // A command whose receipt can't be written must not be carried out again, so it is not removed from the map.
    await inbox.settle(receipt, command).then(
      () => underWay.delete(command.id),
      () => undefined,
    );
    return receipt;
  }

  /** Carries out a command from another process, and tells this process's user. Never rejects. */
  async function obey(command: Command): Promise<void> {
    // If this were allowed, any process that can write to the inbox could give agents more permissions.
    if (command.type === "configure") {
      const message = "Another process can't change a session's settings. Change them where the session runs.";
      return inbox.settle({ commandId: command.id, ...refused(message) }, command).catch(() => undefined);
    }
    const receipt = send(command);
    const about = await describe(command);
    if (about === undefined) return;
    // A stop is shown immediately, because its receipt arrives only after the run has ended.
    if (command.type === "stop" || (await receipt).status === "done") options.onTrouble(about);
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

  /** Queues a command for the main agent's run, which is about to begin. */
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
    async queueEarlier() {
      const isQueued = (command: Command): boolean =>
        command.type === "prompt" && command.when === "next" && isMain(command.to);
      const commands = earlier.filter(isQueued);
      earlier = earlier.filter((command) => !commands.includes(command));
      for (const command of commands) await deliver(command);
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
        // Waits only until the parent knows that its subagent was resumed, so that the parent gets no notice that the
        // subagent has ended. The subagent itself may still be waiting for a slot.
        await Promise.race([deliver(command), isWoken.promise]);
        woken.delete(command.id);
      }
    },
  };
}

function isMainResumption(command: Command): boolean {
  return command.type === "resume" && isMain(command.agent);
}
