import { isWithin } from "../../lib/index.ts";
import type { Policy, ResolvedPath } from "../../protocol/index.ts";
import { type CompiledPolicy, type CompiledRule, compilePolicy, coversWhole } from "../rules/compile-policy.ts";
import { parseRule } from "../rules/parse-rule.ts";
import { foldCase, type PathMatcher } from "../rules/path-pattern.ts";
import { holdsInstructions, protectedPart, repositoryPart } from "../rules/protected-path.ts";
import { lastMatch, type Verdict, weighRules } from "../rules/weigh-rules.ts";
import {
  type AccessRequest,
  builtin,
  byRule,
  byVerdict,
  type Finding,
  HARD_LINK,
  PROTECTED_FILE,
  SECRET_FILE,
  WRITE_IN_WORKSPACE,
} from "./finding.ts";

type PathAccess = { readonly kind: "read" | "write" | "search"; readonly path: string };

export function judgePath(request: AccessRequest, access: PathAccess, compiled: CompiledPolicy): Finding {
  const { toolName } = request;
  const malformed = malformation(access.path);
  if (malformed !== undefined)
    return builtin("deny", "malformed path", `${shown(access.path)} can't be used: ${malformed}.`);
  const what = `${verbs[access.kind]} ${shown(access.path)}`;
  const resolved = usablePath(access, request.resolved);
  const aliases = aliasesOf(resolved, request.names);
  const { use } = request;
  const isChange = use !== undefined && use !== "unknown";
  const matches = (rule: CompiledRule): boolean =>
    (use === undefined || rule.target.kind !== "whole" || (isChange && rule.target.access === "write")) &&
    covers(rule, toolName, { access, resolved, aliases });
  const found = weighForWrite(compiled, matches, access) ?? weighRules(compiled, matches);
  // Allowing every edit does not allow a command to write everywhere.
  const verdict =
    use !== undefined && found?.effect === "allow" && found.rule.target.kind === "whole" ? undefined : found;
  if (verdict !== undefined && verdict.effect !== "allow") return byVerdict(verdict, what);
  const isRead = access.kind !== "write" && request.use === undefined;
  if (isRead && resolved !== undefined && isUnnamedSecret(compiled, toolName, { access, resolved, aliases }))
    return builtin(
      "deny",
      SECRET_FILE,
      `${shown(access.path)} may contain keys or passwords, so it is read only if a rule names it, such as \`Read(.env)\`.`,
    );
  if (verdict?.rule.target.kind !== "path" && leavesConfinement(request, resolved, compiled.policy))
    return builtin(
      "deny",
      "confined",
      `${shown(access.path)} is outside this worker's directories. Only the settings on the worker's machine can allow it, with \`permissions.additionalDirectories\` or a rule.`,
    );
  if (resolved === undefined) {
    const reason = `${shown(access.path)} can't be resolved: it contains a symlink loop or a directory that can't be read.`;
    return { ...builtin("insist", "unresolved path", reason), mayEvade: compiled.deniesPaths };
  }
  const doubt = resolved.hardLink === undefined ? undefined : doubtAboutNames(request, access);
  if (doubt !== undefined) {
    const reason = `${shown(access.path)} has several names, and ${doubt}.`;
    return { ...builtin("insist", HARD_LINK, reason), mayEvade: compiled.deniesPaths };
  }
  // Tools replace a file, which changes it under one name. Commands change it under all of them.
  const changed = [resolved.real, resolved.absolute, ...(toolName === "Bash" ? aliases : [])];
  const part = access.kind === "write" ? protectedIn(changed, compiled.policy.workspaceRoots, use) : undefined;
  if (part === undefined) {
    return verdict === undefined ? baseRule(access, resolved, compiled) : byVerdict(verdict, what);
  }
  const named = verdict && compiled.allow.find((rule) => namesProtected(rule) && matches(rule));
  if (named !== undefined) return byRule(named, what);
  return builtin(
    "insist",
    PROTECTED_FILE,
    `${shown(access.path)} is protected: ${part} can affect what is run or permitted later.`,
  );
}

/**
 * Returns the restriction on a write that a later rule about commands would override. In the short form, a line about
 * Bash decides whether commands run, not what their redirections write.
 */
function weighForWrite(
  compiled: CompiledPolicy,
  matches: (rule: CompiledRule) => boolean,
  { kind }: PathAccess,
): Verdict | undefined {
  if (kind !== "write") return undefined;
  const isAboutCommands = ({ rule, target, coversTool }: CompiledRule): boolean =>
    rule.form === "compact" && target.kind === "whole" && coversTool("Bash") && !coversTool("Write");
  const verdict = weighRules(compiled, (rule) => !isAboutCommands(rule) && matches(rule));
  if (verdict === undefined || verdict.effect === "allow") return undefined;
  const { target } = verdict.rule;
  return restrictsAllWrites(target) || (target.kind === "path" && target.touches === "write") ? verdict : undefined;
}

