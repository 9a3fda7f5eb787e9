import { bareHost, checkUrl } from "../../lib/index.ts";
import {
  type Access,
  canonicalToolName,
  type Decision,
  type Effect,
  type Policy,
  type ResolvedPath,
  type Rule,
  type RuleScope,
  type ShellPath,
} from "../../protocol/index.ts";
import { type CompiledPolicy, compilePolicy, coversWhole } from "../rules/compile-policy.ts";
import { matchDomain } from "../rules/domain-pattern.ts";
import type { GitRepositories } from "../rules/git-hazards.ts";
import { weighRules } from "../rules/weigh-rules.ts";
import { analyzeCommand } from "../shell/analyze-command.ts";
import { readKey } from "../shell/command-reads.ts";
import { hasKnownAccesses } from "./accesses.ts";
import { createdPaths } from "./created-paths.ts";
import {
  type AccessRequest,
  asDecision,
  builtin,
  byRule,
  byVerdict,
  CREATED_PATH,
  type Finding,
  PLAN_APPROVAL,
  PROTECTED_FILE,
  READ_ONLY_COMMAND,
  USER_QUESTION,
  WRITE_IN_WORKSPACE,
} from "./finding.ts";
import { type CommandReadFindings, judgeCommand } from "./judge-command.ts";
import { judgeGitPrograms, judgeHooks } from "./judge-git.ts";
import { deniedPlaces, judgePath } from "./judge-path.ts";

export interface DecideRequest {
  readonly toolName: string;
  readonly accesses: readonly Access[];
  /** One entry for each of `pathsOf(accesses)`, in the same order. */
  readonly resolved: readonly ResolvedPath[];
  readonly policy: Policy;
  /**
   * The user's home directory on the machine where the tools run, both as written and with symlinks resolved, for rules
   * with `~/`.
   */
  readonly homes?: readonly string[] | undefined;
  /**
   * True if commands that are allowed only because they are read-only run in the read-only profile of a sandbox. In
   * that case, many more commands need no approval.
   */
  readonly sandboxed?: boolean | undefined;
  /**
   * The names of files that have several (hard links), by `hardLink`; `unknown` if they could not be listed. The same
   * rules apply to a file under all its names. Needed only if a resolved path is a hard link.
   */
  readonly names?: ReadonlyMap<string, readonly string[]> | "unknown" | undefined;
  /** Git hooks that were created or changed since the session began. */
  readonly changedHooks?: readonly string[] | undefined;
  /** A repository configuration file that names programs which git runs even for read-only commands. */
  readonly gitPrograms?: string | undefined;
  /** The repositories that git would use, for each of `gitDirectories(accesses)`. */
  readonly repositories?: GitRepositories | undefined;
  /** True if git may track a file that must not be read. If absent, only rules that deny files are considered. */
  readonly tracksHidden?: boolean | undefined;
  /** True if files that must not be read can't be hidden from the command, because there are too many files to look at. */
  readonly cannotHide?: boolean | undefined;
}

/** Returns the strictest decision on any of the call's accesses. This function is pure and never throws. */
export function decide(request: DecideRequest): Decision {
  const { limits } = request.policy;
  const limit = limits && decideWithinLimits({ ...request, policy: limits });
  return limit?.effect === "deny" ? limit : judge(request).decision;
}

/**
 * Applies the rules on the worker's machine. Denies calls that may evade one of its deny rules, because no one can
 * approve calls there.
 */
function decideWithinLimits(request: DecideRequest): Decision {
  const { decision } = judge(request);
  if (decision.effect !== "ask") return decision;
  const { evasion } = judge({ ...request, policy: withoutAskRules(request.policy) });
  if (evasion === undefined) return decision;
  const reason = `${evasion.reason} No one can approve this, because the rules on the worker's machine always apply.`;
  return asDecision(evasion, "deny", reason);
}

/**
 * Returns a policy without ask rules. An ask rule from a `permission` field or a `permissions.jsonc` file becomes an
 * allow rule, because it must still override the rules that come before it.
 */
