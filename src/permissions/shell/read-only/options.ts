import { fixedWord, type ShellWord } from "../shell-word.ts";

export interface ProgramUse {
  /** Arguments that are paths of files the program reads. Texts, patterns and numbers are left out. */
  readonly paths: readonly ShellWord[];
}

/** Describes how a program can be called without changing anything. */
export interface ProgramSpec {
  /** True if no option of any version writes a file or starts a program, so that unknown options are accepted. */
  readonly anyOption?: boolean;
  /** Letters of harmless options without a value. */
  readonly flags?: string;
  /** Letters of harmless options that take a value. */
  readonly valued?: string;
  /** The letters of `valued` whose value is a path. */
  readonly pathValued?: string;
  /** Full names of harmless long options; those that take a value end with `=`. */
  readonly long?: string;
  /** Operands that are not paths: all of them, or this many at the beginning. */
  readonly data?: "all" | number;
  /** Options that supply the data instead of the first operand (`grep -e`). */
  readonly dataBy?: RegExp;
  readonly maxOperands?: number;
  /** True if only the first letter of a word can take a value, and options end at the first operand. */
  readonly strict?: boolean;
  readonly check?: (given: readonly ShellWord[]) => ProgramUse | undefined;
}

/** Sorts words into options, values and operands. Returns undefined if an option is not known to be harmless. */
export function readOptions(spec: ProgramSpec, given: readonly ShellWord[]): ProgramUse | undefined {
  if (spec.data === "all" && spec.anyOption === true) return programUse();
  const operands: ShellWord[] = [];
  const paths: ShellWord[] = [];
  let data = typeof spec.data === "number" ? spec.data : 0;
  for (let index = 0; index < given.length; index += 1) {
    const word = given[index]!;
    const isOption = word.text.startsWith("-") && word.text !== "-";
    // The shell may expand the word to an option.
    if (word.open !== undefined && !/^[^-]/.test(word.lead) && spec.anyOption !== true) return undefined;
    const endsOptions = word.open === undefined && word.text === "--";
    if (endsOptions || (spec.strict && !isOption)) {
      operands.push(...given.slice(endsOptions ? index + 1 : index));
      break;
    }
    if (!isOption) operands.push(word);
    else {
      const option = readOption(spec, given, index);
      if (option === undefined) return undefined;
      if (spec.dataBy?.test(word.text)) data = 0;
      paths.push(...option.paths);
      index += option.width - 1;
    }
  }
  if (spec.maxOperands !== undefined) {
    if (operands.length > spec.maxOperands || operands.some(({ splits }) => splits)) return undefined;
  }
  if (spec.data === "all") return programUse(paths);
  return programUse([...paths, ...operands.slice(data)]);
}

function readOption(
  spec: ProgramSpec,
  given: readonly ShellWord[],
  index: number,
): { readonly width: number; readonly paths: readonly ShellWord[] } | undefined {
  const { text, open } = given[index]!;
  const { flags = "", valued = "", pathValued = "", anyOption = false } = spec;
  if (text.startsWith("--")) {
    const at = text.indexOf("=");
    const name = at === -1 ? text.slice(2) : text.slice(2, at);
    const long = spec.long?.split(" ") ?? [];
    if (!anyOption && (open !== undefined || !(long.includes(name) || long.includes(`${name}=`)))) return undefined;
    if (at !== -1) return { width: 1, paths: [{ ...given[index]!, text: text.slice(at + 1), lead: "" }] };
    return { width: long.includes(`${name}=`) ? 2 : 1, paths: [] };
  }
  if (open !== undefined && !anyOption) return undefined;
  for (let at = 1; at < text.length; at += 1) {
    const letter = text[at]!;
    if (valued.includes(letter)) {
      if (spec.strict && at > 1) return undefined;
      const apart = at === text.length - 1;
      const value = apart ? given.slice(index + 1, index + 2) : [fixedWord(text.slice(at + 1))];
      return { width: apart ? 2 : 1, paths: pathValued.includes(letter) ? value : [] };
    }
    if (!anyOption && !flags.includes(letter)) return undefined;
  }
  return { width: 1, paths: [] };
}

export function programUse(paths: readonly ShellWord[] = []): ProgramUse {
  return { paths };
}
