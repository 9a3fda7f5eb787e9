import { protectedPart } from "./protected-path.ts";
import { baseName, launchers } from "./shell-words.ts";

/**
 * Why a wildcard of a rule does not stand for these words, or undefined. Whoever allows `git log:*` did not mean
 * `git log --output=…`: what runs another program or reaches outside the workspace needs a rule that says so in full.
 */
export function wildcardHazard(
  words: readonly string[],
  open: readonly string[],
  roots: readonly string[],
): string | undefined {
  const name = baseName(words[0] ?? "");
  const further = words.slice(1);
  if (launchers.has(name) && !(name === "find" && further.every((word) => !findActions.test(word))))
    return `${name} runs other programs`;
  if (evaluating.has(name)) return `${name} can evaluate its arguments`;
  for (const word of open) {
    if (word.includes("$(") || word.includes("`")) return "an argument contains a command substitution";
    const reach = reachOf(word, roots);
    if (reach !== undefined) return reach;
  }
  const options = open.filter((word) => word.startsWith("-"));
  if (anyOption.has(name) && options.length > 0) return `an option of ${name} can read or write other places`;
  if (name === "git") return gitHazard(further, open);
  if (name === "tar" && options.some((word) => tarPrograms.test(word))) return "tar would run a program";
  if (destroyers.has(name) && open.some((word) => /^[./]*$/.test(word)))
    return `${name} would reach the whole directory`;
  return undefined;
}

const findActions = /^-(exec|execdir|ok|okdir|delete|fls|fprint|fprintf|fprint0)/;
const evaluating = new Set(
  "eval source . alias trap bind compgen complete declare typeset local export readonly let read mapfile readarray unset set shopt enable hash history less more man vi vim view ex ed nano emacs".split(
    " ",
  ),
);
const anyOption = new Set("curl wget aria2c rsync scp sftp".split(" "));
const destroyers = new Set("rm rmdir mv chmod chown chgrp shred".split(" "));
const tarPrograms =
  /^(-[A-Za-z]*[IF]|--(checkpoint-action|use-compress|to-command|rsh-command|info-script|new-volume-script))/;

function reachOf(word: string, roots: readonly string[]): string | undefined {
  // An option carries its value after `=`, or glued to one letter (`-o/etc/x`).
  const value = word.replace(/^--?[\w-]*=/, "").replace(/^-[A-Za-z](?=[/.])/, "");
  if (value.includes("://")) return undefined;
  if (/(^|[/:=])\.\.(\/|$)/.test(value)) return "an argument climbs out of its directory";
  if (value.startsWith("/") && !roots.some((root) => value === root || value.startsWith(`${root}/`)))
    return "an argument is outside the workspace";
  const inside = roots.find((root) => value.startsWith(`${root}/`));
  const part = /^[\w./@-]+$/.test(value)
    ? protectedPart(inside === undefined ? value : value.slice(inside.length))
    : undefined;
  return part === undefined ? undefined : `an argument names ${part}`;
}

function gitHazard(further: readonly string[], open: readonly string[]): string | undefined {
  if (further[0]?.startsWith("-") && further[0] !== "--no-pager")
    return "options before the git command can run programs";
  const command = further.find((word) => !word.startsWith("-"));
  if (command !== undefined && gitRunners.has(command)) return `git ${command} can run programs of the repository`;
  const bad = open.find((word) => gitOptions.test(word));
  return bad === undefined ? undefined : `${bad.split("=")[0]} can run a program or write a file`;
}

const gitRunners = new Set(
  "bisect submodule difftool mergetool config filter-branch for-each-repo hook daemon send-email instaweb".split(" "),
);
// Git takes any unambiguous beginning of a long option, so each is refused from its first telling letters on.
const gitOptions =
  /^(--(o(u|p)|ex(e|t)|up|rec|textc|conf|receive|git-|work-|no-index|tool|gpg|show-sig|server-o|template|separate)|-u|-O|-x|-c$|-[A-Za-z]*i$)/;
