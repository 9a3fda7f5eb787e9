import { type CommandEffect, type Effects, unknownArgument, unknownCode } from "./effects.ts";
import type { ArgumentReading } from "./model.ts";

export const diffOptions = [
  "-p|-u|--patch -s|--no-patch -U|--unified[=data] --output=write --output-indicator-new=data --output-indicator-old=data",
  "--output-indicator-context=data --raw --patch-with-raw --indent-heuristic --no-indent-heuristic --minimal --patience --histogram",
  "--anchored=data --diff-algorithm=data --stat[=data] --stat-width=data --stat-name-width=data --stat-count=data",
  "--stat-graph-width=data --compact-summary --numstat --shortstat -X|--dirstat[=data] --cumulative --dirstat-by-file[=data] --summary",
  "--patch-with-stat -z --name-only --name-status --submodule[=data]!program --color[=data] --no-color --color-moved[=data] --no-color-moved",
  "--color-moved-ws=data --no-color-moved-ws --word-diff[=data] --word-diff-regex=data --color-words[=data] --no-renames --rename-empty",
  "--no-rename-empty --check --ws-error-highlight=data --full-index --binary --abbrev[=data] --no-abbrev -B|--break-rewrites[=data]",
  "-M|--find-renames[=data] -C|--find-copies[=data] --find-copies-harder -D|--irreversible-delete -l=data --diff-filter=data -S=data",
  "-G=data --find-object=data --pickaxe-all --pickaxe-regex -O=read --skip-to=data --rotate-to=data -R --relative[=data] --no-relative",
  "-a|--text --ignore-cr-at-eol --ignore-space-at-eol -b|--ignore-space-change -w|--ignore-all-space --ignore-blank-lines",
  "-I|--ignore-matching-lines=data --inter-hunk-context=data -W|--function-context --no-function-context --exit-code --quiet",
  "--ext-diff!program --no-ext-diff --textconv!program --no-textconv --ignore-submodules[=data]!program --src-prefix=data --dst-prefix=data",
  "--no-prefix --default-prefix --line-prefix=data --ita-invisible-in-index --ita-visible-in-index --cc -c -m --diff-merges=data",
  "--no-diff-merges --combined-all-paths -t -r --remerge-diff!change --dd",
].join(" ");

export const historyOptions = [
  "--oneline --all --branches[=data] --tags[=data] --remotes[=data] --glob=data --exclude=data --exclude-hidden=data --reflog",
  "--alternate-refs!program --single-worktree --ignore-missing --bisect --stdin -n|--max-count=data -# --skip=data --since|--after=data",
  "--until|--before=data --since-as-filter=data --max-age=data --min-age=data --author=data --committer=data --grep-reflog=data",
  "--grep=data --all-match --invert-grep -i|--regexp-ignore-case --basic-regexp -E|--extended-regexp -F|--fixed-strings",
  "-P|--perl-regexp --remove-empty --merges --no-merges --min-parents=data --max-parents=data --no-min-parents --no-max-parents",
  "--first-parent --exclude-first-parent-only --not --cherry-mark --cherry-pick --left-only --right-only --cherry -g|--walk-reflogs",
  "--merge --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse --simplify-merges --ancestry-path[=data]",
  "--date-order --author-date-order --topo-order --reverse --no-walk[=data] --do-walk --pretty[=data] --format=data --abbrev-commit",
  "--no-abbrev-commit --encoding=data --expand-tabs[=data] --no-expand-tabs --notes[=data] --no-notes --show-notes[=data]",
  "--show-notes-by-default --show-signature!program --no-show-signature --relative-date --date=data --parents --children --left-right",
  "--graph --no-graph --show-linear-break[=data] --follow --decorate[=data] --no-decorate --decorate-refs=data",
  "--decorate-refs-exclude=data --clear-decorations --source --mailmap --use-mailmap --no-mailmap --log-size -L=data -q --root --always",
].join(" ");

export const referenceOptions =
  "--count=data --sort=data --format=data --merged=data --no-merged=data --contains=data --no-contains=data --points-at=data --color[=data] --no-color --column[=data] --no-column -i|--ignore-case --omit-empty";

/**
 * Options that make some git command run a program or write elsewhere. They are added to every command whose options
 * are not all listed, so that their abbreviations are recognized.
 */
export const riskyOptions = [
  "--output=write --open-files-in-pager[=program]!program --exec=program --upload-pack=program --receive-pack=program",
  "--ext-diff!program --textconv!program --config=settings --git-dir=settings --work-tree=settings --tool=program --extcmd=program",
  "--gpg-sign[=data]!program --show-signature!program --server-option=settings --template=settings --separate-git-dir=settings",
].join(" ");

/**
 * Formats with `%G` verify signatures with a program that the repository configures. A named format could be an alias
 * for such a format.
 */
export function checkFormats({ options, operands }: ArgumentReading): Effects {
  const effects: CommandEffect[] = [];
  for (const { option, word, at } of options) {
    if (option === "--diff-merges" && (word.open !== undefined || word.text.startsWith("r")))
      effects.push(unknownArgument("git would store objects to show how conflicts were resolved", at));
    if (option !== "--format" && option !== "--pretty" && option !== "--sort") continue;
    const { text, open } = word;
    const isNamed = /^(oneline|short|medium|full|fuller|reference|raw|email|mboxrd)?$/.test(text);
    const isPlain = isNamed || option === "--sort" || /^t?format:|%/.test(text);
    if (open !== undefined || !isPlain || /%[-+ ]*G|signature/.test(text))
      effects.push(unknownCode("a git format can verify signatures with another program", at));
  }
  return [...effects, ...checkPaths({ operands })];
}

/** Allows pathspecs that exclude files. Other words with a leading colon have special meanings. */
export function checkPaths({ operands }: Pick<ArgumentReading, "operands">): Effects {
  return operands
    .filter(({ word: { text, open } }) => {
      const isPlain = !text.startsWith(":") || /^:([!^]|\(exclude\))[\w./*-]*$/.test(text);
      return text === "" || !isPlain || (open !== undefined && text.includes("$")) || /\p{Cc}/u.test(text);
    })
    .map(({ at }) => unknownArgument("it is unknown what an argument to git refers to", at));
}
