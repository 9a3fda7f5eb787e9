import type { ResolvedPath } from "../protocol/index.ts";
import type { CompiledPolicy, CompiledRule } from "./compile-policy.ts";
import { builtin, byRule, type Finding, type Touch } from "./finding.ts";
import { protectedPart } from "./protected-path.ts";

export type PathAccess = { readonly kind: "read" | "write" | "search"; readonly path: string };

export function judgePath(touch: Touch, access: PathAccess, compiled: CompiledPolicy): Finding {
  const { toolName } = touch;
  const malformed = malformation(access.path);
  if (malformed !== undefined)
    return builtin("deny", "malformed path", `${shown(access.path)} can't be used: ${malformed}.`);
  const what = `${verbs[access.kind]} ${shown(access.path)}`;
  const place = usablePlace(access, touch.place);
  const denied = compiled.deny.find((rule) => restricts(rule, toolName, { access, place }));
  if (denied !== undefined) return byRule(denied, what);
  const asked = compiled.ask.find((rule) => restricts(rule, toolName, { access, place }));
  const allowed = place === undefined ? undefined : allowOf({ toolName, access, place }, compiled);
  // What a person allowed for this session answers the question; nothing written beforehand does.
  if (asked !== undefined && allowed?.rule.scope !== "session") return byRule(asked, what);
  if (place === undefined) {
    return builtin(
      "insist",
      "unresolved path",
      `It can't be told where ${shown(access.path)} leads (a loop of links, or no permission to look).`,
    );
  }
  const part = access.kind === "write" ? protectedIn(place, compiled.policy.workspaceRoots) : undefined;
  if (
    part !== undefined &&
    !(allowed?.target.kind === "path" && allowed.target.namesProtected && trusted.has(allowed.rule.scope))
  ) {
    return builtin(
      "insist",
      "protected file",
      `${shown(access.path)} is protected: ${part} can change what later runs or is permitted.`,
    );
  }
  if (allowed !== undefined) return byRule(allowed, what);
  return baseRule(access, place, compiled);
}

function baseRule(access: PathAccess, place: ResolvedPath, { policy }: CompiledPolicy): Finding {
  const inWorkspace = policy.workspaceRoots.some((root) => isWithin(root, place.real));
  const what = `${verbs[access.kind]} ${shown(access.path)}`;
  if (place.kind === "other")
    return builtin("open", "special file", `${shown(access.path)} is neither a file nor a directory.`);
  if (access.kind !== "write") {
    if (inWorkspace) return builtin("allow", "read in workspace", `Reading inside the workspace is allowed: ${what}.`);
    if (policy.readableRoots.some((root) => isWithin(root, place.real))) {
      return builtin("allow", "readable root", `This directory may be read: ${what}.`);
    }
  }
  if (!inWorkspace) {
    const leads = place.real === place.absolute ? "is" : `leads to ${shown(place.real)},`;
    return builtin("open", "outside workspace", `${shown(access.path)} ${leads} outside the workspace.`);
  }
  if (policy.mode === "acceptEdits")
    return builtin("allow", "acceptEdits", `Mode acceptEdits allows edits inside the workspace: ${what}.`);
  return builtin("open", "write in workspace", `No rule allows ${what}.`);
}

interface PlacedAccess {
  readonly access: PathAccess;
  readonly place: ResolvedPath | undefined;
}

/** Either end is enough: the path as asked for, or where it leads. A rule about reading also covers writing. */
function restricts({ coversTool, target }: CompiledRule, toolName: string, { access, place }: PlacedAccess): boolean {
  if (target.kind === "whole") return coversTool(toolName);
  if (target.kind !== "path" || (target.touches === "write" && access.kind !== "write")) return false;
  return place !== undefined && (target.matches(place.absolute) || target.matches(place.real));
}

/** Both ends are needed. The session's own word comes first, then one that names the path. */
function allowOf(
  { toolName, access, place }: { toolName: string; access: PathAccess; place: ResolvedPath },
  compiled: CompiledPolicy,
): CompiledRule | undefined {
  let found: CompiledRule | undefined;
  for (const candidate of compiled.allow) {
    const { target, coversTool, rule } = candidate;
    const matches =
      target.kind === "whole"
        ? coversTool(toolName)
        : target.kind === "path" &&
          (target.touches === "write") === (access.kind === "write") &&
          target.matches(place.absolute) &&
          target.matches(place.real);
    if (!matches) continue;
    if (rule.scope === "session") return candidate;
    if (found === undefined || (target.kind === "path" && target.namesProtected && trusted.has(rule.scope)))
      found = candidate;
  }
  return found;
}

/** Whose word reaches protected files: never a file of the project itself. */
const trusted: ReadonlySet<string> = new Set(["user", "flag", "managed", "session"]);

const verbs = { read: "reading", write: "writing", search: "searching" };

function protectedIn(place: ResolvedPath, roots: readonly string[]): string | undefined {
  return protectedPart(belowRoot(place.real, roots)) ?? protectedPart(belowRoot(place.absolute, roots));
}

/** A workspace may itself stand below a protected directory (a worktree does); only what is in it counts. */
function belowRoot(path: string, roots: readonly string[]): string {
  let longest = "";
  for (const root of roots) if (root.length > longest.length && isWithin(root, path)) longest = root;
  return path.slice(longest.length);
}

function isWithin(root: string, path: string): boolean {
  if (root === "") return false;
  if (root === "/") return path.startsWith("/");
  return path === root || path.startsWith(`${root}/`);
}

function usablePlace(access: PathAccess, place: ResolvedPath | undefined): ResolvedPath | undefined {
  if (place === undefined || place.requested !== access.path) return undefined;
  const usable = [place.absolute, place.real].every((path) => path.startsWith("/") && !/\/\.\.?(\/|$)/.test(path));
  return usable ? place : undefined;
}

function malformation(path: string): string | undefined {
  if (/\p{Cc}/u.test(path)) return "it has control characters";
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(path)) return "it is an address, not a path; give a plain path";
  if (path.startsWith("\\")) return "it starts with a backslash; paths here use /";
  if (path.length > 4095) return "it is too long for a path";
  for (const name of path.split("/")) {
    if (name.length > 255) return "a name in it is longer than 255 characters";
    if (deviceName.test(name)) return `${name} is the name of a device on some systems; choose another name`;
  }
  return undefined;
}

const deviceName = /^(con|prn|aux|nul|com[1-9]|lpt[1-9])[. ]*$/i;

function shown(path: string): string {
  const plain = path.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return plain.length > 200 ? `${plain.slice(0, 200)}…` : plain;
}
