import { type Effects, unknownArgument } from "./effects.ts";
import {
  checkFormats,
  checkPaths,
  diffOptions,
  historyOptions,
  referenceOptions,
  riskyOptions,
} from "./git-options.ts";
import { type ArgumentReading, each, type ProgramSpec, withOptions } from "./model.ts";

const log: ProgramSpec = { options: `${historyOptions} ${diffOptions}`, check: checkFormats };
const changing = (options = ""): ProgramSpec => ({
  does: "change",
  operands: "data*",
  options: `${riskyOptions} ${options}`,
});
const running: ProgramSpec = { does: "program", operands: "data*" };

const configOptions =
  "-l|--list --get --get-all --get-regexp --get-urlmatch --name-only --show-origin --show-scope -z|--null --type=data --bool --int --path --bool-or-int --bool-or-str --expiry-date --no-type --default=data --includes --no-includes --global --system --local --worktree -f|--file=read --blob=data --fixed-value --all --regexp --add!settings --replace-all!settings --unset!settings --unset-all!settings --rename-section!settings --remove-section!settings -e|--edit!program";

/** Commands that run without approval even without a sandbox, because Retinue's own `git` runs no other programs. */
export const listedGit: ReadonlySet<string> = new Set(
  "status log show diff branch tag blame ls-files ls-tree rev-parse rev-list describe merge-base remote shortlog".split(
    " ",
  ),
);

/**
 * Other commands of git that change something. A wildcard covers them only if the rule spells out the command, because
 * their options are not modelled.
 */
export const unmodelledGit: ReadonlySet<string> = new Set(
  "archive bundle checkout-index fast-import format-patch maintenance merge-index merge-file pack-objects prune read-tree repack replace send-pack sparse-checkout update-index update-ref write-tree fetch-pack hash-object".split(
    " ",
  ),
);

const stashOptions =
  "-m|--message=data -u|--include-untracked!change -a|--all!change -k|--keep-index -S|--staged -q|--quiet";

const only = (name: string, options: string, check: ProgramSpec["check"] = checkPaths) =>
  withOptions(name, options, { check });

