import { type CommandEffect, type Effects, unknownArgument } from "./effects.ts";
import {
  checkFormats,
  checkPaths,
  diffOptions,
  historyOptions,
  referenceOptions,
  riskyOptions,
} from "./git-options.ts";
import { type ArgumentReading, each, type ProgramSpec } from "./model.ts";

const log: ProgramSpec = { options: `${historyOptions} ${diffOptions}`, check: checkFormats };
const changing = (options = ""): ProgramSpec => ({
  does: "change",
  operands: "data*",
  options: `${riskyOptions} ${options}`,
});
const running: ProgramSpec = { does: "program", operands: "data*" };

/** Commands that only read. All of their options are listed. */
const reading: readonly (readonly [string, ProgramSpec])[] = [
  ...each("log show whatchanged", log),
  [
    "diff",
    {
      options: `${diffOptions} --cached --staged --merge-base --no-index -1 -2 -3 -0 --base --ours --theirs`,
      check: checkDiff,
    },
  ],
  ...each("diff-tree diff-index diff-files range-diff", {
    options: `${diffOptions} --cached --merge-base --root --stdin -v --pretty[=data] --format=data --no-commit-id --creation-factor=data --left-only --right-only`,
    check: checkFormats,
  }),
  [
    "status",
    {
      options:
        "-s|--short -b|--branch --show-stash --porcelain[=data] --long -v|--verbose -u|--untracked-files[=data] --ignore-submodules[=data]!program --ignored[=data] -z --column[=data] --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames[=data] -M[=data]",
      check: checkPaths,
    },
  ],
  [
    "ls-files",
    {
      options:
        "-c|--cached -d|--deleted -m|--modified -o|--others -i|--ignored -s|--stage -u|--unmerged -k|--killed -z -t -v -f --debug --deduplicate --directory --no-empty-directory --empty-directory --eol --full-name --recurse-submodules --error-unmatch --with-tree=data -x|--exclude=data -X|--exclude-from=read --exclude-per-directory=read --exclude-standard --abbrev[=data] --sparse --format=data --resolve-undo",
      check: checkPaths,
    },
  ],
  [
    "ls-tree",
    {
      options:
        "-d -r -t -l|--long -z --name-only --name-status --object-only --full-name --full-tree --abbrev[=data] --format=data",
      check: checkPaths,
    },
  ],
  [
    "rev-parse",
    {
      options:
        "--sq-quote --default=data --prefix=data --verify -q|--quiet --sq --short[=data] --not --abbrev-ref[=data] --symbolic --symbolic-full-name --all --branches[=data] --tags[=data] --remotes[=data] --glob=data --exclude=data --disambiguate=data --local-env-vars --path-format=data --git-dir --git-common-dir --resolve-git-dir=list --git-path=data --show-toplevel --show-superproject-working-tree --shared-index-path --absolute-git-dir --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-cdup --show-prefix --show-object-format[=data] --since|--after=data --until|--before=data --revs-only --no-revs --flags --no-flags --end-of-options",
      check: checkPaths,
    },
  ],
  [
    "rev-list",
    {
      options: `${historyOptions} --count --objects --objects-edge --no-object-names --object-names --disk-usage[=data] --in-commit-order --timestamp --use-bitmap-index --filter=data --header --quiet`,
      check: checkFormats,
    },
  ],
  ...each("blame annotate", {
    passesOn: true,
    options:
      "-L=data -b --root --show-stats --progress --no-progress -f|--show-name -n|--show-number -p|--porcelain --line-porcelain --incremental -c -t -l -s -e|--show-email -w --score-debug -S=read --contents=read --ignore-rev=data --ignore-revs-file=read --color-lines --color-by-age --date=data -M[=data] -C[=data] --since=data --abbrev[=data] --first-parent --reverse --encoding=data --minimal",
    check: checkPaths,
  }),
  [
    "shortlog",
    {
      options: `${historyOptions} -s|--summary -n|--numbered -e|--email -c|--committer --group=data -w[=data]`,
      check: checkFormats,
    },
  ],
  [
    "describe",
    {
      options:
        "--all --tags --contains --abbrev[=data] --candidates=data --exact-match --debug --long --match=data --exclude=data --always --first-parent --dirty[=data]!program --broken[=data]!program",
      check: checkPaths,
    },
  ],
  ["merge-base", { options: "-a|--all --octopus --independent --is-ancestor --fork-point", check: checkPaths }],
  [
    "name-rev",
    {
      options: "--tags --refs=data --exclude=data --all --annotate-stdin --stdin --name-only --no-undefined --always",
      check: checkPaths,
    },
  ],
  [
    "cat-file",
    {
      options:
        "-t -s -e -p --allow-unknown-type --batch[=data] --batch-check[=data] --batch-command[=data] --batch-all-objects --buffer --unordered --follow-symlinks -z -Z --textconv!program --filters!program --path=data --use-mailmap --mailmap",
      check: checkPaths,
    },
  ],
  [
    "show-ref",
    {
      options:
        "--head --heads --branches --tags -d|--dereference -s|--hash[=data] --verify --exists --abbrev[=data] -q|--quiet --exclude-existing[=data]",
      check: checkPaths,
    },
  ],
  [
    "for-each-ref",
    { options: `${referenceOptions} --exclude=data -s|--shell`, operands: "data*", check: checkFormats },
  ],
  ["check-ignore", { options: "-q|--quiet -v|--verbose -z --stdin -n|--non-matching --no-index", check: checkPaths }],
  ["check-attr", { options: "-a|--all --cached -z --stdin --source=data", operands: "data*" }],
  [
    "check-ref-format",
    { options: "--branch --normalize --allow-onelevel --no-allow-onelevel --refspec-pattern", operands: "data*" },
  ],
  ["cherry", { options: "-v|--verbose --abbrev[=data]", check: checkPaths }],
  ["count-objects", { options: "-v|--verbose -H|--human-readable", operands: "" }],
  [
    "symbolic-ref",
    { options: "-q|--quiet --short -d|--delete!change -m=change --recurse --no-recurse", operands: "data change" },
  ],
  ["version", { options: "--build-options", operands: "" }],
  ["config", { options: configOptions(), operands: "data*", check: checkConfig }],
  [
    "grep",
    {
      operands: "data read*",
      options:
        "-a|--text -i|--ignore-case -I --max-depth=data -r|--recursive --no-recursive -w|--word-regexp -v|--invert-match -h -H --full-name -E|--extended-regexp -G|--basic-regexp -P|--perl-regexp -F|--fixed-strings -n|--line-number --column -l|--files-with-matches|--name-only -L|--files-without-match -O|--open-files-in-pager[=program]!program -z|--null -o|--only-matching -c|--count --color[=data] --no-color --break --heading -p|--show-function -C|--context=data -A|--after-context=data -B|--before-context=data -W|--function-context -m|--max-count=data --threads=data -f=read^ -e=data^ --and --or --not --all-match -q|--quiet --cached --untracked --no-index --exclude-standard --no-exclude-standard --recurse-submodules --textconv!program --no-textconv -#",
      check: ({ operands, options }) => [...checkPaths({ operands: operands.slice(1) }), ...checkTracked(options)],
    },
  ],
  [
    "branch",
    {
      operands: "data*",
      options: `${referenceOptions} -a|--all -r|--remotes -v|--verbose -q|--quiet -l --list --show-current --abbrev[=data] --no-abbrev --with=data --without=data -d|--delete!change -D!change -m|--move!change -M!change -c|--copy!change -C!change -f|--force!change -t|--track[=data]!change --no-track!change -u|--set-upstream-to=change --set-upstream!change --unset-upstream!change --edit-description!program --create-reflog!change --recurse-submodules!change`,
      check: (given) => [...checkFormats(given), ...checkListing(given, /^--list$/)],
    },
  ],
  [
    "tag",
    {
      operands: "data*",
      options: `${referenceOptions} -l|--list -n[=data] -a|--annotate!change -s|--sign!program -u|--local-user=program -f|--force!change -d|--delete!change -v|--verify!program -m|--message=change -F|--file=change -e|--edit!program --cleanup=change --create-reflog!change`,
      check: (given) => [...checkFormats(given), ...checkListing(given, /^--list$/)],
    },
  ],
  [
    "remote",
    {
      options: "-v|--verbose",
      alone: "prints",
      commands: new Map([
        ["show", { operands: "network*", options: "-n" }],
        ["get-url", { operands: "data", options: "--push --all" }],
        ...each("add rename remove rm set-head set-branches set-url prune update", changing()),
      ]),
    },
  ],
  [
    "reflog",
    {
      ...log,
      alone: "prints",
      commands: new Map([
        ["show", log],
        ["list", { operands: "" }],
        ["exists", { operands: "data" }],
        ...each("expire delete drop", changing()),
      ]),
      otherwise: log,
    },
  ],
  [
    "stash",
    {
      options: riskyOptions,
      commands: new Map([
        ["list", { ...log, passesOn: true }],
        ["show", { ...log, passesOn: true, options: `${log.options} -u|--include-untracked --only-untracked` }],
        ...each("push save pop apply branch clear drop create store", changing()),
      ]),
      otherwise: changing(),
    },
  ],
  [
    "worktree",
    {
      commands: new Map([
        ["list", { operands: "", options: "-v|--verbose --porcelain -z --expire=data" }],
        ...each("add remove move prune lock unlock repair", changing()),
      ]),
    },
  ],
  [
    "notes",
    {
      alone: "prints",
      commands: new Map([
        ["list", { operands: "data" }],
        ["show", { operands: "data" }],
      ]),
      otherwise: changing(),
    },
  ],
];

