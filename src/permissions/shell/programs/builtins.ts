import { isSafeExport } from "../safe-variables.ts";
import { fixedWord, type ShellWord } from "../shell-word.ts";
import { type CommandEffect, type Effects, hiddenRun, unknownArgument, unknownProgram } from "./effects.ts";
import { type Argument, type ArgumentReading, each, type ProgramSpec } from "./model.ts";
import { mayEvaluate } from "./read-arguments.ts";

/** Builtins that change shell variables, options, jobs or handlers. */
const setting: ProgramSpec = { does: "change", operands: "data*" };

/** Builtins that set variables. Bash evaluates subscripts in the names of variables. */
const assigning: ProgramSpec = { read: readAssigning };

export const builtins: readonly (readonly [string, ProgramSpec])[] = [
  ...each("echo true false : exit return break continue shift times expr yes", { read: () => [] }),
  ["pwd", { inert: true, operands: "", options: "-L -P" }],
  ["type", { operands: "data*", options: "-a -p -t" }],
  ["which", { operands: "data*", options: "-a" }],
  ["sleep", { inert: true, operands: "data*" }],
  ["seq", { inert: true, operands: "data*", options: "-f=data -s=data -w" }],
  ["cd", { operands: "read", options: "-L -P", check: checkCd }],
  ["printf", { ordered: true, operands: "data*", options: "-v=change", check: checkPrintf }],
  ["test", { read: (words) => [...readTest(words.slice(1)), ...testedFiles(words)] }],
  [
    "[",
    {
      read: (words) =>
        words.at(-1)?.text === "]" ? [...readTest(words.slice(1, -1)), ...testedFiles(words)] : [odd("`[` has no `]`")],
    },
  ],
  // Of the programs below, those that only print run without approval only in a sandbox.
  ["jobs", { operands: "data*", options: "-x!program" }],
  ["wait", { operands: "data*", options: "-n -f -p=change", check: ({ options }) => evaluated(options) }],
  ["dirs", { operands: "data*", options: "-c!change" }],
  ...each("help caller", { operands: "data*" }),
  ["umask", { operands: "change*", options: "-S -p" }],
  ["ulimit", { operands: "change*", options: "-S -H -a -c -d -f -i -m -n -s -t -u -v" }],
  ["compgen", { operands: "list", options: "-A=data -G=list -W=script -F=program -C=script" }],
  ["complete", { operands: "change*", options: "-p -r!change -C=script -F=program -W=script" }],
  ["bind", { operands: "change*", options: "-x=script -f=program -m=data -q=data -u=change -r=change" }],
  ...each("hash history fc shopt enable alias unalias disown suspend fg bg kill pushd popd compopt logout", setting),
  ...each("declare typeset local readonly unset let getopts", assigning),
  ...each("mapfile readarray", {
    does: "change",
    operands: "variable*",
    options: "-t -d=data -n=data -O=data -s=data -u=data -C=script -c=data",
  }),
  ...each("source .", { does: "program", operands: "read data*" }),
  ["export", { operands: "data*", check: checkExport }],
  ["read", { operands: "variable*", options: "-r -s -d=data -n=data -N=data -p=data -t=data -u=data" }],
  ["set", { read: readSet }],
];

function odd(reason: string): CommandEffect {
  return unknownArgument(reason, 0);
}

/** Allows only variables that are safe for every program. */
function checkExport({ operands }: ArgumentReading): Effects {
  if (operands.length === 0) return [unknownProgram("export prints the environment, which may contain secrets")];
  return operands.flatMap(({ word: { text, open }, at }) => {
    const equals = text.indexOf("=");
    const isSafe = open === undefined && isSafeExport(text.slice(0, equals), fixedWord(text.slice(equals + 1)));
    return isSafe ? [] : [{ kind: "change", reason: `it exports ${text.split("=")[0]!.slice(0, 40)}`, at } as const];
  });
}

/**
 * Reads the arguments of a builtin that sets variables. `let` and the options -i and -n make bash evaluate values too,
 * and getopts treats only its second operand as a name.
 */
