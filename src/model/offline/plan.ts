import type { JsonObject, Message, ToolDeclaration } from "../../protocol/index.ts";
import { refuse } from "./refuse.ts";

export interface PlannedCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** What the offline model says next. A refusal ends the run as failed. */
export type Plan =
  | { readonly kind: "calls"; readonly text: string; readonly calls: readonly PlannedCall[] }
  | { readonly kind: "report"; readonly text: string }
  | { readonly kind: "refusal"; readonly text: string };

/** A pure function of the conversation: a resumed session goes on where it stood. */
export function plan(_messages: readonly Message[], _tools: readonly ToolDeclaration[]): Plan {
  return { kind: "refusal", text: refuse() };
}
