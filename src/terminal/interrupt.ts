import { agentOf, type SessionView } from "../client/index.ts";
import type { App } from "./app.ts";
import { busyAgents, labelOf } from "./parts/agents-panel.ts";

/** Interrupts the main agent, and tells the user which agents continue. */
export interface Interrupt {
  /** Stops the main agent. Queued prompts are held back, so that they do not start. Never rejects. */
  start(): Promise<void>;
  /** Says which agents continue, once the conversation shows that the main agent was interrupted. */
  notice(): void;
}

export interface InterruptOptions {
  readonly isBusy: () => boolean;
  /** Holds queued prompts back. */
  readonly hold: () => Promise<void>;
}

/** Maximum number of agents to name. */
const MAX_NAMES = 5;

export function createInterrupt(app: App, { isBusy, hold }: InterruptOptions): Interrupt {
  /** Whether the main agent's run has been interrupted but its end has not been shown yet. */
  let isEnding = false;
  const notice = (): void => {
    if (!isEnding || isBusy()) return;
    isEnding = false;
    const left = busyAgents(app.view);
    if (left.length === 0) return;
    const names = left.slice(0, MAX_NAMES).map(labelOf).join(", ");
    const more = left.length > MAX_NAMES ? ` and ${left.length - MAX_NAMES} more` : "";
    app.say(`${left.length === 1 ? "1 agent continues" : `${left.length} agents continue`}: ${names}${more}.`, "warn");
  };
  return {
    start: async () => {
      await hold();
      const receipt = await app.send({ type: "stop", what: "turn" });
      isEnding = receipt?.status === "done";
      notice();
    },
    notice,
  };
}

/** Returns the open requests that end without an answer if the main agent is interrupted. */
export function requestsEndedByInterrupt(view: SessionView): SessionView["approvals"] {
  const isInBackground = (agentId: string): boolean => agentOf(view, agentId)?.background === true;
  return view.approvals.filter(({ agentId }) => !agentOf(view, agentId)?.path.some(isInBackground));
}
