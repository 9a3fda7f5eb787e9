import type { JsonObject } from "../../protocol/index.ts";

export interface PlannedCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** What came of a call: the text of its result, or why there is none. */
export interface Seen {
  readonly call: PlannedCall;
  readonly ok: boolean;
  readonly text: string;
}

/** Nothing where the call failed. */
export function textIn(seen: Seen | undefined): string {
  return seen?.ok ? seen.text : "";
}

/** Calls that do not depend on each other, and one line about them. */
export interface Step {
  readonly say: string;
  readonly calls: readonly PlannedCall[];
}

export interface Report {
  readonly kind: "report" | "refusal";
  readonly text: string;
  /** Failures the report speaks of itself; all others are listed at its end. */
  readonly told?: readonly Seen[];
}

/**
 * A job asks for calls and goes on with what came of them. It is run again from its start for every turn, with the
 * results that stand in the conversation, so it must ask the same whenever it sees the same.
 */
export type Job = Generator<Step, Report, readonly Seen[]>;

type Asking<Answer> = Generator<Step, Answer, readonly Seen[]>;

export function* ask<Name extends string>(
  say: string,
  calls: Readonly<Record<Name, PlannedCall>>,
): Asking<Readonly<Record<Name, Seen>>> {
  const names = Object.keys(calls) as Name[];
  const seen = yield* askAll(
    say,
    names.map((name) => calls[name]),
  );
  return Object.fromEntries(names.map((name, index) => [name, seen[index]])) as Record<Name, Seen>;
}

/** One answer for each call, in their order. */
export function* askAll(say: string, calls: readonly PlannedCall[]): Asking<readonly Seen[]> {
  return calls.length === 0 ? [] : yield { say, calls };
}

export function list(path = "."): PlannedCall {
  return { name: "LS", input: { path } };
}

export function read(path: string, limit?: number): PlannedCall {
  return { name: "Read", input: { file_path: path, ...(limit === undefined ? {} : { limit }) } };
}

export function glob(pattern: string, path?: string): PlannedCall {
  return { name: "Glob", input: { pattern, ...(path === undefined ? {} : { path }) } };
}

export function grep(pattern: string, options: JsonObject = {}): PlannedCall {
  return { name: "Grep", input: { pattern, ...options } };
}

/** Only commands that every policy takes for read-only are given here. */
export function git(words: string): PlannedCall {
  return { name: "Bash", input: { command: `git ${words}`, description: "read the git history" } };
}

/** A path as one word of a command. */
export function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "")}'`;
}
