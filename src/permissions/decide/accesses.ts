import { type Access, canonicalToolName, isAddress, type JsonObject, type ShellPath } from "../../protocol/index.ts";
import { analyzeCommand } from "../shell/analyze-command.ts";
import { operandsOf, readKey, readsOf } from "../shell/command-reads.ts";
import { isReadOnlyLine } from "../shell/read-only/read-only.ts";
import { unitsOf } from "../shell/shell-analysis.ts";

/** Returns what a call would access. The list is empty for unknown tools and for input without the required fields. */
export function accesses(toolName: string, input: JsonObject): readonly Access[] {
  return table.get(canonicalToolName(toolName))?.(input) ?? [];
}

/** Returns the paths to resolve, in the order that `decide` expects. */
export function pathsOf(list: readonly Access[]): readonly string[] {
  const paths: string[] = [];
  for (const access of list) if ("path" in access) paths.push(access.path);
  return paths;
}

/** Returns true if the tool is known, so that an empty list of accesses means invalid input. */
export function hasKnownAccesses(toolName: string): boolean {
  return table.has(toolName);
}

/** Returns true if a call with these accesses is proven to change nothing, regardless of the rules. */
export function readsOnly(list: readonly Access[]): boolean {
  return list.length > 0 && list.every(isReading);
}

function isReading(access: Access): boolean {
  if (access.kind === "command") return isReadOnlyLine(access.command);
  return access.kind === "read" || access.kind === "search";
}

type Describe = (input: JsonObject) => readonly Access[];

/** Access of calls that use only the session itself, for example to read text that the session stores. */
const internal: readonly Access[] = [{ kind: "internal" }];

const table = new Map<string, Describe>([
  ["Read", (input) => (isAddress(input["file_path"]) ? internal : pathAccess("read", input, "file_path"))],
  ["Write", (input) => pathAccess("write", input, "file_path")],
  ["Edit", (input) => pathAccess("write", input, "file_path")],
  ["NotebookEdit", (input) => pathAccess("write", input, "notebook_path")],
  ["LS", searchAccess],
  ["Grep", (input) => (isAddress(input["path"]) ? internal : searchAccess(input))],
  ["Glob", globAccesses],
  ["Bash", (input) => (isText(input["command"]) ? commandAccesses(input["command"]) : [])],
  ["BashOutput", () => internal],
  ["KillShell", () => internal],
  ["TodoWrite", () => internal],
  ["Skill", (input) => skillAccess(input["skill"])],
  ["Task", agentAccess],
  ["TaskOutput", () => internal],
  ["TaskStop", () => internal],
  ["SendMessage", () => internal],
  ["EnterPlanMode", () => internal],
  ["ExitPlanMode", () => [{ kind: "plan" }]],
  ["AskUserQuestion", () => [{ kind: "question" }]],
  ["WebFetch", (input) => (isText(input["url"]) ? [{ kind: "network", url: input["url"] }] : [])],
]);

/**
 * Returns the command itself, followed by the files that it opens by redirection, the files that its read-only commands
 * read, and the files that the words of its other commands may name.
 */
function commandAccesses(command: string): readonly Access[] {
  const analysis = analyzeCommand(command);
  const accesses = new Map<string, Access>();
  for (const { kind, path, pattern } of analysis.redirections) {
    const shell: ShellPath | undefined =
      pattern === undefined ? undefined : { role: "redirection", pattern, state: "pending" };
    if (path !== undefined) accesses.set(`${kind} ${path}`, { kind, path, shell });
  }
  for (const { command: each } of unitsOf(analysis)) {
    // In a sandbox, more commands are read-only, but fewer of their arguments are files whose contents they read.
    const reads = [false, true].flatMap((sandboxed) => readsOf(each, analysis.loopWords, { sandboxed }).reads);
    const operands = [...operandsOf(each, analysis.loopWords).values()].flatMap((files) => files ?? []);
    for (const { path, shell } of [...reads, ...operands]) {
      accesses.set(readKey(shell), { kind: "read", path, shell });
    }
  }
  return [{ kind: "command", command }, ...accesses.values()];
}

