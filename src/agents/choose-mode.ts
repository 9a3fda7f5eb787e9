import type { AgentDefinition, PermissionMode } from "../protocol/index.ts";

export interface ModeWish {
  /** What a person asked for with this very call. */
  readonly asked?: PermissionMode;
  /** What holds where the definition says nothing. */
  readonly fallback: PermissionMode;
}

/** A definition may always tighten. It loosens only where its source is entitled to, and says so where it is not. */
export function chooseMode(
  { name, permissionMode, source }: AgentDefinition,
  { asked, fallback }: ModeWish,
): { readonly mode: PermissionMode; readonly notice?: string } {
  if (asked !== undefined) return { mode: asked };
  if (permissionMode === undefined || freedom[permissionMode] <= freedom[fallback]) {
    return { mode: permissionMode ?? fallback };
  }
  const entitled = permissionMode === "bypassPermissions" ? bypassing : loosening;
  const isOpen = fallback === "default" || fallback === "acceptEdits";
  if (isOpen && entitled.has(source)) return { mode: permissionMode };
  const notice = `Agent "${name}" (${source}) wants the mode ${permissionMode}, which it can't give itself; ${fallback} holds. Use --permission-mode.`;
  return { mode: fallback, notice };
}

/** The stricter the less. */
export const freedom: Record<PermissionMode, number> = {
  plan: 0,
  dontAsk: 1,
  default: 2,
  acceptEdits: 3,
  bypassPermissions: 4,
};

const bypassing: ReadonlySet<string> = new Set(["user", "policy"]);
const loosening: ReadonlySet<string> = new Set(["built-in", "user", "flag", "policy"]);
