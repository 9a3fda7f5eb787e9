import { partRequest } from "../job-request.ts";
import { type CallResult, callAll, type PlannedCall, type Step } from "../jobs/job.ts";
import { directoryOf, type Package } from "./find-packages.ts";
import { baseName, languageOf } from "./languages.ts";
import { type Directory, directoryAt, type Survey } from "./survey-files.ts";

/** Name of the agent that explores a part. */
export const explorer = "Explore";

/** One directory of a large repository, with the report from the agent that explored it. */
export interface Part {
  readonly directory: Directory;
  readonly result: CallResult;
  readonly report: TaskReport;
}

const maxAgents = 6;
const fewestParts = 3;
/** Minimum number of files for which a directory gets its own agent. */
const fewestFiles = 6;
/** Maximum number of source files for which one agent is faster than several. */
const fewSourceFiles = 40;

/** Starts an agent for each part of a large repository, all at once. A small repository has no parts. */
export function* delegateParts(
  survey: Survey,
  packages: readonly Package[],
): Generator<Step, readonly Part[], readonly CallResult[]> {
  const directories = partsOf(survey, packages);
  const results = yield* callAll(
    `Sending an agent to each of ${directories.length} parts`,
    directories.map(({ path }) => taskFor(path)),
  );
  return results.map((result, index) => {
    const directory = directories[index] as Directory;
    return { directory, result, report: readTaskReport(result) };
  });
}

/** Returns the directories of a large repository that each get their own agent, largest first. */
export function partsOf(
  { files, directories, complete = false }: Pick<Survey, "files" | "directories"> & Partial<Pick<Survey, "complete">>,
  packages: readonly Package[] = [],
): readonly Directory[] {
  const source = files.filter(({ path }) => languageOf(path)?.isCode);
  if (source.length <= fewSourceFiles) return [];
  const parts = directories
    .flatMap((directory) => packagesIn(directory, { files, packages, complete }))
    .filter(({ path, files: count }) => count >= fewestFiles && !baseName(path).startsWith("."));
  if (parts.length < fewestParts) return [];
  return parts.sort((left, right) => right.files - left.files || (left.path < right.path ? -1 : 1)).slice(0, maxAgents);
}

/**
 * Returns the packages in a directory such as packages/, which has no content of its own. Returns any other directory
 * unchanged. If the list of files is incomplete, the sizes of the packages are unknown and the map only lists them.
 */
function packagesIn(
  directory: Directory,
  { files, packages, complete }: Pick<Survey, "files" | "complete"> & { readonly packages: readonly Package[] },
): readonly Directory[] {
  const inside = packages.filter(({ path }) => directoryOf(path) === directory.path);
  if (inside.length < 2) return [directory];
  return complete ? inside.map(({ path }) => directoryAt(path, files)) : [];
}

function taskFor(path: string): PlannedCall {
  return {
    name: "Task",
    input: { description: path, prompt: partRequest(path), subagent_type: explorer },
  };
}

type TaskReport =
  | { readonly kind: "whole"; readonly text: string }
  /** The agent ended before it was done. `text` is its last message. */
  | { readonly kind: "partial"; readonly text: string; readonly why: string }
  | { readonly kind: "none"; readonly why: string };

const taskForm = /<task_(result|error)\b([^>]*)>\n?([\s\S]*?)(?:\n?<\/task_\1>|$)/;

/** Reads the result of a Task call. Anything but a complete report in its tags is considered partial or missing. */
export function readTaskReport({ ok, text }: Pick<CallResult, "ok" | "text">): TaskReport {
  const [, tag, attributes = "", inside = ""] = taskForm.exec(text) ?? [];
  const content = inside.trim();
  if (tag !== "result")
    return { kind: "none", why: (content || text.trim()).split("\n")[0] || "the agent reported nothing" };
  const status = /\bstatus="([^"]*)"/.exec(attributes)?.[1] ?? "unknown";
  if (content === "") return { kind: "none", why: `the agent ended with status ${status} and reported nothing` };
  if (!ok || status !== "completed")
    return { kind: "partial", text: content, why: `the agent ended with status ${status}` };
  if (!text.includes("</task_result>")) return { kind: "partial", text: content, why: "the report was truncated" };
  return { kind: "whole", text: content };
}
