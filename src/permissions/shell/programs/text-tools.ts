import { type CommandEffect, type Effects, unknownArgument, unknownCode } from "./effects.ts";
import { type ArgumentReading, each, type ProgramSpec, withOptions } from "./model.ts";

const grep: ProgramSpec = {
  inert: true,
  operands: "data read*",
  options: [
    "-E|--extended-regexp -F|--fixed-strings -G|--basic-regexp -P|--perl-regexp -e|--regexp=data^ -f|--file=read^",
    "-i|--ignore-case -w|--word-regexp -x|--line-regexp -s|--no-messages -v|--invert-match -m|--max-count=data -b|--byte-offset",
    "-n|--line-number --line-buffered -H|--with-filename -h|--no-filename -o|--only-matching -q|--quiet --binary-files=data",
    "-a|--text -I -r|--recursive -R|--dereference-recursive --include=data --exclude=data --exclude-dir=data",
    "-L|--files-without-match -l|--files-with-matches -c|--count -Z|--null -A|--after-context=data -B|--before-context=data",
    "-C|--context=data -# --color|--colour[=data]",
  ].join(" "),
};

const awk: ProgramSpec = {
  isPowerful: true,
  ordered: true,
  operands: "data read*",
  // Some versions of awk ignore unknown options and then read another word as the program. Only options that every
  // version has, and gawk options that run or write something, are listed.
  options:
    "-F=data -v=data -f|--file=settings^ -i|--include=settings -l|--load=settings -E|--exec=settings^ -o|--pretty-print[=write]!settings -p|--profile[=write]!settings -d|--dump-variables[=write]!settings",
  check: checkAwk,
};

/** Options with a value that precede the files of programs that only print their input. */
const printing: ProgramSpec = { inert: true, options: "-n=data -w=data -t=data -c=data -s=data" };

export const textTools: readonly (readonly [string, ProgramSpec])[] = [
  ["cat", { inert: true, options: "-A -b -e -E -n|--number -s -t -T -u -v" }],
  ...each("tac rev", { inert: true }),
  ["head", { inert: true, options: "-c|--bytes=data -n|--lines=data -q|--quiet -v|--verbose -#" }],
  ["tail", { inert: true, options: "-c|--bytes=data -n|--lines=data -q|--quiet -v|--verbose -f -F -#" }],
  ["wc", { inert: true, options: "-c|--bytes -m|--chars -l|--lines -L|--max-line-length -w|--words" }],
  ["nl", { inert: true, options: "-b=data -i=data -n=data -s=data -v=data -w=data" }],
  ["comm", { inert: true, options: "-1 -2 -3" }],
  ["cmp", { inert: true, operands: "read read data data", options: "-b -l|--verbose -s|--silent|--quiet" }],
  withOptions(
    "cut",
    "-b|--bytes=data -c|--characters=data -d|--delimiter=data -f|--fields=data -s|--only-delimited --complement --output-delimiter=data",
    { inert: true },
  ),
  ["paste", { inert: true, options: "-d|--delimiters=data -s|--serial" }],
  ["tr", { inert: true, operands: "data data", options: "-c|-C|--complement -d|--delete -s|--squeeze-repeats" }],
  ["column", { inert: true, options: "-c=data -N=data -o=data -s|--separator=data -t|--table -x" }],
  ...each("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum", { inert: true, options: "-b -t --tag" }),
  ...each("grep egrep fgrep", grep),
  withOptions(
    "diff",
    [
      "-q|--brief -s|--report-identical-files -c -C=data --context[=data] -u -U=data --unified[=data] -y|--side-by-side",
      "-W|--width=data --suppress-common-lines -p --label|-L=data -r|--recursive -N|--new-file -x|--exclude=data",
      "-i|--ignore-case -b|--ignore-space-change -w|--ignore-all-space -B|--ignore-blank-lines -a|--text --color[=data]",
    ].join(" "),
    { inert: true },
  ),
  withOptions(
    "sort",
    [
      "-b|--ignore-leading-blanks -d|--dictionary-order -f|--ignore-case -g|--general-numeric-sort -i -M|--month-sort",
      "-h|--human-numeric-sort -n|--numeric-sort -r|--reverse -R -V|--version-sort -k|--key=data -s|--stable",
      "-t|--field-separator=data -u|--unique -c|--check -m -z -S=data -o|--output=write -T|--temporary-directory=write",
      "--compress-program=program",
    ].join(" "),
  ),
  withOptions(
    "uniq",
    "-c|--count -d|--repeated -D -f|--skip-fields=data -i|--ignore-case -s|--skip-chars=data -u|--unique -w|--check-chars=data",
    { operands: "read write" },
  ),
  withOptions(
    "sed",
    "-n|--quiet|--silent -e|--expression=data^ -E|-r|--regexp-extended -f|--file=settings^ -i|--in-place[=data]!change -I[=data]!change -s|--separate -u|--unbuffered -z|--null-data",
    { isPowerful: true, operands: "data read*", check: (given) => [...checkSed(given), ...checkInPlace(given)] },
  ),
  ...each("awk gawk mawk nawk", awk),
  withOptions(
    "jq",
    [
      "-n|--null-input -r|--raw-output -R|--raw-input -s|--slurp -c|--compact-output -C|--color-output -M|--monochrome-output",
      "-S|--sort-keys -e|--exit-status -j|--join-output --tab --indent=data -L|--library-path=settings",
      "--slurpfile=data,read --rawfile=data,read --arg=data,data --argjson=data,data",
    ].join(" "),
    { operands: "data read*", check: checkJq },
  ),
  withOptions(
    "rg",
    [
      "-A|--after-context=data -B|--before-context=data -C|--context=data -s|--case-sensitive --color=data --column -c|--count",
      "--count-matches -f|--file=read^ --files^ -l|--files-with-matches --files-without-match -F|--fixed-strings -L|--follow",
      "-g|--glob=data --heading --hidden|-. --hostname-bin=program --iglob=data -i|--ignore-case --ignore-file=read -v|--invert-match",
      "--json -n|--line-number -x|--line-regexp -m|--max-count=data -d|--max-depth=data -U|--multiline --no-ignore --no-ignore-vcs",
      "--no-heading -I|--no-filename -N|--no-line-number -0|--null -o|--only-matching -P|--pcre2 --pre=program -q|--quiet",
      "-e|--regexp=data^ -r|--replace=data -z|--search-zip!program -S|--smart-case --sort=data --stats -a|--text --trim",
      "-t|--type=data -T|--type-not=data --type-list^ -u|--unrestricted --vimgrep -H|--with-filename -w|--word-regexp",
    ].join(" "),
    { operands: "data read*" },
  ),
  // The programs below run without approval only in a sandbox.
  ...each("od hexdump strings fold expand unexpand fmt join tsort cksum sum shasum md5 base64 base32", printing),
  ...each("colrm numfmt", { inert: true, operands: "data*" }),
  ["shuf", { options: "-e|--echo -i=data -n=data -o|--output=write" }],
  ["xxd", { operands: "read write", options: "-c=data -g=data -l=data -s=data -o=data" }],
];

