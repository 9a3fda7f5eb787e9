import { type Access, canonicalToolName, type JsonObject } from "../protocol/index.ts";
import { shellAccesses } from "./shell/shell-accesses.ts";

/** What a call would touch. Empty for a tool without an entry, and for input that does not say what it touches. */
export function accesses(toolName: string, input: JsonObject): readonly Access[] {
  return table.get(canonicalToolName(toolName))?.(input) ?? [];
}

/** The paths to resolve, in the order in which `decide` expects them back. */
export function pathsOf(list: readonly Access[]): readonly string[] {
  const paths: string[] = [];
  for (const access of list) if ("path" in access) paths.push(access.path);
  return paths;
}

/** True when an empty list of accesses means unusable input rather than a tool nobody described. */
export function hasKnownAccesses(toolName: string): boolean {
  return table.has(toolName);
}

export const RESULT_ADDRESS = "retinue://result/";

type Describe = (input: JsonObject) => readonly Access[];

const internal: readonly Access[] = [{ kind: "internal" }];

const table = new Map<string, Describe>([
  ["Read", (input) => (isResultAddress(input["file_path"]) ? internal : pathAccess("read", input["file_path"]))],
  ["Write", (input) => pathAccess("write", input["file_path"])],
  ["Edit", (input) => pathAccess("write", input["file_path"])],
  ["NotebookEdit", (input) => pathAccess("write", input["notebook_path"])],
  ["LS", (input) => pathAccess("search", input["path"] ?? ".")],
  ["Grep", (input) => pathAccess("search", input["path"] ?? ".")],
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
  ["WebFetch", (input) => (isText(input["url"]) ? [{ kind: "network", url: input["url"] }] : [])],
]);

/** The command itself comes first. */
function commandAccesses(command: string): readonly Access[] {
  return [{ kind: "command", command }, ...shellAccesses(command)];
}

function agentAccess(input: JsonObject): readonly Access[] {
  const { prompt, subagent_type: agentType } = input;
  if (!isText(prompt)) return [];
  const asked = ["model", "isolation", "run_in_background", "max_turns", "name"].flatMap((name) => {
    const value = input[name];
    return value === undefined || value === null ? [] : [[name, String(value)] as const];
  });
  const parameters = asked.length === 0 ? {} : { parameters: Object.fromEntries(asked) };
  return [{ kind: "agent", agentType: isText(agentType) ? agentType : "", ...parameters }];
}

/** A leading `/` is how people write it. */
function skillAccess(skill: unknown): readonly Access[] {
  const name = isText(skill) ? skill.trim().replace(/^\//, "").trim() : "";
  return name === "" ? [] : [{ kind: "skill", name }];
}

function pathAccess(kind: "read" | "write" | "search", path: unknown): readonly Access[] {
  return isText(path) ? [{ kind, path }] : [];
}

/** A pattern can leave the directory it is given for: `/etc/*`, `../*`, `~/*`. */
function globAccesses(input: JsonObject): readonly Access[] {
  const list = pathAccess("search", input["path"] ?? ".");
  const pattern = input["pattern"];
  const first = list[0];
  if (first === undefined || !("path" in first) || typeof pattern !== "string") return [];
  const outside = /^[/~\\]/.test(pattern);
  if (!outside && !/(^|[/{,])\.\.([/},]|$)/.test(pattern)) return list;
  const fixed = fixedPart(pattern);
  const path = fixed === undefined ? "/" : outside ? fixed : `${first.path}/${fixed}`;
  return [first, { kind: "search", path }];
}

/** The directory before the first wildcard; undefined when the pattern climbs after one. */
function fixedPart(pattern: string): string | undefined {
  const segments = pattern.split("/");
  const wild = segments.findIndex((segment) => /[*?[\]{}()!\\]/.test(segment));
  const end = wild === -1 ? segments.length : wild;
  if (segments.slice(end).some((segment) => segment.includes(".."))) return undefined;
  return segments.slice(0, end).join("/") || "/";
}

function isResultAddress(path: unknown): boolean {
  return typeof path === "string" && path.startsWith(RESULT_ADDRESS);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
