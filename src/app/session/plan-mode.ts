import type { ToolSpec } from "../../ports/index.ts";
import type { PermissionMode, Settings } from "../../protocol/index.ts";
import { planSpecs, type RunRequest } from "../../runs/index.ts";
import type { SessionOptions } from "./session-options.ts";

/** The tools to plan with, where somebody can approve a plan: elsewhere they would only cost bytes. */
export function offerPlanMode(
  { interactive, approvals, onAsk, permissionMode }: SessionOptions,
  { permissions = {} }: Settings,
): readonly ToolSpec[] {
  const isAnswered = interactive === true || approvals !== undefined || onAsk === "wait" || onAsk === "hook";
  return isAnswered && (permissionMode ?? permissions.defaultMode) !== "dontAsk" ? planSpecs : [];
}

/** What holds once plan mode is left, where a session began in it. */
export function modeAfterPlan({ permissions = {} }: Settings): PermissionMode {
  const { defaultMode = "default" } = permissions;
  return defaultMode === "plan" ? "default" : defaultMode;
}

interface PlanWish {
  /** With this opening of the session. */
  readonly asked: PermissionMode | undefined;
  /** By its definition, settings and options. */
  readonly mode: PermissionMode;
  /** By its transcript. */
  readonly before: "entered" | "left" | undefined;
}

/** What the first run of an opened session begins with: what was so goes on, unless who opens it says otherwise. */
export function planChange({ asked, mode, before }: PlanWish): Pick<RunRequest, "plan"> {
  if (asked === undefined) return before === undefined && mode === "plan" ? { plan: "enter" } : {};
  if (asked === "plan") return before === "entered" ? {} : { plan: "enter" };
  return before === "entered" ? { plan: "leave" } : {};
}
