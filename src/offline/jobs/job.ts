import type { JsonObject } from "../../protocol/index.ts";

export interface PlannedCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** Result of a call: the text, or the reason why the call failed. */
export interface CallResult {
  readonly call: PlannedCall;
  readonly ok: boolean;
  readonly text: string;
}

/** Returns the text of a result; empty if the call failed. */
export function resultText(result: CallResult | undefined): string {
  return result?.ok ? result.text : "";
}

/** Independent calls, with one line of text that announces them. */
export interface Step {
  readonly text: string;
  readonly calls: readonly PlannedCall[];
}

export interface Report {
  readonly kind: "report" | "refusal";
  readonly text: string;
  /** Failed calls that the text already mentions. All others are listed at the end of the report. */
  readonly reported?: readonly CallResult[] | undefined;
}

/**
 * A job yields calls and continues with their results. On every turn, the job runs again from the start with the
 * results in the conversation, so the same results must lead to the same calls.
 */
export type Job = Generator<Step, Report, readonly CallResult[]>;

type Calling<Answer> = Generator<Step, Answer, readonly CallResult[]>;

export function* callTools<Name extends string>(
  text: string,
  calls: Readonly<Record<Name, PlannedCall>>,
): Calling<Readonly<Record<Name, CallResult>>> {
  const names = Object.keys(calls) as Name[];
  const result = yield* callAll(
    text,
    names.map((name) => calls[name]),
  );
  return Object.fromEntries(names.map((name, index) => [name, result[index]])) as Record<Name, CallResult>;
}

const maxAtOnce = 10;

/** Makes calls, in several turns if there are many, and returns their results in the same order. */
export function* callAll(text: string, calls: readonly PlannedCall[]): Calling<readonly CallResult[]> {
  const results: CallResult[] = [];
  for (let from = 0; from < calls.length; from += maxAtOnce)
    results.push(...(yield { text, calls: calls.slice(from, from + maxAtOnce) }));
  return results;
}

export function list(path = "."): PlannedCall {
  return { name: "LS", input: { path } };
}

export function read(path: string, limit?: number): PlannedCall {
  return { name: "Read", input: { file_path: path, limit } };
}

export function glob(pattern: string, path?: string): PlannedCall {
  return { name: "Glob", input: { pattern, path } };
}

export function grep(pattern: string, options: JsonObject = {}): PlannedCall {
  return { name: "Grep", input: { pattern, ...options } };
}

/** Returns a call that runs git. Use it only for commands that every policy considers read-only. */
export function git(args: string): PlannedCall {
  return { name: "Bash", input: { command: `git ${args}`, description: "read the git history" } };
}

/** Quotes a path for a shell command. */
export function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "")}'`;
}
