import { createId, matchAgentId } from "../../lib/index.ts";
import { fold, initialState } from "../../loop/index.ts";
import type { Inbox } from "../../ports/index.ts";
import {
  type AgentId,
  type Command,
  type Line,
  MAIN_AGENT,
  type Receipt,
  type RunId,
  type SessionId,
} from "../../protocol/index.ts";
import { findInbox, hasUnfinishedRun, lastRunEnd, openInbox } from "../../transcript/index.ts";
import { systemClock } from "../system-clock.ts";
import { refuseAgentCommand } from "./check-answerer.ts";
import { readWaitingPrompts } from "./waiting-prompts.ts";

/** A command without its id. */
export type NewCommand = Command extends infer Each ? (Each extends Command ? Omit<Each, "id"> : never) : never;

export interface SteerRequest {
  /** State directory. */
  readonly home: string;
  readonly sessionId: SessionId;
  readonly command: NewCommand;
  /** Id of the command; defaults to a new id. Sending a command again with the same id has no effect. */
  readonly id?: string | undefined;
  /** Stops waiting for the receipt. The command is not withdrawn. */
  readonly signal?: AbortSignal | undefined;
}

export interface SteerResult {
  /** Whether a process has the session open. If not, the command stays in the inbox until the session is resumed. */
  readonly isRunning: boolean;
  /** Absent if the session is not running, or did not answer before the timeout or the signal. */
  readonly receipt?: Receipt | undefined;
}

/** Time to wait for a command's receipt. */
const RECEIPT_MS = 10_000;

/**
 * Sends a command to a session in another process. Throws a `UserError` if this process may be a command run by an
 * agent.
 */
export async function steerSession({
  home,
  sessionId,
  command,
  id = createId("command_"),
  signal,
}: SteerRequest): Promise<SteerResult> {
  refuseAgentCommand("steer a session");
  const place = findInbox({ home, sessionId });
  const inbox = openInbox({ path: place.path, clock: systemClock });
  const isRunning = place.isRunning();
  if (!isRunning && !outlivesProcess(command)) return { isRunning };
  const sent: Command = { ...command, id };
  if (inbox.isIdInUse(sent)) return { isRunning, receipt: idInUse(id) };
  await inbox.send(sent);
  if (!isRunning) return { isRunning };
  const receipt = await receiptFor(id, { inbox, isRunning: place.isRunning, signal });
  return { isRunning: receipt !== undefined || place.isRunning(), receipt };
}

/** Refuses a command because another one was sent with the same id. */
export function idInUse(commandId: string): Receipt {
  const message = `Another command was sent with the id ${commandId}. Send this one with a new id.`;
  return { commandId, status: "refused", message, code: "id_in_use" };
}

interface Waiting extends Pick<SteerRequest, "signal"> {
  readonly inbox: Inbox;
  readonly isRunning: () => boolean;
}

/** Waits for a command's receipt until the session's process ends or the time limit is reached. */
function receiptFor(id: string, { inbox, isRunning, signal }: Waiting): Promise<Receipt | undefined> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      clearInterval(check);
      unwatch();
      resolve(inbox.receiptOf(id));
    };
    const timer = setTimeout(end, RECEIPT_MS);
    const check = setInterval(() => void (isRunning() || end()), 500);
    const look = (): void => void (inbox.receiptOf(id) && end());
    const unwatch = inbox.watch(look);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    // The receipt may already be there.
    look();
  });
}

/** Returns whether a session has prompts or commands to carry out when it is resumed, so that it needs no new prompt. */
export function hasWaitingWork({ home, sessionId }: Pick<SteerRequest, "home" | "sessionId">): boolean {
  const { path, transcriptPath } = findInbox({ home, sessionId });
  const isResumed = openInbox({ path, clock: systemClock })
    .commands()
    .some(({ type }) => type === "resume");
  return isResumed || readWaitingPrompts(transcriptPath).length > 0;
}

/** Returns whether prompts or resume commands were sent while the session was not running. */
function hasCommands(inboxPath: string): boolean {
  const commands = openInbox({ path: inboxPath, clock: systemClock }).commands();
  return commands.some(({ type }) => type === "prompt" || type === "resume");
}

/**
 * Returns whether a resumed session has work to continue: agents that were working, or queued work. If a session was
 * stopped, its prompts stay in the queue until someone resumes it.
 */
export function hasUnfinishedWork(session: Pick<SteerRequest, "home" | "sessionId">): boolean {
  const { path, transcriptPath } = findInbox(session);
  if (hasUnfinishedRun(transcriptPath) || hasCommands(path)) return true;
  return lastRunEnd(transcriptPath)?.outcome !== "stopped" && readWaitingPrompts(transcriptPath).length > 0;
}

/** Returns the background runs that an agent is waiting for, from the lines of its transcript. */
export function awaitedRuns(lines: readonly Line[]): readonly RunId[] {
  const isSteered = lines.some(({ type }) => type === "run.awaited");
  return isSteered ? lines.reduce(fold, initialState).awaited : [];
}

/** An agent of a session, as listed in messages. */
export interface ListedAgent {
  readonly agentId: AgentId;
  /** Name that the agent's parent gave it. */
  readonly name?: string | undefined;
}

/**
 * Finds an agent by its name, its id, or the start or end of the id, with or without `agent-`. `agents` must be sorted
 * by age, oldest first. Returns undefined unless exactly one matches.
 */
export function findAgentId(reference: string, agents: readonly ListedAgent[]): AgentId | undefined {
  // The name of an agent that has ended can be given to another agent.
  const named = agents.findLast(({ name }) => name === reference);
  if (named !== undefined) return named.agentId;
  const match = matchAgentId(
    agents.map(({ agentId }) => agentId),
    reference,
  );
  return match.kind === "one" ? match.id : undefined;
}

/** Maximum number of agents that a message lists. */
const MAX_LISTED = 8;

/**
 * Explains why a reference matches none of a session's agents, or several. `kind` describes the agents that were
 * searched.
 */
export function unmatchedAgent(
  reference: string,
  agents: readonly ListedAgent[],
  kind = "agent",
): { readonly message: string; readonly fix: string } {
  const ids = agents.map(({ agentId }) => agentId);
  const match = matchAgentId(ids, reference);
  if (match.kind === "many")
    return {
      message: `"${reference}" matches ${match.ids.length} agents: ${listed(match.ids)}`,
      fix: "Use a longer part of the id.",
    };
  const labels = agents.map(({ agentId, name }) => (name === undefined ? agentId : `${agentId} (${name})`));
  const others = labels.filter((label) => label !== MAIN_AGENT);
  return {
    message: `There is no ${kind} "${reference}" in this session`,
    fix: others.length === 0 ? "Its only agent is main." : `Its agents are main, ${listed(others)}.`,
  };
}

function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_LISTED;
  return `${texts.slice(0, MAX_LISTED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Returns whether a command is still useful when its session is resumed later. */
export function outlivesProcess({ type }: Pick<Command, "type">): boolean {
  return type === "prompt" || type === "resume" || type === "withdraw";
}
