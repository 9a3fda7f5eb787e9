import { join } from "node:path";
import { plural } from "../../lib/index.ts";
import type { ToolOutput } from "../../ports/index.ts";
import { nameFor } from "../shared/locate.ts";
import type { Hit, SearchRequest } from "./search-request.ts";

export interface CollectOptions {
  /** Lines, or paths, that are shown at most. */
  readonly limit: number;
  /** Paths are shown relative to it. */
  readonly root: string;
  readonly hidden: (path: string) => boolean;
  readonly lineNumbers: boolean;
}

// More is collected than shown, so that what is shown does not depend on which thread was faster.
const maxCollected = 20_000;
const maxCollectedCharacters = 4_000_000;
const maxCounted = 200_000;
const maxCharacters = 25_000;

/** Takes hits as they come, in bounded memory, and puts them in order at the end. Hidden files leave no trace. */
export function collectHits(request: SearchRequest, options: CollectOptions) {
  const byPath = new Map<string, Hit[]>();
  let collected = 0;
  let characters = 0;
  let matches = 0;
  let records = 0;
  let complete = true;
  const isHidden = rememberLast((path: string) => options.hidden(join(request.directory, path)));

  return {
    /** Answers whether more are wanted. */
    take(hit: Hit): boolean {
      if (isHidden(hit.path)) return true;
      records += 1;
      if (hit.matched) matches += hit.count;
      if (collected < maxCollected && characters < maxCollectedCharacters) {
        collected += 1;
        characters += hit.text.length + hit.path.length;
        const hits = byPath.get(hit.path);
        if (hits) hits.push(hit);
        else byPath.set(hit.path, [hit]);
      }
      complete = records < maxCounted;
      return complete;
    },
    present(): ToolOutput {
      if (records === 0) return { content: "No matches found.", details: { matches: 0, files: 0 } };
      const groups = [...byPath].sort(([left], [right]) => (left < right ? -1 : 1));
      const shown = showGroups(groups, request, options);
      const left = records - shown.count;
      const details = { matches, files: byPath.size, shown: shown.count };
      const more = left > 0 ? `\n${leftOutNote(left, { complete, request })}` : "";
      const inFiles = `${complete ? "" : "at least "}${plural(matches, "matching line")} in ${plural(records, "file")}`;
      const total = request.mode === "count" ? `\n${inFiles}` : "";
      return { content: `${shown.lines.join("\n")}${total}${more}`, details };
    },
  };
}

function showGroups(
  groups: readonly (readonly [string, readonly Hit[]])[],
  request: SearchRequest,
  { limit, root, lineNumbers }: CollectOptions,
): { lines: string[]; count: number } {
  const lines: string[] = [];
  let count = 0;
  let room = maxCharacters;
  const add = (line: string) => {
    lines.push(line);
    room -= line.length + 1;
  };
  for (const [path, hits] of groups) {
    if (count >= limit || room <= 0) break;
    const name = nameFor(join(request.directory, path), root);
    if (request.mode !== "content") {
      add(request.mode === "count" ? `${name}:${hits[0]?.count ?? 0}` : name);
      count += 1;
      continue;
    }
    if (lines.length > 0) add("");
    add(name);
    let last = 0;
    for (const { line, text, matched } of hits) {
      if (count >= limit || room <= 0) break;
      if (last > 0 && line > last + 1 && (request.before > 0 || request.after > 0)) add("--");
      add(lineNumbers ? `${line}${matched ? ":" : "-"}${text}` : text);
      last = line;
      count += 1;
    }
  }
  return { lines, count };
}

function leftOutNote(left: number, { complete, request }: { complete: boolean; request: SearchRequest }): string {
  const what = request.mode === "content" ? "line" : "file";
  return `[${complete ? "" : "at least "}${plural(left, `more ${what}`)} not shown: narrow the search, or raise head_limit]`;
}

function rememberLast(test: (path: string) => boolean): (path: string) => boolean {
  let last: { path: string; answer: boolean } | undefined;
  return (path) => {
    if (last?.path !== path) last = { path, answer: test(path) };
    return last.answer;
  };
}