/** Commands that change something. Only the options that matter to rules are listed. */
const writing: readonly (readonly [string, ProgramSpec])[] = [
  ...each(
    "add am apply archive bundle checkout checkout-index clean fast-import format-patch gc init maintenance merge mv pack-objects prune read-tree repack replace reset restore revert rm send-pack sparse-checkout switch update-index update-ref write-tree",
    changing("-o=write"),
  ),
  ...each(
    "commit cherry-pick",
    changing("-m|--message=data -S[=data]!program -c|--reedit-message=data!program -a -v -s -n -q"),
  ),
  [
    "clone",
    {
      does: "network",
      operands: "network data",
      options: `${riskyOptions} -c=settings -u=program -l|--local -s|--shared -q|--quiet -v|--verbose --progress -n|--no-checkout --bare --mirror -o|--origin=data -b|--branch=data --depth=data --shallow-since=data --shallow-exclude=data --single-branch --no-single-branch --no-tags --recurse-submodules[=data] --recursive -j|--jobs=data --reference=read --reference-if-able=read --dissociate --filter=data --sparse --revision=data`,
    },
  ],
  ...each("fetch pull ls-remote fetch-pack", changing("-u -q -v -p -a -f -t")),
  [
    "push",
    changing("-u|--set-upstream -f|--force -d|--delete -n -q -v --tags --all --force-with-lease[=data] --no-verify"),
  ],
  [
    "rebase",
    changing("-x=program -i|--interactive!program -r -S[=data]!program --onto=data -s=data -X=data -q -v -f -k -m"),
  ],
  ...each(
    "bisect submodule difftool mergetool filter-branch for-each-repo hook daemon send-email instaweb shell credential help gui citool web--browse p4 svn cvsimport upload-pack receive-pack upload-archive remote-ext remote-fd",
    running,
  ),
];

