import { fixedWord, type ShellWord } from "../shell-word.ts";
import { type CommandEffect, type Effects, unknownArgument, unknownCode, unknownProgram } from "./effects.ts";
import { readFind } from "./find.ts";
import { type ArgumentReading, each, optionsOf, type ProgramSpec } from "./model.ts";
import { readArguments } from "./read-arguments.ts";

/** Programs that change files. Their operands matter to rules, and no option makes them read-only. */
const changing: ProgramSpec = { does: "change", operands: "write*" };
const copying: ProgramSpec = {
  does: "change",
  operands: "read* write",
  options: [
    "-a|--archive -b --backup[=data] --copy-contents -d -f|--force -H -i|--interactive -l|--link -L|--dereference -n|--no-clobber",
    "-P|--no-dereference -p --preserve[=data] --no-preserve=data --parents -R|-r|--recursive --reflink[=data] --remove-destination",
    "--sparse=data --strip-trailing-slashes -s|--symbolic -S|--suffix=data -t|--target-directory=write -T|--no-target-directory",
    "-u --update[=data] -v|--verbose -x|--one-file-system -Z --context[=data] -c -D -g|--group=data -m|--mode=data -o|--owner=data",
    "--strip --strip-program=program -C|--compare",
  ].join(" "),
};

const tarOptions = [
  "-v|--verbose -z|--gzip|--gunzip|--ungzip -j|--bzip2 -J|--xz -Z|--compress|--uncompress --lzip --lzma --lzop --zstd -a|--auto-compress",
  "--no-auto-compress --full-time --numeric-owner --exclude=data --exclude-vcs --exclude-vcs-ignores --exclude-backups --exclude-caches",
  "--exclude-caches-all --exclude-caches-under --exclude-tag=data --exclude-tag-all=data --exclude-tag-under=data --exclude-ignore=data",
  "--exclude-ignore-recursive=data --wildcards --no-wildcards --wildcards-match-slash --no-wildcards-match-slash --anchored --no-anchored",
  "--ignore-case --no-ignore-case --strip-components=data --utc --recursion --no-recursion -h|--dereference --hard-dereference",
  "-p|--preserve-permissions|--same-permissions --no-same-permissions --same-owner --no-same-owner -o -s|--preserve-order|--same-order",
  "-O|--to-stdout -k|--keep-old-files --skip-old-files --keep-newer-files --overwrite --overwrite-dir --no-overwrite-dir -U|--unlink-first",
  "-m|--touch -S|--sparse --hole-detection=data --sparse-version=data -i|--ignore-zeros --ignore-failed-read --delay-directory-restore",
  "--no-delay-directory-restore -l|--check-links|--one-file-system -n|--seek --no-seek --occurrence[=data] --restrict -W|--verify -M|--multi-volume",
  "-L|--tape-length=data -b|--blocking-factor=data -B|--read-full-records --record-size=data -H|--format=data --old-archive --portability",
  "--posix --pax-option=data -V|--label=data --test-label -N|--newer|--after-date=data --newer-mtime=data -K|--starting-file=data",
  "--owner=data --group=data --owner-map=read --group-map=read --mode=data --mtime=data --clamp-mtime --sort=data --atime-preserve[=data]",
  "--backup[=data] --suffix=data --acls --no-acls --selinux --no-selinux --xattrs --no-xattrs --xattrs-include=data --xattrs-exclude=data",
  "--checkpoint[=data] --totals[=data] --block-number --show-defaults --show-omitted-dirs --show-transformed-names --show-stored-names",
  "--quoting-style=data --quote-chars=data --no-quote-chars=data --warning=data -w|--interactive|--confirmation -R --null --no-null",
  "--verbatim-files-from --no-verbatim-files-from --unquote --no-unquote --force-local --level=data -G|--incremental --no-check-device",
  "--check-device --no-ignore-command-error --ignore-command-error --help --usage --version -t|--list -d|--diff|--compare",
  "-x|--extract|--get!change -c|--create!change -r|--append!change -u|--update!change -A|--catenate|--concatenate!change --delete!change",
  "-C|--directory=directory -T|--files-from=names -X|--exclude-from=read --add-file=read --one-top-level[=write] -P|--absolute-names",
  "--transform|--xform=data --keep-directory-symlink --recursive-unlink --remove-files!change --index-file=write --volno-file=write",
  "-g|--listed-incremental=write -I|--use-compress-program=program -F|--info-script|--new-volume-script=program --to-command=program",
  "--rsh-command=program --rmt-command=program --checkpoint-action=program",
].join(" ");

