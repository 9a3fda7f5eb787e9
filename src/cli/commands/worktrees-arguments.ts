import type { Command } from "../command.ts";
import { type OptionKind, usageError } from "../read-options.ts";
import { readVerb, type Verbs } from "../read-verb.ts";

/** The words after `retinue worktrees`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseWorktrees(argv: readonly string[]): Command {
  const read = readVerb("worktrees", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  const [word] = options.words;
  if (word !== undefined) {
    throw usageError(`"worktrees ${verb}" does not take "${word}"`, 'See "retinue worktrees --help".');
  }
  const json = options.has("json");
  if (verb === "list") return { kind: "worktrees.list", json };
  return { kind: "worktrees.prune", json, dryRun: options.has("dry-run") };
}

const help: OptionKind = { short: "h" };
const verbs: Verbs = {
  list: { json: {}, help },
  prune: { json: {}, "dry-run": {}, help },
};