function agentAccess(input: JsonObject): readonly Access[] {
  const { prompt, subagent_type: agentType } = input;
  if (!isText(prompt)) return [];
  const asked = ["model", "isolation", "run_in_background", "max_turns", "name"].flatMap((name) => {
    const value = input[name];
    return value === undefined || value === null ? [] : [[name, String(value)] as const];
  });
  const parameters = asked.length === 0 ? undefined : Object.fromEntries(asked);
  return [{ kind: "agent", agentType: isText(agentType) ? agentType : "", parameters }];
}

/** Returns the skill that a call loads, without the leading `/` that people may write. */
function skillAccess(skill: unknown): readonly Access[] {
  const name = isText(skill) ? skill.trim().replace(/^\//, "").trim() : "";
  return name === "" ? [] : [{ kind: "skill", name }];
}

function pathAccess(kind: "read" | "write" | "search", input: JsonObject, property: string): readonly Access[] {
  const path = input[property];
  return isText(path) ? [{ kind, path, property }] : [];
}

/** Without a path, the working directory is searched. */
function searchAccess(input: JsonObject): readonly Access[] {
  const isGiven = (input["path"] ?? undefined) !== undefined;
  return isGiven ? pathAccess("search", input, "path") : [{ kind: "search", path: "." }];
}

/**
 * Returns the path to search, and the directory outside it that a pattern such as `/etc/*`, `../*` or `~/*` leads to.
 */
function globAccesses(input: JsonObject): readonly Access[] {
  const list = searchAccess(input);
  const pattern = input["pattern"];
  const first = list[0];
  if (first === undefined || !("path" in first) || typeof pattern !== "string") return [];
  const outside = /^[/~\\]/.test(pattern);
  if (!outside && !/(^|[/{,])\.\.([/},]|$)/.test(pattern)) return list;
  const fixed = fixedPart(pattern);
  if (fixed === undefined) return [first, { kind: "search", path: "/" }];
  if (!outside) return [first, { kind: "search", path: `${first.path}/${fixed}` }];
  return [first, { kind: "search", path: fixed, property: pattern.startsWith("/") ? "pattern" : undefined }];
}

/** Returns the directory before the first wildcard; undefined if `..` follows a wildcard. */
function fixedPart(pattern: string): string | undefined {
  const segments = pattern.split("/");
  const wild = segments.findIndex((segment) => /[*?[\]{}()!\\]/.test(segment));
  const end = wild === -1 ? segments.length : wild;
  if (segments.slice(end).some((segment) => segment.includes(".."))) return undefined;
  return segments.slice(0, end).join("/") || "/";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Returns the patterns that the workspace has to expand before the accesses of a shell command can be judged. */
export function pendingPatterns(accesses: readonly Access[]): readonly string[] {
  return accesses.flatMap((access) => pendingPattern(access) ?? []);
}

/**
 * Replaces patterns with the paths that they match. `found` has one entry for each of `pendingPatterns(accesses)`. A
 * pattern without an entry stays pending.
 */
export function withExpansions(
  accesses: readonly Access[],
  found: readonly (readonly string[] | undefined)[],
): readonly Access[] {
  let index = 0;
  return accesses.flatMap((access) => {
    if (pendingPattern(access) === undefined || !("path" in access) || !("shell" in access)) return [access];
    const paths = found[index++];
    const { shell } = access;
    if (paths === undefined || shell === undefined) return [access];
    // The program would mistake a name that begins with `-` for an option.
    if (shell.startsWild && paths.some((path) => path.includes("/-"))) return [access];
    if (shell.splits && paths.some((path) => /[\s*?[\\]/.test(path))) return [access];
    return paths.map((path) => ({ ...access, path, shell: { ...shell, state: undefined } }));
  });
}

function pendingPattern(access: Access): string | undefined {
  if (!("shell" in access) || access.shell?.state !== "pending") return undefined;
  return access.shell.pattern;
}
