import { askAll, type PlannedCall, type Seen, type Step } from "../jobs/job.ts";
import { partRequest } from "../recognise/part-request.ts";
import { baseName, languageOf } from "./languages.ts";
import type { Directory, Survey } from "./survey-files.ts";

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

/** What came of a Task call. */
type TaskReport =
  | { readonly kind: "whole"; readonly text: string }
  /** The agent ended before it was done; these are its last words. */
  | { readonly kind: "partial"; readonly text: string; readonly why: string }
  | { readonly kind: "none"; readonly why: string };

const form = /<task_(result|error)\b([^>]*)>\n?([\s\S]*?)(?:\n?<\/task_\1>|$)/;

/** Whatever is not a finished report in its tags is told as what it is. */
export function readTaskReport({ ok, text }: Pick<Seen, "ok" | "text">): TaskReport {
  const [, tag, attributes = "", inside = ""] = form.exec(text) ?? [];
  const words = inside.trim();
  if (tag !== "result") return { kind: "none", why: (words || text.trim()).split("\n")[0] || "nothing was told" };
  const status = /\bstatus="([^"]*)"/.exec(attributes)?.[1] ?? "unknown";
  if (words === "") return { kind: "none", why: `it ended as ${status} and reported nothing` };
  if (!ok || status !== "completed") return { kind: "partial", text: words, why: `it ended as ${status}` };
  if (!text.includes("</task_result>")) return { kind: "partial", text: words, why: "its report was cut" };
  return { kind: "whole", text: words };
}
