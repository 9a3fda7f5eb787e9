import { isSafeExport } from "../safe-variables.ts";
import { fixedWord, openWord, type ShellWord } from "../shell-word.ts";
import { type CommandEffect, type Effects, hiddenRun, unknownProgram } from "./effects.ts";
import { type ArgumentReading, each, type ProgramSpec } from "./model.ts";
import { readArguments, sortArguments } from "./read-arguments.ts";

export const shells: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split(" "));

/** Creates the spec of a program that runs the words after its own options and operands. */
function wrapper(options: string, operands = "command"): ProgramSpec {
  return { options, operands, check: needCommand };
}

const env: ProgramSpec = {
  ordered: true,
  operands: "data*",
  options:
    "-i|--ignore-environment -0|--null -u|--unset=data -C|--chdir=directory -S|--split-string=program -v|--debug --help --version",
  check: checkEnv,
};

const xargs: ProgramSpec = wrapper(
  "-0|--null -a|--arg-file=read -d|--delimiter=data -E=data -e|--eof[=data] -I=data -i|--replace[=data] -L=data -l|--max-lines[=data] -n|--max-args=data -P|--max-procs=data -r|--no-run-if-empty -s|--max-chars=data -t|--verbose -x|--exit -p|--interactive!program -o|--open-tty!program --process-slot-var=change --show-limits --help --version",
);

const exec = wrapper("-c -l -a=data");
const command = wrapper("-p");

export const wrappers: readonly (readonly [string, ProgramSpec])[] = [
  ["nice", wrapper("-n|--adjustment=data -#")],
  ["nohup", wrapper("")],
  [
    "timeout",
    wrapper("-f|--foreground -k|--kill-after=data -p|--preserve-status -s|--signal=data -v|--verbose", "data command"),
  ],
  ["time", wrapper("-p|--portability -v|--verbose -f|--format=data -o|--output=write -a|--append -q|--quiet")],
  [
    "ionice",
    wrapper("-c|--class=data -n|--classdata=data -t|--ignore -p|--pid=change -P|--pgid=change -u|--uid=change"),
  ],
  ["stdbuf", wrapper("-i|--input=data -o|--output=data -e|--error=data")],
  ["setsid", wrapper("-c|--ctty -f|--fork!program -w|--wait")],
  ["builtin", wrapper("")],
  ["exec", { ...exec, check: checkExec }],
  ["command", { read: readCommand }],
  ["env", env],
  ["xargs", { read: readXargs }],
  ["eval", { read: readEval }],
  ["trap", { read: readTrap }],
  ...[...shells].map((name): [string, ProgramSpec] => [name, { read: (words) => readShell(words, name) }]),
  ...each(
    [
      "parallel chrt sudo doas su runuser script watch flock strace ltrace gdb ssh chroot unshare nsenter systemd-run busybox coproc",
      "noglob taskset entr expect screen tmux at batch crontab pkexec firejail proxychains torsocks fakeroot setpriv cgexec numactl",
      "prlimit catchsegv ld.so valgrind perf rlwrap vi vim nvim view ex ed nano emacs",
    ].join(" "),
    { read: readLauncher },
  ),
];

const launcher: ProgramSpec = { does: "program", operands: "data*" };

/**
 * Reads the arguments of a program that runs others in a way that is not analyzed. Its words are searched for anything
 * that rules restrict, unless the program, or a shell that it starts, reads the commands from its input.
 */
function readLauncher(words: readonly ShellWord[]): Effects {
  const name = words[0]!.text.slice(words[0]!.text.lastIndexOf("/") + 1);
  const given = words.slice(1).map(({ text }) => text.slice(text.lastIndexOf("/") + 1));
  const isQuestion = given.length === 1 && /^(-l|-V|-h|--version|--help)$/.test(given[0]!);
  const hasText = given.some((text) => /^-[A-Za-z]*c|^--command/.test(text));
  const hasCommand = given.some((text) => /^[^-:]/.test(text));
  const startsShell = given.some(
    (text) => shells.has(text) || text === "su" || (/^(sudo|doas)$/.test(name) && /^-[a-zA-Z]*[si]$/.test(text)),
  );
  const isTold =
    /^(at|batch|crontab)$/.test(name) ||
    (!hasText && (!hasCommand || startsShell || /^(su|runuser|script)$/.test(name)));
  const effects = readArguments(launcher, words, { from: 1, name });
  return isTold && !isQuestion
    ? [...effects, hiddenRun(`${name} runs commands that its arguments do not show`, 0)]
    : effects;
}

function needCommand({ name, effects }: ArgumentReading): Effects {
  return effects.some(({ kind }) => kind === "run") ? [] : [unknownProgram(`${name} has no command`)];
}

/**
 * `-c` starts the command with an empty environment, which removes the variables that keep git from running programs.
 */
function checkExec(reading: ArgumentReading): Effects {
  const emptied = reading.options
    .filter(({ option }) => option === "-c")
    .map(({ at }): CommandEffect => ({ kind: "variable", name: "an empty environment", at }));
  return [...needCommand(reading), ...emptied];
}

function readCommand(words: readonly ShellWord[]): Effects {
  const [, option] = words;
  if (option?.open === undefined && /^-p?[vV]+$/.test(option?.text ?? "")) return [];
  const { effects, options } = sortArguments(command, words, { from: 1, name: "command" });
  // `-p` ignores PATH, and therefore Retinue's `git`, which runs no programs from the repository.
  const elsewhere = options.map(({ at }): CommandEffect => ({ kind: "variable", name: "PATH", at }));
  return [...effects, ...elsewhere];
}

