import { stripControls } from "../lib/index.ts";

/** Summarizes the input of a call on one line: `src/a.ts`, `npm test`, `TODO in src`. */
export function describeCall(inputJson: string): string {
  let input: unknown;
  try {
    input = JSON.parse(inputJson);
  } catch {
    return "";
  }
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  const text = (name: string): string => (typeof fields[name] === "string" ? oneLine(fields[name]) : "");
  if (Array.isArray(fields["questions"])) return describeQuestions(fields["questions"]);
  const field = describingFields.find((name) => text(name) !== "");
  if (field === undefined) return "";
  const where = field === "pattern" ? [text("path"), text("glob")].filter((part) => part !== "" && part !== ".") : [];
  return [text(field), ...(where.length === 0 ? [] : [where.join("/")])].join(" in ");
}

function describeQuestions(questions: readonly unknown[]): string {
  const texts = questions.map((each) => (each as { readonly question?: unknown } | null)?.question);
  return oneLine(texts.filter((text) => typeof text === "string").join(" "));
}

// By priority: a search is described by its pattern first, then by its path.
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

/** Collapses whitespace and removes control characters. Long text is cut. */
export function oneLine(text: string): string {
  return stripControls(text.slice(0, 2_000)).replace(/\s+/g, " ").trim();
}
