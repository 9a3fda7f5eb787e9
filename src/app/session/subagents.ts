import { matchAgentId } from "../../lib/index.ts";
import { type AgentId, type Line, MAIN_AGENT, type Receipt, type RunEnd } from "../../protocol/index.ts";
import { type Dispatcher, type StopReceipt, type Subagent, stopWithReceipt } from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import { optionError } from "../check-options.ts";
import type { NewCommand } from "../commands/steer.ts";

/** A subagent of a session. */
export interface SubagentInfo {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Name that the agent's parent gave it. */
  readonly name?: string | undefined;
  /** The task in a few words. */
  readonly description?: string | undefined;
  readonly parent: AgentId;
  readonly state: "running" | "ended";
  /** Whether the newest run works, or worked, in the background. */
  readonly background: boolean;
  /** End of the newest run. Absent while it is in progress. */
  readonly end?: RunEnd | undefined;
}

/**
 * Lists and steers the subagents of a session. A reference is an agent's name, its id, or the start or end of its id.
 */
export interface Subagents {
  /** Returns all subagents in the order in which they were started. */
  list(): Promise<readonly SubagentInfo[]>;
  /** Returns the lines of an agent's transcript so far. Throws a `UserError` if no agent or several match. */
  read(reference: string): Promise<readonly Line[]>;
  /** Sends a message to an agent. It reads the message before its next step, or is resumed with it. */
  message(reference: string, text: string): Promise<Receipt>;
  /** Continues an agent whose last run ended early. It works in the background. */
  resume(reference: string): Promise<Receipt>;
  /** Moves an agent to the background, so that its caller no longer waits for it. */
  background(reference: string): Promise<Receipt>;
  /** Makes the agent that a background agent reports to wait for it, without restarting anything. */
  foreground(reference: string): Promise<Receipt>;
  /**
   * Stops an agent; `main` is the same as `session.interrupt()`. The background agents that it started continue. Returns
   * undefined if there is no such agent; throws a `UserError` if several match.
   */
  stop(reference: string): Promise<StopReceipt | undefined>;
}

export interface SubagentsParts {
  readonly registry: Dispatcher["registry"];
  readonly transcript: Transcript;
  readonly send: (command: NewCommand) => Promise<Receipt>;
  readonly interrupt: () => Promise<StopReceipt>;
}

export function createSubagents({ registry, transcript, send, interrupt }: SubagentsParts): Subagents {
  async function find(reference: string): Promise<Subagent | undefined> {
    const found = await registry.find(reference);
    const ids = found === undefined ? (await registry.all()).map(({ agentId }) => agentId) : [];
    const match = matchAgentId(ids, reference);
    if (match.kind !== "many") return found;
    throw optionError(`"${reference}" matches several agents: ${match.ids.join(", ")}`, "Use more of the id.");
  }

  return {
    list: async () => (await registry.all()).map(infoOf),
    read: async (reference) => {
      const found = await find(reference);
      if (found !== undefined) return transcript.read(found.agentId);
      throw optionError(`There is no agent "${reference}" in this session`, "session.subagents.list() returns all.");
    },
    message: (to, text) => send({ type: "prompt", to, content: [{ type: "text", text }], when: "now" }),
    resume: (agent) => send({ type: "resume", agent }),
    background: (agent) => send({ type: "background", agent }),
    foreground: (agent) => send({ type: "foreground", agent }),
    stop: async (reference) => {
      if (reference === MAIN_AGENT) return interrupt();
      const found = await find(reference);
      return found && stopWithReceipt(registry.working(), () => registry.stop(found.agentId));
    },
  };
}

function infoOf({ agentId, agentType, name, description, parent, inBackground, running, end }: Subagent): SubagentInfo {
  return {
    agentId,
    agentType,
    name,
    description,
    parent: parent.agentId,
    state: running === undefined ? "ended" : "running",
    background: running?.background ?? inBackground === true,
    end: running === undefined ? end : undefined,
  };
}
