import { maskLogin, maskLogins, showExactly, stripControls } from "../../lib/portable.ts";
import { type AssistantMessage, callsOf, canonicalToolName, type ToolCall, textOf } from "../../protocol/index.ts";

/**
 * Summarizes the input of a call on one line: `src/a.ts`, `npm test`, `TODO in src`. For a built-in tool, only its own
 * inputs are used, because others have no effect and could hide what the call does. Commands, paths and addresses are
 * shown exactly, with symbols for line breaks and misleading characters, but without passwords in addresses. Paths below
 * `cwd` are shown relative to it.
 */
export function describeCall({ name, inputJson }: Pick<ToolCall, "name" | "inputJson">, cwd?: string): string {
  let input: unknown;
  try {
    input = JSON.parse(inputJson);
  } catch {
    return "";
  }
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  const text = (name: string): string => {
    const value = fields[name];
    if (typeof value !== "string") return "";
    if (prose.has(name)) return oneLine(value);
    const trimmed = value.trim();
    const shown = paths.has(name) ? relativePath(trimmed, cwd) : (name === "url" ? maskLogin : maskLogins)(trimmed);
    return showExactly(shown.slice(0, MOST_SHOWN));
  };
  const tool = canonicalToolName(name);
  if (tool === "AskUserQuestion")
    return Array.isArray(fields["questions"]) ? describeQuestions(fields["questions"]) : "";
  const field = (fieldsByTool.get(tool) ?? describingFields).find((each) => text(each) !== "");
  if (field === undefined) return "";
  if (field !== "pattern") return text(field);
  // A glob that only excludes files does not say which files are searched.
  const where = [text("path"), text("glob")].filter((part) => part !== "" && part !== "." && !part.startsWith("!"));
  const what = text("pattern") === "^" ? "every line" : text("pattern");
  return [what, ...(where.length === 0 ? [] : [where.join("/")])].join(" in ");
}

/** Inputs that contain text for people or agents, which has no effect by itself. */
const prose: ReadonlySet<string> = new Set(["description", "plan"]);

/** Inputs that are paths. */
const paths: ReadonlySet<string> = new Set(["file_path", "notebook_path", "path"]);

function relativePath(path: string, cwd = ""): string {
  if (cwd === "" || cwd === "/") return path;
  if (path === cwd || path === `${cwd}/`) return ".";
  // A path that leads out of the directory again is shown unchanged.
  const isBelow = path.startsWith(`${cwd}/`) && !path.split("/").includes("..");
  return isBelow ? path.slice(cwd.length + 1) : path;
}

const MAX_ANNOUNCEMENT = 100;

/**
 * Returns the line with which a response announces its calls, or an empty string. A single call is described by its
 * input instead.
 */
export function announcementOf(message: AssistantMessage): string {
  const text = textOf(message.content).trim();
  const isLine = !text.includes("\n") && text.length <= MAX_ANNOUNCEMENT;
  return isLine && callsOf(message).length > 1 ? oneLine(text) : "";
}

function describeQuestions(questions: readonly unknown[]): string {
  const texts = questions.map((each) => (each as { readonly question?: unknown } | null)?.question);
  return oneLine(texts.filter((text) => typeof text === "string").join(" "));
}

/** Inputs that describe a call to a built-in tool, by priority. */
export const fieldsByTool: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["Read", ["file_path"]],
  ["Edit", ["file_path"]],
  ["Write", ["file_path"]],
  ["NotebookEdit", ["notebook_path"]],
  ["Bash", ["command"]],
  ["Grep", ["pattern", "path"]],
  ["Glob", ["pattern", "path"]],
  ["LS", ["path"]],
  ["WebFetch", ["url"]],
  ["WebSearch", ["query"]],
  ["Task", ["description"]],
  ["ExitPlanMode", ["plan"]],
]);

// Inputs that describe calls to other tools, by priority. A search is described by its pattern first, then by its path.
const describingFields = [
  "file_path",
  "notebook_path",
  "command",
  "pattern",
  "query",
  "url",
  "path",
  "bash_id",
  "shell_id",
  "description",
  "to",
  "task_id",
];

/** Maximum length of text on one line, in characters. */
const MOST_SHOWN = 2_000;

/** Collapses whitespace and removes control characters. Truncates long text. */
export function oneLine(text: string): string {
  return stripControls(text.slice(0, MOST_SHOWN)).replace(/\s+/g, " ").trim();
}
