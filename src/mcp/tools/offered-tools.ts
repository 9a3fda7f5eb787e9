import { isRecord, stripControls } from "../../lib/index.ts";
import type { JsonSchema } from "../../protocol/index.ts";
import { repairSchema } from "./input-schema.ts";

/** A tool as declared by its server. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Whether the server claims that the tool is read-only. The claim does not grant any permission. */
  readonly readOnly: boolean;
}

const MAX_DESCRIPTION = 2_048;

/** Reads one page of `tools/list`. Entries without a name are ignored. */
export function offeredTools(page: unknown): {
  readonly tools: readonly OfferedTool[];
  readonly nextCursor?: string | undefined;
} {
  const answer = isRecord(page) ? page : {};
  const entries = Array.isArray(answer["tools"]) ? answer["tools"] : [];
  const tools = entries.filter(isCallable).map(offeredTool);
  const { nextCursor } = answer;
  return { tools, nextCursor: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined };
}

function isCallable(entry: unknown): entry is Record<string, unknown> & { name: string } {
  return isRecord(entry) && typeof entry["name"] === "string" && entry["name"] !== "";
}

function offeredTool(entry: Record<string, unknown> & { name: string }): OfferedTool {
  const { annotations, title, description } = entry;
  const text = [description, title].find((each) => typeof each === "string" && each.trim() !== "");
  return {
    name: entry.name,
    description: cutText(typeof text === "string" ? text : "", MAX_DESCRIPTION),
    inputSchema: repairSchema(entry["inputSchema"]),
    readOnly: isRecord(annotations) && annotations["readOnlyHint"] === true,
  };
}

/** Cleans third-party text for the head of a request: removes control characters and truncates the text with `…`. */
export function cutText(text: string, most: number): string {
  const clean = stripControls(text).trim();
  if (clean.length <= most) return clean;
  // Don't split a surrogate pair.
  const end = /[\ud800-\udbff]/.test(clean.charAt(most - 2)) ? most - 2 : most - 1;
  return `${clean.slice(0, end)}…`;
}
