import { nearest } from "../lib/index.ts";
import type { Command } from "./command.ts";
import { type OptionKind, readOptions, usageError } from "./read-options.ts";

/** The words after `retinue worktrees`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseWorktrees(argv: readonly string[]): Command {
  const [first = "list"] = argv;
  const verb = first.startsWith("-") ? "list" : first;
  if (verb === "help") return { kind: "help", topic: "worktrees" };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) {
    const meant = nearest(verb, Object.keys(verbs))[0];
    const cure = meant === undefined ? "There are list and prune." : `Did you mean "${meant}"?`;
    throw usageError(`"worktrees" has no command "${verb}"`, cure);
  }
  const options = readOptions(verb === first ? argv.slice(1) : argv, { kinds, help: "retinue worktrees --help" });
  if (options.has("help")) return { kind: "help", topic: "worktrees" };
  const [word] = options.words;
  if (word !== undefined) {
    throw usageError(`"worktrees ${verb}" does not take "${word}"`, 'See "retinue worktrees --help".');
  }
  const json = options.has("json");
  if (verb === "list") return { kind: "worktrees.list", json };
  return { kind: "worktrees.prune", json, dryRun: options.has("dry-run") };
}

const help: OptionKind = { short: "h" };
const verbs: Readonly<Record<string, Readonly<Record<string, OptionKind>>>> = {
  list: { json: {}, help },
  prune: { json: {}, "dry-run": {}, help },
};
