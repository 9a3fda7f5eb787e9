import type { Notice } from "../../protocol/index.ts";
import type { Subagent } from "./subagent.ts";

/** Older ones can still be resumed by who remembers their id. */
const FINISHED_SHOWN = 10;

/**
 * Which agents run, which have results that were not told yet, and which can be resumed: what a parent knew from words
 * that a compaction took away. Empty when it has none.
 */
export function rosterText(agents: readonly Subagent[], waiting: readonly Notice[]): string {
  const untold = new Set(waiting.map(({ runId }) => runId));
  const running = agents.filter(({ end }) => end === undefined);
  const ended = agents.filter(({ end }) => end !== undefined);
  const ready = ended.filter(({ runId }) => untold.has(runId));
  const finished = ended.filter(({ runId }) => !untold.has(runId));
  const parts = [
    section("Still at work; you will be told when they end", running),
    section("Ended; their results come with the next turn", ready),
    section("Ended and told; to go on with one, resume it by its id", finished.slice(-FINISHED_SHOWN)),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function section(title: string, agents: readonly Subagent[]): string {
  if (agents.length === 0) return "";
  return [`${title}:`, ...agents.map(line)].join("\n");
}

function line({ agentId, agentType, description, name, outputFile, end }: Subagent): string {
  const called = name === undefined ? "" : `, called ${name}`;
  const how = end === undefined || end.outcome === "succeeded" ? "" : ` (${end.outcome})`;
  const output = outputFile === undefined || end !== undefined ? "" : `, output in ${outputFile}`;
  return `- ${agentId} (${agentType}${called})${how}: ${description}${output}`;
}
