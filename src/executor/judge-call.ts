import { basename, join } from "node:path";
import {
  accesses as accessesOf,
  decide,
  deniedPlaces,
  dependsOnGit,
  gitDirectories,
  hiddenPredicate,
  mayPrintTracked,
  pathsOf,
  pendingPatterns,
  protectedPart,
  restrictedPredicate,
  withExpansions,
} from "../permissions/index.ts";
import type { Confinement, Tool, WalkedPath, Workspace } from "../ports/index.ts";
import type {
  Access,
  AgentId,
  Decision,
  DirectoryWalk,
  JsonObject,
  Policy,
  ResolvedPath,
  ShellPath,
} from "../protocol/index.ts";
import { ambiguousPath } from "./ambiguous-path.ts";
import { hiddenElsewhere, namesOf } from "./hard-links.ts";

export interface JudgedCall {
  readonly decision: Decision;
  readonly accesses: readonly Access[];
  readonly resolved: readonly ResolvedPath[];
  /** True if files that must not be read have to be hidden from the command, because it may read any file. */
  readonly hides?: boolean | undefined;
}

export interface Place {
  readonly workspace: Workspace;
  /** The user's home directory, both as written and with symlinks resolved, for rules with `~/`. */
  readonly homes: readonly string[];
  /** Advice that the user has been given in this session. */
  readonly advised?: Advised | undefined;
}

export interface Advised {
  /** True once the user has been told that a sandbox would make some approvals unnecessary. */
  sandbox: boolean;
}

/** Resolves the paths in a call and decides whether the policy allows the call. */
export function judgeCall(
  call: { readonly toolName: string; readonly input: JsonObject; readonly policy: Policy },
  place: Place,
): Promise<JudgedCall> {
  return judgeAccesses({ ...call, accesses: accessesOf(call.toolName, call.input) }, place);
}

export interface ToolUse {
  readonly tool: Tool;
  readonly input: JsonObject;
  readonly policy: Policy;
  /** The calling agent. Absent if the call is only examined. */
  readonly agentId?: AgentId | undefined;
}

export type JudgedUse =
  | { readonly ok: true; readonly judged: JudgedCall }
  /** The tool refuses the input. The message is for the model. */
  | { readonly ok: false; readonly message: string };

/** Like `judgeCall`, but for a tool that may describe its own accesses. */
export async function judgeUse({ tool, input, policy, agentId }: ToolUse, place: Place): Promise<JudgedUse> {
  const toolName = tool.declaration.name;
  const described = await tool.accesses?.(input, agentId);
  if (described?.ok === false) return described;
  const ambiguity = described && (await ambiguousPath(described.accesses, place.workspace));
  if (ambiguity !== undefined) return { ok: false, message: `${toolName}: ${ambiguity}` };
  const accesses = described?.accesses ?? accessesOf(toolName, input);
  return { ok: true, judged: await judgeAccesses({ toolName, accesses, policy }, place) };
}

interface AccessesOfCall {
  readonly toolName: string;
  readonly accesses: readonly Access[];
  readonly policy: Policy;
}

async function judgeAccesses(call: AccessesOfCall, place: Place): Promise<JudgedCall> {
  const accesses = await expandAccesses(call.accesses, place.workspace);
  const judged = await decideOn({ ...call, accesses }, place);
  if (call.accesses[0]?.kind !== "command") return judged;
  return judgeInSandbox(await judgeWalks(judged, call, place), { judged, call, place });
}

async function decideOn(call: AccessesOfCall, place: Place, sandboxed?: true): Promise<JudgedCall> {
  const { workspace, homes } = place;
  const { toolName, accesses, policy } = call;
  const paths = pathsOf(accesses);
  const resolved = paths.length === 0 ? [] : await workspace.resolve(paths);
  const names = await namesOf(resolved, policy, place);
  const isGuarded = deniedPlaces(policy, homes) !== undefined;
  const hides = accesses[0]?.kind === "command" && (isGuarded || sandboxed === true || accesses.some(readsAny));
  const cannotHide = hides && workspace.isTooLargeToHide?.() === true;
  const plain = { toolName, accesses, resolved, policy, homes, sandboxed, names, cannotHide };
  const first = decide(plain);
  // Looked up only if it matters: by default, secrets must not be read even if no rule denies any file.
  const mayPrint = first.effect === "allow" && mayPrintTracked(accesses);
  const tracksHidden = mayPrint && (await workspace.tracks?.(hiddenPredicate(policy, homes)));
  const request = tracksHidden ? { ...plain, tracksHidden } : plain;
  const decision = tracksHidden ? decide(request) : first;
  if (!dependsOnGit(decision, accesses)) return { decision, accesses, resolved, hides };
  const changedHooks = await workspace.changedHooks?.();
  const gitPrograms = await workspace.gitPrograms?.();
  const repositories = await repositoriesOf(accesses, place);
  return { decision: decide({ ...request, changedHooks, gitPrograms, repositories }), accesses, resolved, hides };
}

