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
  if (launchers.has(name)) return `${name} runs other programs`;
  if (evaluating.has(name)) return `${name} can evaluate its arguments or run programs`;
  for (const word of open) {
    if (word.includes("$(") || word.includes("`")) return "an argument contains a command substitution";
    const reach = reachOf(word, { name, roots });
    if (reach !== undefined) return reach;
  }
  const telling = tellingWords.get(name);
  const bad = telling === undefined ? undefined : open.find((word) => telling.test(word));
  if (bad !== undefined) return `${bad.split("=")[0]} lets ${name} run a program, or reach other places`;
  if (name === "git") return gitHazard(words.slice(1));
  if (name === "sed") return sedHazard(words.slice(1));
  if (name === "tar" && /^[A-Za-z]*[IF]/.test(words[1] ?? "")) return "tar would run a program";
  return undefined;
}

const evaluating = new Set(
  [
    "eval source . alias trap bind compgen complete declare typeset local export readonly let read mapfile readarray",
    "unset set shopt enable hash history less more man vi vim view ex ed nano emacs",
  ].flatMap((line) => line.split(" ")),
);

// Long options may be shortened to any unambiguous beginning, so each is met from its first telling letters on.
const tellingWords = new Map<string, RegExp>([
  ["find", /^-(exec|ok|delete|fls|fprint)/],
  ["fd", /^(-[A-Za-z]*[xX]|--exec)/],
  ["tar", /^(-[A-Za-z]*[IF]|--(checkpoint-|use|to-|rsh|info|new-v|vol))/],
  ["sort", /^--comp/],
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

function reachOf(word: string, { name, roots }: { name: string; roots: readonly string[] }): string | undefined {
  // An option carries its value after `=`, or glued to one letter (`-o/etc/x`).
  const value = word.replace(/^--?[\w-]*=/, "").replace(/^-[A-Za-z](?=[/.])/, "");
  if (/^(https?|ssh|git):\/\//i.test(value)) return undefined;
  if (/^[A-Za-z][\w+.-]*:(\/\/|:)/.test(value)) return "an argument is an address that can name files or programs";
  if (/(^|[/:=@])\.\.(\/|$)/.test(value)) return "an argument climbs out of its directory";
  const inside = roots.find((root) => value.startsWith(`${root}/`));
  if (/^@?\//.test(value) && inside === undefined) return "an argument is outside the workspace";
  if (readers.has(name) || !/^[\p{L}\p{N}\p{M}_./@ -]+$/u.test(value)) return undefined;
  const part = protectedPart(inside === undefined ? value : value.slice(inside.length));
  return part === undefined ? undefined : `an argument names ${part}`;
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
  return safeSedScript.test(script) ? undefined : "a script of sed can write files or run programs";
}

const safeSedScript =
  /^((\d+|\$)(,(\d+|\$))?)?([pdq]|s([/|#,])(?:(?!\6)[^\\\n;{}]|\\[^\n])*\6(?:(?!\6)[^\\\n;{}]|\\[^\n])*\6[gpiI\d]*)$/;
