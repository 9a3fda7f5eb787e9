import type { Access } from "../protocol/index.ts";
import { isReadOnlyLine } from "./judge-command.ts";

/** Returns true if a call with these accesses was proven to change nothing, whatever the rules allow. */
export function readsOnly(accesses: readonly Access[]): boolean {
  return accesses.length > 0 && accesses.every(isReading);
}

function isReading(access: Access): boolean {
  if (access.kind === "command") return isReadOnlyLine(access.command);
  return access.kind === "read" || access.kind === "search";
}
