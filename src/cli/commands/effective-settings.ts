import { stripControls } from "../../lib/index.ts";
import type { SettingsOrigin } from "../../protocol/index.ts";

/** `path = value`, a line each, if asked with where it comes from. */
export function renderOrigins(origins: readonly SettingsOrigin[], { origin }: { readonly origin: boolean }): string {
  return origins
    .map(({ path, value, scope, file }) => {
      const from = origin ? `   (${scope}${file === undefined ? "" : `, ${file}`})` : "";
      return `${stripControls(`${path} = ${JSON.stringify(withoutSecrets(value, path))}${from}`)}\n`;
    })
    .join("");
}

/** The same value, with what looks like a key or a password left out. */
export function withoutSecrets(value: unknown, path = ""): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each, path));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, withoutSecrets(each, `${path}.${key}`)]),
    );
  }
  return typeof value === "string" && isSecret(path) ? "…" : value;
}

function isSecret(path: string): boolean {
  const name = path.slice(path.search(/[^.]*$/));
  if (/\.headers[.[]/.test(path)) return true;
  return /key|token|secret|passw|credential|authorization/i.test(name) && !/env$|helper$/i.test(name);
}