export const git: ProgramSpec = {
  options:
    "-p|--paginate!program -P|--no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-replace-objects --no-lazy-fetch --bare!settings -C=directory -c=settings --config-env=settings --git-dir=settings --work-tree=directory --namespace=data --exec-path[=settings]!settings --html-path --man-path --info-path -v|--version -h|--help!program --attr-source=data",
  alone: "prints",
  commands: new Map([...reading, ...writing]),
};

/**
 * To print a patch, `git diff` runs the program that the repository configures as `diff.external`, unless the output is
 * a summary or `--no-ext-diff` is set.
 */
function checkDiff(given: ArgumentReading): Effects {
  const names = new Set(given.options.map(({ option }) => option ?? ""));
  const isSummary = summaries.some((name) => names.has(name)) && !patches.some((name) => names.has(name));
  const effects = [...checkPaths(given), ...checkTracked(given.options)];
  if (isSummary || names.has("--no-ext-diff")) return effects;
  return [...effects, unknownArgument("`git diff` can run a program that the repository names", 0)];
}

/** Files that git does not track can be found only by searching directories, and rules may deny some of these files. */
function checkTracked(options: ArgumentReading["options"]): Effects {
  return options
    .filter(({ option }) => option === "--no-index" || option === "--untracked")
    .map(({ option, at }) => unknownArgument(`\`git ${option}\` reads files that git does not track`, at));
}

