import { isRecord, nearest, UserError } from "../lib/index.ts";

/** Values that an option of a library function accepts. */
export interface OptionType {
  readonly accepts: (value: unknown) => boolean;
  /** Completes the sentence "Use …" in messages. */
  readonly description: string;
  readonly optional?: boolean | undefined;
  /** Strings that the option accepts, for suggestions in error messages. */
  readonly values?: readonly string[] | undefined;
  /** Explains in one sentence why a value is rejected; replaces "Use …" in messages. */
  readonly problem?: ((value: unknown) => string | undefined) | undefined;
}

export type OptionTypes<Options> = Readonly<Record<keyof Required<Options>, OptionType>>;

/** Checks a library function's options, because programs without type checking may pass invalid ones. */
export function checkOptions<Options>(name: string, options: Options, types: OptionTypes<Options>): void {
  if (!isRecord(options))
    throw optionError(`${capitalized(name)} needs an object with options`, "docs/library.md lists them.");
  const table = new Map<string, OptionType>(Object.entries(types));
  for (const option of Object.keys(options)) if (!table.has(option)) throw unknownOption(name, option, table.keys());
  for (const [option, type] of table) checkOption(name, option, { value: options[option], type });
}

/** Throws a `UserError` if an option has a name from another library. `hints` says what to use instead. */
export function checkNames(name: string, options: unknown, hints: Readonly<Record<string, string>>): void {
  for (const [option, hint] of Object.entries(hints))
    if (isRecord(options) && option in options)
      throw optionError(`${capitalized(name)} has no option "${option}"`, hint);
}

export function optionError(message: string, fix: string): UserError {
  return new UserError(message, { code: "options", fix, exitCode: 2 });
}

export const aString: OptionType = {
  accepts: (value) => typeof value === "string" && value !== "",
  description: "a non-empty string",
};
export const aBoolean: OptionType = { accepts: (value) => typeof value === "boolean", description: "true or false" };
export const aFunction: OptionType = { accepts: (value) => typeof value === "function", description: "a function" };
export const anObject: OptionType = { accepts: isRecord, description: "an object" };
export const anArray: OptionType = { accepts: Array.isArray, description: "an array" };
export const anAbortSignal: OptionType = {
  accepts: (value) => value instanceof AbortSignal,
  description: "an AbortSignal",
};
export const aCount: OptionType = {
  accepts: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  description: "a whole number above 0",
};
export const strings: OptionType = {
  accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  description: "an array of strings",
};

export function oneOf(values: readonly (string | boolean)[]): OptionType {
  return {
    accepts: (value) => values.some((allowed) => allowed === value),
    description: inWords(values.map((value) => JSON.stringify(value))),
    values: values.filter((value) => typeof value === "string"),
  };
}

export function anObjectWith(...methods: readonly string[]): OptionType {
  return {
    accepts: (value) => isRecord(value) && methods.every((name) => typeof value[name] === "function"),
    description: `an object with ${methods.join(" and ")}`,
  };
}

export function either(first: OptionType, second: OptionType): OptionType {
  return {
    accepts: (value) => first.accepts(value) || second.accepts(value),
    description: `${first.description}, or ${second.description}`,
  };
}

export function optional(type: OptionType): OptionType {
  return { ...type, optional: true };
}

interface CheckedValue {
  readonly value: unknown;
  readonly type: OptionType;
}

function checkOption(name: string, option: string, { value, type }: CheckedValue): void {
  if (value === undefined && type.optional) return;
  const [meant] = typeof value === "string" ? nearest(value, type.values ?? []) : [];
  const advice = (value !== undefined && type.problem?.(value)) || `use ${type.description}.`;
  const fix = `${meant === undefined ? "" : `Did you mean ${JSON.stringify(meant)}? `}${sentence(advice)}`;
  if (value === undefined) throw optionError(`${capitalized(name)} needs the ${option} option`, fix);
  if (!type.accepts(value)) {
    throw optionError(`The ${option} option of ${name} can't be ${describeValue(value)}`, fix);
  }
}

/** Returns the error for an option that a function does not have, with the name that was probably meant. */
export function unknownOption(name: string, option: string, known: Iterable<string>): UserError {
  const [meant] = nearest(option, known);
  const fix = meant === undefined ? "docs/library.md lists its options." : `Did you mean ${meant}?`;
  return optionError(`${capitalized(name)} has no option "${option}"`, fix);
}

/** Capitalizes the first letter. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** Capitalizes a name such as `the tool "stock"` for the start of a sentence. Function names stay as they are. */
function capitalized(name: string): string {
  return name.replace(/^(?:a|the) /, sentence);
}

/** Describes a value. Leaves out the contents of objects, which may be long or secret. */
function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "an array like this";
  return typeof value === "object" && value !== null ? "an object like this" : String(value);
}

function inWords(values: readonly string[]): string {
  return [values.slice(0, -1).join(", "), ...values.slice(-1)].filter((part) => part !== "").join(" or ");
}
