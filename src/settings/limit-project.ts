import { hashApproval } from "./hash-approval.ts";

/** Something in a project's files that counts only as long as it is what the user approved. */
export interface Approval {
  readonly kind: string;
  /** The file, relative to the project; or the name of a server. */
  readonly name: string;
  readonly hash: string;
}

export interface ProjectLimits {
  readonly trusted: boolean;
  /** The file's name relative to the project. */
  readonly name: string;
  /** Absent: whatever stands there now is approved. */
  readonly approvedHash?: ((kind: string, name: string) => string | undefined) | undefined;
}

export interface LimitedProject {
  readonly values: Record<string, unknown>;
  /** Off because the project is not trusted, or changed since. */
  readonly off: readonly string[];
  readonly changed: readonly string[];
  /** Nobody said yes to these yet. */
  readonly unapproved: readonly string[];
  /** What no project may say, trusted or not. */
  readonly refused: readonly string[];
  readonly approvals: readonly Approval[];
}

/** What of a project's file counts. Its `deny` and `ask` always do. */
export function limitProject(file: Record<string, unknown>, limits: ProjectLimits): LimitedProject {
  const restrictions = restrictionsOf(file);
  if (!limits.trusted) {
    return { values: restrictions, off: grantsOf(file), changed: [], unapproved: [], refused: [], approvals: [] };
  }
  const { values, refused } = withoutForbidden(file);
  const approvals = approvalsOf(values, limits.name);
  const { approvedHash } = limits;
  const others = approvals.filter(({ kind, name, hash }) => approvedHash && approvedHash(kind, name) !== hash);
  for (const { kind } of others) {
    if (kind !== "permissions") delete values[kind];
    else if (restrictions["permissions"] === undefined) delete values["permissions"];
    else values["permissions"] = restrictions["permissions"];
  }
  const isNew = ({ kind, name }: Approval): boolean => approvedHash?.(kind, name) === undefined;
  const kindsOf = (some: readonly Approval[]): readonly string[] => some.map(({ kind }) => kind);
  return {
    values,
    off: [],
    changed: kindsOf(others.filter((each) => !isNew(each))),
    unapproved: kindsOf(others.filter(isNew)),
    refused,
    approvals,
  };
}

/** Keys that would run a program, send data or keys elsewhere, weaken a guard or answer a question on the user's behalf. */
const forbidden: ReadonlySet<string> = new Set([
  "apiKeyHelper",
  "awsAuthRefresh",
  "awsCredentialExport",
  "gcpAuthRefresh",
  "otelHeadersHelper",
  "proxyAuthHelper",
  "sandbox",
  "enableAllProjectMcpServers",
  "enabledMcpjsonServers",
  "disableAllHooks",
  "providers",
  "search",
  "cleanupPeriodDays",
  "skipDangerousModePermissionPrompt",
]);

/** Variables that lead traffic elsewhere, change which program runs, or hold what is the user's. */
const forbiddenVariable =
  /^(?:ANTHROPIC|OPENAI|CLAUDE|RETINUE|OTEL|AWS|GOOGLE|AZURE|NODE|NPM|GIT|LD|DYLD|SSL|BASH|SSH|LESS|PYTHON|RUBY|PERL|JAVA)_|_(?:BASE_?URL|PROXY|ENDPOINT|API_KEY|TOKEN|CERT|CA_BUNDLE)$|^(?:PATH|HOME|SHELL|ENV|IFS|EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|TMPDIR|BASHOPTS|SHELLOPTS|RUBYOPT|PERL5OPT|PERL5LIB|XDG_.*)$/i;

/** Parts of a file that are bound to what the user saw. */
const bound: readonly string[] = [
  "permissions",
  "hooks",
  "env",
  "statusLine",
  "fileSuggestion",
  "agents",
  "mcpServers",
];

function withoutForbidden(file: Record<string, unknown>): { values: Record<string, unknown>; refused: string[] } {
  const refused = Object.keys(file).filter((key) => forbidden.has(key));
  const values = copyWithout(file, (key) => forbidden.has(key));
  const { permissions, env, agents } = values;
  if (isMapping(permissions) && permissions["defaultMode"] === "bypassPermissions") {
    refused.push('permissions.defaultMode "bypassPermissions"');
    values["permissions"] = copyWithout(permissions, (key) => key === "defaultMode");
  }
  if (isMapping(agents) && Array.isArray(agents["replaceBuiltIns"])) {
    refused.push("agents.replaceBuiltIns");
    values["agents"] = copyWithout(agents, (key) => key === "replaceBuiltIns");
  }
  if (isMapping(env)) {
    const names = Object.keys(env).filter((name) => forbiddenVariable.test(name));
    refused.push(...names.map((name) => `env.${name}`));
    if (names.length > 0) values["env"] = copyWithout(env, (name) => forbiddenVariable.test(name));
  }
  return { values, refused };
}

function approvalsOf(values: Record<string, unknown>, name: string): Approval[] {
  return bound.flatMap((kind) => {
    if (!Object.hasOwn(values, kind)) return [];
    const value = kind === "permissions" ? permissionGrants(values[kind]) : values[kind];
    return value === undefined ? [] : [{ kind, name, hash: hashApproval(value) }];
  });
}

/** Only what can tighten. What is not of the right shape stays, so that the check speaks of it. */
function restrictionsOf({ permissions }: Record<string, unknown>): Record<string, unknown> {
  if (permissions === undefined) return {};
  if (!isMapping(permissions)) return { permissions };
  const kept = copyWithout(permissions, (key) => !restricting.has(key));
  return Object.keys(kept).length === 0 ? {} : { permissions: kept };
}

const restricting: ReadonlySet<string> = new Set(["deny", "ask"]);

function permissionGrants(permissions: unknown): unknown {
  if (!isMapping(permissions)) return undefined;
  const grants = copyWithout(permissions, (key) => restricting.has(key));
  return Object.keys(grants).length === 0 ? undefined : grants;
}

function grantsOf(file: Record<string, unknown>): string[] {
  return Object.keys(file).flatMap((key) => {
    if (key === "$schema") return [];
    if (key !== "permissions") return [key];
    return Object.keys((permissionGrants(file[key]) as object | undefined) ?? {}).map((name) => `permissions.${name}`);
  });
}

function copyWithout(object: Record<string, unknown>, leaves: (key: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !leaves(key)));
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
