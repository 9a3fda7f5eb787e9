/**
 * Returns the same value with "…" in place of every string whose name says that it is a key or a password. With
 * `strict`, also in place of values of environment variables, strings that contain a key of a known form, and logins in
 * URLs. A person who approves settings must see them, so they are not shown strictly.
 */
export function withoutSecrets(value: unknown, path = "", { strict = false } = {}): unknown {
  const inside = (each: unknown, name: string): unknown => withoutSecrets(each, name, { strict });
  if (Array.isArray(value)) return value.map((each) => inside(each, path));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inside(each, `${path}.${key}`)]));
  }
  if (typeof value !== "string") return value;
  if (isSecret(path)) return "…";
  if (!strict) return value;
  if (/(^|\.)env\./.test(path) || knownKey.test(value)) return "…";
  return value.replace(loginInUrl, "$1…@");
}

function isSecret(path: string): boolean {
  const name = path.slice(path.search(/[^.]*$/));
  if (/\.headers[.[]/.test(path)) return true;
  return /key|token|secret|passw|credential|authorization/i.test(name) && !/env$|helper$/i.test(name);
}

/** Prefixes of keys that services issue. */
const knownKey = /\b(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|npm_)\w/;
const loginInUrl = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/?#\s@]+@/gi;
