import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyzeCommand } from "../analyze-command.ts";
import { isReadOnly, isReadOnlyLine } from "../read-only/read-only.ts";
import { everyCommand, type SimpleCommand } from "../shell-analysis.ts";
import { fixedWord, openWord } from "../shell-word.ts";
import { unwrapCommand } from "../unwrap-command.ts";
import { programs } from "./effects-of.ts";
import { git } from "./git.ts";
import { isHarmful, type Option, optionsOf, type ProgramSpec } from "./model.ts";

/** A program or subcommand with one of its options that change or run something. */
interface Danger {
  readonly path: readonly string[];
  readonly spec: ProgramSpec;
  readonly option: Option;
}

function dangersOf(path: readonly string[], spec: ProgramSpec): readonly Danger[] {
  const own = optionsOf(spec)
    .all.filter((option) => isHarmful(option) && option.role !== "variable")
    // A later entry in the table may give the same name another meaning.
    .filter((option) => option.names.every((name) => optionsOf(spec).exact(name) === option))
    .map((option) => ({ path, spec, option }));
  const inner = [...(spec.commands ?? [])].flatMap(([name, each]) => dangersOf([...path, name], each));
  return [...own, ...inner];
}

const dangers = [...programs].flatMap(([name, spec]) => dangersOf([name], spec));
const value = "./x";

/** Returns every way to write an option: abbreviated, clustered, and with its value attached or separate. */
function spellings({ spec, option }: Danger): readonly (readonly string[])[] {
  const flags = optionsOf(spec).all.filter(
    (each) => each.value === "none" && !isHarmful(each) && /^-[A-Za-z]$/.test(each.names[0]!),
  );
  const clusters = ["", ...flags.slice(0, 3).map(({ names }) => names[0]!.slice(1))];
  return option.names.flatMap((name) => {
    if (name.startsWith("--")) {
      const lengths = Array.from({ length: name.length - 2 }, (_, index) => name.slice(0, index + 3));
      // A shorter name that is itself an option is not an abbreviation.
      const own = lengths.filter((short) => (optionsOf(spec).exact(short) ?? option) === option);
      return own.flatMap((short) => forms(short, option, "="));
    }
    if (name.length > 2) return forms(name, option, "=");
    return clusters.flatMap((cluster) => forms(`-${cluster}${name.slice(1)}`, option, ""));
  });
}

function forms(name: string, { value: takes, further }: Option, glue: string): readonly (readonly string[])[] {
  const rest = further.map(() => value);
  if (takes === "none") return [[name]];
  if (takes === "optional") return [[name], [`${name}${glue}${value}`]];
  return [
    [name, value, ...rest],
    [`${name}${glue}${value}`, ...rest],
  ];
}

function commandOf(texts: readonly string[]) {
  const words = texts.map(fixedWord);
  const unwrapped = unwrapCommand(words);
  // Ignore inner commands: the outer command's option alone must be enough.
  const runs = unwrapped && { commands: [], at: unwrapped.at, transparent: unwrapped.transparent };
  return { words, unsafeVariables: [], runs, directories: [""] };
}

