import { appendFileSync } from "node:fs";
import type { OutputFile } from "../ports/index.ts";
import { agentPath, type SessionPaths } from "./session-paths.ts";

/** Readable text beside an agent's transcript. Nothing depends on it, so a disk that can't take it stops nobody. */
export function outputFile(paths: SessionPaths, agentId: string): OutputFile {
  const path = agentPath(paths, agentId).replace(/\.jsonl$/, ".output");
  return {
    path,
    append: (text) => {
      if (text === "") return;
      try {
        appendFileSync(path, text, { mode: 0o600 });
      } catch {
        // The transcript has it all.
      }
    },
  };
}
