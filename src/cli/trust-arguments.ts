import { nearest } from "../lib/index.ts";
import type { Command } from "./command.ts";
import { type OptionKind, readOptions, usageError } from "./read-options.ts";
import { settingsOptions, settingsQuestion } from "./settings-options.ts";

/** The words after `retinue trust`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseTrust(argv: readonly string[]): Command {
  const [first = "list"] = argv;
  const verb = first.startsWith("-") ? "list" : first;
  if (verb === "help") return { kind: "help", topic: "trust" };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) {
    const meant = nearest(verb, Object.keys(verbs))[0];
    const cure = meant === undefined ? "There are list, add and remove." : `Did you mean "${meant}"?`;
    throw usageError(`"trust" has no command "${verb}"`, cure);
  }
  const options = readOptions(verb === first ? argv.slice(1) : argv, { kinds, help: "retinue trust --help" });
  if (options.has("help")) return { kind: "help", topic: "trust" };
  const [directory = ".", ...more] = options.words;
  if (verb === "list") {
    if (options.words.length > 0) throw usageError('"trust list" takes no directory', 'Write "retinue trust list".');
    return { kind: "trust.list", json: options.has("json") };
  }
  if (more.length > 0) throw usageError(`"trust ${verb}" takes one directory`, "Name one at a time.");
  return { kind: verb === "add" ? "trust.add" : "trust.remove", directory };
}

/** The words after `retinue config`. */
export function parseConfig(argv: readonly string[]): Command {
  const [first = "show"] = argv;
  const verb = first.startsWith("-") ? "show" : first;
  if (verb === "help") return { kind: "help", topic: "config" };
  if (verb !== "show") throw usageError(`"config" has no command "${verb}"`, 'Write "retinue config show".');
  const options = readOptions(verb === first ? argv.slice(1) : argv, {
    kinds: settingsOptions,
    help: "retinue config --help",
  });
  if (options.has("help")) return { kind: "help", topic: "config" };
  const [word] = options.words;
  if (word !== undefined) throw usageError(`"config show" does not take "${word}"`, 'See "retinue config --help".');
  return { kind: "config.show", ...settingsQuestion(options) };
}

const help: OptionKind = { short: "h" };
const verbs: Readonly<Record<string, Readonly<Record<string, OptionKind>>>> = {
  list: { json: {}, help },
  add: { help },
  remove: { help },
};
