import { maskAddresses } from "../lib/index.ts";
import type { SettingsOrigin } from "../protocol/index.ts";

interface Hiding {
  /** Whether to show environment variables, which a person who trusts a directory must see. */
  readonly showEnv?: boolean | undefined;
}

/** Returns the same origins without secrets. */
export function originsWithoutSecrets(
  origins: readonly SettingsOrigin[],
  options: Hiding = {},
): readonly SettingsOrigin[] {
  return origins.map((each, index) => {
    const before = /\[\d+\]$/.test(each.path) ? origins[index - 1]?.value : undefined;
    return { ...each, value: isSecretOption(before) ? "…" : withoutSecrets(each.value, each.path, options) };
  });
}

/**
 * Returns the same value with "…" in place of headers, environment variables, logins and queries in URLs, and anything
 * that looks like a key or a password.
 */
export function withoutSecrets<T>(value: T, path = "", options: Hiding = {}): T {
  return hide(value, path, options) as T;
}

function hide(value: unknown, path: string, options: Hiding): unknown {
  if (Array.isArray(value))
    return value.map((each, index) => (isSecretOption(value[index - 1]) ? "…" : hide(each, path, options)));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, hide(each, path === "" ? key : `${path}.${key}`, options)]),
    );
  }
  if (typeof value !== "string") return value;
  return isSecret(path, options) || knownKey.test(value) ? "…" : withoutSecretParts(value);
}

function isSecret(path: string, { showEnv = false }: Hiding): boolean {
  const name = path.slice(path.lastIndexOf(".") + 1);
  if (/(^|\.)headers[.[]/.test(path) || (!showEnv && /(^|\.)env[.[]/.test(path))) return true;
  return secretName.test(name) && !/env$|helper$/i.test(name);
}

/** Prefixes of keys that services issue. */
const knownKey = /\b(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|npm_)\w/;

const secretName = /key|token|secret|passw|credential|authorization/i;

/** Returns true for an option such as `--token`, whose value is the next argument. */
function isSecretOption(argument: unknown): boolean {
  return typeof argument === "string" && /^--?[\w-]+$/.test(argument) && secretName.test(argument);
}

/** Hides the value of an option such as `--token=…`, and the credentials and query values in URLs. */
function withoutSecretParts(text: string): string {
  const [, option] = /^(--?[\w-]+=)/.exec(text) ?? [];
  if (option !== undefined && secretName.test(option)) return `${option}…`;
  return maskAddresses(text);
}