/** Commands that only read. All of their options are listed. */
const reading: readonly (readonly [string, ProgramSpec])[] = [
  ...each("log show whatchanged", log),
  withOptions("diff", `${diffOptions} --cached --staged --merge-base --no-index -1 -2 -3 -0 --base --ours --theirs`, {
    check: checkDiff,
  }),
  ...each("diff-tree diff-index diff-files range-diff", {
    options: `${diffOptions} --cached --merge-base --root --stdin -v --pretty[=data] --format=data --no-commit-id --creation-factor=data --left-only --right-only`,
    check: checkFormats,
  }),
  only(
    "status",
    "-s|--short -b|--branch --show-stash --porcelain[=data] --long -v|--verbose -u|--untracked-files[=data] --ignore-submodules[=data]!program --ignored[=data] -z --column[=data] --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames[=data] -M[=data]",
  ),
  only(
    "ls-files",
    "-c|--cached -d|--deleted -m|--modified -o|--others -i|--ignored -s|--stage -u|--unmerged -k|--killed -z -t -v -f --debug --deduplicate --directory --no-empty-directory --empty-directory --eol --full-name --recurse-submodules --error-unmatch --with-tree=data -x|--exclude=data -X|--exclude-from=read --exclude-per-directory=read --exclude-standard --abbrev[=data] --sparse --format=data --resolve-undo",
  ),
  only(
    "ls-tree",
    "-d -r -t -l|--long -z --name-only --name-status --object-only --full-name --full-tree --abbrev[=data] --format=data",
  ),
  only(
    "rev-parse",
    "--sq-quote --default=data --prefix=data --verify -q|--quiet --sq --short[=data] --not --abbrev-ref[=data] --symbolic --symbolic-full-name --all --branches[=data] --tags[=data] --remotes[=data] --glob=data --exclude=data --disambiguate=data --local-env-vars --path-format=data --git-dir --git-common-dir --resolve-git-dir=list --git-path=data --show-toplevel --show-superproject-working-tree --shared-index-path --absolute-git-dir --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-cdup --show-prefix --show-object-format[=data] --since|--after=data --until|--before=data --revs-only --no-revs --flags --no-flags --end-of-options",
  ),
  only(
    "rev-list",
    `${historyOptions} --count --objects --objects-edge --no-object-names --object-names --disk-usage[=data] --in-commit-order --timestamp --use-bitmap-index --filter=data --header --quiet`,
    checkFormats,
  ),
  ...each("blame annotate", {
    passesOn: true,
    options:
      "-L=data -b --root --show-stats --progress --no-progress -f|--show-name -n|--show-number -p|--porcelain --line-porcelain --incremental -c -t -l -s -e|--show-email -w --score-debug -S=read --contents=read --ignore-rev=data --ignore-revs-file=read --color-lines --color-by-age --date=data -M[=data] -C[=data] --since=data --abbrev[=data] --first-parent --reverse --encoding=data --minimal",
    check: checkPaths,
  }),
  only(
    "shortlog",
    `${historyOptions} -s|--summary -n|--numbered -e|--email -c|--committer --group=data -w[=data]`,
    checkFormats,
  ),
  only(
    "describe",
    "--all --tags --contains --abbrev[=data] --candidates=data --exact-match --debug --long --match=data --exclude=data --always --first-parent --dirty[=data]!program --broken[=data]!program",
  ),
  only("merge-base", "-a|--all --octopus --independent --is-ancestor --fork-point"),
  withOptions(
    "name-rev",
    "--tags --refs=data --exclude=data --all --annotate-stdin --stdin --name-only --no-undefined --always",
    { check: checkPaths },
  ),
  only(
    "cat-file",
    "-t -s -e -p --allow-unknown-type --batch[=data] --batch-check[=data] --batch-command[=data] --batch-all-objects --buffer --unordered --follow-symlinks -z -Z --textconv!program --filters!program --path=data --use-mailmap --mailmap",
  ),
  only(
    "show-ref",
    "--head --heads --branches --tags -d|--dereference -s|--hash[=data] --verify --exists --abbrev[=data] -q|--quiet --exclude-existing[=data]",
  ),
  [
    "for-each-ref",
    { options: `${referenceOptions} --exclude=data -s|--shell`, operands: "data*", check: checkFormats },
  ],
  only("check-ignore", "-q|--quiet -v|--verbose -z --stdin -n|--non-matching --no-index"),
  ["check-attr", { options: "-a|--all --cached -z --stdin --source=data", operands: "data*" }],
  [
    "check-ref-format",
    { options: "--branch --normalize --allow-onelevel --no-allow-onelevel --refspec-pattern", operands: "data*" },
  ],
  only("cherry", "-v|--verbose --abbrev[=data]"),
  ["fsck", { options: "--full --strict --unreachable --no-progress --lost-found!change" }],
  ["count-objects", { options: "-v|--verbose -H|--human-readable", operands: "" }],
  withOptions("symbolic-ref", "-q|--quiet --short -d|--delete!change -m=change --recurse --no-recurse", {
    operands: "data change",
    check: checkSymbolicReference,
  }),
  ["version", { options: "--build-options", operands: "" }],
  // After the name of a setting, even a word that looks like an option is a value.
  ["config", { options: configOptions, operands: "data*", ordered: true, check: checkConfig }],
  withOptions(
    "grep",
    "-a|--text -i|--ignore-case -I --max-depth=data -r|--recursive --no-recursive -w|--word-regexp -v|--invert-match -h -H --full-name -E|--extended-regexp -G|--basic-regexp -P|--perl-regexp -F|--fixed-strings -n|--line-number --column -l|--files-with-matches|--name-only -L|--files-without-match -O|--open-files-in-pager[=program]!program -z|--null -o|--only-matching -c|--count --color[=data] --no-color --break --heading -p|--show-function -C|--context=data -A|--after-context=data -B|--before-context=data -W|--function-context -m|--max-count=data --threads=data -f=read^ -e=data^ --and --or --not --all-match -q|--quiet --cached --untracked --no-index --exclude-standard --no-exclude-standard --recurse-submodules --textconv!program --no-textconv -#",
    {
      operands: "data read*",
      check: ({ operands, options }) => [...checkPaths({ operands: operands.slice(1) }), ...checkTracked(options)],
    },
  ),
  withOptions(
    "branch",
    `${referenceOptions} -a|--all -r|--remotes -v|--verbose -q|--quiet -l --list --show-current --abbrev[=data] --no-abbrev --with=data --without=data -d|--delete -D!change -m|--move -M!change -c|--copy -C!change -f|--force!change -t|--track[=data] --no-track -u|--set-upstream-to=data --unset-upstream!change --edit-description!program`,
    { operands: "data*", check: (given) => [...checkFormats(given), ...checkListing(given)] },
  ),
  withOptions(
    "tag",
    `${referenceOptions} -l|--list -n[=data] -a|--annotate -s|--sign!program -u|--local-user=program -f|--force!change -d|--delete!change -v|--verify!program -m|--message=change -F|--file=read -e|--edit!program`,
    { operands: "data*", check: (given) => [...checkFormats(given), ...checkListing(given)] },
  ),
  [
    "remote",
    {
      options: "-v|--verbose",
      alone: "prints",
      commands: new Map([
        ["show", { operands: "network*", options: "-n" }],
        ["get-url", { operands: "data", options: "--push --all" }],
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
      ]),
    },
  ],
  [
    "stash",
    {
      options: stashOptions,
      commands: new Map([
        ["list", { ...log, passesOn: true }],
        ["show", { ...log, passesOn: true, options: `${log.options} -u|--include-untracked --only-untracked` }],
        ["push", changing(stashOptions)],
        ...each("pop apply", changing("--index -q|--quiet")),
      ]),
      otherwise: changing(),
    },
  ],
  [
    "worktree",
    {
      commands: new Map([
        ["list", { operands: "", options: "-v|--verbose --porcelain -z --expire=data" }],
        ["add", changing("-b=data -d|--detach -q|--quiet")],
        ...each("remove move prune lock unlock repair", changing()),
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

/**
 * Commands that change something, with the options that a wildcard may cover. Those marked `!change`, which discard
 * something, and all others need a rule that spells them out.
 */
const writing: readonly (readonly [string, ProgramSpec])[] = [
  ["add", changing("-A|--all -u|--update -v|--verbose -n|--dry-run -N|--intent-to-add --ignore-errors")],
  ["am", changing("--continue --abort --skip --quit -3|--3way -q|--quiet -s|--signoff")],
  [
    "apply",
    changing("--check --stat --numstat --summary -R|--reverse --index --cached -3|--3way -v|--verbose -p=data"),
  ],
  ["checkout", changing("-b=data -q|--quiet -t|--track -d|--detach --ours --theirs -f|--force!change")],
  ["cherry-pick", changing("-x -n|--no-commit -s --continue --abort --skip --quit -m=data -S[=data]!program")],
  ["clean", changing("-n|--dry-run -d -q|--quiet -f|--force!change")],
  [
    "commit",
    changing(
      "-m|--message=data -F|--file=read -a|--all -q|--quiet -v|--verbose -s|--signoff --no-edit --allow-empty --date=data --author=data --fixup=data --squash=data -i|--include -o|--only --dry-run -C=data --amend!change -n|--no-verify!change -S[=data]!program -c|--reedit-message=data!program",
    ),
  ],
  ["gc", changing("-q|--quiet --auto")],
  ["init", changing("-q|--quiet -b|--initial-branch=data --bare")],
  [
    "merge",
    changing("--ff --no-ff --ff-only --squash -m=data --no-edit --no-commit --abort --continue --quit -q -v -X=data"),
  ],
  ["mv", changing("-v|--verbose -n|--dry-run -k")],
  ["reset", changing("-q|--quiet --soft --mixed -N --hard!change --keep!change --merge!change")],
  ["restore", changing("-S|--staged -W|--worktree -s|--source=data -q|--quiet --ours --theirs")],
  ["revert", changing("--no-edit -n|--no-commit --continue --abort --skip --quit -m=data -S[=data]!program")],
  ["rm", changing("--cached -r -q|--quiet -n|--dry-run -f|--force!change")],
  ["switch", changing("-c|--create=data -q|--quiet -d|--detach -t|--track -f|--force|--discard-changes!change")],
  [
    "fetch",
    changing(
      "-q|--quiet -v|--verbose -p|--prune -a|--all -t|--tags --no-tags --depth=data --unshallow -f|--force!change",
    ),
  ],
  [
    "pull",
    changing(
      "-r|--rebase[=data] --no-rebase --ff --no-ff --ff-only -q -v -t|--tags --autostash --depth=data -p -f|--force!change",
    ),
  ],
  ["ls-remote", changing("-q|--quiet --heads --tags --refs --symref")],
  withOptions(
    "clone",
    `${riskyOptions} -c=settings -u=program -l|--local -s|--shared -q|--quiet -v|--verbose --progress -n|--no-checkout --bare --mirror -o|--origin=data -b|--branch=data --depth=data --shallow-since=data --shallow-exclude=data --single-branch --no-single-branch --no-tags --recurse-submodules[=data] --recursive -j|--jobs=data --reference=read --reference-if-able=read --dissociate --filter=data --sparse --revision=data`,
    { does: "network", operands: "network data" },
  ),
  [
    "push",
    changing(
      "-u|--set-upstream -n|--dry-run -q|--quiet -v|--verbose --all --tags --follow-tags --atomic -f|--force!change -d|--delete!change",
    ),
  ],
  [
    "rebase",
    changing(
      "-x=program -i|--interactive!program -S[=data]!program --onto=data --continue --abort --skip --quit -X=data -q -v -r|--rebase-merges --autostash --autosquash",
    ),
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
  otherwise: changing(),
};

/**
 * To print a patch, `git diff` runs the program that the repository configures as `diff.external`, unless the output is
 * a summary or `--no-ext-diff` is set.
 */
function checkDiff(given: ArgumentReading): Effects {
  const has = (names: RegExp) => given.options.some(({ option }) => names.test(option ?? ""));
  const effects = [...checkPaths(given), ...checkTracked(given.options)];
  if (has(/^--no-ext-diff$/) || (has(diffSummaries) && !has(diffPatches))) return effects;
  return [...effects, unknownArgument("`git diff` can run a program that the repository names", 0)];
}

export const diffSummaries =
  /^--(stat|shortstat|numstat|name-only|name-status|summary|dirstat|compact-summary|no-patch|raw|quiet)$/;
export const diffPatches =
  /^--(patch.*|unified|binary|word-diff.*|color-words|color-moved|function-context|check|cc|dd|diff-merges|remerge-diff|ext-diff|textconv)$|^-[cmLSG]$/;

/** Files that git does not track can be found only by searching directories, and rules may deny some of these files. */
function checkTracked(options: ArgumentReading["options"]): Effects {
  return options
    .filter(({ option }) => option === "--no-index" || option === "--untracked")
    .map(({ option, at }) => unknownArgument(`\`git ${option}\` reads files that git does not track`, at));
}

/** Operands are patterns only if the command lists something; otherwise they name something to create. */
function checkListing({ name, options, operands }: ArgumentReading): Effects {
  const has = (names: RegExp) => options.some(({ option }) => names.test(option ?? ""));
  const changes = has(/^--(move|copy|delete|set-upstream-to)$/) || (operands.length > 0 && !has(/^--list$/));
  return changes ? [{ kind: "change", reason: `\`${name}\` would change something`, at: 0 }] : [];
}

/** `git symbolic-ref config refs/x` overwrites the file `.git/config`. */
function checkSymbolicReference({ operands: [name, target] }: ArgumentReading): Effects {
  if (target === undefined || name?.word.text === "HEAD") return [];
  return [{ kind: "run", reason: "`git symbolic-ref` can overwrite any file of the repository", at: 0 }];
}

/** Without an explicit option, git reads a setting if only its name is given, and sets it otherwise. */
function checkConfig({ options, operands }: ArgumentReading): Effects {
  const isListing = options.some(({ option }) => option === "--list") || operands[0]?.word.text === "list";
  const isGet = options.some(({ option }) => option?.startsWith("--get")) || operands[0]?.word.text === "get";
  const isOneName = operands.length === 1 && operands[0]!.word.text.includes(".");
  if (!operands.some(({ word }) => word.open !== undefined) && (isListing || isGet || isOneName)) return [];
  return [{ kind: "run", reason: "a git setting can name a program to run", at: 0 }];
}