/** An unknown option of tar may do anything. Operands are names of archive members, or files to add to the archive. */
const tarReading: ProgramSpec = {
  isPowerful: true,
  operands: "data*",
  options: `${tarOptions} -f|--file=read`,
  check: checkTar,
};
const tarWriting: ProgramSpec = { ...tarReading, operands: "read*", options: `${tarOptions} -f|--file=write` };

const tree: ProgramSpec = {
  operands: "list*",
  options: [
    "-a -d -l -f -x -L=data -R!change -P=data -I=data --ignore-case --matchdirs --metafirst --prune --info --infofile=read --noreport",
    "--charset=data --filelimit=data -q -N -Q -p -u -g -s -h --si --du -D --timefmt=data -F --inodes --device -v -t -c -U -r",
    "--dirsfirst --filesfirst --sort=data -i -A -S -n -C -X -J -H=data -T=data --nolinks --hintro=read --houtro=read -o=write",
    "--gitignore --gitfile=read --version --help --fflinks",
  ].join(" "),
};

export const fileTools: readonly (readonly [string, ProgramSpec])[] = [
  // Some options take a value on one system but none on another, where the next word is a file to list.
  ...each("ls dir vdir", {
    inert: true,
    operands: "list*",
    options: [
      "-a|--all -A|--almost-all --author -b|--escape --block-size=data -B|--ignore-backups -c -C --color[=data] -d|--directory -D|--dired",
      "-f -F --classify[=data] --file-type --format=data --full-time -g -G|--no-group --group-directories-first -h|--human-readable --si",
      "-H|--dereference-command-line --dereference-command-line-symlink-to-dir --hide=data --hyperlink[=data] --indicator-style=data",
      "-i|--inode -I|--ignore=list -k|--kibibytes -l -L|--dereference -m -n|--numeric-uid-gid -N|--literal -o -p -q|--hide-control-chars",
      "--show-control-chars -Q|--quote-name --quoting-style=data -r|--reverse -R|--recursive -s|--size -S --sort=data --time=data",
      "--time-style=data -t -T|--tabsize=list -u -U -v -w|--width=list -x -X -Z|--context -1 -e -O -P -W -y -% -@ --zero --help --version",
    ].join(" "),
  }),
  [
    "stat",
    {
      inert: true,
      operands: "list*",
      options:
        "-L|--dereference -f|--file-system --cached=data -c|--format=data --printf=data -t|--terse -F -l -n -q -r -s -x --help --version",
    },
  ],
  [
    "readlink",
    {
      inert: true,
      operands: "list*",
      options:
        "-f|--canonicalize -e|--canonicalize-existing -m|--canonicalize-missing -n|--no-newline -q|--quiet -s|--silent -v|--verbose -z|--zero --help --version",
    },
  ],
  [
    "realpath",
    {
      inert: true,
      operands: "list*",
      options:
        "-e|--canonicalize-existing -m|--canonicalize-missing -L|--logical -P|--physical -q|--quiet --relative-to=list --relative-base=list -s|--strip|--no-symlinks -z|--zero --help --version",
    },
  ],
  [
    "df",
    {
      inert: true,
      operands: "list*",
      options:
        "-a|--all -b -B|--block-size=data -c -g -h|--human-readable -H|--si -i|--inodes -k -l|--local -m -n --no-sync --output[=data] -P|--portability --sync --total -t|--type=data -T|--print-type -v -x|--exclude-type=data -Y --help --version",
    },
  ],
  [
    "du",
    {
      inert: true,
      operands: "list*",
      options: [
        "-0|--null -a|--all --apparent-size -A -B|--block-size=data -b|--bytes -c|--total -D|--dereference-args -d|--max-depth=data",
        "--files0-from=names -g -H -h|--human-readable --inodes -k -L|--dereference -l|--count-links -m -n -P|--no-dereference",
        "-S|--separate-dirs --si -s|--summarize -t|--threshold=data --time[=data] --time-style=data -X|--exclude-from=read -I=data",
        "--exclude=data -x|--one-file-system -r --help --version",
      ].join(" "),
    },
  ],
  [
    "basename",
    { inert: true, operands: "data*", options: "-a|--multiple -s|--suffix=data -z|--zero --help --version" },
  ],
  ["dirname", { inert: true, operands: "data*", options: "-z|--zero --help --version" }],
  ["tree", { ...tree, read: readTree }],
  [
    "file",
    {
      options: [
        "-b|--brief -C|--compile!change -c|--checking-printout -E -e|--exclude=data --exclude-quiet=data --extension -f|--files-from=names",
        "-F|--separator=data -h|--no-dereference -i|--mime -I -k|--keep-going -l|--list -L|--dereference -m|--magic-file=read --mime-type",
        "--mime-encoding -N|--no-pad -n|--no-buffer -p!change --preserve-date!change -P|--parameter=data -r|--raw -s|--special-files",
        "-v|--version -z|--uncompress!program -Z|--uncompress-noreport!program -0|--print0 -S|--no-sandbox -d --apple --help",
      ].join(" "),
    },
  ],
  ["find", { read: readFind }],
  [
    "fd",
    {
      operands: "data list*",
      options: [
        "-H|--hidden -I|--no-ignore --no-ignore-vcs --no-ignore-parent -u|--unrestricted -s|--case-sensitive -i|--ignore-case -g|--glob",
        "--regex -F|--fixed-strings --and=data -a|--absolute-path -l|--list-details!program -L|--follow -p|--full-path -0|--print0 -d|--max-depth=data",
        "--min-depth=data --exact-depth=data -E|--exclude=data --prune -t|--type=data -e|--extension=data -S|--size=data",
        "--changed-within=data --changed-before=data -o|--owner=data --format=data -x|--exec=program -X|--exec-batch=program --batch-size=data",
        "--ignore-file=read -c|--color=data --hyperlink[=data] -j|--threads=data --max-results=data -1 -q|--quiet --show-errors",
        "--base-directory=directory --path-separator=data --search-path=list --strip-cwd-prefix[=data] --one-file-system --gen-completions[=data] -h|--help -V|--version",
      ].join(" "),
    },
  ],
  ["tar", { ...tarReading, read: readTar }],
  ...each("gtar bsdtar", {
    ...tarReading,
    read: (words) => [...readTar(words), unknownProgram("this version of tar may have other options")],
  }),
  [
    "unzip",
    {
      options: "-l -v -z -p -t -q -d=write -j -o -n -u -f -C",
      operands: "read data*",
      check: (reading) =>
        reading.options.some(({ option }) => /^-[lvzpt]$/.test(option ?? ""))
          ? checkArchive(reading)
          : [change("unzip would extract files")],
    },
  ],
  ["zipinfo", { operands: "read data*", options: "-1 -2 -s -m -l -v -h -t -T -z", check: checkArchive }],
  [
    "dd",
    {
      read: readDd,
    },
  ],
  [
    "tee",
    { operands: "write*", options: "-a|--append -i|--ignore-interrupts -p --output-error[=data] --help --version" },
  ],
  ["split", { does: "change", operands: "read write", options: "--filter=program -n=data -l=data -b=data" }],
  ["csplit", { does: "change", operands: "read data*", options: "-f|--prefix=write -b=data -n=data -k -s -z" }],
  ...each("cp mv install ln", copying),
  ...each("rm rmdir unlink shred truncate touch mkdir mkfifo mknod mktemp", changing),
  ...each("chmod chown chgrp", { does: "change", operands: "data write*", options: "--reference=read" }),
  [
    "zip",
    {
      does: "change",
      operands: "write read*",
      options: "-r -q -T!program --test!program -TT=program --unzip-command=program",
    },
  ],
  ["gzip", { does: "change", operands: "write*" }],
  [
    "less",
    {
      options: "-o|-O=write -k=settings -N -R -S -X -F -i -I -n -r -s -E -e -M -m -p=data -x=data",
      check: () => [unknownCode("less can run programs", 0)],
    },
  ],
  ["more", { options: "-d -l -f -p -c -s -u -#", check: () => [unknownCode("more can run programs", 0)] }],
];

