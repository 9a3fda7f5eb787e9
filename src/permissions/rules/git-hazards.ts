import { isNetworkRepository } from "../../lib/index.ts";
import type { GitRepository } from "../../protocol/index.ts";
import { gitSubcommand } from "../shell/git-contents.ts";
import { git } from "../shell/programs/git.ts";
import { sortArguments } from "../shell/programs/read-arguments.ts";
import { programOf, type SimpleCommand } from "../shell/shell-analysis.ts";
import type { ShellWord } from "../shell/shell-word.ts";

/** The repositories that git would use, by the pattern of the directory in which it would run. */
export type GitRepositories = ReadonlyMap<string, GitRepository>;

/**
 * Explains why wildcards must not cover a git command: it would use another repository, whose settings and hooks the
 * user has not allowed to run. That may be the one in which git runs, or a remote at a path on this machine.
 */
export function gitHazard(
  command: SimpleCommand,
  wild: readonly ShellWord[],
  repositories: GitRepositories | undefined,
): string | undefined {
  if (repositories === undefined || programOf(command) !== "git") return undefined;
  for (const directory of command.directories ?? ["?"]) {
    const repository = repositories.get(directory);
    if (repository === undefined) return "only the shell knows in which directory git would run";
    const hazard = repository.detour ?? otherHazard(command, repository) ?? remoteHazard(command, wild, repository);
    if (hazard !== undefined) return hazard;
  }
  return undefined;
}

function otherHazard(command: SimpleCommand, { todo, fetchesSubmodules }: GitRepository): string | undefined {
  const name = gitSubcommand(command)?.name ?? "";
  if (fetchesSubmodules && /^(fetch|pull)$/.test(name))
    return ".gitmodules makes git fetch in submodules, which have their own settings";
  return todo && name === "rebase" ? `an unfinished rebase would run the commands in ${todo}` : undefined;
}

function remoteHazard(
  command: SimpleCommand,
  wild: readonly ShellWord[],
  { remotes, localRemotes, usualRemotes }: GitRepository,
): string | undefined {
  const subcommand = gitSubcommand(command);
  if (subcommand === undefined || !remoteUsers.has(subcommand.name)) return undefined;
  const { name, from, given, globals } = subcommand;
  const isShow = name === "remote";
  if (isShow && given[0]?.text !== "show") return undefined;
  if (globals.some(({ text }) => /^(-[Cc]|--(git|work|config|exec|name))/.test(text)))
    return "an option of git may change what its remotes are";
  const { operands, options } = sortArguments(git.commands!.get(name)!, command.words, { from, name });
  const words = isShow
    ? given.slice(1).filter(({ text }) => !text.startsWith("-"))
    : operands.slice(0, 1).map(({ word }) => word);
  const isOnNetwork = (text: string): boolean =>
    remotes.includes(text) || (!localRemotes.includes(text) && isNetworkRepository(text));
  const covered = words.filter((word) => wild.includes(word)).map(({ text }) => text);
  const isAll = name === "fetch" && options.some(({ option }) => option === "--all");
  const used = isAll ? localRemotes : words.length === 0 && !isShow ? usualRemotes : covered;
  const local = used.find((text) => text !== "." && !isOnNetwork(text));
  return (
    local && `git would run the hooks and settings of the repository ${local}, which is not known to be on the network`
  );
}

/** Commands that connect to another repository and that wildcards can cover. */
const remoteUsers = new Set("push fetch pull ls-remote clone remote".split(" "));