/** Looks up the repositories that git would use; undefined if the workspace can't. */
async function repositoriesOf(accesses: readonly Access[], { workspace }: Place) {
  if (workspace.gitRepository === undefined) return undefined;
  const directories = [...gitDirectories(accesses)];
  const found = directories.map(async ([pattern, path]) => [pattern, await workspace.gitRepository!(path)] as const);
  return new Map(await Promise.all(found));
}

/** Returns true if a command reads whatever files it finds in a directory. */
function readsAny(access: Access): boolean {
  return access.kind === "read" && access.shell?.walk?.contents === true;
}

/**
 * Checks the directories that an allowed command traverses for files that it must not read, unless a sandbox's
 * read-only profile hides them, and for protected files that it would copy elsewhere. A command that a person allowed
 * for this session is not checked, because that person has seen it.
 */
async function judgeWalks(judged: JudgedCall, call: AccessesOfCall, place: Place): Promise<JudgedCall> {
  if (judged.decision.effect !== "allow" || judged.decision.scope === "session") return judged;
  const walks = judged.accesses.flatMap((access) => (access.kind === "read" ? (access.shell?.walk ?? []) : []));
  if (walks.length === 0) return judged;
  const isConfined = judged.decision.readsOnly === true && (await confinementOf(place)).kind === "on";
  if (isConfined && !walks.some(({ writes, changes }) => writes || changes)) return judged;
  const accesses = await accessesOfWalks(judged, { policy: call.policy, isConfined }, place);
  return accesses === undefined ? judged : decideOn({ ...call, accesses }, place);
}

/**
 * If a command is not allowed, decides again whether it is allowed in a sandbox with the read-only profile. Without a
 * sandbox, the first approval request for a command like that says what a sandbox would change.
 */
async function judgeInSandbox(
  found: JudgedCall,
  { judged, call, place }: { readonly judged: JudgedCall; readonly call: AccessesOfCall; readonly place: Place },
): Promise<JudgedCall> {
  if (found.decision.effect === "allow") return found;
  const confinement = await confinementOf(place);
  const { advised } = place;
  const fix = confinement.kind === "off" ? confinement.fix : undefined;
  const canAdvise = fix !== undefined && found.decision.effect === "ask" && advised?.sandbox === false;
  if (confinement.kind !== "on" && !canAdvise) return found;
  const sandboxed = await decideOn({ ...call, accesses: judged.accesses }, place, true);
  if (sandboxed.decision.effect !== "allow" || sandboxed.decision.readsOnly !== true) return found;
  if (confinement.kind === "on") return sandboxed;
  advised!.sandbox = true;
  const reason = `${found.decision.reason} With a sandbox, this command would run without approval. ${fix}`;
  return { ...found, decision: { ...found.decision, reason } };
}

async function confinementOf({ workspace }: Place): Promise<Confinement> {
  return (await workspace.confinement?.()) ?? { kind: "off" };
}

export interface Authority {
  readonly toolName: string;
  readonly policy: Policy;
  /** The decision that was made before the call. */
  readonly judged: JudgedCall;
  /** True if the call was approved. The approval covers only accesses that were known at that time. */
  readonly granted: boolean;
}

/** Decides whether to allow an access that a tool requests while it runs. */
export async function authorizeAccess(access: Access, authority: Authority, place: Place): Promise<Decision> {
  const { policy, judged, granted } = authority;
  // Rules about agents are written for Task, regardless of which tool starts the agent.
  const toolName = access.kind === "agent" ? "Task" : authority.toolName;
  const { decision, resolved } = await judgeAccesses({ toolName, accesses: [access], policy }, place);
  if (decision.effect !== "ask" || !granted || !isCovered(access, resolved[0], judged)) return decision;
  return {
    effect: "allow",
    rule: "granted call",
    scope: "session",
    reason: "This access is part of an approved call.",
  };
}

function isCovered(access: Access, place: ResolvedPath | undefined, judged: JudgedCall): boolean {
  let path = 0;
  for (const known of judged.accesses) {
    const knownPlace = "path" in known ? judged.resolved[path++] : undefined;
    if ("path" in known && "path" in access) {
      if (
        place !== undefined &&
        knownPlace !== undefined &&
        coversPath(known, knownPlace.real, { access, real: place.real })
      )
        return true;
    } else if (known.kind === "network" && access.kind === "network") {
      if (originOf(known.url) !== undefined && originOf(known.url) === originOf(access.url)) return true;
    } else if (known.kind === "command" && access.kind === "command") {
      if (known.command === access.command) return true;
    } else if (known.kind === "skill" && access.kind === "skill") {
      // The approved and the requested skill are the same: the tool merely requests it by its full name.
      return true;
    }
  }
  return false;
}

/**
 * Returns true if a known access covers another. A write covers reading the same file; a search covers everything in
 * its directory.
 */
