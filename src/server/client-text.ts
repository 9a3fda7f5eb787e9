/** Rewrites a message for the server's clients. Other modules name library options, such as "the `model` option". */
export function clientText(message: string): string {
  return message.replace(/the `(\w+)` option/g, (_, name: string) => otherOptions[name] ?? `the \`${name}\` field`);
}

/** Replacements for options that clients can't set. */
const otherOptions: Readonly<Record<string, string>> = {
  cwd: "the directory on the server's machine",
  provider: "`provider` in the server's settings",
  trusted: "`retinue trust add`",
};