function change(reason: string): CommandEffect {
  return { kind: "change", reason, at: 0 };
}

/** The name of an archive may be a pattern, which unzip expands, and may lack its extension. */
function checkArchive({ operands: [archive] }: ArgumentReading): Effects {
  if (archive === undefined) return [];
  const { word, at } = archive;
  // unzip does not treat `--` as the end of its options.
  if (/^-|[*?[\\]/.test(word.text)) return [unknownArgument("only unzip knows which archives a pattern matches", at)];
  return [".zip", ".ZIP"].map((ending) => ({ kind: "read", word: { ...word, text: `${word.text}${ending}` }, at }));
}

/** Reads the operands of dd, which have the form `key=value`. */
function readDd(words: readonly ShellWord[]): Effects {
  return words.slice(1).flatMap((word, index): CommandEffect[] => {
    const at = index + 1;
    const key = /^(\w+)=/.exec(word.lead)?.[1];
    const start = (key?.length ?? 0) + 1;
    const value = { ...word, text: word.text.slice(start), lead: word.lead.slice(start) };
    if (key === "if") return [{ kind: "read", word: value, at }];
    if (key === "of") return [{ kind: "write", word: value, at }];
    return key !== undefined && ddKeys.has(key) ? [] : [unknownArgument("an operand of dd is unknown", at)];
  });
}

const ddKeys = new Set("bs cbs conv count ibs iflag iseek obs oflag oseek seek skip status".split(" "));

/**
 * Reads the arguments of tar, even in the old form without a dash: in `tar xfI archive program`, the values of all
 * letters follow the first word.
 */
function readTar(words: readonly ShellWord[]): Effects {
  const isOld = words[1]?.open === undefined && /^[A-Za-z]+$/.test(words[1]?.text ?? "");
  const isStoring = words.some(
    ({ text }, index) =>
      /^-[^-]*[cruA]|^--(cr|app|up|cat|con)/.test(text) || (index === 1 && isOld && /[cruA]/.test(text)),
  );
  const isSpread = (_: ShellWord, index: number) => index === 1 && isOld;
  return readSpread(isStoring ? tarWriting : tarReading, words, { name: "tar", isSpread });
}

/**
 * Reads the arguments of tree. An option letter takes its value from the following words, no matter where in its own
 * word the letter occurs.
 */
function readTree(words: readonly ShellWord[]): Effects {
  const end = words.findIndex(({ text }) => text === "--");
  const isSpread = ({ text, open }: ShellWord, index: number) =>
    open === undefined && /^-[^-]/.test(text) && (end === -1 || index < end);
  const open = words.findIndex((word) => word.open !== undefined && /^-[^-]/.test(word.lead));
  const unclear = open === -1 ? [] : [unknownCode("only the shell knows some of the options of tree", open)];
  return [...readSpread(tree, words, { name: "tree", isSpread }), ...unclear];
}

/** Reads arguments after replacing each word of letters with an option for each letter, followed by its value. */
function readSpread(
  spec: ProgramSpec,
  words: readonly ShellWord[],
  { name, isSpread }: { readonly name: string; readonly isSpread: (word: ShellWord, index: number) => boolean },
): Effects {
  const given: ShellWord[] = [];
  const places: number[] = [];
  const add = (word: ShellWord, at: number): void => {
    given.push(word);
    places.push(at);
  };
  for (let index = 0; index < words.length; ) {
    const word = words[index]!;
    const at = index;
    index += 1;
    if (!isSpread(word, at)) add(word, at);
    else {
      // Newer versions of tree accept the number for `-L` in the same word, as in `-L2`.
      for (const letter of word.text.match(/L\d+|[^-]/gu) ?? []) {
        add(fixedWord(`-${letter}`), at);
        if (optionsOf(spec).exact(`-${letter}`)?.value !== "required" || index >= words.length) continue;
        add(words[index]!, index);
        index += 1;
      }
    }
  }
  const effects = readArguments(spec, given, { from: 1, name });
  return effects.map((effect) => ({ ...effect, at: places[effect.at]! }));
}

/** Only `tar -t` changes nothing. To reach an archive on another host, tar runs a program. */
function checkTar({ options, operands }: ArgumentReading): readonly CommandEffect[] {
  const names = new Set(options.map(({ option }) => option));
  const archives = options.filter(({ option }) => option === "--file");
  const effects: CommandEffect[] = [];
  if (!names.has("--list")) effects.push(change("`tar` without -t may change files"));
  for (const { word, at } of archives) {
    if (/^[^/]*:/.test(word.text) && !names.has("--force-local"))
      effects.push({ kind: "run", reason: "tar runs a program to reach an archive on another host", at });
  }
  if (archives.length === 0 || archives.some(({ word }) => word.open !== undefined))
    effects.push(unknownArgument("tar may read a remote archive or a tape", 0));
  if (operands.some(({ word }) => word.open !== undefined))
    effects.push(unknownArgument("only the shell knows the value of an argument to tar", 0));
  const isExtraction = names.has("--get");
  for (const { option = "", at } of options) {
    if (option === "--files-from" || (isExtraction && elsewhere.has(option)))
      effects.push(unknownCode(`\`tar ${option}\` uses files that its arguments do not show`, at));
  }
  return effects;
}

/** Options that make tar extract files to paths other than those in the archive, relative to the destination. */
const elsewhere = new Set("--absolute-names --xform --keep-directory-symlink --recursive-unlink".split(" "));
