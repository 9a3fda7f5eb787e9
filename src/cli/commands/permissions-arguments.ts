import type { Command } from "../command.ts";
import { type OptionKind, usageError } from "../read-options.ts";
import { readVerb, type Verbs } from "../read-verb.ts";
import { settingsOptions, settingsQuestion } from "./settings-options.ts";

/** The words after `retinue permissions`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parsePermissions(argv: readonly string[]): Command {
  const read = readVerb("permissions", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
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
const verbs: Verbs = {
  list: settingsOptions,
  check: { jsonl: {}, root: { value: "DIRECTORY" }, help },
};