function withoutAskRules(policy: Policy): Policy {
  const rules = policy.rules.flatMap((rule): Rule[] => {
    if (rule.effect !== "ask") return [rule];
    return rule.form === "compact" ? [{ ...rule, effect: "allow" }] : [];
  });
  return { ...policy, rules };
}

interface JudgedCall {
  readonly decision: Decision;
  /** Explains how the call may evade a deny rule. */
  readonly evasion?: Finding | undefined;
}

function judge(request: DecideRequest): JudgedCall {
  const { toolName, accesses, policy, homes, changedHooks = [], gitPrograms } = request;
  const compiled = compilePolicy(policy, homes);
  const name = canonicalToolName(toolName);
  if (!compiled.pool.has(name)) {
    const finding = builtin("deny", "not in pool", `This agent does not have the tool ${name}.`);
    return { decision: asDecision(finding, "deny") };
  }
  if (accesses.length === 0) return { decision: applyMode(judgeUndescribed(name, compiled), compiled) };
  const spelledOut = lineRule(name, accesses, compiled);
  let strictest: Decision | undefined;
  const findings = findingsOf(request, compiled);
  const evasion = findings.find(({ found }) => found.mayEvade)?.found;
  for (const { access, found } of findings) {
    const isOpen = found.rule === CREATED_PATH || (found.effect === "open" && found.rule === WRITE_IN_WORKSPACE);
    const isNamed = spelledOut !== undefined && isOpen;
    const finding = isNamed ? byRule(spelledOut, "this command and its files") : found;
    const decision = applyMode(judgeHooks(access, finding, changedHooks) ?? finding, compiled);
    const isStricter = strictest === undefined || severity[decision.effect] > severity[strictest.effect];
    // `echo x > file` runs a read-only command but also writes a file. The reported reason should be about the write.
    const isReason = access.kind === "write" && strictest?.rule === READ_ONLY_COMMAND;
    // Of two equally strict decisions, report the one that a project's hooks can't override, or the one about a
    // protected file rather than the one from a project's rule.
    const isProtected = decision.rule === PROTECTED_FILE && !ofUser.has(strictest?.scope ?? "builtin");
    const isFirm = isProtected || (decision.insists && !strictest?.insists);
    if (isStricter || ((isReason || isFirm) && decision.effect === strictest?.effect)) strictest = decision;
  }
  if (strictest!.readsOnly && request.cannotHide) {
    const finding = builtin("insist", "too many files", TOO_MANY_FILES);
    return { decision: applyMode(finding, compiled), evasion: finding };
  }
  const isPlain = strictest!.effect === "allow" && strictest!.readsOnly !== true;
  if (gitPrograms === undefined || !isPlain || !findings.some(({ found }) => found.readingGit))
    return { decision: strictest!, evasion };
  return { decision: applyMode(judgeGitPrograms(gitPrograms), compiled), evasion };
}

const TOO_MANY_FILES =
  "The workspace has too many files to find all those that must not be read, so they can't be hidden from this command.";

interface AccessFinding {
  readonly access: Access;
  readonly found: Finding;
}

/**
 * Returns a finding for each access that is judged on its own. Files that commands read are judged with the commands.
 */
