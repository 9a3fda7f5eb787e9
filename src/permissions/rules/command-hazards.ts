import { isReadOnly } from "../shell/read-only/read-only.ts";
import { isReadingSed } from "../shell/read-only/sed-awk.ts";
import { programOf, type ShellAnalysis, type SimpleCommand } from "../shell/shell-analysis.ts";
import type { ShellWord } from "../shell/shell-word.ts";
import { protectedPart } from "./protected-path.ts";

/** Workspace roots and loop variables, which tell where the arguments of a command lead. */
export interface ArgumentContext {
  readonly roots: readonly string[];
  readonly loopWords: ShellAnalysis["loopWords"];
}

/**
 * Explains why a rule's wildcard must not cover these words; undefined if it may. A user who allows `git log:*` does
 * not mean `git log --output=…`: arguments that run another program or leave the workspace need a rule that spells them
 * out.
 */
export function wildcardHazard(
  command: SimpleCommand,
  wild: readonly ShellWord[],
  context: ArgumentContext,
): string | undefined {
  const name = programOf(command);
  if (launchers.has(name)) return `${name} runs other programs`;
  if (evaluating.has(name)) return `${name} can evaluate its arguments or run programs`;
  if (printers.has(name)) return undefined;
  if (checkedBuiltins.has(name)) return isReadOnly(command) ? undefined : `${name} can evaluate its arguments`;
  const risky = riskyArguments.get(name);
  for (const [index, word] of wild.entries()) {
    if (isMessage(wild[index - 1], word)) continue;
    const outside = whyOutsideWorkspace(word, context);
    if (outside !== undefined) return outside;
    if (risky !== undefined && word.open !== undefined && !/^[^-]/.test(word.lead))
      return "only the shell knows whether an argument is an option";
    if (risky?.test(word.text))
      return `${word.text.split("=")[0]} can make ${name} run a program or access other places`;
    const part = readers.has(name) ? undefined : protectedIn(word, context);
    if (part !== undefined) return `an argument names ${part}`;
  }
  const further = command.words.slice(1).map(({ text }) => text);
  if (name === "git") return gitHazard(further);
  if (name === "sed") return sedHazard(further);
  if (name === "tar" && /^[A-Za-z]*[IF]/.test(further[0] ?? "")) return "tar would run a program";
  return undefined;
}

/** Programs that run a program named in their arguments. */
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

/** Programs whose arguments are only text. */
const printers = new Set("echo true false :".split(" "));

/** Builtins whose arguments are harmless if and only if the read-only tables accept them. */
const checkedBuiltins = new Set("printf test [".split(" "));

// Long options may be abbreviated, so each pattern matches the shortest unambiguous prefix.
const riskyArguments = new Map<string, RegExp>([
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

/** Programs whose arguments may name a protected file, because these programs only read. */
const readers = new Set("cat head tail wc grep egrep fgrep ls diff file stat cut nl od".split(" "));

/** Returns true for the value of `-m`: a message is only text, even if the shell expands it. */
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

/**
 * Explains why a rule's wildcard must not cover these arguments of sed. A sed script can write files and run programs,
 * so only printing, deleting and plain substitutions are accepted.
 */
function sedHazard(further: readonly string[]): string | undefined {
  const options = further.filter((word) => word.startsWith("-"));
  if (options.some((word) => !/^-[nErsuz]+$|^-[nErsuz]*i[.\w]*$/.test(word)))
    return "an option of sed can read a script from a file";
  const script = further.find((word) => !word.startsWith("-")) ?? "";
  return isReadingSed(script) ? undefined : "a sed script can write files or run programs";
}

/**
 * Explains why a word could refer to something outside the workspace; undefined if it can't. Does not follow symlinks.
 */
export function whyOutsideWorkspace(word: ShellWord, context: ArgumentContext): string | undefined {
  if (word.open === "value") return whyValueOutside(word, context);
  // The value of an option follows `=`, or directly follows its letter (`-o/etc/x`).
  const value = word.text.replace(/^--?[\w-]*=/, "").replace(/^-[A-Za-z](?=[/.])/, "");
  if (/^(https?|ssh|git):\/\//i.test(value)) return undefined;
  if (/^[A-Za-z][\w+.-]*:(\/\/|:)/.test(value)) return "an argument is a URL that can refer to files or programs";
  if (/(^|[/:=@{,])\.\.([/},]|$)/.test(value)) return "an argument leaves its directory with `..`";
  if (/^@?\//.test(value) && rootOf(value, context) === undefined) return "an argument is outside the workspace";
  return undefined;
}

/** Returns the protected file that a word literally names; undefined if it names none. */
function protectedIn(word: ShellWord, context: ArgumentContext): string | undefined {
  const value = word.text.replace(/^--?[\w-]*=/, "");
  if (!/^[\p{L}\p{N}\p{M}_./@ *-]+$/u.test(value)) return undefined;
  return protectedPart(value.slice(rootOf(value, context)?.length ?? 0));
}

function whyValueOutside({ variables }: ShellWord, context: ArgumentContext): string | undefined {
  const known = variables?.every((name) => {
    const words = context.loopWords.get(name);
    return words?.every((word) => word.open !== "value" && whyOutsideWorkspace(word, context) === undefined);
  });
  return known === true ? undefined : "only the shell knows the value of an argument";
}

function rootOf(value: string, { roots }: ArgumentContext): string | undefined {
  return roots.find((root) => value === root || value.startsWith(`${root}/`));
}
