import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isReadOnly } from "../read-only/read-only.ts";
import { fixedWord, openWord } from "../shell-word.ts";
import { unwrapCommand } from "../unwrap-command.ts";
import { programs } from "./effects-of.ts";
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