/** Finds the assignments and the command among the operands of env. */
function checkEnv({ options, operands }: ArgumentReading): Effects {
  const effects: CommandEffect[] = [];
  for (const { option, word, at } of options) {
    if (option === "--unset") effects.push({ kind: "variable", name: word.text, at });
    if (option === "--ignore-environment") effects.push({ kind: "variable", name: "an empty environment", at });
    // env splits the string by its own rules. The string is searched for anything that rules restrict, and allow rules
    // never match it.
    if (option === "--split-string") {
      const script = [word.text, ...operands.map((each) => each.word.text)].join(" ");
      const isHidden = /[\\$]/.test(script);
      return [{ kind: "run", script, isHidden, reason: "env splits a string into a command", at }];
    }
  }
  let index = 0;
  for (; index < operands.length; index += 1) {
    const { word, at } = operands[index]!;
    const set = /^([A-Za-z_]\w*)=(.*)$/s.exec(word.text);
    if (word.text === "-" && index === 0) effects.push({ kind: "variable", name: "an empty environment", at });
    else if (set === null) break;
    else if (!isSafeExport(set[1]!, word.open === undefined ? fixedWord(set[2]!) : undefined))
      effects.push({ kind: "variable", name: set[1]!, at });
  }
  const first = operands[index];
  if (first === undefined) return [...effects, unknownProgram("env prints the environment, which may contain secrets")];
  const words = operands.slice(index).map(({ word }) => word);
  return [...effects, { kind: "run", words, isRest: true, reason: "env runs a command", at: first.at }];
}

/**
 * Reads the arguments of xargs. Its input replaces every placeholder in the command, or is appended to the command. If
 * there are options for both, versions of xargs differ in which they do, so both are assumed.
 */
function readXargs(words: readonly ShellWord[]): Effects {
  const { effects, options } = sortArguments(xargs, words, { from: 1, name: "xargs" });
  const replacing = options.filter(({ option }) => option === "-I" || option === "--replace");
  const placeholders = replacing.map(({ option, word }) => (option === "-I" ? word.text : word.text || "{}"));
  const appends = replacing.length === 0 || options.some(({ option }) => /^(-L|--max-lines|--max-args)$/.test(option!));
  const vague = replacing
    .filter(({ option, word }) => word.open !== undefined || (option === "-I" && word.text === ""))
    .map(({ at }) => unknownProgram("only the shell knows what xargs replaces with its input", at));
  const crowded = options
    .filter(({ option, word }) => option === "--max-procs" && !isFewProcesses(word))
    .map(
      ({ at }): CommandEffect => ({
        kind: "change",
        reason: "xargs can start an unlimited number of processes at once",
        at,
      }),
    );
  const complete = effects.map((effect) => {
    if (effect.kind !== "run" || effect.words === undefined) return effect;
    const filled = effect.words.map((word) => placeholders.reduce((each, name) => fill(each, name), word));
    return { ...effect, words: appends ? [...filled, unknownInput] : filled };
  });
  return [...complete, ...crowded, ...vague];
}

function isFewProcesses({ text, open }: ShellWord): boolean {
  return open === undefined && /^[1-9]\d?$/.test(text);
}

const unknownInput = openWord("(what xargs reads)", "");

/** Returns the word with the placeholder replaced by the input of xargs. */
function fill(word: ShellWord, placeholder: string): ShellWord {
  if (word.text === placeholder) return unknownInput;
  if (!word.text.includes(placeholder)) return word;
  return openWord(word.text, word.lead.slice(0, Math.max(0, word.lead.indexOf(placeholder))));
}

function readEval(words: readonly ShellWord[]): Effects {
  const given = words.slice(1);
  if (given.length === 0) return [];
  const isHidden = given.some(({ open }) => open !== undefined);
  const reason = isHidden ? "eval runs code that only the shell can determine" : "eval runs a script";
  return [{ kind: "run", script: given.map(({ text }) => text).join(" "), isHidden, reason, at: 1 }];
}

function readTrap(words: readonly ShellWord[]): Effects {
  const script = words[1];
  if (script === undefined || /^-[lp]?$/.test(script.text)) {
    return [{ kind: "change", reason: "trap changes what the shell runs on a signal", at: 0 }];
  }
  const isHidden = script.open !== undefined || script.text.startsWith("-");
  const reason = isHidden ? "trap runs code that only the shell can determine" : "trap runs a script";
  return [{ kind: "run", script: script.text, isHidden, reason, at: 1 }];
}

/**
 * Reads `bash -c script`. Options that load startup files are treated as unknown, and so are shells with a different
 * grammar.
 */
function readShell(words: readonly ShellWord[], name: string): Effects {
  const effects: CommandEffect[] = [];
  let isScript = false;
  let isPlain = name === "bash" || name === "sh" || name === "dash";
  let index = 1;
  for (; index < words.length; index += 1) {
    const { text, open } = words[index]!;
    if (open !== undefined || !/^[-+]./.test(text)) break;
    if (text === "--") {
      index += 1;
      break;
    }
    if (/^-[a-zA-Z]*c/.test(text)) isScript = true;
    if (/^[-+][a-zA-Z]*o$/.test(text)) index += 1;
    isPlain &&= /^-[ceux]+$|^-[ceux]*o$|^--(norc|noprofile|posix)$/.test(text);
  }
  const script = words[index];
  if (!isScript) return [{ kind: "run", reason: `${name} runs a script`, at: 0 }];
  if (!isPlain) effects.push(unknownProgram(`${name} may run startup files, or parse the script differently`));
  const isHidden = script === undefined || script.open !== undefined;
  const reason = isHidden ? "a shell runs code that only the shell can determine" : `${name} runs a script`;
  return [...effects, { kind: "run", script: isHidden ? undefined : script.text, isHidden, reason, at: index }];
}
