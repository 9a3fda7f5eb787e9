/** Rewrites a message for clients of the server. Other modules name the options of the library: "the option `model`". */
export function clientText(message: string): string {
  return message.replace(/the option `(\w+)`/g, (_, name: string) => otherOptions[name] ?? `the field \`${name}\``);
}

/** Where the options are set that clients can't choose. */
const otherOptions: Readonly<Record<string, string>> = {
  cwd: "the directory on the machine of the server",
  provider: "`provider` in the settings of the server",
  trusted: "`retinue trust add`",
};
