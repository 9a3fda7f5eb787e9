import { gitSubcommand } from "../git-contents.ts";
import { versionQuestion } from "../programs/effects-of.ts";
import { listedGit } from "../programs/git.ts";
import { programOf, type SimpleCommand } from "../shell-analysis.ts";

/**
 * Returns true for a command that may run without approval even without a sandbox, if its table of options says that
 * each of its arguments only reads. The list is short on purpose (docs/decisions/0030): on every system, these programs
 * do nothing but print what the named options say.
 */
export function isListed(command: SimpleCommand): boolean {
  const name = programOf(command);
  if (name === "git") return listedGit.has(gitSubcommand(command)?.name ?? "") || asksVersion(command);
  // `command ls` runs another program; `command -v ls` does not.
  return (listed.has(name) && command.runs === undefined) || asksVersion(command);
}

function asksVersion(command: SimpleCommand): boolean {
  return versionQuestion(programOf(command), command.words)?.length === 0;
}

/** Programs, except git, that may run without a sandbox. */
export const listed: ReadonlySet<string> = new Set(
  [
    "ls cat head tail wc grep egrep fgrep rg find pwd echo printf true false : test [ exit return break continue cd seq sleep",
    "basename dirname readlink realpath date stat file du tree sort uniq cut tr comm paste diff cmp nl tac rev column jq sed",
    "which type command uname whoami id hostname md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum",
  ].flatMap((line) => line.split(" ")),
);
