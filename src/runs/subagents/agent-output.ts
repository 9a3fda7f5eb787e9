import type { Journal } from "../../ports/index.ts";
import type { AgentId, Line } from "../../protocol/index.ts";
import { outputText } from "./output-text.ts";

/** The file beside an agent in the background that a person can read along. */
export interface AgentOutput {
  /** Undefined while nothing is written. */
  readonly path: string | undefined;
  follow(line: Line): void;
  /** Of an agent that was waited for so far: first what it did until now. */
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
