import { existsSync } from "node:fs";
import { programs } from "../../src/permissions/shell/programs/effects-of.ts";
import {
  type Option,
  operandRolesOf,
  optionsOf,
  type ProgramSpec,
  type Role,
} from "../../src/permissions/shell/programs/model.ts";
import { listed } from "../../src/permissions/shell/read-only/short-list.ts";
import type { Random } from "../reliability/work-script.ts";
import { pick, times } from "./random-choice.ts";
import { disguised, operandWord, roleWord } from "./shell-words.ts";

/**
 * Returns the words of a command whose program Retinue knows: subcommands, options in every spelling, values and
 * operands that fit the table, and some that do not.
 */
export function modelCommand(random: Random, depth = 0): readonly string[] {
  const [name, spec] = pick(random, pick(random, [gitOnly, wrapping, short, known, known, known]));
  const program = random() < 0.05 ? `/usr/bin/${name}` : name;
  const special = random() < 0.9 ? specials[name] : undefined;
  if (special !== undefined) return [program, ...special(random, depth)];
  return [program, ...argumentsOf(random, spec, depth)];
}

function argumentsOf(random: Random, spec: ProgramSpec, depth: number): readonly string[] {
  const options = optionsOf(spec).all;
  const { commands } = spec;
  if (commands !== undefined) {
    const before = options.length > 0 && random() < 0.2 ? optionWords(random, spec) : [];
    const [name, inner] = pick(random, [...commands]);
    if (inner.does !== undefined && random() < 0.8) return argumentsOf(random, spec, depth);
    return [...before, name, ...argumentsOf(random, inner, depth)];
  }
  const roles = operandRolesOf(spec);
  const words: string[][] = [];
  if (options.length > 0) for (const _ of times(random, 3)) words.push([...optionWords(random, spec)]);
  const count = Math.floor(random() * 4);
  for (let index = 0; index < count; index += 1) {
    const role = (roles[Math.min(index, roles.length - 1)] ?? "data").replace("*", "") as Role;
    if (role === "command") {
      words.push([...modelCommand(random, depth + 1)]);
      break;
    }
    // Options may follow operands.
    const at = spec.ordered === true || random() < 0.7 ? words.length : Math.floor(random() * (words.length + 1));
    words.splice(at, 0, [valueWord(random, role)]);
  }
  if (random() < 0.05) words.splice(Math.floor(random() * (words.length + 1)), 0, ["--"]);
  return words.flat();
}

/** Returns one of the program's options in one of its spellings, with its values. */
function optionWords(random: Random, spec: ProgramSpec): readonly string[] {
  const option = pick(random, optionsOf(spec).all);
  const name = pick(random, option.names);
  if (name === "-#") return [`-${Math.floor(random() * 12)}`];
  const value = valueWord(random, option.role);
  const further = option.further.map((role) => valueWord(random, role));
  if (name.startsWith("--")) {
    const length = random() < 0.4 ? 3 + Math.floor(random() * (name.length - 2)) : name.length;
    const short = name.slice(0, length);
    if (option.value === "none") return [random() < 0.03 ? `${short}=${value}` : short];
    // Some options accept a value only after `=`, so the next word is another option.
    if (option.value === "required" && random() < 0.05) return [short, "--output=out.txt", ...further];
    const isGlued = option.value === "optional" ? random() < 0.8 : random() < 0.6;
    return isGlued ? [`${short}=${value}`, ...further] : [short, value, ...further];
  }
  const cluster = name.length === 2 && random() < 0.3 ? flags(random, spec) : "";
  const letters = name.length === 2 ? `-${cluster}${name.slice(1)}` : name;
  if (option.value === "none") return [random() < 0.03 ? `${letters}${value}` : letters];
  if (name.length > 2) return random() < 0.5 ? [`${letters}=${value}`, ...further] : [letters, value, ...further];
  return (option.value === "optional") === random() < 0.85
    ? [`${letters}${value}`, ...further]
    : [letters, value, ...further];
}

