import { isAbsolute, relative, sep } from "node:path";
import { buffer } from "node:stream/consumers";
import { describeError, UserError } from "../../lib/index.ts";
import { inputOf } from "../../loop/index.ts";
import type { WorkerSession } from "../../ports/index.ts";
import { type FileImage, type Line, type LineId, MAIN_AGENT, type PastPrompt, textOf } from "../../protocol/index.ts";
import type { Thread } from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import { aBoolean, type OptionTypes, optional } from "../check-options.ts";

/** Options for `session.rewind`. */
export interface RewindOptions {
  /** Whether to restore files that the Edit, Write and NotebookEdit tools changed. Default: true. */
  readonly files?: boolean | undefined;
}

/** Result of going back to a prompt. */
export interface RewindReport {
  /** Text of the prompt that the user went back to. It is no longer part of the conversation. */
  readonly prompt: string;
  /** Files that were restored. Paths are relative to the workspace. */
  readonly restored: readonly string[];
  /** Changed files that were not restored, each with the reason. */
  readonly kept: readonly { readonly path: string; readonly reason: string }[];
  /** Commands that have run since that prompt and may have changed something. Their effects are not undone. */
  readonly commands: readonly string[];
}

export interface RewindParts {
  readonly transcript: Transcript;
  /** The main agent's thread. */
  readonly thread: Thread;
  readonly worker: Pick<WorkerSession, "restoreFile">;
  /** The workspace. */
  readonly cwd: string;
}

/**
 * Returns the prompts in the main agent's conversation, oldest first, each with the files that were changed and
 * the commands that were run before the next prompt.
 */
export async function readPrompts(
  transcript: Pick<Transcript, "read" | "agents">,
  cwd: string,
): Promise<readonly PastPrompt[]> {
  const lines = await transcript.read(MAIN_AGENT);
  const seqs = seqsOf(lines);
  const prompts = promptsIn(lines);
  const first = prompts[0] && seqs.get(prompts[0].id);
  if (first === undefined) return [];
  const since = await linesSince(first, transcript);
  const images = [...imagesIn(since, seqs).values()].flat();
  return prompts.map((prompt, index) => {
    const start = seqs.get(prompt.id) ?? 0;
    const end = seqs.get(prompts[index + 1]?.id ?? "") ?? Number.POSITIVE_INFINITY;
    const isOwn = ({ seq = 0 }: { readonly seq?: number | undefined }): boolean => seq > start && seq < end;
    const changed = images.filter((image) => isOwn(image) && image.before !== undefined);
    const paths = changed.map(({ path }) => shownPath(path, cwd)).filter((path) => !isAbsolute(path));
    return { ...prompt, files: [...new Set(paths)], commands: commandsIn(since.filter(isOwn)) };
  });
}

type Prompt = Pick<PastPrompt, "id" | "text" | "at">;

function promptsIn(lines: readonly Line[]): readonly Prompt[] {
  const prompts: Prompt[] = [];
  let start: Line | undefined;
  for (const line of lines) {
    if (line.type === "run.started") start = line;
    if (line.type === "conversation.rewound") {
      const index = prompts.findIndex(({ id }) => Number(id) >= Number(line.line));
      if (index !== -1) prompts.splice(index);
    }
    if (line.type !== "prompt.received" || start === undefined) continue;
    prompts.push({ id: start.id, text: textOf(line.content), at: line.at });
    // Later prompts in the same run were sent to steer it.
    start = undefined;
  }
  return prompts;
}

export const rewindOptionTypes: OptionTypes<RewindOptions> = { files: optional(aBoolean) };

/**
 * Goes back to the conversation before a prompt, and restores the files that tools have changed since. Throws a
 * `UserError` if there is no such prompt.
 */
export async function rewindTo(
  id: LineId,
  { files = true }: RewindOptions,
  { transcript, thread, worker, cwd }: RewindParts,
): Promise<RewindReport> {
  const lines = await transcript.read(MAIN_AGENT);
  const prompt = promptsIn(lines).find((each) => each.id === id);
  const from = lines.find((line) => line.id === id)?.seq;
  if (prompt === undefined || from === undefined) throw unknownPrompt(id);
  const since = await linesSince(from, transcript);
  const changes = changesIn(since, seqsOf(lines));
  // Files are restored first. If the process dies before the rewind is recorded, the user can go back again.
  const outcomes = files ? await restoreAll(changes, { transcript, worker }) : changes.map(asKept);
  const restored = outcomes.flatMap(({ path, reason }) => (reason === undefined ? [path] : []));
  if (!(await thread.rewind(id, restored))) throw unknownPrompt(id);
  return {
    prompt: prompt.text,
    restored: restored.map((path) => shownPath(path, cwd)),
    kept: outcomes.flatMap(({ path, reason }) =>
      reason === undefined ? [] : [{ path: shownPath(path, cwd), reason }],
    ),
    commands: commandsIn(since),
  };
}

