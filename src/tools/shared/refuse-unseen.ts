import type { ToolOutput } from "../../ports/index.ts";
import { failed } from "./failed.ts";
import type { SeenByAgent } from "./seen-files.ts";

/** Refuses to touch what the agent has not seen as it is now. */
export function refuseUnseen(
  file: { readonly real: string; readonly name: string; readonly version: string },
  known: SeenByAgent,
): ToolOutput | undefined {
  const seen = known.versionOf(file.real);
  if (seen === undefined) return failed(`You have not read ${file.name} yet. Read it first, then repeat this call.`);
  if (seen === file.version) return undefined;
  return failed(`${file.name} changed since you read it. Read it again, then repeat this call with what is there now.`);
}
