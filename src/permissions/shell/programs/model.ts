import type { ShellWord } from "../shell-word.ts";
import type { CommandEffect, Effects } from "./effects.ts";

/**
 * How a program uses the value of an option, or an operand.
 *
 * - `data`: text, a pattern, a number, a name.
 * - `read`, `list`, `write`: a file; `list` reads only names and attributes.
 * - `settings`: a file or a setting that can make the program run something.
 * - `program`: a program, or a script, that is run.
 * - `script`: text that the shell evaluates.
 * - `command`: the first word of a command; all words that follow belong to it.
 * - `directory`: the directory to work in.
 * - `network`: a host or a URL.
 * - `change`: indicates that something changes.
 * - `variable`: the name of a shell variable that is set. Bash evaluates subscripts in it.
 */
export type Role =
  | "data"
  | "read"
  | "list"
  | "write"
  | "settings"
  | "program"
  | "script"
  | "command"
  | "directory"
  | "network"
  | "change"
  | "variable";

/** Describes the arguments of a program, or of one subcommand of a program. */
export interface ProgramSpec {
  /**
   * The options, separated by spaces: the names joined by `|`, then the value (`=role` is required and may be the next
   * word, `=role,role` are two values, `[=role]` is optional and always part of the same word), then what the option
   * does by itself (`!change`, `!program`, `!network`, `!settings`). A final `^` means that the option replaces the
   * first operand, as `grep -e` does. `-#` is a number. Names with one dash and several letters are matched as a whole.
   */
  readonly options?: string | undefined;
  /**
   * The roles of the operands in order. A role with `*` applies to any number of operands, and roles that follow it
   * apply to the last operands. Further operands are unknown. Defaults to `read*`.
   */
  readonly operands?: string | undefined;
  /**
   * True if no option in any version of the program changes or runs anything, so it does not matter whether a word that
   * only the shell knows is an option.
   */
  readonly inert?: true | undefined;
  /** True if options end at the first operand. */
  readonly ordered?: true | undefined;
  /** True if the program removes `--` and passes on the words after it, so that they may be options too. */
  readonly passesOn?: true | undefined;
  /** The program's effect, whatever its arguments are. */
  readonly does?: "change" | "network" | "program" | undefined;
  /** True if an unknown argument may run something. Wildcards in allow rules do not cover such an argument. */
  readonly isPowerful?: true | undefined;
  /**
   * Set if the program, without a subcommand, only prints something. Otherwise, the program may do anything without a
   * subcommand: `yarn` installs packages.
   */
  readonly alone?: "prints" | undefined;
  /** Subcommands by name. Options before the subcommand are those of this spec. */
  readonly commands?: ReadonlyMap<string, ProgramSpec> | undefined;
  /** Describes the arguments if the first operand is not the name of a subcommand. */
  readonly otherwise?: ProgramSpec | undefined;
  /** Returns additional effects, such as those of scripts and formats, which have their own grammar. */
  readonly check?: ((reading: ArgumentReading) => Effects) | undefined;
  /** Reads the arguments of a program whose words do not have the usual form, such as find. */
  readonly read?: ((words: readonly ShellWord[]) => Effects) | undefined;
}

export interface Option {
  readonly names: readonly string[];
  readonly value: "none" | "required" | "optional";
  readonly role: Role;
  /** Roles of further values, each of which is a separate word. */
  readonly further: readonly Role[];
  readonly does: Role | undefined;
  readonly replacesOperand: boolean;
}

/** An option or an operand as a command uses it. */
export interface Argument {
  /** The longest name of the option; undefined for an operand. */
  readonly option: string | undefined;
  readonly word: ShellWord;
  readonly at: number;
}

export interface ArgumentReading {
  /** The program, with its subcommand. */
  readonly name: string;
  /** The options with the words that contain their values. An option without a value has an empty word. */
  readonly options: readonly Argument[];
  readonly operands: readonly Argument[];
  readonly effects: readonly CommandEffect[];
}

/** Returns the options of a spec, which are parsed only once. */
export function optionsOf(spec: ProgramSpec): OptionTable {
  let table = tables.get(spec);
  if (table === undefined) {
    table = new OptionTable(spec.options ?? "");
    tables.set(spec, table);
  }
  return table;
}

/** Returns the roles of the operands in order. The roles are parsed only once. */
export function operandRolesOf(spec: ProgramSpec): readonly string[] {
  let roles = operandRoles.get(spec);
  if (roles === undefined) {
    roles = (spec.operands ?? "read*").split(" ").filter((role) => role !== "");
    operandRoles.set(spec, roles);
  }
  return roles;
}

const operandRoles = new WeakMap<ProgramSpec, readonly string[]>();
const tables = new WeakMap<ProgramSpec, OptionTable>();

export class OptionTable {
  readonly all: readonly Option[];
  private readonly byName = new Map<string, Option>();

  constructor(text: string) {
    this.all = text.split(/\s+/).filter(Boolean).map(parseOption);
    for (const option of this.all) for (const name of option.names) this.byName.set(name, option);
  }

  exact(name: string): Option | undefined {
    return this.byName.get(name);
  }

  /** Returns every option that a long name can abbreviate. If the name is exact, returns only that option. */
  abbreviated(name: string): readonly Option[] {
    const exact = this.byName.get(name);
    if (exact !== undefined) return [exact];
    if (name.length < 3) return [];
    return this.all.filter((option) => option.names.some((each) => each.startsWith("--") && each.startsWith(name)));
  }
}

const notation = /^([^=[!^]+)(?:=([\w,]+)|\[=(\w+)\])?(?:!(\w+))?(\^)?$/;

function parseOption(token: string): Option {
  const match = notation.exec(token);
  if (match === null) throw new Error(`The option "${token}" in a program's table can't be parsed. Fix the table.`);
  const [, names = "", required, optional, does, replaces] = match;
  const [role = "data", ...further] = (required ?? optional ?? "data").split(",");
  return {
    names: names.split("|"),
    value: required !== undefined ? "required" : optional !== undefined ? "optional" : "none",
    role: role as Role,
    further: further as Role[],
    does: does as Role | undefined,
    replacesOperand: replaces !== undefined,
  };
}

/** Returns true if the option does more than read, whatever its value is. */
export function isHarmful({ role, further, does }: Option): boolean {
  return [role, does, ...further].some((each) => each !== undefined && harmful.has(each));
}

const harmful = new Set<string>("write settings program script command network change variable".split(" "));

/** Returns true if some option of the program, or an argument of unknown meaning, can change or run something. */
export function hasHarmfulOptions(spec: ProgramSpec): boolean {
  return spec.isPowerful === true || optionsOf(spec).all.some(isHarmful);
}

/** Creates the entry of a program, with its options as in `ProgramSpec`. */
export function withOptions(name: string, options: string, more: ProgramSpec = {}): [string, ProgramSpec] {
  return [name, { ...more, options }];
}

/** Creates a table of programs that share one spec. `names` are separated by spaces. */
export function each(names: string, spec: ProgramSpec): [string, ProgramSpec][] {
  return names.split(" ").map((name) => [name, spec]);
}
