import { formatCount, isRecord, showExactly } from "../lib/index.ts";
import { canonicalToolName, type ToolCall } from "../protocol/index.ts";
import { fieldsByTool } from "./describe-call.ts";

/** A tool call as shown to the person who decides about it. Different calls never have the same text. */
export interface ApprovalText {
  /** The tool and its main input, such as the command, on one line and never truncated. */
  readonly call: string;
  /** All other inputs, one line each. */
  readonly inputs: readonly string[];
}

export function approvalText({ name, inputJson }: Pick<ToolCall, "name" | "inputJson">): ApprovalText {
  const fields = parseFields(inputJson);
  const tool = showExactly(name);
  const main = fieldsByTool.get(canonicalToolName(name))?.find((field) => typeof fields?.[field] === "string");
  if (fields === undefined || main === undefined) return { call: `${tool} ${showExactly(inputJson)}`, inputs: [] };
  const others = Object.entries(fields).filter(([field]) => field !== main);
  return {
    call: `${tool} ${showExactly(String(fields[main]))}`,
    inputs: others.map(([field, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return `${showExactly(field)}: ${showExactly(text)}`;
    }),
  };
}

function parseFields(inputJson: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const input: unknown = JSON.parse(inputJson);
    return isRecord(input) ? input : undefined;
  } catch {
    return undefined;
  }
}

/** Maximum number of characters of a call that a message shows. */
const MAX_SHOWN = 4_000;

/** Truncates text that is too long for a message. Returns undefined if the text is short enough. */
export function cutForMessage(text: string): string | undefined {
  if (text.length <= MAX_SHOWN) return undefined;
  return `${text.slice(0, MAX_SHOWN)} … (${formatCount(text.length - MAX_SHOWN)} more characters)`;
}