function flags(random: Random, spec: ProgramSpec): string {
  const short = (option: Option): string[] => option.names.filter((name) => /^-[A-Za-z0-9]$/.test(name));
  const letters = optionsOf(spec)
    .all.filter(({ value }) => value === "none")
    .flatMap(short);
  return letters.length === 0
    ? ""
    : times(random, 2)
        .map(() => pick(random, letters).slice(1))
        .join("");
}

/** Returns a word for a role, usually a fitting one, with random quoting. */
function valueWord(random: Random, role: Role): string {
  return disguised(random, random() < 0.75 ? roleWord(random, role) : operandWord(random));
}

function findWords(random: Random, depth: number): readonly string[] {
  const starts = times(random, 2).map(() =>
    disguised(random, pick(random, [".", "sub", "f.txt", "dirlink", "opts", "..", "-L", "-H"])),
  );
  const terms = times(random, 4).flatMap((): readonly string[] => {
    const roll = random();
    if (roll < 0.2) {
      const inner = random() < 0.5 ? simpleReaders(random) : modelCommand(random, depth + 1);
      return [
        pick(random, ["-exec", "-execdir", "-ok"]),
        ...inner,
        ...(random() < 0.7 ? ["{}"] : []),
        pick(random, ["\\;", "+", "';'"]),
      ];
    }
    if (roll < 0.25)
      return [pick(random, ["-fprint", "-fls", "-fprint0"]), disguised(random, roleWord(random, "write"))];
    const test = pick(random, findTests);
    return test.endsWith("=")
      ? [
          test.slice(0, -1),
          disguised(
            random,
            pick(random, ["'*.txt'", "f", "1", "l", "d", "link", "'%p\\n'", "-1", "+0", "posix-extended"]),
          ),
        ]
      : [test];
  });
  return [...starts, ...terms];
}

function simpleReaders(random: Random): readonly string[] {
  return pick(random, [
    ["cat"],
    ["grep", "a"],
    ["head", "-1"],
    ["wc", "-l"],
    ["sort"],
    ["sed", "-n", "p"],
    ["file"],
    ["ls", "-l"],
    ["sh", "-c", "'cat \"$1\"'", "x"],
  ]);
}

const findTests =
  "-name= -iname= -path= -regex= -lname= -type= -xtype= -maxdepth= -mindepth= -size= -mtime= -newer= -samefile= -newermt= -perm= -user= -links= -printf= -regextype= -not ! -a -o , \\( \\) -print -print0 -ls -prune -quit -delete -follow -xdev -depth -empty -executable -true -files0-from= -D= -O3 -used= -inum=".split(
    " ",
  );

function shellWords(random: Random, depth: number): readonly string[] {
  const script = modelCommand(random, depth + 1)
    .join(" ")
    .replaceAll("'", "");
  return [
    ...pick(random, [
      ["-c"],
      ["-ec"],
      ["-uc"],
      ["--norc", "-c"],
      ["-o", "pipefail", "-c"],
      ["--posix", "-c"],
      ["-c", "--"],
    ]),
    `'${script}'`,
    ...times(random, 2).map(() => operandWord(random)),
  ];
}

