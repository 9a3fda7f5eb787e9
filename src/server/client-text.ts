/**
 * Rewrites a message for the server's clients. Messages from other modules mention library options, such as "the
 * `model` option", which are fields in requests or can't be set by clients.
 */
export function clientText(message: string): string {
  return message
    .replaceAll(", or for one run with the `trusted` option", "")
    .replaceAll("To trust it for one run, use the `trusted` option", "To trust it, run `retinue trust add`")
    .replace(/the `(\w+)(?:: [^`]+)?` option/g, (_, name: string) => otherOptions[name] ?? `the \`${name}\` field`);
}

/** Replacements for options that clients can't set. */
const otherOptions: Readonly<Record<string, string>> = {
  cwd: "the directory on the server's machine",
  provider: "`provider` in the server's settings",
};
