import { askAll, type PlannedCall, type Seen, type Step } from "./job.ts";
import { baseName, languageOf } from "./languages.ts";
import { partRequest } from "./part-request.ts";
import type { Directory, Survey } from "./survey-files.ts";
import { readTaskReport, type TaskReport } from "./task-report.ts";

/** The agent that is sent. */
export const explorer = "Explore";

/** One directory of a large repository and what the agent told that was sent there. */
export interface Part {
  readonly directory: Directory;
  readonly seen: Seen;
  readonly report: TaskReport;
}

const maxAgents = 6;
const fewestParts = 3;
/** A directory with fewer files is not worth an agent. */
const fewestFiles = 3;
/** With no more source files than this, one agent is quicker than several. */
const fewSourceFiles = 40;

/** Sends an agent to each part of a large repository, all at once. A small one has no parts. */
export function* exploreParts(survey: Survey): Generator<Step, readonly Part[], readonly Seen[]> {
  const directories = partsOf(survey);
  const seen = yield* askAll(
    `A large repository: sending an agent to each of ${directories.length} parts.`,
    directories.map(({ path }) => sendTo(path)),
  );
  return seen.map((one, index) => {
    const directory = directories[index] as Directory;
    return { directory, seen: one, report: readTaskReport(one) };
  });
}

/** The directories of a large repository that are worth an agent each, the largest first. */
export function partsOf({ files, directories }: Pick<Survey, "files" | "directories">): readonly Directory[] {
  const source = files.filter(({ path }) => languageOf(path)?.isCode);
  if (source.length <= fewSourceFiles) return [];
  const parts = directories.filter(({ path, files: count }) => count >= fewestFiles && !baseName(path).startsWith("."));
  if (parts.length < fewestParts) return [];
  return parts.sort((left, right) => right.files - left.files || (left.path < right.path ? -1 : 1)).slice(0, maxAgents);
}

function sendTo(path: string): PlannedCall {
  return {
    name: "Task",
    input: { description: `${path} for the map`, prompt: partRequest(path), subagent_type: explorer },
  };
}