const summaries =
  "--stat --shortstat --numstat --name-only --name-status --summary --dirstat --compact-summary --no-patch --raw --check --quiet".split(
    " ",
  );
const patches =
  "--patch --unified --binary --word-diff --word-diff-regex --color-words --patch-with-stat --patch-with-raw --function-context --color-moved --cc -c -m --diff-merges --remerge-diff --dd".split(
    " ",
  );

/** Operands are patterns only if the command lists something; otherwise they name something to create. */
function checkListing({ name, options, operands }: ArgumentReading, list: RegExp): Effects {
  if (operands.length === 0 || options.some(({ option }) => list.test(option ?? ""))) return [];
  return [{ kind: "change", reason: `\`${name}\` would create something`, at: operands[0]!.at }];
}

function configOptions(): string {
  return "-l|--list --get --get-all --get-regexp --get-urlmatch --name-only --show-origin --show-scope -z|--null --type=data --bool --int --path --bool-or-int --bool-or-str --expiry-date --no-type --default=data --includes --no-includes --global --system --local --worktree -f|--file=read --blob=data --fixed-value --all --regexp --add!settings --replace-all!settings --unset!settings --unset-all!settings --rename-section!settings --remove-section!settings -e|--edit!program";
}

/** Without an explicit option, git reads a setting if only its name is given, and sets it otherwise. */
function checkConfig({ options, operands }: ArgumentReading): Effects {
  const effects: CommandEffect[] = [];
  const names = new Set(options.map(({ option }) => option));
  const [first] = operands;
  const isListing = names.has("--list") || first?.word.text === "list";
  const isGet = first?.word.text === "get";
  const asked = operands[isGet ? 1 : 0]?.word.text ?? "";
  const isReading = isListing || [...names].some((name) => name?.startsWith("--get")) || isGet;
  const isOneName = operands.length === 1 && first!.word.text.includes(".");
  if (operands.some(({ word }) => word.open !== undefined) || (!isReading && !isOneName)) {
    effects.push({ kind: "run", reason: "a git setting can name a program to run", at: 0 });
  }
  const isRegexp = names.has("--get-regexp") || names.has("--regexp");
  const isPlain = !isListing && (isRegexp ? plainSettings.test(asked) : plainSetting.test(asked));
  // The user's settings may contain credentials.
  if (isReading || isOneName) {
    const isLocal = ["--local", "--worktree", "--file", "--blob"].some((name) => names.has(name));
    if (!isPlain && (!isLocal || names.has("--includes")))
      effects.push(unknownArgument("`git config` without --local reads settings outside the workspace", 0));
  }
  return effects;
}

/** Sections whose settings are not secret, wherever they are stored. */
const plainSections =
  "user|core|alias|branch|remote|color|init|pull|push|fetch|merge|rebase|diff|commit|tag|log|status|submodule|safe|gpg|extensions|advice|format|feature|rerere|stash|worktree";
const plainSetting = new RegExp(`^(${plainSections})\\.`, "i");
/** Matches a pattern for `--get-regexp` that can find only settings in one of these sections. */
const plainSettings = new RegExp(`^\\^(${plainSections})(\\\\?\\.[\\w.*\\\\-]*)?\\$?$`, "i");