function readAssigning(words: readonly ShellWord[]): Effects {
  const name = words[0]!.text;
  const given = words.slice(1).map((word, index) => ({ option: undefined, word, at: index + 1 }));
  const names = name === "getopts" ? given.slice(1, 2) : given.filter(({ word }) => !/^[-+]/.test(word.text));
  const isEvaluated =
    name === "let" || (name !== "unset" && given.some(({ word }) => /^[-+][A-Za-z]*[in]/.test(word.text)));
  return [
    { kind: "change", reason: `this use of ${name} may change something`, at: 0 },
    ...evaluated(names),
    ...(isEvaluated ? [hiddenRun(`${name} evaluates the contents of variables, which can run commands`, 0)] : []),
  ];
}

/** Returns an effect for each variable name that bash may evaluate. */
function evaluated(names: readonly Argument[]): Effects {
  return names
    .filter(({ word }) => word.text !== "" && mayEvaluate(word))
    .map(({ at }) => hiddenRun("bash evaluates the subscript of a variable, which can run commands", at));
}

function checkCd({ operands }: ArgumentReading): Effects {
  const isPlain = operands.length === 1 && operands[0]!.word.open === undefined && operands[0]!.word.text !== "-";
  return isPlain ? [] : [odd("only the shell knows the directory")];
}

function checkPrintf({ operands, options }: ArgumentReading): Effects {
  const format = operands[0];
  const text = (format?.word.text ?? "%n").replaceAll("%%", "");
  // `%n`, which may have modifiers such as `%ln`, sets the variable that an argument names.
  const isPlain = format?.word.open === undefined && !/%[^A-Za-z%]*[hjlLqtwz]*n/.test(text);
  const names = options.filter(({ option }) => option === "-v");
  if (isPlain) return evaluated(names);
  const change: CommandEffect = { kind: "change", reason: "a printf format can set a variable", at: format?.at ?? 0 };
  return [change, ...evaluated([...names, ...operands.slice(1)])];
}

/** Allows options that only make a script stricter or trace it. */
function readSet(words: readonly ShellWord[]): Effects {
  const given = words.slice(1);
  const isStrict = given.every(
    ({ text, open }) => open === undefined && /^([-+][eux]*o?|pipefail|errexit|nounset|xtrace)$/.test(text),
  );
  return isStrict && given.length > 0 ? [] : [{ kind: "change", reason: "set changes how the shell works", at: 0 }];
}

/**
 * Reads the arguments of `test`. `-v` and `-R` evaluate the name of a variable, which can run commands, so no operator
 * may come from a variable and no word may split.
 */
function readTest(given: readonly ShellWord[]): Effects {
  // Longer expressions are accepted if all their words and operators are known.
  if (
    given.length > 4 &&
    given.every(({ text, open }) => open === undefined && (!/^-\D/.test(text) || isOperator(text)))
  )
    return [];
  const rest = given[0]?.text === "!" && given[0].open === undefined ? given.slice(1) : given;
  const operator = rest.length === 3 ? rest[1] : rest[0];
  const known = rest.length === 2 ? unaryTests : binaryTests;
  const isKnown = operator?.open === undefined && known.test(operator?.text ?? "");
  if (!given.some(({ splits }) => splits) && (rest.length < 2 || (rest.length <= 3 && isKnown))) return [];
  const change: CommandEffect = {
    kind: "change",
    reason: "test can evaluate the name of a variable, which can run commands",
    at: 0,
  };
  const isNamed = given.some(({ text }) => /^-[vR]$/.test(text));
  return isNamed ? [change, ...evaluated(given.map((word) => ({ option: undefined, word, at: 0 })))] : [change];
}

/** Returns the files whose existence or attributes a test reveals. */
function testedFiles(words: readonly ShellWord[]): Effects {
  return words.flatMap((word, at): CommandEffect[] => {
    const [before, after] = [words[at - 1]?.text ?? "", words[at + 1]?.text ?? ""];
    const isTested = fileTest.test(before) || filePairTest.test(before) || filePairTest.test(after);
    return at > 0 && isTested && word.text !== "]" ? [{ kind: "list", word, at }] : [];
  });
}

/** Operators of `test` and `[[` whose operand is a file. */
export const fileTest = /^-[abcdefghkprsuwxGLNOS]$/;
export const filePairTest = /^-(nt|ot|ef)$/;

const unaryTests = /^-[abcdefghkprstuwxzGLNOSn]$/;
const binaryTests = /^(=|==|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/;

function isOperator(text: string): boolean {
  return text === "-o" || unaryTests.test(text) || binaryTests.test(text);
}
