import type { Command } from "../command.ts";
import { type OptionKind, usageError } from "../read-options.ts";
import { readVerb, type Verbs } from "../read-verb.ts";

/** The words after `retinue plugins`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parsePlugins(argv: readonly string[]): Command {
  const read = readVerb("plugins", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
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
const verbs: Verbs = {
  list: { json: {}, help },
  add: { yes, help },
  remove: { yes, help },
  enable: { yes, help },
  disable: { help },
};
