import type { AgentDefinition, PermissionMode } from "../protocol/index.ts";
import type { ChosenMode } from "./assemble-agent.ts";
import { freedom } from "./choose-mode.ts";

/** The stricter of the two; a person's own file may let edits pass where its superior would ask. */
export function narrowMode({ name, permissionMode, source }: AgentDefinition, superior: PermissionMode): ChosenMode {
  if (permissionMode === undefined || freedom[permissionMode] <= freedom[superior])
    return { mode: permissionMode ?? superior };
  const mayAcceptEdits = permissionMode === "acceptEdits" && superior === "default" && owners.has(source);
  if (mayAcceptEdits) return { mode: permissionMode };
  const notice = `Agent "${name}" (${source}) wants the mode ${permissionMode}; ${superior}, the mode of the agent it works for, holds.`;
  return { mode: superior, notice };
}

const owners: ReadonlySet<string> = new Set(["user", "flag"]);
