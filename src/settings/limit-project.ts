import { createHash } from "node:crypto";
import { canonicalJson, isRecord } from "../lib/index.ts";
import type { Approval } from "../protocol/index.ts";

/** The user's trust in a project, and the approved parts of its files. */
export interface ProjectTrust {
  readonly trusted: boolean;
  /** Returns the hash that the user approved for a part. Without this function, any content counts as approved. */
  readonly approvedHash?: ((kind: string, name: string) => string | undefined) | undefined;
}

export interface ProjectLimits extends ProjectTrust {
  /** Path of the file relative to the project. */
  readonly name: string;
}

export interface LimitedProject {
  readonly values: Record<string, unknown>;
  /** Keys that are ignored because the project is not trusted. */
  readonly off: readonly string[];
  /** Keys that are ignored because they have changed since they were approved. */
  readonly changed: readonly string[];
  /** Keys that are ignored because they were never approved. */
  readonly unapproved: readonly string[];
  /** Keys that no project may set, trusted or not. */
  readonly refused: readonly string[];
  readonly approvals: readonly Approval[];
}

/** Returns the part of a project's file that takes effect. `deny` and `ask` rules always take effect. */
export function limitProject(file: Record<string, unknown>, limits: ProjectLimits): LimitedProject {
  const restrictions = restrictionsOf(file);
  if (!limits.trusted) return limitUntrusted(file, limits);
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

/**
 * Returns the part of a file in an untrusted project that takes effect: its `deny` and `ask` rules, and its other
 * permissions if the user has approved exactly these, by saving a rule there.
 */
function limitUntrusted(file: Record<string, unknown>, { name, approvedHash }: ProjectLimits): LimitedProject {
  const { values } = withoutForbidden(file);
  const approval = approvalsOf(values, name).find(({ kind }) => kind === "permissions");
  const isApproved = approval !== undefined && approvedHash?.("permissions", name) === approval.hash;
  const off = grantsOf(file).filter((key) => !isApproved || !key.startsWith("permissions."));
  const kept = isApproved ? { permissions: values["permissions"] } : restrictionsOf(file);
  return { values: kept, off, changed: [], unapproved: [], refused: [], approvals: [] };
}

/**
 * Keys that would run a program, send data or keys elsewhere, weaken a safeguard or answer a question on the user's
 * behalf.
 */
const forbidden: ReadonlySet<string> = new Set([
  "apiKeyHelper",
  "awsAuthRefresh",
  "awsCredentialExport",
  "gcpAuthRefresh",
  "otelHeadersHelper",
  "proxyAuthHelper",
  "sandbox",
  "environment",
  "enableAllProjectMcpServers",
  "enabledMcpjsonServers",
  "disableAllHooks",
  "providers",
  "search",
  "cleanupPeriodDays",
  "skipDangerousModePermissionPrompt",
]);

/** Variables that redirect traffic, change which program runs, or contain credentials. */
const forbiddenVariable =
  /^(?:ANTHROPIC|OPENAI|CLAUDE|RETINUE|OTEL|AWS|GOOGLE|AZURE|NODE|NPM|GIT|LD|DYLD|SSL|BASH|SSH|LESS|PYTHON|RUBY|PERL|JAVA)_|_(?:BASE_?URL|PROXY|ENDPOINT|API_KEY|TOKEN|CERT|CA_BUNDLE)$|^(?:PATH|HOME|SHELL|ENV|IFS|EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|TMPDIR|BASHOPTS|SHELLOPTS|RUBYOPT|PERL5OPT|PERL5LIB|XDG_.*)$/i;

/** Keys that need the user's approval. */
const bound: readonly string[] = [
  "permissions",
  "hooks",
  "env",
  "statusLine",
  "fileSuggestion",
  "agent",
  "agents",
  "mcpServers",
];

function withoutForbidden(file: Record<string, unknown>): { values: Record<string, unknown>; refused: string[] } {
  const refused = Object.keys(file).filter((key) => forbidden.has(key));
  const values = copyWithout(file, (key) => forbidden.has(key));
  const { permissions, env, agents } = values;
  if (isRecord(permissions) && permissions["defaultMode"] === "bypassPermissions") {
    refused.push('permissions.defaultMode "bypassPermissions"');
    values["permissions"] = copyWithout(permissions, (key) => key === "defaultMode");
  }
  if (isRecord(agents) && Array.isArray(agents["replaceBuiltIns"])) {
    refused.push("agents.replaceBuiltIns");
    values["agents"] = copyWithout(agents, (key) => key === "replaceBuiltIns");
  }
  if (isRecord(env)) {
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

/**
 * Returns the keys that can only make permissions stricter. Invalid values are kept, so that the check reports them.
 */
function restrictionsOf({ permissions }: Record<string, unknown>): Record<string, unknown> {
  if (permissions === undefined) return {};
  if (!isRecord(permissions)) return { permissions };
  const kept = copyWithout(permissions, (key) => !restricting.has(key));
  return Object.keys(kept).length === 0 ? {} : { permissions: kept };
}

const restricting: ReadonlySet<string> = new Set(["deny", "ask"]);

function permissionGrants(permissions: unknown): unknown {
  if (!isRecord(permissions)) return undefined;
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

/** Hashes a JSON value regardless of the order of its keys, so that formatting does not affect an approval. */
export function hashApproval(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