describe("an option that changes or runs something", () => {
  it("is listed for many programs", () => expect(dangers.length).toBeGreaterThan(300));

  it("is found in every spelling and position", () => {
    const missed: string[] = [];
    for (const danger of dangers) {
      const { path, spec } = danger;
      const isOrdered = spec.ordered === true || spec.commands !== undefined || /command/.test(spec.operands ?? "");
      for (const given of spellings(danger)) {
        const places = [
          [...path, ...given, "f"],
          ...(isOrdered
            ? []
            : [
                [...path, "f", ...given],
                [...path, "f", "g", ...given, "h"],
              ]),
        ];
        for (const words of places) {
          const command = commandOf(words);
          if (isReadOnly(command) || isReadOnly(command, { sandboxed: true })) missed.push(words.join(" "));
        }
      }
    }
    expect(missed).toEqual([]);
  });

  it("is found among any other arguments", () => {
    const chosen = fc.constantFrom(
      ...dangers.filter(({ spec }) => spec.ordered !== true && spec.commands === undefined),
    );
    const arbitrary = chosen.chain((danger) => {
      const harmless = optionsOf(danger.spec)
        .all.filter((option) => option.value === "none" && !isHarmful(option) && !option.names[0]!.includes("#"))
        .flatMap(({ names }) => names);
      const before = fc.array(fc.constantFrom("f", "a/b", "1", ...harmless), { maxLength: 4 });
      return fc.tuple(fc.constant(danger.path), before, fc.constantFrom(...spellings(danger)), before);
    });
    fc.assert(
      fc.property(arbitrary, ([path, before, given, after]) => {
        const isWrapper = commandOf(path).runs !== undefined || /command/.test(programs.get(path[0]!)?.operands ?? "");
        fc.pre(!isWrapper);
        const command = commandOf([...path, ...before, ...given, ...after]);
        expect([isReadOnly(command), isReadOnly(command, { sandboxed: true })]).toEqual([false, false]);
      }),
      { numRuns: 400 },
    );
  });
});

/** Programs that may run without approval even without a sandbox. */
const short = new Set(
  [
    "ls cat head tail wc grep egrep fgrep rg find pwd echo printf true false : test [ exit return break continue cd seq sleep",
    "basename dirname readlink realpath date stat file du tree sort uniq cut tr comm paste diff cmp nl tac rev column jq sed git",
    "which type command uname whoami id hostname md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum",
  ].flatMap((line) => line.split(" ")),
);
const shortGit = new Set(
  "status log show diff branch tag blame ls-files ls-tree rev-parse rev-list describe merge-base remote shortlog".split(
    " ",
  ),
);

/** Programs whose words are mostly text, with those that make them do more than print. */
const actions = new Map<string, RegExp>([
  ...["echo", "true", "false", ":", "exit", "return", "break", "continue"].map((name) => [name, /^(?!)/] as const),
  ["printf", /^-v$/],
  ["test", /^-[vR]$/],
  ["[", /^-[vR]$/],
  ["find", /^-(delete|fprint|fls|exec|ok|files0)/],
  ["command", /^-(?!p?[vV]+$)/],
]);