export function unknownPrompt(id: LineId): UserError {
  return new UserError(`There is no prompt ${id} to go back to`, {
    code: "rewind",
    fix: "Use an id from session.prompts().",
  });
}

/** Converts a path in the workspace to a relative one, as in tools' reports. */
function shownPath(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  return inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? path : inside;
}

/** Returns the lines of all agents after a position, in order. */
async function linesSince(position: number, transcript: Pick<Transcript, "read" | "agents">): Promise<readonly Line[]> {
  const agents = [MAIN_AGENT, ...(await transcript.agents())];
  const lines = await Promise.all(agents.map((agentId) => transcript.read(agentId)));
  const isLater = ({ seq = 0 }: Line): boolean => seq > position;
  return lines.flatMap((own) => own.filter(isLater)).sort((left, right) => (left.seq ?? 0) - (right.seq ?? 0));
}

/** Maps the ids of lines to their positions in the session. */
function seqsOf(lines: readonly Line[]): ReadonlyMap<LineId, number> {
  return new Map(lines.map(({ id, seq = 0 }) => [id, seq]));
}

/** Content of a file before the first change, and the hash of its content after the last one. */
type Change = FileImage;

/** Combines the changes to each file into one. */
function changesIn(lines: readonly Line[], seqs: ReadonlyMap<LineId, number>): readonly Change[] {
  return [...imagesIn(lines, seqs)].flatMap(([path, [first, ...others]]) =>
    first === undefined ? [] : [{ path, before: first.before, after: (others.at(-1) ?? first).after }],
  );
}

type Images = ReadonlyMap<string, readonly (FileImage & { readonly seq: number })[]>;

/** Returns each file's changes, oldest first, without those that were already undone. */
function imagesIn(lines: readonly Line[], seqs: ReadonlyMap<LineId, number>): Images {
  const images = new Map<string, readonly (FileImage & { readonly seq: number })[]>();
  for (const line of lines) {
    const { seq = 0 } = line;
    const image = line.type === "tool.ended" ? line.result.facts?.image : undefined;
    if (image !== undefined) images.set(image.path, [...(images.get(image.path) ?? []), { ...image, seq }]);
    if (line.type !== "conversation.rewound") continue;
    const target = seqs.get(line.line) ?? seq;
    for (const path of line.restored ?? [])
      images.set(path, images.get(path)?.filter((each) => each.seq < target) ?? []);
  }
  return images;
}

/** `reason` says why the file was not restored. */
interface Outcome {
  readonly path: string;
  readonly reason?: string | undefined;
}

function asKept({ path }: Change): Outcome {
  return { path, reason: "the `files` option is false" };
}

async function restoreAll(
  changes: readonly Change[],
  parts: Pick<RewindParts, "transcript" | "worker">,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const change of changes) {
    const { path } = change;
    outcomes.push(await restore(change, parts).catch((error) => ({ path, reason: describeError(error) })));
  }
  return outcomes;
}

/** Restores the earlier content of a file, unless the file has changed since. */
export async function restore(
  { path, before, after }: Change,
  { transcript, worker }: Pick<RewindParts, "transcript" | "worker">,
): Promise<Outcome> {
  if (before === undefined) return { path, reason: "its earlier content could not be saved before the change" };
  const kept = before === null ? null : await transcript.results.read(before);
  if (kept === undefined) return { path, reason: "the saved copy of its earlier content is missing" };
  const content = kept === null ? null : (await buffer(kept)).toString("base64");
  const restored = await worker.restoreFile({ path, content, expect: after });
  return { path, reason: restored.ok ? undefined : restored.message };
}

/** Returns the commands that may have changed something, each once. */
function commandsIn(lines: readonly Line[]): readonly string[] {
  const readOnly = new Set(
    lines.flatMap((line) => (line.type === "tool.requested" && line.readsOnly ? [line.callId] : [])),
  );
  const started = new Set(lines.flatMap((line) => (line.type === "tool.started" ? [line.callId] : [])));
  const commands = lines.flatMap((line) => {
    if (line.type !== "model.ended") return [];
    return line.message.content.flatMap((block) => {
      if (block.type !== "tool_call" || block.name !== "Bash") return [];
      if (!started.has(block.callId) || readOnly.has(block.callId)) return [];
      const { command } = inputOf(block);
      return typeof command === "string" ? [command] : [];
    });
  });
  return [...new Set(commands)];
}