/** Programs whose words have a special form. */
const specials: Readonly<Record<string, ((random: Random, depth: number) => readonly string[]) | undefined>> = {
  find: findWords,
  sh: shellWords,
  bash: shellWords,
  dash: shellWords,
  dd: (random) =>
    times(random, 3).map(
      () =>
        `${pick(random, ["if", "of", "bs", "count", "conv", "status"])}=${pick(random, ["f.txt", "link", "{CANARY}", "1", ".env", "none"])}`,
    ),
  command: (random, depth) => [
    ...times(random, 1).map(() => pick(random, ["-p", "-v", "-V", "-pv", "--"])),
    ...modelCommand(random, depth + 1),
  ],
  env: (random, depth) => [
    ...times(random, 2).map(() =>
      pick(random, ["-i", "-u PATH", "-C sub", "-S'cat link'", "LC_ALL=C", "PATH=.", "GIT_DIR=x", "-", "--", "-v"]),
    ),
    ...modelCommand(random, depth + 1),
  ],
  xargs: (random, depth) => [
    ...times(random, 2).map(() =>
      pick(random, [
        "-0",
        "-a list.txt",
        "-I{}",
        "-n1",
        "-P2",
        "-i",
        "-d'\\n'",
        "-r",
        "-t",
        "-L1",
        "-n2",
        "-I%",
        "-l",
        "--arg-file=zero.txt",
      ]),
    ),
    ...(random() < 0.6 ? simpleReaders(random) : modelCommand(random, depth + 1)),
    ...times(random, 1).map(() => "{}"),
  ],
  eval: (random, depth) => [
    `'${modelCommand(random, depth + 1)
      .join(" ")
      .replaceAll("'", "")}'`,
  ],
  trap: (random, depth) => [
    `'${modelCommand(random, depth + 1)
      .join(" ")
      .replaceAll("'", "")}'`,
    pick(random, ["EXIT", "0", "DEBUG", "ERR"]),
  ],
  diff: (random) => [
    ...times(random, 1).map(() => pick(random, ["-N", "-q", "-r", "-u", "-y"])),
    ...[0, 1].map(() => disguised(random, pick(random, [".", "sub", "opts", "f.txt", "sub/h.txt", "dirlink", "d1"]))),
  ],
  test: (random) => testWords(random),
  "[": (random) => [...testWords(random), "]"],
};

function testWords(random: Random): readonly string[] {
  const word = (): string => disguised(random, operandWord(random));
  return pick(random, [
    () => [
      pick(random, "-e -f -d -v -R -n -z -r -x -o -t -N".split(" ")),
      pick(random, [word(), "'a[$(touch {CANARY})]'"]),
    ],
    () => [
      word(),
      pick(
        random,
        "= != -eq -lt -nt -ef < >".split(" ").map((each) => (/[<>]/.test(each) ? `\\${each}` : each)),
      ),
      word(),
    ],
    () => [word()],
    () => ["-f", word(), "-a", "-v", "'a[$(touch {CANARY})]'"],
  ])();
}

/** Programs that would only slow down the campaign, or that end the line before it does anything. */
const slow = new Set(
  "sleep yes wait top watch free vmstat tail exit return logout suspend less more man vi vim view ex ed journalctl".split(
    " ",
  ),
);
const directories = ["/usr/local/bin", "/usr/bin", "/bin"];
const builtin = new Set(
  ": . [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec export false fc fg getopts hash help history jobs kill let local mapfile popd printf pushd pwd read readarray readonly set shift shopt source test times trap true type typeset ulimit umask unalias unset".split(
    " ",
  ),
);
type Known = readonly [string, ProgramSpec];
const present: readonly Known[] = [...programs].filter(
  ([name]) =>
    !slow.has(name) && (builtin.has(name) || directories.some((directory) => existsSync(`${directory}/${name}`))),
);
const isHarmless = ({ does }: ProgramSpec): boolean => does === undefined;
/** Known programs, mostly those that can be read-only, because the others are never run. */
const known: readonly Known[] = [
  ...present,
  ...Array.from({ length: 4 }, () => present.filter(([, spec]) => isHarmless(spec))).flat(),
];
const gitOnly = present.filter(([name]) => name === "git");
/** Programs that may run without a sandbox. */
const short = present.filter(([name]) => listed.has(name));
const wrapping = present.filter(([name]) =>
  /^(env|timeout|xargs|nice|find|sh|bash|dash|exec|command|builtin|nohup|time|stdbuf|setsid|ionice|eval)$/.test(name),
);
