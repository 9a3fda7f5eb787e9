import { parseArgs } from "node:util";
import { nearest, UserError } from "../lib/index.ts";

export interface OptionKind {
  /** What the value is, in capitals; absent: it takes none. */
  readonly value?: string;
  readonly short?: string;
  readonly choices?: readonly string[];
}

export interface ReadOptions {
  /** Everything that is no option, in order. */
  readonly words: readonly string[];
  has(name: string): boolean;
  /** The last value given. */
  value(name: string): string | undefined;
  values(name: string): readonly string[];
}

/** Reads options of these kinds, by their long names. Throws a `UserError` with exit code 2; `help` is what shows more. */
export function readOptions(
  argv: readonly string[],
  { kinds, help }: { readonly kinds: Readonly<Record<string, OptionKind>>; readonly help: string },
): ReadOptions {
  const options: Record<string, { type: "string" | "boolean"; short?: string }> = {};
  for (const [name, { value, short }] of Object.entries(kinds)) {
    options[name] = { type: value === undefined ? "boolean" : "string", ...(short === undefined ? {} : { short }) };
  }
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  const words: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const kind = Object.hasOwn(kinds, token.name) ? kinds[token.name] : undefined;
    if (kind === undefined)
      throw unknownOption(argv[token.index] ?? token.rawName, { names: Object.keys(kinds), help });
    const value = checkedValue(token, kind);
    given.set(token.name, [...(given.get(token.name) ?? []), value]);
  }
  return {
    words,
    has: (name) => given.has(name),
    value: (name) => given.get(name)?.at(-1),
    values: (name) => given.get(name) ?? [],
  };
}

interface OptionToken {
  readonly name: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function checkedValue({ name, value, inlineValue }: OptionToken, kind: OptionKind): string {
  if (kind.value === undefined) {
    if (inlineValue) throw usageError(`--${name} takes no value`, `Write --${name} alone.`);
    return "";
  }
  const looksLikeOption = !inlineValue && value !== undefined && value.length > 1 && value.startsWith("-");
  if (value === undefined || looksLikeOption) {
    const dash = looksLikeOption ? ` (a value that begins with a dash: --${name}=${value})` : "";
    throw usageError(`--${name} needs a value`, `Write --${name} ${kind.value}${dash}.`);
  }
  if (value.trim() === "") throw usageError(`The value of --${name} is empty`, `Write --${name} ${kind.value}.`);
  if (kind.choices !== undefined && !kind.choices.includes(value)) {
    const meant = nearest(value, kind.choices)[0];
    const list = `It can be ${kind.choices.join(", ")}.`;
    throw usageError(`--${name} can't be "${value}"`, meant === undefined ? list : `Did you mean ${meant}? ${list}`);
  }
  return value;
}

function unknownOption(word: string, { names, help }: { names: readonly string[]; help: string }): UserError {
  const name = word.replace(/=.*/s, "");
  const meant = name.startsWith("--") ? nearest(name.slice(2), names)[0] : undefined;
  const hint = `See "${help}". A prompt that begins with a dash goes after "--".`;
  return usageError(`There is no option ${name}`, meant === undefined ? hint : `Did you mean --${meant}?`);
}

export function usageError(message: string, cure: string): UserError {
  return new UserError(message, { code: "usage", cure, exitCode: 2 });
}
