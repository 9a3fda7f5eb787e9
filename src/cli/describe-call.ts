import { stripControls } from "../lib/index.ts";

/** What a call is about, in a few words on one line: `src/a.ts`, `npm test`. */
export function describeCall(inputJson: string): string {
  let input: unknown;
  try {
    input = JSON.parse(inputJson);
  } catch {
    return "";
  }
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  const telling = tellingFields.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "");
  return typeof telling === "string" ? oneLine(telling) : "";
}

// In this order: a search is better told by its pattern than by its directory.
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
