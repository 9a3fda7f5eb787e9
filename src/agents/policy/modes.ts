import type { AgentDefinition, PermissionMode } from "../../protocol/index.ts";

export interface ChosenMode {
  readonly mode: PermissionMode;
  /** Explains why the mode differs from the one in the definition. Absent if the modes are the same. */
  readonly notice?: string | undefined;
}

export interface ModeRequest {
  /** Mode that the user requested explicitly. It takes precedence. */
  readonly asked?: PermissionMode | undefined;
  /** Mode to use if the definition does not set one. */
  readonly fallback: PermissionMode;
}

/**
 * Chooses a main agent's mode. Any definition may choose a stricter mode; only some sources may choose a looser one.
 */
export function chooseMode(
  { name, permissionMode, source }: AgentDefinition,
  { asked, fallback }: ModeRequest,
): ChosenMode {
  if (asked !== undefined) return { mode: asked };
  if (permissionMode === undefined || isAtMost(permissionMode, fallback)) return { mode: permissionMode ?? fallback };
  const entitled = permissionMode === "bypassPermissions" ? bypassing : loosening;
  const isOpen = fallback === "default" || fallback === "acceptEdits";
  if (isOpen && entitled.has(source)) return { mode: permissionMode };
  const notice = `Agent "${name}" (${source}) asked for mode ${permissionMode}, which its definition can't grant; mode ${fallback} is used. To use ${permissionMode}, pass the \`permissionMode\` option.`;
  return { mode: fallback, notice };
}

const bypassing: ReadonlySet<string> = new Set(["user", "policy"]);
const loosening: ReadonlySet<string> = new Set(["built-in", "user", "flag", "policy"]);

/**
 * Chooses a subagent's mode: the stricter of its own mode and its parent's. As an exception, a definition in the user's
 * own files may use `acceptEdits`.
 */
export function narrowMode({ name, permissionMode, source }: AgentDefinition, parentMode: PermissionMode): ChosenMode {
  if (permissionMode === undefined || isAtMost(permissionMode, parentMode))
    return { mode: permissionMode ?? parentMode };
  const mayAcceptEdits = permissionMode === "acceptEdits" && parentMode === "default" && owners.has(source);
  if (mayAcceptEdits) return { mode: permissionMode };
  const notice = `Agent "${name}" (${source}) asked for mode ${permissionMode}; it is limited to its parent's mode ${parentMode}.`;
  return { mode: parentMode, notice };
}

const owners: ReadonlySet<string> = new Set(["user", "flag"]);

export function stricter(left: PermissionMode, right: PermissionMode): PermissionMode {
  return isAtMost(left, right) ? left : right;
}

/**
 * Returns whether `dontAsk` was replaced by another mode. The agent must then be marked as unattended, or it would ask
 * for approval.
 */
export function dropsDontAsk(modes: readonly PermissionMode[], chosen: PermissionMode): boolean {
  return chosen !== "dontAsk" && modes.includes("dontAsk");
}

const strictestFirst: readonly PermissionMode[] = ["plan", "dontAsk", "default", "acceptEdits", "bypassPermissions"];

function isAtMost(mode: PermissionMode, limit: PermissionMode): boolean {
  return strictestFirst.indexOf(mode) <= strictestFirst.indexOf(limit);
}
