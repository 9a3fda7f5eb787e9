import type { Journal } from "../../ports/index.ts";
import { type AgentId, type Line, type RunUpdate, textOf } from "../../protocol/index.ts";

/**
 * Selects which updates from subagents a run emits. `recorded`: lines in their transcripts, without live events.
 * `milestones`: starts, ends, notices and approvals.
 */
export type AgentUpdates = "all" | "recorded" | "milestones";

export function isReported(update: RunUpdate, updates: AgentUpdates): boolean {
  if (updates === "all") return true;
  return updates === "recorded" ? "id" in update : milestones.has(update.type);
}

const milestones: ReadonlySet<RunUpdate["type"]> = new Set([
  "agent.created",
  "run.started",
  "run.backgrounded",
  "run.ended",
  "notice.raised",
  "approval.requested",
  "approval.answered",
]);

/**
 * Readable output file next to a background agent's transcript. The file is for people; models use the output's
 * address.
 */
export interface AgentOutput {
  /** Path of the file. Undefined until something is written. */
  readonly path: string | undefined;
  follow(line: Line): void;
  /** Starts writing for an agent that was moved to the background, beginning with its earlier lines. */
  begin(): Promise<void>;
}

export function createAgentOutput(
  journal: Journal,
  { agentId, background }: { readonly agentId: AgentId; readonly background: boolean },
): AgentOutput {
  const file = journal.output(agentId);
  let write: ((line: Line) => void) | undefined;
  const append = (line: Line): void => file?.append(outputText(line));
  if (background) write = append;
  return {
    get path() {
      return write && file?.path;
    },
    follow: (line) => write?.(line),
    begin: async () => {
      if (write !== undefined) return;
      const meanwhile: Line[] = [];
      write = (line) => meanwhile.push(line);
      const lines = await journal.read(agentId).catch(() => []);
      const known = new Set(lines.map(({ id }) => id));
      for (const line of [...lines, ...meanwhile.filter(({ id }) => !known.has(id))]) append(line);
      write = append;
    },
  };
}

/** Returns everything that an agent has done so far as readable text. */
export function renderOutput(lines: readonly Line[]): string {
  return lines.map(outputText).join("");
}

const LONGEST_TEXT = 2_000;

/** Returns a transcript line as readable text. Returns an empty string for most lines. */
function outputText(line: Line): string {
  switch (line.type) {
    case "agent.created":
      return `${line.agentType} ${line.agentId}: ${line.description}\n`;
    case "prompt.received":
      return `\n> ${cut(textOf(line.content)).replaceAll("\n", "\n> ")}\n`;
    case "model.ended":
      return textOf(line.message.content).trim() === "" ? "" : `\n${textOf(line.message.content).trim()}\n`;
    case "tool.ended": {
      const text = cut(textOf(line.result.content).trim());
      return `\n${line.name} (${line.result.outcome})\n${text === "" ? "" : `  ${text.replaceAll("\n", "\n  ")}\n`}`;
    }
    case "model.retried":
      return `\n[retried: ${line.retry.error}]\n`;
    case "run.ended":
      return `\n[${line.outcome}${line.reason === "done" ? "" : `: ${line.message ?? line.reason}`}]\n`;
    default:
      return "";
  }
}

function cut(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}…`;
}
