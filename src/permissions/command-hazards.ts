import { isReadOnly } from "./shell/read-only.ts";
import { isReadingSed } from "./shell/sed-script.ts";
import { programOf, type SimpleCommand } from "./shell/shell-analysis.ts";
import type { ShellWord } from "./shell/shell-word.ts";
import { type Place, protectedIn, reachOf } from "./shell/word-reach.ts";

/**
 * Why a wildcard of a rule does not stand for these words, or undefined. Whoever allows `git log:*` did not mean
 * `git log --output=…`: what runs another program or reaches outside the workspace needs a rule that says so in full.
 */
export function wildcardHazard(command: SimpleCommand, wild: readonly ShellWord[], place: Place): string | undefined {
  const name = programOf(command);
  if (launchers.has(name)) return `${name} runs other programs`;
  if (evaluating.has(name)) return `${name} can evaluate its arguments or run programs`;
  if (talkers.has(name)) return undefined;
  if (checkedBuiltins.has(name)) return isReadOnly(command) ? undefined : `${name} can evaluate its arguments`;
  const telling = tellingWords.get(name);
  for (const [index, word] of wild.entries()) {
    if (isMessage(wild[index - 1], word)) continue;
    const reach = reachOf(word, place);
    if (reach !== undefined) return reach;
    if (telling !== undefined && word.open !== undefined && !/^[^-]/.test(word.lead))
      return "only the shell knows whether an argument is an option";
    if (telling?.test(word.text)) return `${word.text.split("=")[0]} lets ${name} run a program, or reach other places`;
    const part = readers.has(name) ? undefined : protectedIn(word, place);
    if (part !== undefined) return `an argument names ${part}`;
  }
  const further = command.words.slice(1).map(({ text }) => text);
  if (name === "git") return gitHazard(further);
  if (name === "sed") return sedHazard(further);
  if (name === "tar" && /^[A-Za-z]*[IF]/.test(further[0] ?? "")) return "tar would run a program";
  return undefined;
}

/** Programs that run a program given in their arguments. */
export const launchers: ReadonlySet<string> = new Set([
  ..."env nice nohup timeout time stdbuf ionice chrt setsid xargs parallel command builtin exec sudo doas su runuser".split(
    " ",
  ),
  ..."script watch flock strace ltrace gdb ssh chroot unshare nsenter systemd-run busybox coproc noglob taskset".split(
    " ",
  ),
  ..."entr expect screen tmux at batch crontab sh bash dash zsh ksh fish csh tcsh ash rbash mksh pkexec firejail".split(
    " ",
  ),
  ..."proxychains torsocks fakeroot setpriv cgexec numactl prlimit catchsegv ld.so valgrind perf rlwrap".split(" "),
]);

const evaluating = new Set(
  [
    "eval source . alias trap bind compgen complete declare typeset local export readonly let read mapfile readarray",
    "unset set shopt enable hash history less more man vi vim view ex ed nano emacs getopts caller ulimit umask fc",
  ].flatMap((line) => line.split(" ")),
);

/** Their arguments are text, whatever it is. */
const talkers = new Set("echo true false :".split(" "));

/** What they do with their arguments is told by how they may be used without changing anything. */
const checkedBuiltins = new Set("printf test [".split(" "));

// Long options may be shortened to any unambiguous beginning, so each is met from its first telling letters on.
const tellingWords = new Map<string, RegExp>([
  ["find", /^-(exec|ok|delete|fls|fprint)/],
  ["fd", /^(-[A-Za-z]*[xX]|--exec)/],
  ["tar", /^(-[A-Za-z]*[IF]|--(checkpoint-|use|to-|rsh|info|new-v|vol))/],
  ["sort", /^--comp/],
  ["sed", /^-[A-Za-z]*f|^--(f|e)/],
  ["rg", /^--(pre|hostname)/],
  ["awk", /system|getline|[|>@]|^-[^Fv]/],
  ["gawk", /system|getline|[|>@]|^-[^Fv]/],
  ["mawk", /system|getline|[|>@]|^-[^Fv]/],
  ["make", /=|^-[A-Za-z]*[fCIE]|^--(f|m|d|e|i)/],
  ["zip", /^(-[A-Za-z]*T|--unzip|--test)/],
  ["rm", /^[./]*$/],
  ["rmdir", /^[./]*$/],
  ["mv", /^[./]*$/],
  ["chmod", /^[./]*$/],
  ["chown", /^[./]*$/],
  ["chgrp", /^[./]*$/],
  ["curl", /^-/],
  ["wget", /^-/],
  ["rsync", /^-/],
  ["scp", /^-/],
  [
    "git",
    /^(--(o(u|p)|ex(e|t)|up|rec|textc|conf|git-|work-|no-index|tool|gpg|show-sig|server-o|temp|sep)|-u|-O|-x|-c$|-[A-Za-z]*i$)/,
  ],
]);

/** Programs for which a protected file in their arguments is nothing to ask about. */
const readers = new Set("cat head tail wc grep egrep fgrep ls diff file stat cut nl od".split(" "));

/** The text of a message is only text, wherever it comes from. */
function isMessage(before: ShellWord | undefined, word: ShellWord): boolean {
  return before?.open === undefined && /^(-[A-Za-z]*m|--message)$/.test(before?.text ?? "") && !word.splits;
}

function gitHazard(further: readonly string[]): string | undefined {
  if (further[0]?.startsWith("-") && further[0] !== "--no-pager")
    return "options before the git command can run programs";
  const command = further.find((word) => !word.startsWith("-"));
  return command !== undefined && gitRunners.has(command) ? `git ${command} can run programs` : undefined;
}

const gitRunners = new Set(
  "bisect submodule difftool mergetool config filter-branch for-each-repo hook daemon send-email instaweb".split(" "),
);

/** The script of sed can write files and run programs; only printing, deleting and plain substitutions are left. */
function sedHazard(further: readonly string[]): string | undefined {
  const options = further.filter((word) => word.startsWith("-"));
  if (options.some((word) => !/^-[nErsuz]+$|^-[nErsuz]*i[.\w]*$/.test(word)))
    return "an option of sed can read a script from elsewhere";
  const script = further.find((word) => !word.startsWith("-")) ?? "";
  return isReadingSed(script) ? undefined : "a script of sed can write files or run programs";
}