/** Returns true for `.env` files, but not for their templates, such as `.env.example`. */
function isSecretName(path: string): boolean {
  const name = foldCase(path.slice(path.lastIndexOf("/") + 1));
  return /^\.env(\.|$)|.\.env$/.test(name) && !/\.(example|sample|template|dist)$/.test(name);
}

function isSecret({ absolute, real, kind }: ResolvedPath): boolean {
  return kind !== "directory" && (isSecretName(absolute) || isSecretName(real));
}

/** Returns true if the file has a name of a secret, and no rule allows reading it under that name. */
function isUnnamedSecret(
  compiled: CompiledPolicy,
  toolName: string,
  { access, resolved, aliases }: ResolvedPathAccess,
) {
  const names = [resolved, ...aliases.map((name) => ({ ...resolved, absolute: name, real: name }))];
  return names.some((name) => {
    const named = { access, resolved: name, aliases: [] };
    return isSecret(name) && !isNamed(compiled, (rule) => covers(rule, toolName, named));
  });
}

/**
 * Returns true if a rule that names files allows the access. A rule for the whole tool is not enough to read secrets.
 */
function isNamed({ allow, layers }: CompiledPolicy, matches: (rule: CompiledRule) => boolean): boolean {
  const settled = layers.flatMap(({ layer, rules }) => (layer.settles ? rules : []));
  return [...allow, ...settled].some(
    (rule) => rule.rule.effect === "allow" && rule.target.kind === "path" && matches(rule),
  );
}

/**
 * Returns true if a tool would use a file outside the directories to which its machine confines tools. Files that
 * commands use are left to the sandbox, because commands also need system files.
 */
function leavesConfinement({ access }: AccessRequest, resolved: ResolvedPath | undefined, policy: Policy): boolean {
  if (!policy.confined || ("shell" in access && access.shell !== undefined)) return false;
  const roots = access.kind === "write" ? policy.workspaceRoots : [...policy.workspaceRoots, ...policy.readableRoots];
  return resolved === undefined || !roots.some((root) => isWithin(resolved.real, root));
}

function baseRule(access: PathAccess, resolved: ResolvedPath, { policy }: CompiledPolicy): Finding {
  const inWorkspace = policy.workspaceRoots.some((root) => isWithin(resolved.real, root));
  const what = `${verbs[access.kind]} ${shown(access.path)}`;
  if (resolved.kind === "other")
    return builtin("open", "special file", `${shown(access.path)} is neither a file nor a directory.`);
  if (access.kind !== "write") {
    if (inWorkspace) return builtin("allow", "read in workspace", `Reading inside the workspace is allowed: ${what}.`);
    if (policy.readableRoots.some((root) => isWithin(resolved.real, root))) {
      return builtin("allow", "readable root", `Reading in this directory is allowed: ${what}.`);
    }
  }
  if (!inWorkspace) {
    const leads = resolved.real === resolved.absolute ? "is" : `leads to ${shown(resolved.real)},`;
    return builtin("open", "outside workspace", `${shown(access.path)} ${leads} outside the workspace.`);
  }
  if (policy.mode === "acceptEdits" && holdsInstructions(belowRoot(resolved.real, policy.workspaceRoots)))
    return builtin(
      "open",
      "instructions",
      `${shown(access.path)} holds instructions for agents, which the acceptEdits mode does not cover.`,
    );
  if (policy.mode === "acceptEdits")
    return builtin("allow", "acceptEdits", `The acceptEdits mode allows edits inside the workspace: ${what}.`);
  return builtin("open", WRITE_IN_WORKSPACE, `No rule allows ${what}.`);
}

interface ResolvedAccess {
  readonly access: PathAccess;
  readonly resolved: ResolvedPath | undefined;
  /** All names of a file that has several. */
  readonly aliases: readonly string[];
}

function aliasesOf(resolved: ResolvedPath | undefined, names: AccessRequest["names"]): readonly string[] {
  return resolved?.hardLink === undefined ? [] : (names?.get(resolved.hardLink) ?? []);
}

/** Explains why a file with several names must not be used; undefined if rules for all its names were applied. */
function doubtAboutNames({ toolName, names, use }: AccessRequest, { kind }: PathAccess): string | undefined {
  if (names === undefined) return "it is not known whether a rule denies one of them";
  const isChanged = toolName === "Bash" && kind === "write" && (use === undefined || use === "write");
  if (!isChanged) return undefined;
  return "a command would change the file under all of them. Write and Edit change only this one";
}

