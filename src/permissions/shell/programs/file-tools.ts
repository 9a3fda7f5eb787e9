import { fixedWord, type ShellWord } from "../shell-word.ts";
import { type CommandEffect, type Effects, unknownArgument, unknownCode, unknownProgram } from "./effects.ts";
import { readFind } from "./find.ts";
import { type ArgumentReading, each, optionsOf, type ProgramSpec, withOptions } from "./model.ts";
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
  "-v|--verbose -z|--gzip|--gunzip -j|--bzip2 -J|--xz --zstd -a|--auto-compress --exclude=data --exclude-vcs --wildcards --no-wildcards",
  "--strip-components=data -h|--dereference -p|--preserve-permissions --no-same-permissions --same-owner --no-same-owner --numeric-owner",
  "-O|--to-stdout -k|--keep-old-files --skip-old-files --keep-newer-files --overwrite -m|--touch -b|--blocking-factor=data -V|--label=data",
  "--owner=data --group=data --mode=data --mtime=data --sort=data --no-recursion -t|--list -x|--extract|--get!change -c|--create!change",
  "-r|--append!change -u|--update!change -A|--catenate|--concatenate!change --delete!change --force-local",
  "-C|--directory=directory -T|--files-from=read -X|--exclude-from=read --add-file=read --one-top-level[=write] -P|--absolute-names",
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
  options:
    "-a -d -l -f -x -L=data -R!change -P=data -I=data --prune --noreport -p -u -g -s -h -D -F -t -r --dirsfirst -i -n -C -o=write",
};

export const fileTools: readonly (readonly [string, ProgramSpec])[] = [
  withOptions(
    "ls",
    [
      "-a|--all -A|--almost-all -c -C --color[=data] -d|--directory -F --full-time -g -G --group-directories-first -h|--human-readable",
      "-H -i|--inode -k -l -L -m -n -o -p -q -Q -r|--reverse -R|--recursive -s|--size -S --sort=data --time-style=data -t -u -U -v -x -X -1",
    ].join(" "),
    { inert: true, operands: "list*" },
  ),
  [
    "stat",
    { inert: true, operands: "list*", options: "-L|--dereference -f -c|--format=data --printf=data -t|--terse" },
  ],
  ["readlink", { inert: true, operands: "list*", options: "-f|--canonicalize -e -m -n" }],
  ["realpath", { inert: true, operands: "list*", options: "-e -m -L -P -q -s" }],
  withOptions(
    "du",
    "-a|--all -b|--bytes -c|--total -d|--max-depth=data -h|--human-readable -k -L -m -s|--summarize -x --apparent-size --exclude=data --si",
    { inert: true, operands: "list*" },
  ),
  ["basename", { inert: true, operands: "data*", options: "-a -s=data" }],
  ["dirname", { inert: true, operands: "data*" }],
  ["tree", { ...tree, read: readTree }],
  withOptions(
    "file",
    "-b|--brief -C|--compile!change -h|--no-dereference -i|--mime -k|--keep-going -L|--dereference -m|--magic-file=settings --mime-type --mime-encoding -p|--preserve-date!change -z|--uncompress!program -Z|--uncompress-noreport!program",
  ),
  ["find", { read: readFind }],
  // Of the programs below, those that only read run without approval only in a sandbox.
  ...each("dir vdir df", { operands: "list*" }),
  withOptions(
    "fd",
    "-l|--list-details!program -d=data -E=data -t=data -e=data -S=data -x|--exec=program -X|--exec-batch=program --ignore-file=read --base-directory=directory --search-path=list",
    { operands: "data list*" },
  ),
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
      check: ({ options }) =>
        options.some(({ option }) => /^-[lvzpt]$/.test(option ?? "")) ? [] : [change("unzip would extract files")],
    },
  ],
  ["zipinfo", { operands: "read data*" }],
  ["dd", { read: readDd }],
  [
    "tee",
    { operands: "write*", options: "-a|--append -i|--ignore-interrupts -p --output-error[=data] --help --version" },
  ],
  ["split", { does: "change", operands: "read write", options: "--filter=program -n=data -l=data -b=data" }],
  ["csplit", { does: "change", operands: "read data*", options: "-f|--prefix=write -b=data -n=data -k -s -z" }],
  ...each("cp mv install ln", copying),
  ...each("rm rmdir unlink shred truncate touch mkdir mkfifo mknod mktemp", changing),
  ...each("chmod chown chgrp", { does: "change", operands: "data write*", options: "--reference=read" }),
  withOptions("zip", "-r -q -T!program --test!program -TT=program --unzip-command=program", {
    does: "change",
    operands: "write read*",
  }),
  ["gzip", { does: "change", operands: "write*" }],
  withOptions("less", "-o|-O=write -k=settings -N -R -S -X -F -i -I -n -r -s -E -e -M -m -p=data -x=data", {
    check: () => [unknownCode("less can run programs", 0)],
  }),
  ["more", { options: "-d -l -f -p -c -s -u -#", check: () => [unknownCode("more can run programs", 0)] }],
];

function change(reason: string): CommandEffect {
  return { kind: "change", reason, at: 0 };
}

/** An option letter of tree takes its value from the next words, no matter where in its own word the letter is. */
function readTree(words: readonly ShellWord[]): Effects {
  const isUnclear = ({ text }: ShellWord) => /^-[^-]*[LPIo]./.test(text) && !/^-[adfhs]*L\d+$/.test(text);
  const unclear = words.findIndex(isUnclear);
  const effects = readArguments(tree, words, { from: 1, name: "tree" });
  return unclear === -1
    ? effects
    : [...effects, unknownArgument("tree may read the letters after an option as more options", unclear)];
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
  const spec = isStoring ? tarWriting : tarReading;
  if (!isOld) return readArguments(spec, words, { from: 1, name: "tar" });
  // Each letter becomes an option, followed by its value.
  const given = [{ word: words[0]!, at: 0 }];
  let next = 2;
  for (const letter of words[1]!.text) {
    given.push({ word: fixedWord(`-${letter}`), at: 1 });
    if (optionsOf(spec).exact(`-${letter}`)?.value !== "required" || next >= words.length) continue;
    given.push({ word: words[next]!, at: next });
    next += 1;
  }
  for (; next < words.length; next += 1) given.push({ word: words[next]!, at: next });
  const read = readArguments(
    spec,
    given.map(({ word }) => word),
    { from: 1, name: "tar" },
  );
  return read.map((effect) => ({ ...effect, at: given[effect.at]!.at }));
}

/** Only `tar -t` changes nothing. To reach an archive on another host, tar runs a program. */
function checkTar({ options }: ArgumentReading): readonly CommandEffect[] {
  const names = new Set(options.map(({ option }) => option));
  const archives = options.filter(({ option }) => option === "--file");
  const effects: CommandEffect[] = [];
  if (!names.has("--list")) effects.push(change("`tar` without -t may change files"));
  for (const { word, at } of archives) {
    if (/^[^/]*:/.test(word.text) && !names.has("--force-local"))
      effects.push({ kind: "run", reason: "tar runs a program to reach an archive on another host", at });
  }
  const isExtraction = names.has("--get");
  for (const { option = "", at } of options) {
    if (option === "--files-from" || (isExtraction && elsewhere.has(option)))
      effects.push(unknownCode(`\`tar ${option}\` uses files that its arguments do not show`, at));
  }
  return effects;
}

/** Options that make tar extract files to paths other than those in the archive, relative to the destination. */
const elsewhere = new Set("--absolute-names --xform --keep-directory-symlink --recursive-unlink".split(" "));