function findingsOf(request: DecideRequest, compiled: CompiledPolicy): readonly AccessFinding[] {
  const { accesses, resolved, sandboxed, tracksHidden, repositories } = request;
  const names = request.names === "unknown" ? undefined : (request.names ?? new Map<string, readonly string[]>());
  const toolName = canonicalToolName(request.toolName);
  const reads: CommandReadFindings = new Map();
  const files = new Set<string>();
  const add = (shell: ShellPath, found: Finding) => {
    const key = readKey(shell);
    reads.set(key, [...(reads.get(key) ?? []), found]);
  };
  const findings: AccessFinding[] = [];
  const settle = unsettled(request, compiled);
  let path = 0;
  for (const access of accesses) {
    const resolvedPath = "path" in access ? resolved[path++] : undefined;
    if (access.kind === "command") continue;
    const shell = "shell" in access ? access.shell : undefined;
    if (resolvedPath?.kind === "file" && shell?.state === undefined) files.add(resolvedPath.requested);
    const use = shell && usesOf(shell);
    if (shell !== undefined && use !== undefined && "path" in access) {
      const place = shell.state === "pending" ? undefined : resolvedPath;
      // It is unknown whether the command reads or writes a file that it names, so the restrictions on both apply.
      const isOnlyRead = shell.state === "walked" && shell.walk?.writes !== true;
      const used = { kind: isOnlyRead ? "read" : "write", path: access.path } as const;
      const judged = judgePath({ toolName, access: used, resolved: place, names, use }, used, compiled);
      const found = settle(access, judged);
      add(shell, shell.state === undefined || shell.state === "pending" ? found : leaveToPerson(found));
      continue;
    }
    if (shell?.role === "argument" && shell.state === "pending") {
      // Even an unexpanded pattern may name a file that a rule denies.
      const found = judgeAccess({ toolName, access, resolved: resolvedPath, names }, compiled);
      if (found.effect === "deny") findings.push({ access, found });
      continue;
    }
    // Until the workspace has expanded it, a path such as `link/../file` may differ from the one that the shell opens.
    const place = shell?.state === "pending" ? undefined : resolvedPath;
    const judged = settle(access, judgeAccess({ toolName, access, resolved: place, names }, compiled));
    const found = shell?.state === "walked" ? leaveToPerson(judged) : judged;
    if (shell?.role === "argument") add(shell, found);
    if (shell?.role !== "argument" || !isForCommand(found, shell)) findings.push({ access, found });
  }
  const commands = accesses.filter((access) => access.kind === "command");
  const judged = commands.map((access) => ({
    access,
    found: judgeCommand(toolName, access.command, { compiled, reads, files, sandboxed, tracksHidden, repositories }),
  }));
  return [...judged, ...findings];
}

/** Returns how a command that may change something uses a file; undefined for other files. */
function usesOf({ role, state, walk }: ShellPath): AccessRequest["use"] {
  if (role === "target" || role === "replaced") return role === "target" ? "write" : "replace";
  if (role !== "operand") return undefined;
  if (state !== "changed") return "unknown";
  return walk?.writes === true ? "write" : "replace";
}

/**
 * Returns a function that replaces the finding about a path if another command on the line may change where the path
 * leads. Restrictions on the path in its current state still apply.
 */
function unsettled(request: DecideRequest, compiled: CompiledPolicy): (access: Access, found: Finding) => Finding {
  const { accesses, resolved, policy } = request;
  const [first] = accesses;
  const isGuarded = deniedPlaces(policy, compiled.homes) !== undefined;
  const allowsAll = compiled.allow.some(({ target, coversTool }) => target.kind === "whole" && coversTool("Bash"));
  if (first?.kind !== "command" || (allowsAll && !isGuarded)) return (_, found) => found;
  const places = new Map(resolved.map((place) => [place.requested, place]));
  const isCreated = createdPaths(analyzeCommand(first.command), { placeOf: (path) => places.get(path), isGuarded });
  return (access, found) => {
    if (found.effect === "deny" || !("path" in access)) return found;
    if (!isCreated(access.path, "shell" in access ? access.shell : undefined)) return found;
    const reason = `Another command on this line may change where ${access.path} leads. Run the commands one by one.`;
    return { ...builtin(isGuarded ? "insist" : "open", CREATED_PATH, reason), mayEvade: compiled.deniesPaths };
  };
}

/**
 * Asks for approval instead of denying a command that would also read a denied file. The command does not name the
 * file, so reading that file is not its purpose.
 */
function leaveToPerson(finding: Finding): Finding {
  if (finding.effect !== "deny") return finding;
  const reason = `The command would also reach a file that a rule denies. ${finding.reason} The Grep tool skips such files.`;
  return { ...finding, effect: "insist", reason, mayEvade: true };
}

/**
 * Returns true if the decision on the command already covers the finding, because the access is allowed, or because no
 * rule applies to the access and the path, as it is written, may lead outside the workspace.
 */
