import { nearest } from "../lib/index.ts";
import type { Command } from "./command.ts";
import { type OptionKind, readOptions, usageError } from "./read-options.ts";

/** The words after `retinue plugins`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parsePlugins(argv: readonly string[]): Command {
  const [first = "list"] = argv;
  const verb = first.startsWith("-") ? "list" : first;
  if (verb === "help") return { kind: "help", topic: "plugins" };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) {
    const meant = nearest(verb, Object.keys(verbs))[0];
    const cure = meant === undefined ? "There are list, add, remove, enable and disable." : `Did you mean "${meant}"?`;
    throw usageError(`"plugins" has no command "${verb}"`, cure);
  }
  const options = readOptions(verb === first ? argv.slice(1) : argv, { kinds, help: "retinue plugins --help" });
  if (options.has("help")) return { kind: "help", topic: "plugins" };
  const [word, ...more] = options.words;
  if (verb === "list") {
    if (word !== undefined) throw usageError('"plugins list" takes no name', 'Write "retinue plugins list".');
    return { kind: "plugins.list", json: options.has("json") };
  }
  const what = verb === "add" ? "a directory or the address of a repository" : "the name of a plugin";
  if (word === undefined) throw usageError(`"plugins ${verb}" needs ${what}`, 'See "retinue plugins --help".');
  if (more.length > 0) throw usageError(`"plugins ${verb}" takes one at a time`, `Leave out "${more.join(" ")}".`);
  const yes = options.has("yes");
  if (verb === "add") return { kind: "plugins.add", source: word, yes };
  return { kind: `plugins.${verb as "remove" | "enable" | "disable"}`, name: word, yes };
}

const help: OptionKind = { short: "h" };
const yes: OptionKind = { short: "y" };
const verbs: Readonly<Record<string, Readonly<Record<string, OptionKind>>>> = {
  list: { json: {}, help },
  add: { yes, help },
  remove: { yes, help },
  enable: { yes, help },
  disable: { help },
};
