import { plural } from "../../lib/index.ts";
import { nameOf } from "../progress/agent-lines.ts";
import type { AgentView } from "../progress/agent-view.ts";

/** What a first Ctrl+C does, said at once. */
export function interruptWords(agents: readonly AgentView[]): string {
  const running = agents.filter(({ end }) => end === undefined);
  const foreground = running.filter(({ background }) => !background).length;
  const others = running.length - foreground;
  const whom = foreground === 0 ? "" : ` and ${plural(foreground, "agent")} it waits for`;
  const rest =
    others === 0
      ? ""
      : `; ${plural(others, "agent")} in the background ${others === 1 ? "ends" : "end"} with the program`;
  return `Interrupting the main agent${whom}${rest}. Ctrl+C again ends at once.`;
}

/** What was stopped, and whether anything is left: a line for each agent. */
export function receiptOf(agents: readonly AgentView[]): readonly string[] {
  const stopped = agents.filter(({ end }) => end?.outcome === "stopped");
  const left = agents.filter(({ end }) => end === undefined);
  if (stopped.length + left.length === 0) return [];
  const done = stopped.map(
    (agent) => `  stopped: ${nameOf(agent)}, after ${plural(agent.turns, "turn")} (${agent.agentId})`,
  );
  const unknown = left.map((agent) => `  no end recorded: ${nameOf(agent)} (${agent.agentId})`);
  const running = left.length === 0 ? ["  Nothing is left running."] : [];
  return [
    `Stopped with the main agent: ${plural(stopped.length, "agent")}.`,
    ...few(done),
    ...few(unknown),
    ...running,
  ];
}

const fewAre = 10;

/** `sessions show` has them all. */
export function few(lines: readonly string[]): readonly string[] {
  return lines.length <= fewAre ? lines : [...lines.slice(0, fewAre), `  … and ${lines.length - fewAre} more`];
}