function isForCommand({ effect, rule }: Finding, { pattern }: ShellPath): boolean {
  if (rule === CREATED_PATH) return false;
  return effect === "allow" || (effect === "open" && /^[/~]|(^|\/)\.\.(\/|$)/.test(pattern));
}

/**
 * Returns the rule that allows exactly this command line. Such a rule also allows the workspace files that the line
 * writes.
 */
function lineRule(toolName: string, [first, ...more]: readonly Access[], compiled: CompiledPolicy) {
  if (first?.kind !== "command" || more.length === 0) return undefined;
  const line = first.command.trim();
  return compiled.allow.find(
    ({ coversTool, target }) => coversTool(toolName) && target.kind === "command" && target.pattern.line === line,
  );
}

const ofUser: ReadonlySet<RuleScope> = new Set(["user", "managed", "flag", "session"]);

const severity: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

function judgeAccess(request: AccessRequest, compiled: CompiledPolicy): Finding {
  const { access, toolName } = request;
  switch (access.kind) {
    case "write":
      if (compiled.policy.mode === "plan") return builtin("deny", "plan", "Files can't be changed in plan mode.");
      return judgePath(request, access, compiled);
    case "read":
    case "search":
      return judgePath(request, access, compiled);
    case "network":
      return judgeNetwork(toolName, access.url, compiled);
    case "agent":
      return judgeAgent(toolName, access, compiled);
    case "skill":
      return judgeSkill(toolName, access.name, compiled);
    case "plan":
      return judgeLeavingPlan(toolName, compiled);
    case "question":
      return judgeQuestion(toolName, compiled);
    case "internal":
      return (
        judgeWhole(toolName, compiled) ?? builtin("allow", "internal", `${toolName} has no effect outside the agent.`)
      );
  }
}

function judgeNetwork(toolName: string, text: string, compiled: CompiledPolicy): Finding {
  const checked = checkUrl(text);
  // A tool that the program defines may use servers on this machine and the local network. WebFetch may not, because
  // its URLs come from the model alone.
  const url = checked.ok ? checked.url : hasKnownAccesses(toolName) ? undefined : checked.localUrl;
  if (url === undefined) return builtin("deny", "malformed address", checked.ok ? "" : checked.reason);
  const host = bareHost(url.hostname);
  const verdict = weighRules(
    compiled,
    (each) =>
      // Built-in agents fetch documentation, which needs no other scheme or port.
      (each.rule.scope !== "builtin" || (url.protocol === "https:" && url.port === "")) &&
      // A rule for a domain applies to every tool that uses the network, just as a rule for a path applies to every
      // tool that uses files.
      (coversWhole(each, toolName, "network") ||
        (each.target.kind === "domain" && matchDomain(each.target.pattern, url.href))),
  );
  if (verdict !== undefined && verdict.effect !== "allow") return byVerdict(verdict, host);
  if (verdict?.rule.rule.scope !== "session" && carriesData(url)) {
    return builtin(
      "insist",
      "data in address",
      `The URL for ${host} contains what looks like a key, or a large amount of data.`,
    );
  }
  if (verdict !== undefined) return byVerdict(verdict, host);
  return builtin("open", "network", `No rule allows fetching from ${host}.`);
}

/** Returns true if the URL seems to contain data, which a fetch would send off the machine. */
function carriesData({ pathname, searchParams }: URL): boolean {
  const values = [...searchParams].flat();
  const names = pathname.split("/");
  return (
    [...values, ...names].some((text) => secret.test(text)) ||
    values.some((text) => isOpaque(text, 64)) ||
    names.some((text) => isOpaque(text, 128))
  );
}

/** Common prefixes of API keys, and names of variables that hold them. */
const secret =
  /\b(sk-[\w-]{16}|gh[pousr]_\w{20}|github_pat_|glpat-|AKIA[A-Z0-9]{12}|AIza[\w-]{30}|xox[abprs]-|eyJ[\w-]{10,}\.eyJ)|[A-Z0-9]_(API_?KEY|ACCESS_KEY|SECRET|TOKEN|PASSWORD)|-----BEGIN/;

