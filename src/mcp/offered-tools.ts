import type { JsonSchema } from "../protocol/index.ts";
import { isMapping } from "./check-server-config.ts";
import { cutText } from "./cut-text.ts";
import { repairSchema } from "./repair-schema.ts";

/** A tool as its server offers it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** The server's own word; no permission. */
  readonly readOnly: boolean;
}

const MAX_DESCRIPTION = 2_048;

/** One page of `tools/list`. Entries that can't be called are passed over. */
export function offeredTools(page: unknown): { readonly tools: readonly OfferedTool[]; readonly nextCursor?: string } {
  const answer = isMapping(page) ? page : {};
  const entries = Array.isArray(answer["tools"]) ? answer["tools"] : [];
  const tools = entries.filter(isCallable).map(offeredTool);
  const { nextCursor } = answer;
  return typeof nextCursor === "string" && nextCursor !== "" ? { tools, nextCursor } : { tools };
}

function isCallable(entry: unknown): entry is Record<string, unknown> & { name: string } {
  return isMapping(entry) && typeof entry["name"] === "string" && entry["name"] !== "";
}

function offeredTool(entry: Record<string, unknown> & { name: string }): OfferedTool {
  const { annotations, title, description } = entry;
  const words = [description, title].find((each) => typeof each === "string" && each.trim() !== "");
  return {
    name: entry.name,
    description: cutText(typeof words === "string" ? words : "", MAX_DESCRIPTION),
    inputSchema: repairSchema(entry["inputSchema"]),
    readOnly: isMapping(annotations) && annotations["readOnlyHint"] === true,
  };
}