interface ResolvedPathAccess extends ResolvedAccess {
  readonly resolved: ResolvedPath;
}

/**
 * Returns true if the rule applies to the path. A restriction applies if it matches the requested or the resolved path,
 * and a restriction on reading also covers writing. An allow rule must match both paths.
 */
function covers(compiled: CompiledRule, toolName: string, path: ResolvedAccess): boolean {
  const { target, rule } = compiled;
  const { access, resolved, aliases } = path;
  const isWrite = access.kind === "write";
  if (target.kind === "whole") {
    if (!coversWhole(compiled, toolName, isWrite ? "write" : "read")) return false;
    // Files that a command reads are covered by judging the command; files that it writes are judged separately.
    return rule.effect === "allow" ? resolved !== undefined : toolName !== "Bash" || isWrite;
  }
  if (target.kind !== "path" || resolved === undefined) return false;
  const { matches, touches } = target;
  const { absolute, real, inWorkspace } = resolved;
  if (rule.effect === "allow") {
    return (touches === "write") === isWrite && matches(absolute) && matches(real);
  }
  if (touches !== "read" && !isWrite) return false;
  return [absolute, real, ...aliases].some(matches) || (inWorkspace !== undefined && matches(inWorkspace));
}

function namesProtected({ target, rule }: CompiledRule): boolean {
  return target.kind === "path" && target.namesProtected && trusted.has(rule.scope);
}

/** Scopes whose rules can allow access to protected files. The project's own rules can't. */
const trusted: ReadonlySet<string> = new Set(["user", "flag", "managed", "session"]);

const verbs = { read: "reading", write: "writing", search: "searching" };

function protectedIn(
  paths: readonly string[],
  roots: readonly string[],
  use: AccessRequest["use"],
): string | undefined {
  for (const path of paths) {
    const below = belowRoot(path, roots);
    // Words such as HEAD and `https://host/name.git` are seldom files.
    const part = protectedPart(below) ?? (use === "unknown" ? undefined : repositoryPart(below));
    if (part !== undefined) return part;
  }
  return undefined;
}

/**
 * Returns the path relative to its workspace root, because the workspace itself may be inside a protected directory, as
 * worktrees are.
 */
function belowRoot(path: string, roots: readonly string[]): string {
  let longest = "";
  for (const root of roots) if (root.length > longest.length && isWithin(path, root)) longest = root;
  return path.slice(longest.length);
}

function usablePath(access: PathAccess, resolved: ResolvedPath | undefined): ResolvedPath | undefined {
  if (resolved === undefined || resolved.requested !== access.path) return undefined;
  const usable = [resolved.absolute, resolved.real].every(
    (path) => path.startsWith("/") && !/\/\.\.?(\/|$)/.test(path),
  );
  return usable ? resolved : undefined;
}

function malformation(path: string): string | undefined {
  if (/\p{Cc}/u.test(path)) return "it contains control characters";
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(path)) return "it is a URL, not a path; use a plain path";
  if (path.startsWith("\\")) return "it starts with a backslash; paths here use /";
  if (path.length > 4095) return "it is too long";
  for (const name of path.split("/")) {
    if (name.length > 255) return "a name in it is longer than 255 characters";
    if (deviceName.test(name)) return `${name} is a device name on some systems; choose another name`;
  }
  return undefined;
}

const deviceName = /^(con|prn|aux|nul|com[1-9]|lpt[1-9])[. ]*$/i;

function shown(path: string): string {
  const plain = path.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return plain.length > 200 ? `${plain.slice(0, 200)}…` : plain;
}

/**
 * Returns a predicate for absolute paths: true if a deny rule for reading hides the file from listings and searches, or
 * if it is a secret that no rule names.
 */
export function hiddenPredicate(policy: Policy, homes: readonly string[] = []): (absolutePath: string) => boolean {
  const { limits, ...own } = policy;
  if (limits !== undefined) {
    const [isHidden, isHiddenByLimits] = [hiddenPredicate(own, homes), hiddenPredicate(limits, homes)];
    return (absolutePath) => isHidden(absolutePath) || isHiddenByLimits(absolutePath);
  }
  const compiled = compilePolicy(policy, homes);
  const { vetoes, filed, layers } = compiled;
  const denied = vetoes.flatMap((rule) => readMatcher(rule) ?? []);
  const ordered = [filed, ...layers.map(({ rules }) => rules)].filter((rules) =>
    rules.some((rule) => rule.rule.effect === "deny" && readMatcher(rule) !== undefined),
  );
  return (absolutePath) => {
    const matches = (rule: CompiledRule): boolean => readMatcher(rule)?.(absolutePath) === true;
    return (
      denied.some((isDenied) => isDenied(absolutePath)) ||
      ordered.some((rules) => lastMatch(rules, matches)?.rule.effect === "deny") ||
      (isSecretName(absolutePath) && !isNamed(compiled, matches))
    );
  };
}

