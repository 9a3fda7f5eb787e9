import { describeError, plural, UserError } from "../../../lib/index.ts";
import { MAIN_AGENT, type Receipt } from "../../../protocol/index.ts";
import type { LiveAgent, StopReceipt, Subagent } from "../../../runs/index.ts";

/** Outcome of a command: done or refused, with a message. */
export type Outcome = Omit<Receipt, "commandId">;

/** Returns the outcome of a failed command, with the reason. */
export function refusalOf(error: unknown): Outcome {
  return refused(error instanceof UserError ? withFix(error) : describeError(error));
}

function withFix({ message, fix }: UserError): string {
  return `${message.replace(/\.$/, "")}.${fix === undefined ? "" : ` ${fix}`}`;
}

export function isMain(reference: string): boolean {
  return reference === MAIN_AGENT;
}

export function nameOf({ agentId, agent }: LiveAgent): string {
  return labelOf({ agentId, agentType: agent.agentType });
}

/**
 * Returns an agent's label with its name or type, its task and its id, such as `Explore (call sites, a1b2c3d4e5f6g)`.
 */
export function labelOf({ agentId, agentType, name, description = "" }: Labelled): string {
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

export function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Maximum number of characters of a message that are shown to the session's user. */
const MAX_SHOWN = 100;

export function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= MAX_SHOWN ? line : `${line.slice(0, MAX_SHOWN)}…`;
}

export function done(message: string): Outcome {
  return { status: "done", message };
}

export function refused(message: string): Outcome {
  return { status: "refused", message };
}

/** Says that a new run also receives the prompts in the queue. */
export function receivedFirst(count: number): string {
  return count === 0 ? "" : ` It also gets ${plural(count, "prompt")} from the queue.`;
}

/** Describes what was stopped, and the prompts that are still in the main agent's queue. */
export function stopped({ stopped: ended, stillRunning }: StopReceipt, queued = 0): Outcome {
  const isIdle = ended.length === 0 && stillRunning.length === 0;
  const parts = [
    isIdle ? "Nothing was running." : ended.length === 0 ? "Nothing was stopped." : `Stopped ${listed(ended)}.`,
    ...(stillRunning.length === 0
      ? []
      : [`${plural(stillRunning.length, "agent")} still running: ${listed(stillRunning)}.`]),
    ...(queued === 0 ? [] : [`${plural(queued, "prompt")} ${queued === 1 ? "stays" : "stay"} in the queue.`]),
  ];
  return done(parts.join(" "));
}
