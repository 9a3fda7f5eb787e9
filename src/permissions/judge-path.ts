import type { ResolvedPath } from "../protocol/index.ts";
import type { CompiledPolicy, CompiledRule } from "./compile-policy.ts";
import { builtin, byRule, byVerdict, type Finding, type Touch, WRITE_IN_WORKSPACE } from "./finding.ts";
import { protectedPart } from "./protected-path.ts";
import { weighRules } from "./weigh-rules.ts";

export type PathAccess = { readonly kind: "read" | "write" | "search"; readonly path: string };

export function judgePath(touch: Touch, access: PathAccess, compiled: CompiledPolicy): Finding {
  const { toolName } = touch;
  const malformed = malformation(access.path);
  if (malformed !== undefined)
    return builtin("deny", "malformed path", `${shown(access.path)} can't be used: ${malformed}.`);
  const what = `${verbs[access.kind]} ${shown(access.path)}`;
  const place = usablePlace(access, touch.place);
  const matches = (rule: CompiledRule): boolean => covers(rule, toolName, { access, place });
  const verdict = weighRules(compiled, matches);
  if (verdict !== undefined && verdict.effect !== "allow") return byVerdict(verdict, what);
  if (place === undefined) {
    return builtin(
      "insist",
      "unresolved path",
      `It can't be told where ${shown(access.path)} leads (a loop of links, or no permission to look).`,
    );
  }
  const part = access.kind === "write" ? protectedIn(place, compiled.policy.workspaceRoots) : undefined;
  if (part === undefined) {
    return verdict === undefined ? baseRule(access, place, compiled) : byVerdict(verdict, what);
  }
  const named = verdict && compiled.allow.find((rule) => namesProtected(rule) && matches(rule));
  if (named !== undefined) return byRule(named, what);
  return builtin(
    "insist",
    "protected file",
    `${shown(access.path)} is protected: ${part} can change what later runs or is permitted.`,
  );
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
  return builtin("open", WRITE_IN_WORKSPACE, `No rule allows ${what}.`);
}

interface PlacedAccess {
  readonly access: PathAccess;
  readonly place: ResolvedPath | undefined;
}

/**
 * To restrict, either end is enough: the path as asked for, or where it leads; a rule about reading also covers writing.
 * To allow, both ends are needed.
 */
function covers({ coversTool, target, rule }: CompiledRule, toolName: string, at: PlacedAccess): boolean {
  const { access, place } = at;
  const isWrite = access.kind === "write";
  if (target.kind === "whole") {
    if (!coversTool(toolName)) return false;
    // What a command reads goes with the command, which is judged by the same rules; what it writes is more than that.
    return rule.effect === "allow" ? place !== undefined : toolName !== "Bash" || isWrite;
  }
  if (target.kind !== "path" || place === undefined) return false;
  const { matches, touches } = target;
  if (rule.effect === "allow") {
    return (touches === "write") === isWrite && matches(place.absolute) && matches(place.real);
  }
  return (touches === "read" || isWrite) && (matches(place.absolute) || matches(place.real));
}

function namesProtected({ target, rule }: CompiledRule): boolean {
  return target.kind === "path" && target.namesProtected && trusted.has(rule.scope);
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