/** Returns what is wrong with a command that would run unasked; undefined if it has one of the listed forms. */
function notListed({ words, runs }: SimpleCommand): string | undefined {
  const [program = "", ...texts] = words.map(({ text }) => text);
  const name = program.replace(/^\/usr\/bin\//, "");
  if (texts.length === 1 && texts[0] === "--version") return undefined;
  if (!short.has(name)) return `${name} is not listed`;
  if (runs !== undefined) return `${name} runs a command`;
  const refused = actions.get(name);
  if (refused !== undefined) {
    const found = texts.find((text, index) => refused.test(text) && (name !== "test" || index < texts.length - 1));
    return found === undefined ? undefined : `${name} ${found}`;
  }
  const end = texts.indexOf("--");
  const given = texts.slice(0, end === -1 ? undefined : end);
  if (name === "git" && !given.some((text) => shortGit.has(text))) return "git has no listed subcommand";
  const specs = [programs.get(name)!, ...given.flatMap((text) => nested(programs.get(name)!, text))];
  const find = (option: string) =>
    specs.map((spec) => optionsOf(spec).exact(option)).find((each) => each !== undefined);
  let isValue = false;
  for (const text of given) {
    const isPlain = isValue || !/^-./.test(text) || (/^-\d+$/.test(text) && find("-#") !== undefined);
    isValue = false;
    if (isPlain) continue;
    const long = /^(--[^=]+)(=?)/s.exec(text);
    const names = long === null ? [...text.slice(1)].map((letter) => `-${letter}`) : [long[1]!];
    for (const [index, option] of names.entries()) {
      const found = find(option);
      if (found === undefined || isHarmful(found)) return `${name} ${option}`;
      if (found.value === "none") continue;
      isValue = found.value === "required" && (long === null ? index === names.length - 1 : long[2] === "");
      break;
    }
  }
  return undefined;
}

/** Returns the specs of subcommands with this name, at any depth. */
function nested({ commands = new Map() }: ProgramSpec, name: string): readonly ProgramSpec[] {
  return [...commands].flatMap(([each, spec]) => [...(each === name ? [spec] : []), ...nested(spec, name)]);
}

describe("without a sandbox", () => {
  const allOptions = [...programs.values()].flatMap((spec) => [
    ...optionsOf(spec).all,
    ...[...(spec.commands?.values() ?? [])].flatMap((each) => optionsOf(each).all),
  ]);
  const optionNames = [...new Set(allOptions.flatMap(({ names }) => names))];
  const operand = fc.constantFrom(
    "f",
    "sub/f",
    "'*.ts'",
    "*.ts",
    "1",
    "5",
    "HEAD",
    "main..x",
    "'{print}'",
    "1,3p",
    ".",
    ".a",
    "$x",
    '"$x"',
  );
  const option = fc.constantFrom(...optionNames).chain((name) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(name) },
      fc.constant(`${name}=f`),
      fc.constant(`${name}f`),
      fc.nat({ max: 8 }).map((length) => name.slice(0, 3 + length)),
    ),
  );
  const known = fc.constantFrom(...short, ...programs.keys(), "unknown-program", "./ls", "/usr/bin/cat", "$x");
  const command = fc
    .tuple(
      fc.oneof(
        known,
        fc.constantFrom(...git.commands!.keys()).map((name) => `git ${name}`),
      ),
      fc.array(fc.oneof(option, operand), { maxLength: 4 }),
    )
    .map(([program, words]) => [program, ...words].join(" "));
  const around = fc.constantFrom(
    ...["", "", "", "timeout 5 ", "env ", "env -i ", "X=1 ", "LC_ALL=C ", "xargs ", "nice ", "command ", "time ", "! "],
  );
  const simple = fc.tuple(around, command).map((parts) => parts.join(""));
  const line = fc.oneof(
    simple,
    fc.tuple(simple, fc.constantFrom(" | ", " && ", "; ", " || ", " & "), simple).map((parts) => parts.join("")),
    simple.map((inner) => `sh -c '${inner.replaceAll("'", "")}'`),
    simple.map((inner) => `cat $(${inner})`),
    simple.map((inner) => `for f in *.ts; do ${inner} "$f"; done`),
    simple.map((inner) => `find . -exec ${inner} {} +`),
  );

  it("only listed programs with listed options are read-only", () => {
    let allowed = 0;
    fc.assert(
      fc.property(line, (text) => {
        if (!isReadOnlyLine(text)) return;
        allowed += 1;
        const commands = [...everyCommand(analyzeCommand(text).commands)];
        expect([text, ...commands.flatMap((each) => notListed(each) ?? [])]).toEqual([text]);
      }),
      { numRuns: 10_000 },
    );
    expect(allowed).toBeGreaterThan(100);
  });
});

describe("unknown arguments", () => {
  const names = [...programs].filter(([, spec]) => spec.read === undefined).map(([name]) => name);

  it("are never read-only without a sandbox if they are long options", () => {
    const missed = names.filter((name) => isReadOnly(commandOf([name, "--no-such-option-0", "f"])));
    expect(missed).toEqual([]);
  });

  it("are never read-only without a sandbox if the shell may expand them to a harmful option", () => {
    const harmful = new Set(dangers.filter(({ path }) => path.length === 1).map(({ path }) => path[0]!));
    const missed = [...harmful].filter((name) => {
      const words = [fixedWord(name), openWord("$x", "")];
      return isReadOnly({ words, unsafeVariables: [], runs: undefined, directories: [""] });
    });
    expect(missed).toEqual([]);
  });

  it("are never read-only, even in a sandbox, if they are subcommands", () => {
    const withCommands = [...programs].filter(([, spec]) => spec.commands !== undefined).map(([name]) => name);
    const missed = withCommands.filter((name) =>
      isReadOnly(commandOf([name, "no-such-command-0"]), { sandboxed: true }),
    );
    expect(missed).toEqual([]);
  });
});