/**
 * Returns a predicate for absolute paths: true if a rule denies writing the file, or requires approval for it. Undefined
 * if there are no such rules.
 */
export function restrictedPredicate(policy: Policy, homes: readonly string[] = []): PathMatcher | undefined {
  const policies = [policy, policy.limits].filter((each) => each !== undefined);
  const found = policies.flatMap((each) => restrictionsIn(compilePolicy(each, homes)) ?? []);
  return found.length === 0 ? undefined : (absolutePath) => found.some((isRestricted) => isRestricted(absolutePath));
}

function restrictionsIn(compiled: CompiledPolicy): PathMatcher | undefined {
  if (compiled.restrictions.every(({ target }) => target.kind !== "path" && !restrictsAllWrites(target)))
    return undefined;
  return (absolutePath) => {
    const path = { requested: absolutePath, absolute: absolutePath, real: absolutePath, kind: "file" } as const;
    const access = { kind: "write", path: absolutePath } as const;
    const verdict = weighRules(compiled, (rule) => covers(rule, "Edit", { access, resolved: path, aliases: [] }));
    return verdict !== undefined && verdict.effect !== "allow";
  };
}

/** Returns a rule that restricts writing some or all files in the workspace. */
export function restrictedWrites(compiled: CompiledPolicy): CompiledRule | undefined {
  const all = weighRules(compiled, ({ target }) => restrictsAllWrites(target));
  if (all !== undefined && all.effect !== "allow") return all.rule;
  const { policy, homes } = compiled;
  return compiled.restrictions.find(
    (rule) =>
      rule.target.kind === "path" &&
      rule.target.touches === "write" &&
      placesOf(rule, policy, homes).some((place) =>
        policy.workspaceRoots.some((root) => isWithin(place, root) || isWithin(root, place)),
      ),
  );
}

function restrictsAllWrites(target: CompiledRule["target"]): boolean {
  return target.kind === "whole" && target.access === "write";
}

/**
 * Returns the directories to search for files that match deny rules for reading; undefined if there are no such rules.
 * For a rule that applies everywhere, the workspace is searched.
 */
export function deniedPlaces(policy: Policy, homes: readonly string[] = []): readonly string[] | undefined {
  const places = restrictedPlaces(
    policy,
    homes,
    (rule) => rule.rule.effect === "deny" && readMatcher(rule) !== undefined,
  );
  return places.length === 0 ? undefined : places;
}

/** Returns the directories in which another name of a file can matter: the workspace, and those that rules restrict. */
export function namedPlaces(policy: Policy, homes: readonly string[] = []): readonly string[] {
  const restricted = restrictedPlaces(policy, homes, () => true);
  return [...new Set([...policy.workspaceRoots, ...restricted])];
}

function restrictedPlaces(
  policy: Policy,
  homes: readonly string[],
  restricts: (rule: CompiledRule) => boolean,
): readonly string[] {
  const { limits } = policy;
  const paths = compilePolicy(policy, homes).restrictions.filter(
    (rule) => rule.target.kind === "path" && restricts(rule),
  );
  const places = paths.flatMap((rule) => placesOf(rule, policy, homes));
  return [...new Set(limits === undefined ? places : [...places, ...restrictedPlaces(limits, homes, restricts)])];
}

/** Returns the directories that contain all files which a rule for paths matches. */
function placesOf({ rule }: CompiledRule, policy: Policy, homes: readonly string[]): readonly string[] {
  const parsed = parseRule(rule.text, rule.form);
  const pattern = parsed.ok && parsed.target.kind === "path" ? parsed.target.pattern : "";
  const fixed = pattern.split("/").slice(1);
  const wild = fixed.findIndex((name) => /[*?[{\\]/.test(name));
  const directory = (wild === -1 ? fixed : fixed.slice(0, wild)).filter((name) => name !== "").join("/");
  if (directory === "" || !/^(~\/|\/\/)/.test(pattern)) return policy.workspaceRoots;
  return pattern.startsWith("//") ? [`/${directory}`] : homes.slice(0, 1).map((home) => `${home}/${directory}`);
}

function readMatcher({ target }: CompiledRule): PathMatcher | undefined {
  return target.kind === "path" && target.touches === "read" ? target.matches : undefined;
}
