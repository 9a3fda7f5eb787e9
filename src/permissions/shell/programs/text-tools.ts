import { isReadingAwk, isReadingSed } from "../read-only/sed-awk.ts";
import { type CommandEffect, unknownArgument, unknownCode } from "./effects.ts";
import { type ArgumentReading, each, type ProgramSpec } from "./model.ts";

const sums: ProgramSpec = {
  inert: true,
  options:
    "-b|--binary -c|--check -t|--text -z|--zero -w|--warn --tag --quiet --status --strict --ignore-missing --version --help -a|--algorithm=data -l|--length=data --base64 --raw --untagged --debug -r -q -s -p",
  check: checkSums,
};

const encoders: ProgramSpec = {
  options: "-d|-D|--decode -w|--wrap=data --ignore-garbage --version --help",
  operands: "read",
};

const grep: ProgramSpec = {
  inert: true,
  operands: "data read*",
  options: [
    "-E|--extended-regexp -F|--fixed-strings -G|--basic-regexp -P|--perl-regexp -e|--regexp=data^ -f|--file=read^",
    "-i|-y|--ignore-case --no-ignore-case -w|--word-regexp -x|--line-regexp -z|--null-data -s|--no-messages",
    "-v|--invert-match -V|--version --help -m|--max-count=data -b|--byte-offset -n|--line-number --line-buffered",
    "-H|--with-filename -h|--no-filename --label=data -o|--only-matching -q|--quiet|--silent --binary-files=data -a|--text -I",
    "-d|--directories=data -D|--devices=data -r|--recursive -R|--dereference-recursive -S -O -p --include=data --exclude=data",
    "--exclude-from=read --exclude-dir=data -L|--files-without-match -l|--files-with-matches -c|--count",
    "-T|--initial-tab -Z|--null -A|--after-context=data -B|--before-context=data -C|--context=data -# -u|--unix-byte-offsets",
    "-U|--binary --color|--colour[=data] --no-group-separator --group-separator=data",
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

export const textTools: readonly (readonly [string, ProgramSpec])[] = [
  [
    "cat",
    {
      inert: true,
      options:
        "-A|--show-all -b|--number-nonblank -e -E|--show-ends -n|--number -s|--squeeze-blank -t -T|--show-tabs -u -v|--show-nonprinting -l --help --version",
    },
  ],
  ["tac", { inert: true, options: "-b|--before -r|--regex -s|--separator=data --help --version" }],
  ["rev", { inert: true, options: "-0|--zero -h|--help -V|--version" }],
  [
    "head",
    {
      inert: true,
      options:
        "-c|--bytes=data -n|--lines=data -q|--quiet|--silent -v|--verbose -z|--zero-terminated -# --help --version",
    },
  ],
  [
    "tail",
    {
      inert: true,
      options:
        "-c|--bytes=data -f --follow[=data] -F --retry -n|--lines=data --max-unchanged-stats=data --pid=data -q|--quiet|--silent -r -s|--sleep-interval=data -v|--verbose -z|--zero-terminated -# --help --version",
    },
  ],
  [
    "wc",
    {
      inert: true,
      options:
        "-c|--bytes -m|--chars -l|--lines -L|--max-line-length -w|--words --total=data --files0-from=names --help --version",
    },
  ],
  [
    "nl",
    {
      inert: true,
      options:
        "-b|--body-numbering=data -d|--section-delimiter=data -f|--footer-numbering=data -h|--header-numbering=data -i|--line-increment=data -l|--join-blank-lines=data -n|--number-format=data -p|--no-renumber -s|--number-separator=data -v|--starting-line-number=data -w|--number-width=data --help --version",
    },
  ],
  [
    "od",
    {
      inert: true,
      options:
        "-A|--address-radix=data -j|--skip-bytes=data -N|--read-bytes=data -S=data --strings[=data] -t|--format=data -v|--output-duplicates -w|--width[=data] --traditional --endian=data -a -b -B -c -d -D -e -f -F -H -h -i -I -l -L -o -O -s -x -X --help --version",
    },
  ],
  [
    "hexdump",
    {
      inert: true,
      options:
        "-b|--one-byte-octal -c|--one-byte-char -C|--canonical -d|--two-bytes-decimal -e|--format=data -f|--format-file=read -L|--color[=data] -n|--length=data -o|--two-bytes-octal -s|--skip=data -v|--no-squeezing -x|--two-bytes-hex -X|--one-byte-hex -h|--help -V|--version",
    },
  ],
  [
    "strings",
    {
      options:
        "-a|--all -d|--data -f|--print-file-name -n|--bytes=data -t|--radix=data -o -s|--output-separator=data -w|--include-all-whitespace -e|--encoding=data -T|--target=data -U|--unicode=data -# -h|--help -v|-V|--version",
      check: checkOptionFiles,
    },
  ],
  [
    "join",
    {
      inert: true,
      options:
        "-a=data -e=data -i|--ignore-case -j=data -o=data -t=data -v=data -1=data -2=data --check-order --nocheck-order --header -z|--zero-terminated --help --version",
    },
  ],
  [
    "comm",
    {
      inert: true,
      options:
        "-1 -2 -3 -i --check-order --nocheck-order --output-delimiter=data --total -z|--zero-terminated --help --version",
    },
  ],
  [
    "cmp",
    {
      inert: true,
      operands: "read read data data",
      options:
        "-b|--print-bytes -c|--print-chars -i|--ignore-initial=data -l|--verbose -n|--bytes=data -s|--quiet|--silent -h -x -z -v|--version --help",
    },
  ],
  [
    "cut",
    {
      inert: true,
      options:
        "-b|--bytes=data -c|--characters=data -d|--delimiter=data -f|--fields=data -n -s|--only-delimited --complement --output-delimiter=data -w -z|--zero-terminated --help --version",
    },
  ],
  ["paste", { inert: true, options: "-d|--delimiters=data -s|--serial -z|--zero-terminated --help --version" }],
  ["fold", { inert: true, options: "-b|--bytes -c|--characters -s|--spaces -w|--width=data -# --help --version" }],
  ["expand", { inert: true, options: "-i|--initial -t|--tabs=data -# --help --version" }],
  ["unexpand", { inert: true, options: "-a|--all --first-only -t|--tabs=data --help --version" }],
  [
    "fmt",
    {
      inert: true,
      options:
        "-c|--crown-margin -p|--prefix=read -s|--split-only -t|--tagged-paragraph -u|--uniform-spacing -w|--width=data -g|--goal=data -# --help --version",
    },
  ],
  ["tsort", { inert: true, options: "--help --version" }],
  ["colrm", { inert: true, operands: "data data", options: "-h|--help -V|--version" }],
  [
    "tr",
    {
      inert: true,
      operands: "data data",
      options: "-c|-C|--complement -d|--delete -s|--squeeze-repeats -t|--truncate-set1 -u --help --version",
    },
  ],
  [
    "numfmt",
    {
      inert: true,
      operands: "data*",
      options:
        "--debug -d|--delimiter=data --field=data --format=data --from=data --from-unit=data --grouping --header[=data] --invalid=data --padding=data --round=data --suffix=data --to=data --to-unit=data -z|--zero-terminated --help --version",
    },
  ],
  [
    "column",
    {
      inert: true,
      options:
        "-c|--output-width=data -d|--table-noheadings -e|--table-header-repeat -E|--table-noextreme=data -C|--table-column=data -h|--help -H|--table-hide=data -i|--tree-id=data -J|--json -l|--table-columns-limit=data -L|--keep-empty-lines -n|--table-name=data -N|--table-columns=data -o|--output-separator=data -O|--table-order=data -p|--tree-parent=data -r|--tree=data -R|--table-right=data -s|--separator=data -t|--table -T|--table-truncate=data -V|--version -W|--table-wrap=data -x|--fillrows -m|--table-maxout",
    },
  ],
  ...each("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum", sums),
  ["md5", { inert: true, options: "-c=data -p -q -r -s=data -t -x" }],
  ...each("grep egrep fgrep", grep),
  ...each("base64 base32", encoders),
  [
    "diff",
    {
      inert: true,
      options: [
        "--normal -q|--brief -s|--report-identical-files -c -C=data --context[=data] -u -U=data --unified[=data] -e|--ed -n|--rcs -y|--side-by-side",
        "-W|--width=data --left-column --suppress-common-lines -p|--show-c-function -F|--show-function-line=data --label|-L=data",
        "-t|--expand-tabs -T|--initial-tab --tabsize=data --suppress-blank-empty -l|--paginate -r|--recursive --no-dereference",
        "-N|--new-file --unidirectional-new-file -P --ignore-file-name-case --no-ignore-file-name-case -x|--exclude=data",
        "-X|--exclude-from=read -S|--starting-file=data --from-file=read --to-file=read -i|--ignore-case -E|--ignore-tab-expansion",
        "-Z|--ignore-trailing-space -b|--ignore-space-change -w|--ignore-all-space -B|--ignore-blank-lines -I|--ignore-matching-lines=data",
        "-a|--text --strip-trailing-cr -D|--ifdef=data --line-format=data --old-line-format=data --new-line-format=data --unchanged-line-format=data",
        "--old-group-format=data --new-group-format=data --changed-group-format=data --unchanged-group-format=data -d|--minimal",
        "--horizon-lines=data --speed-large-files --color[=data] --palette=data -# -v|--version --help",
      ].join(" "),
    },
  ],
  [
    "sort",
    {
      options: [
        "-b|--ignore-leading-blanks -d|--dictionary-order -f|--ignore-case -g|--general-numeric-sort -i|--ignore-nonprinting",
        "-M|--month-sort -h|--human-numeric-sort -n|--numeric-sort -R|--random-sort --random-source=read -r|--reverse --sort=data",
        "-V|--version-sort --batch-size=data -c -C --check[=data] --compress-program=program --debug --files0-from=names -k|--key=data",
        "-m|--merge -o|--output=write -s|--stable -S|--buffer-size=data -t|--field-separator=data -T|--temporary-directory=write",
        "--parallel=data -u|--unique -z|--zero-terminated --help --version",
      ].join(" "),
    },
  ],
  [
    "uniq",
    {
      operands: "read write",
      options:
        "-c|--count -d|--repeated -D --all-repeated[=data] -f|--skip-fields=data --group[=data] -i|--ignore-case -s|--skip-chars=data -u|--unique -z|--zero-terminated -w|--check-chars=data --help --version",
    },
  ],
  [
    "shuf",
    {
      options:
        "-e|--echo -i|--input-range=data -n|--head-count=data -o|--output=write --random-source=read -r|--repeat -z|--zero-terminated --help --version",
    },
  ],
  [
    "xxd",
    {
      unclustered: true,
      ordered: true,
      operands: "read write",
      options: "-a -b -c=data -C -d -e -E -g=data -i -l=data -n=data -o=data -p -r -R=data -s=data -u -v --version",
    },
  ],
  [
    "sed",
    {
      isPowerful: true,
      operands: "data read*",
      options:
        "-n|--quiet|--silent --debug -e|--expression=data^ -E|-r|--regexp-extended -f|--file=settings^ --follow-symlinks -i|--in-place[=data]!change -I[=data]!change --line-length=data --posix -s|--separate --sandbox -u|--unbuffered -z|--null-data --help --version",
      check: checkSed,
    },
  ],
  ...each("awk gawk mawk nawk", awk),
  [
    "jq",
    {
      operands: "data read*",
      options: [
        "-n|--null-input -r|--raw-output -R|--raw-input -s|--slurp -c|--compact-output -C|--color-output -M|--monochrome-output",
        "-S|--sort-keys -a|--ascii-output -e|--exit-status -j|--join-output --raw-output0 --tab --indent=data --unbuffered --stream",
        "--stream-errors --seq -h|--help -V|--version --build-configuration -f|--from-file=names^ -L|--library-path=names",
        "--slurpfile=data,read --rawfile=data,read --arg=data,data --argjson=data,data",
      ].join(" "),
      check: checkJq,
    },
  ],
  [
    "rg",
    {
      operands: "data read*",
      options: [
        "-A|--after-context=data -B|--before-context=data -C|--context=data --binary --block-buffered -b|--byte-offset",
        "-s|--case-sensitive --color=data --colors=data --column --context-separator=data -c|--count --count-matches --crlf --debug",
        "--dfa-size-limit=data -E|--encoding=data --engine=data --field-context-separator=data --field-match-separator=data -f|--file=read^",
        "--files^ -l|--files-with-matches --files-without-match -F|--fixed-strings -L|--follow -g|--glob=data --glob-case-insensitive",
        "--heading --hidden|-. --hostname-bin=program --hyperlink-format=data --iglob=data -i|--ignore-case --ignore-file=read",
        "--ignore-file-case-insensitive --include-zero -v|--invert-match --json --line-buffered -n|--line-number -x|--line-regexp",
        "-M|--max-columns=data --max-columns-preview -m|--max-count=data -d|--max-depth|--maxdepth=data --max-filesize=data --mmap -U|--multiline",
        "--multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global",
        "--no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages --no-require-git --no-unicode --no-heading -I|--no-filename",
        "-N|--no-line-number --no-mmap --no-pcre2-unicode -0|--null --null-data --one-file-system -o|--only-matching --passthru --passthrough -P|--pcre2",
        "--path-separator=data --pre=program --pre-glob=data -p|--pretty -q|--quiet --regex-size-limit=data -e|--regexp=data^",
        "-r|--replace=data -z|--search-zip!program -S|--smart-case --sort=data --sortr=data --sort-files --stats --stop-on-nonmatch -a|--text",
        "-j|--threads=data --trace --trim -t|--type=data -T|--type-not=data --type-add=data --type-clear=data --type-list^ -u|--unrestricted",
        "-V|--version --pcre2-version --vimgrep -H|--with-filename -w|--word-regexp --generate=data -h|--help --auto-hybrid-regex --no-auto-hybrid-regex",
      ].join(" "),
    },
  ],
];

/** The words in a file replace `@file`, wherever it occurs. */
function checkOptionFiles({ name, options, operands }: ArgumentReading): readonly CommandEffect[] {
  return [...options, ...operands]
    .filter(({ word }) => word.text.startsWith("@") || (word.open !== undefined && word.lead === ""))
    .map(({ at }) => unknownArgument(`${name} may read options and names of files from a file`, at));
}

/** With `-c`, the operands are files that list the files to read. */
function checkSums({ name, options }: ArgumentReading): readonly CommandEffect[] {
  return options
    .filter(({ option }) => option === "--check")
    .map(({ at }) => unknownArgument(`\`${name} -c\` reads files that another file names`, at));
}

/** Returns an effect unless every script is known and only prints. */
function checkSed({ options, operands }: ArgumentReading): readonly CommandEffect[] {
  const given = options.filter(({ option }) => option === "--expression");
  const scripts = given.length > 0 ? given : operands.slice(0, 1);
  const bad = scripts.find(({ word }) => word.open !== undefined || !isReadingSed(word.text));
  if (bad === undefined) return [];
  return [unknownCode("a sed script can write files or run programs", bad.at)];
}

function checkAwk(reading: ArgumentReading): readonly CommandEffect[] {
  const effects: CommandEffect[] = [];
  for (const { word, at } of reading.operands.slice(0, 1)) {
    if (word.open !== undefined || !isReadingAwk(word.text))
      effects.push(unknownCode("an awk program can write files or run programs", at));
  }
  for (const { option, word, at } of reading.options) {
    if (option !== "-v" || /^\w+=/.test(word.lead)) continue;
    effects.push(unknownCode("only the shell knows which variable awk sets", at));
  }
  return effects;
}

/** A jq filter can read the environment and load modules. */
function checkJq({ options, operands }: ArgumentReading): readonly CommandEffect[] {
  return [...options, ...operands]
    .filter(({ word }) => /(^|[^.\w])env\b|\bENV\b|__prog_args|\b(include|import)\b/.test(word.text))
    .map(({ at }) => unknownCode("a jq filter can read the environment or load modules", at));
}
