import { stripControls } from "../lib/index.ts";

/** What a call is about, in a few words on one line: `src/a.ts`, `npm test`, `TODO in src`. */
export function describeCall(inputJson: string): string {
  let input: unknown;
  try {
    input = JSON.parse(inputJson);
  } catch {
    return "";
  }
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  const words = (name: string): string => (typeof fields[name] === "string" ? oneLine(fields[name]) : "");
  const telling = tellingFields.find((name) => words(name) !== "");
  if (telling === undefined) return "";
  const where =
    telling === "pattern" ? [words("path"), words("glob")].filter((part) => part !== "" && part !== ".") : [];
  return [words(telling), ...(where.length === 0 ? [] : [where.join("/")])].join(" in ");
}

// In this order: a search is told by its pattern first, then by its place.
const tellingFields = [
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

export function oneLine(text: string): string {
  return stripControls(text.slice(0, 2_000)).replace(/\s+/g, " ").trim();
}
