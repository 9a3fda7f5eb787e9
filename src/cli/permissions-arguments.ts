import { nearest } from "../lib/index.ts";
import type { Command } from "./command.ts";
import { type OptionKind, readOptions, usageError } from "./read-options.ts";
import { settingsOptions, settingsQuestion } from "./settings-options.ts";

/** The words after `retinue permissions`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parsePermissions(argv: readonly string[]): Command {
  const [first = "list"] = argv;
  const verb = first.startsWith("-") ? "list" : first;
  if (verb === "help") return { kind: "help", topic: "permissions" };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) {
    const meant = nearest(verb, Object.keys(verbs))[0];
    const cure = meant === undefined ? "There are list and check." : `Did you mean "${meant}"?`;
    throw usageError(`"permissions" has no command "${verb}"`, cure);
  }
  const options = readOptions(verb === first ? argv.slice(1) : argv, { kinds, help: "retinue permissions --help" });
  if (options.has("help")) return { kind: "help", topic: "permissions" };
  const [word] = options.words;
  if (word !== undefined) {
    throw usageError(`"permissions ${verb}" does not take "${word}"`, 'See "retinue permissions --help".');
  }
  if (verb === "check") {
    if (!options.has("jsonl")) throw usageError('"permissions check" reads rows', "Add --jsonl, and give it the rows.");
    const root = options.value("root");
    return { kind: "permissions.check", ...(root === undefined ? {} : { root }) };
  }
  return { kind: "permissions.list", ...settingsQuestion(options) };
}

const help: OptionKind = { short: "h" };
const verbs: Readonly<Record<string, Readonly<Record<string, OptionKind>>>> = {
  list: settingsOptions,
  check: { jsonl: {}, root: { value: "DIRECTORY" }, help },
};
