import { basename, dirname, join } from "node:path";
import { plural } from "../../lib/index.ts";
import type { AddressedTexts, Tool, ToolContext, ToolOutput, ToolSpec, Workspace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { descriptions } from "../descriptions.ts";
import {
  createSearch,
  type Hit,
  type SearchDependencies,
  type SearchFiles,
  type SearchListener,
  type SearchRequest,
} from "../ripgrep/search-files.ts";
import { collectUnsearched } from "../ripgrep/unsearched.ts";
import { failed } from "../shared/failed.ts";
import { locate, nameFor } from "../shared/locate.ts";
import { openText } from "../shared/open-text.ts";

const grepSpec: ToolSpec = {
  declaration: {
    name: "Grep",
    description: descriptions.grep,
    inputSchema: {
      type: "object",
      properties: {
        pattern: { type: "string", description: "Regular expression." },
        path: { type: "string", description: "File, directory or address to search. Default: the working directory." },
        glob: { type: "string", description: "Glob for files to search, such as `*.tsx`." },
        type: { type: "string", description: "Type of files to search, such as `py`." },
        output_mode: {
          type: "string",
          enum: ["content", "files_with_matches", "count"],
          description: "Default: files_with_matches.",
        },
        "-i": { type: "boolean", description: "Ignore case." },
        "-n": { type: "boolean", description: "Show line numbers. Default true." },
        "-A": { type: "integer", minimum: 0, description: "Lines to show after each match in `content`." },
        "-B": { type: "integer", minimum: 0, description: "Lines to show before each match in `content`." },
        "-C": { type: "integer", minimum: 0, description: "Lines to show before and after each match in `content`." },
        multiline: { type: "boolean", description: "Allow matches to span several lines." },
        head_limit: {
          type: "integer",
          minimum: 0,
          description: "Maximum number of files, or of lines in `content`. Default: 250.",
        },
      },
      required: ["pattern"],
    },
  },
  traits: { parallel: true, effects: false },
};

const defaultLimit = 250;

/** Creates the tool for files. */
export function createGrepTool(dependencies: SearchDependencies): Tool {
  const search = createSearch(dependencies);
  const { root } = dependencies.workspace;
  return {
    ...grepSpec,
    async run(input, context) {
      const target = await findTarget(input, context, dependencies.workspace);
      if ("content" in target) return target;
      const { directory } = target;
      const nameOf = (path: string): string => nameFor(join(directory, path), root);
      const searchWithout = async (left: ReadonlySet<string>) => {
        const seen = new Set<string>();
        const isHidden = (path: string): boolean => {
          const absolute = join(directory, path);
          if (left.has(absolute) || context.hidden(absolute)) return true;
          seen.add(absolute);
          return false;
        };
        const unsearched = collectUnsearched({ directory, root, hidden: context.hidden });
        const found = await grep(input, target, { search, context, nameOf, isHidden, onUnsearched: unsearched.add });
        const output = found.isError ? found : { ...found, content: `${found.content}${unsearched.note()}` };
        return { output, seen };
      };
      const { output, seen } = await searchWithout(new Set());
      const elsewhere = await context.hiddenElsewhere([...seen]);
      return elsewhere.size === 0 ? output : (await searchWithout(elsewhere)).output;
    },
  };
}

/** Creates the tool for addresses. Ripgrep reads the text from standard input, so its directory does not matter. */
export function createTextGrepTool({ texts, ...dependencies }: SearchDependencies & { texts: AddressedTexts }): Tool {
  const search = createSearch(dependencies);
  return {
    ...grepSpec,
    async run(input, context) {
      const address = String(input["path"]);
      const opened = await openText(address, texts);
      if (!opened.ok) return opened.output;
      const target = { directory: dependencies.workspace.root, input: opened.chunks };
      const nothing = { isHidden: () => false, onUnsearched: () => {} };
      return grep(input, target, { search, context, nameOf: () => address, ...nothing });
    },
  };
}

interface Grep extends Pick<SearchListener, "onUnsearched">, Pick<CollectOptions, "nameOf" | "isHidden"> {
  readonly search: SearchFiles;
  readonly context: ToolContext;
}

async function grep(
  input: JsonObject,
  target: SearchTarget,
  { search, context: { signal }, onUnsearched, ...names }: Grep,
): Promise<ToolOutput> {
  const request = requestOf(input, target);
  const limit = number(input, "head_limit") || defaultLimit;
  const hits = collectHits(request, { ...names, limit, lineNumbers: input["-n"] !== false });
  const end = await search(request, { onHit: hits.take, onUnsearched, signal });
  return end.ok ? hits.present() : failed(end.message);
}

type SearchTarget = Pick<SearchRequest, "directory" | "file" | "input">;

async function findTarget(
  input: JsonObject,
  context: ToolContext,
  workspace: Workspace,
): Promise<SearchTarget | ToolOutput> {
  const path = text(input, "path") ?? workspace.root;
  const place = await locate(path, "search", { workspace, context });
  if (!place.ok) return place.output;
  if (place.kind === "directory") return { directory: place.real };
  if (place.kind === "file") return { directory: dirname(place.real), file: basename(place.real) };
  if (place.kind === "missing") return failed(`${path} does not exist. Find the right path with Glob or LS.`);
  return failed(`${path} is neither a file nor a directory and can't be searched.`);
}

function requestOf(input: JsonObject, target: SearchTarget): SearchRequest {
  const modes: Readonly<Record<string, SearchRequest["mode"]>> = { content: "content", count: "count" };
  const around = number(input, "-C");
  return {
    ...target,
    mode: modes[String(input["output_mode"])] ?? "files",
    pattern: String(input["pattern"]),
    ignoreCase: input["-i"] === true,
    multiline: input["multiline"] === true,
    before: number(input, "-B") || around,
    after: number(input, "-A") || around,
    glob: text(input, "glob"),
    type: text(input, "type"),
  };
}

function number(input: JsonObject, name: string): number {
  const value = input[name];
  return typeof value === "number" ? value : 0;
}

/** Returns the text of an input field; undefined if it is empty. */
function text(input: JsonObject, name: string): string | undefined {
  const value = input[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

interface CollectOptions {
  /** Maximum number of lines or paths to show. */
  readonly limit: number;
  /** Returns the name to show for the path of a hit. */
  readonly nameOf: (path: string) => string;
  /** Returns whether the path of a hit is hidden. */
  readonly isHidden: (path: string) => boolean;
  readonly lineNumbers: boolean;
}

// More hits are collected than shown, so that the output does not depend on the order in which ripgrep's threads
// finish.
const maxCollected = 20_000;
const maxCollectedCharacters = 4_000_000;
const maxCounted = 200_000;
const maxCharacters = 25_000;

/** Collects hits in any order, in limited memory, and sorts them at the end. Drops hits in hidden files. */
function collectHits(request: SearchRequest, options: CollectOptions) {
  const byPath = new Map<string, Hit[]>();
  let collected = 0;
  let characters = 0;
  let matches = 0;
  let records = 0;
  let complete = true;
  const isHidden = rememberLast(options.isHidden);

  return {
    /** Returns false once the search should stop. */
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
    present(): { readonly content: string; readonly details: JsonObject } {
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
  { limit, nameOf, lineNumbers }: CollectOptions,
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
    const name = nameOf(path);
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
  return `[${complete ? "" : "at least "}${plural(left, `more ${what}`)} not shown. Narrow the search or raise head_limit.]`;
}

function rememberLast(test: (path: string) => boolean): (path: string) => boolean {
  let last: { path: string; answer: boolean } | undefined;
  return (path) => {
    if (last?.path !== path) last = { path, answer: test(path) };
    return last.answer;
  };
}