function coversPath(
  known: Access,
  knownReal: string,
  { access, real }: { readonly access: Access; readonly real: string },
): boolean {
  if (knownReal === "" || real === "") return false;
  if (known.kind === "search" && access.kind !== "write")
    return real === knownReal || real.startsWith(knownReal === "/" ? "/" : `${knownReal}/`);
  return real === knownReal && (known.kind === access.kind || (known.kind === "write" && access.kind === "read"));
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Replaces shell patterns with the files that they currently match. */
async function expandAccesses(accesses: readonly Access[], workspace: Workspace): Promise<readonly Access[]> {
  const patterns = pendingPatterns(accesses);
  return patterns.length === 0 ? accesses : withExpansions(accesses, await workspace.expand(patterns));
}

/**
 * Adds the relevant files that commands find when they traverse directories: symlinks that they follow, denied files
 * that they read, and protected files that they copy. Returns undefined if there are none. A directory that is too
 * large becomes an unexpanded pattern.
 */
async function accessesOfWalks(
  { accesses, resolved }: { readonly accesses: readonly Access[]; readonly resolved: readonly ResolvedPath[] },
  { policy, isConfined }: { readonly policy: Policy; readonly isConfined: boolean },
  surroundings: Place,
): Promise<readonly Access[] | undefined> {
  const { workspace, homes } = surroundings;
  const isHidden = isConfined ? undefined : hiddenPredicate(policy, homes);
  const isGuarded = deniedPlaces(policy, homes) !== undefined;
  const isRestricted = restrictedPredicate(policy, homes);
  const isRelevant = ({ role, walk }: ShellPath): boolean =>
    walk !== undefined &&
    (walk.writes === true ||
      (walk.changes === true && isRestricted !== undefined) ||
      (walk.follows && !isConfined) ||
      // Only rules restrict what a command that may change something, such as `cp -r`, finds in a directory.
      (walk.contents && !isConfined && (isGuarded || role === "argument")));
  const result: Access[] = [];
  let path = 0;
  for (const access of accesses) {
    const place = "path" in access ? resolved[path++] : undefined;
    const shell = access.kind === "read" ? access.shell : undefined;
    if (access.kind !== "read" || place === undefined || shell?.walk === undefined || !isRelevant(shell)) {
      result.push(access);
      continue;
    }
    const { walk } = shell;
    const found = place.real === "" ? undefined : await workspace.walk(place.real, walk);
    const changed = found && (await changedBy(walk, { place, found, isRestricted }, workspace));
    if (found === undefined || changed === undefined) {
      result.push({ ...access, shell: { ...shell, state: "pending" } });
      continue;
    }
    const above = place.real.slice(0, place.real.lastIndexOf("/"));
    const linked = isHidden && walk.contents ? await hiddenElsewhere(found, policy, surroundings) : undefined;
    const met = found.filter(
      (each) =>
        (walk.follows && !isConfined && each.kind === "link") ||
        (walk.contents && isHidden?.(each.path) === true) ||
        linked?.has(each.path) === true,
    );
    const copied = walk.writes && found.find((each) => protectedPart(each.path.slice(above.length)) !== undefined);
    if (copied) met.push(copied);
    const add = (path: string, state: "walked" | "changed") =>
      result.push({ kind: "read", path, shell: { ...shell, state } });
    result.push(access);
    for (const each of met) add(each.path, "walked");
    for (const path of changed) add(path, "changed");
  }
  const isUnchanged = result.length === accesses.length && result.every((access, index) => access === accesses[index]);
  return isUnchanged ? undefined : result;
}

/**
 * Returns the files which a command that copies, moves or removes a directory would change and which have to be judged:
 * those that rules restrict, and existing links in the destination. Returns undefined if the destination is unknown.
 */
async function changedBy(
  { into = [], changes }: DirectoryWalk,
  { place, found, isRestricted = () => false }: FoundFiles,
  workspace: Workspace,
): Promise<readonly string[] | undefined> {
  const moved = changes ? found.map(({ path }) => path).filter(isRestricted) : [];
  if (into.length === 0) return moved;
  const places = await workspace.expand(into);
  if (places.includes(undefined)) return undefined;
  // If the destination is a directory, the copy is made in it.
  const name = basename(place.requested);
  const starts = await workspace.resolve(places.flatMap((paths) => paths!.flatMap((path) => [path, join(path, name)])));
  const copies = starts.flatMap(({ real }) => found.map(({ path }) => join(real, path.slice(place.real.length))));
  const judged = (await workspace.resolve(copies)).filter(
    ({ absolute, real, hardLink }) =>
      real !== absolute || hardLink !== undefined || isRestricted(real) || isRestricted(absolute),
  );
  return [...moved, ...judged.map(({ requested }) => requested)];
}

interface FoundFiles {
  readonly place: ResolvedPath;
  readonly found: readonly WalkedPath[];
  readonly isRestricted: ((path: string) => boolean) | undefined;
}