function isOpaque(text: string, length: number): boolean {
  return text.length >= length && /^[\w+/=.-]+$/.test(text) && !/[-_.]\w{1,15}[-_.]/.test(text);
}

/** Allows delegation by default, because each of the subagent's calls is judged separately. */
function judgeAgent(toolName: string, access: Access & { readonly kind: "agent" }, compiled: CompiledPolicy): Finding {
  const { agentType, parameters = {}, models } = access;
  const verdict = weighRules(compiled, ({ coversTool, target }) => {
    if (!coversTool(toolName)) return false;
    if (target.kind === "whole") return true;
    if (target.kind === "agent") return target.covers(agentType);
    if (target.kind !== "parameter") return false;
    const values = target.name === "model" ? models : undefined;
    return (values ?? [parameters[target.name]]).some((value) => value !== undefined && target.covers(value));
  });
  if (verdict !== undefined) return byVerdict(verdict, agentType === "" ? "delegating to an agent" : agentType);
  return builtin("allow", "agent", "Delegating to this agent is allowed.");
}

/**
 * Judges a request to leave plan mode. Only a person can approve it, because any change may follow; rules can only deny
 * it.
 */
function judgeLeavingPlan(toolName: string, compiled: CompiledPolicy): Finding {
  const found = judgeWhole(toolName, compiled);
  if (found?.effect === "deny") return found;
  if (compiled.policy.mode !== "plan") return builtin("allow", "internal", "Plan mode is not on.");
  return { effect: "insist", rule: PLAN_APPROVAL, scope: "session", reason: "The user has to approve the plan." };
}

/**
 * Judges a question to the user. A rule that allowed the question would leave it unanswered, so rules can only deny it.
 */
function judgeQuestion(toolName: string, compiled: CompiledPolicy): Finding {
  const found = judgeWhole(toolName, compiled);
  if (found?.effect === "deny") return found;
  return builtin("insist", USER_QUESTION, "The agent is asking you to decide.");
}

/** Allows skills by default, because they are text that the user or a trusted project wrote. */
function judgeSkill(toolName: string, name: string, compiled: CompiledPolicy): Finding {
  const verdict = weighRules(
    compiled,
    ({ coversTool, target }) =>
      coversTool(toolName) && (target.kind === "whole" || (target.kind === "skill" && target.covers(name))),
  );
  return verdict ? byVerdict(verdict, name) : builtin("allow", "skill", "Loading a skill has no side effects.");
}

/** Judges tools without known accesses. Only a rule for the whole tool can allow these tools. */
function judgeUndescribed(toolName: string, compiled: CompiledPolicy): Finding {
  if (hasKnownAccesses(toolName)) {
    return builtin("deny", "unusable input", `The input does not specify what ${toolName} would access.`);
  }
  const found = judgeWhole(toolName, compiled);
  if (found?.effect === "allow" || found?.effect === "deny") return found;
  if (compiled.policy.mode === "plan" && toolName !== "WebSearch") {
    return builtin("deny", "plan", `In plan mode, ${toolName} can be used only if a rule allows it.`);
  }
  return found ?? builtin("open", "tool", `No rule allows ${toolName}.`);
}

function judgeWhole(toolName: string, compiled: CompiledPolicy): Finding | undefined {
  const verdict = weighRules(compiled, ({ coversTool, target }) => target.kind === "whole" && coversTool(toolName));
  return verdict && byVerdict(verdict, toolName);
}

function applyMode(finding: Finding, { policy }: CompiledPolicy): Decision {
  const { effect, reason } = finding;
  if (effect === "allow" || effect === "deny") return asDecision(finding, effect);
  if (policy.mode === "dontAsk")
    return asDecision(finding, "deny", `${reason} The dontAsk mode denies calls that need approval.`);
  if (effect === "open" && policy.mode === "bypassPermissions") {
    return {
      effect: "allow",
      rule: "bypassPermissions",
      scope: "builtin",
      reason: "The bypassPermissions mode allows everything that no rule restricts.",
    };
  }
  if (policy.unattended)
    return asDecision(finding, "deny", `${reason} This needs approval, and no one can approve it in this run.`);
  return asDecision(finding, "ask");
}