/**
 * Without a sandbox, only scripts that print lines by number are known. A wildcard in a rule covers scripts without
 * commands that write files or run programs.
 */
function checkSed({ options, operands }: ArgumentReading): readonly CommandEffect[] {
  const given = options.filter(({ option }) => option === "--expression");
  return (given.length > 0 ? given : operands.slice(0, 1)).flatMap(({ word: { text, open }, at }) => {
    if (open === undefined && /^(\d+|\$)(,(\d+|\$))?p$/.test(text)) return [];
    const isPlain = open === undefined && text.split(";").every((each) => plainSed.test(each.trim()));
    const unknown = isPlain ? unknownArgument : unknownCode;
    return [unknown("a sed script can write files or run programs", at)];
  });
}

/** With `-i`, sed writes the files. If `-e` is missing, the first operand is the script. */
function checkInPlace({ options, operands }: ArgumentReading): Effects {
  const has = (names: RegExp) => options.some(({ option = "" }) => names.test(option));
  if (!has(/^(--in-place|-I)$/)) return [];
  return operands.slice(has(/^--(expression|file)$/) ? 0 : 1).map(({ word, at }) => ({ kind: "write", word, at }));
}

/** Matches one command of sed: addresses, then `p`, `d`, `=`, `q` or a substitution, all without escapes or brackets. */
const plainSed = (() => {
  const address = String.raw`(\d+|\$|/[^/\\[\n]*/)`;
  const part = String.raw`((?!\k<mark>)[^\\[\n])*\k<mark>`;
  return new RegExp(`^(${address}(,${address})?!?)?([pdq=]|s(?<mark>[/|#,])${part}${part}[gpI\\d]*)$`);
})();

/** A program that reads and prints contains nothing that could write, run, load or find anything else, even in text. */
function checkAwk({ options, operands }: ArgumentReading): readonly CommandEffect[] {
  const scripts = operands.slice(0, 1).filter(({ word }) => word.open !== undefined || powerfulAwk.test(word.text));
  const variables = options.filter(({ option, word }) => option === "-v" && !/^\w+=/.test(word.lead));
  return [...scripts, ...variables].map(({ at }) => unknownCode("an awk program can write files or run programs", at));
}

const powerfulAwk = />|(^|[^|])\|([^|]|$)|@|\\\n|system|getline|close|fflush|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|FUNCTAB/;

/** A jq filter can read the environment and load modules. */
function checkJq({ options, operands }: ArgumentReading): readonly CommandEffect[] {
  return [...options, ...operands]
    .filter(({ word }) => /(^|[^.\w])env\b|\bENV\b|__prog_args|\b(include|import|modulemeta)\b/.test(word.text))
    .map(({ at }) => unknownCode("a jq filter can read the environment or load modules", at));
}
