import type { Command } from "../command.ts";
import { type OptionKind, usageError } from "../read-options.ts";
import { readVerb, type Verbs } from "../read-verb.ts";
import { settingsOptions, settingsQuestion } from "./settings-options.ts";

/** The words after `retinue trust`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseTrust(argv: readonly string[]): Command {
  const read = readVerb("trust", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
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
  const read = readVerb("config", argv, { verbs: { show: settingsOptions } });
  if ("kind" in read) return read;
  const { options } = read;
  const [word] = options.words;
  if (word !== undefined) throw usageError(`"config show" does not take "${word}"`, 'See "retinue config --help".');
  return { kind: "config.show", ...settingsQuestion(options) };
}

const help: OptionKind = { short: "h" };
const verbs: Verbs = {
  list: { json: {}, help },
  add: { help },
  remove: { help },
};
