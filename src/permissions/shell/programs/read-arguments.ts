import { isLocalName } from "../safe-variables.ts";
import { fixedWord, type ShellWord } from "../shell-word.ts";
import {
  type CommandEffect,
  type Effects,
  hiddenRun,
  unknownArgument,
  unknownCode,
  unknownProgram,
} from "./effects.ts";
import {
  type Argument,
  type ArgumentReading,
  hasHarmfulOptions,
  isHarmful,
  type Option,
  operandRolesOf,
  optionsOf,
  type ProgramSpec,
  type Role,
} from "./model.ts";

/** Position of the arguments to read: the words after index `from`, for the program or subcommand `name`. */
interface Place {
  readonly from: number;
  readonly name: string;
}

/**
 * Returns the effects of a command according to the spec of its program. Options are read as getopt_long reads them:
 * long names may be abbreviated, letters may be clustered, and values may directly follow them.
 */
export function readArguments(spec: ProgramSpec, words: readonly ShellWord[], place: Place): Effects {
  return sortArguments(spec, words, place).effects;
}

/** Returns the options and operands of a command together with their effects. */
export function sortArguments(spec: ProgramSpec, words: readonly ShellWord[], place: Place): ArgumentReading {
  return new ArgumentReader(spec, words, place.name).read(place.from);
}

class ArgumentReader {
  private readonly spec: ProgramSpec;
  private readonly words: readonly ShellWord[];
  private readonly name: string;
  private readonly effects: CommandEffect[] = [];
  private readonly options: Argument[] = [];
  private readonly operands: Argument[] = [];
  private readonly roles: readonly string[];
  private replacesOperand = false;
  private isUnclear = false;
  private hasCommand = false;

  constructor(spec: ProgramSpec, words: readonly ShellWord[], name: string) {
    this.spec = spec;
    this.words = words;
    this.name = name;
    this.roles = operandRolesOf(spec);
  }

  read(from: number): ArgumentReading {
    const { spec, words, effects } = this;
    if (spec.does !== undefined) this.does(spec.does, 0, this.name);
    let index = from;
    while (index < words.length) index = this.word(index);
    if (spec.commands !== undefined && spec.alone !== "prints" && !this.hasCommand)
      effects.push(unknownProgram(`\`${this.name}\` without a command may change something`));
    this.addOperands();
    const { options, operands, name } = this;
    const reading = { name, options, operands, effects };
    if (spec.check !== undefined) effects.push(...spec.check(reading));
    return reading;
  }

  /** Reads the word at `index`, and returns the index of the next word to read. */
  private word(index: number): number {
    const word = this.words[index]!;
    const { text, open, lead } = word;
    if (open !== undefined && /^-?$/.test(lead) && !startsWithName(word)) {
      if (this.spec.inert !== true) this.unknown("only the shell knows whether an argument is an option", index);
      return this.operand(index);
    }
    if (open === undefined && text === "--")
      return this.spec.passesOn === true ? index + 1 : this.allOperands(index + 1);
    if (!text.startsWith("-") || text === "-") return this.operand(index);
    return text.startsWith("--") ? this.long(index) : this.short(index);
  }

  private long(index: number): number {
    const word = this.words[index]!;
    const equals = word.text.indexOf("=");
    const name = equals === -1 ? word.text : word.text.slice(0, equals);
    const candidates = word.lead.startsWith(name) ? optionsOf(this.spec).abbreviated(name) : [];
    const [option] = candidates;
    if (option === undefined) return this.unknownOption(name, index);
    if (candidates.length > 1) {
      for (const each of candidates) {
        this.does(each.role, index, name);
        if (each.does !== undefined) this.does(each.does, index, name);
      }
      return this.unknownOption(name, index);
    }
    if (!option.names.includes(name)) this.effects.push(unknownArgument(`${shown(name)} is an abbreviation`, index));
    if (equals === -1) return this.apart(option, index);
    return this.value(option, { option: name, word: tail(word, equals + 1), at: index }, index + 1);
  }

  private short(index: number): number {
    const word = this.words[index]!;
    const { text, lead } = word;
    const table = optionsOf(this.spec);
    const equals = text.indexOf("=");
    const whole = text.length > 2 ? table.exact(equals === -1 ? text : text.slice(0, equals)) : undefined;
    if (whole !== undefined && lead.length >= text.length) {
      if (equals === -1) return this.apart(whole, index);
      return this.value(whole, { option: text.slice(0, equals), word: tail(word, equals + 1), at: index }, index + 1);
    }
    if (/^-\d+$/.test(text) && table.exact("-#") !== undefined) return index + 1;
    for (let at = 1; at < text.length; at += 1) {
      const name = `-${text[at]}`;
      const option = at < lead.length ? table.exact(name) : undefined;
      if (option === undefined) return this.unknownOption(at < lead.length ? name : text, index);
      const isLast = at === text.length - 1;
      if (isLast) return this.apart(option, index);
      if (option.value !== "none") {
        return this.value(option, { option: name, word: tail(word, at + 1), at: index }, index + 1);
      }
      this.flag(option, name, index);
    }
    return index + 1;
  }

  /** Reads an option whose value, if it needs one, is the next word. */
  private apart(option: Option, index: number): number {
    const name = option.names.at(-1)!;
    const word = this.words[index + 1];
    if (option.value !== "required" || word === undefined) {
      this.flag(option, name, index);
      return index + 1;
    }
    // On BSD systems, options end at the first operand, so the word after this option may name a file to read.
    if (this.operands.length > 0 && option.role === "data" && /\/|^\.\.$|^~/.test(word.text))
      this.effects.push({ kind: "read", word, at: index + 1 });
    // Some options accept a value only after `=`. In that case, the next word would be another option.
    if (this.spec.inert !== true && option.role === "data" && /^-[^\d]/.test(word.text))
      this.unknown(`${shown(word.text)} may be an option of ${this.name}`, index + 1);
    return this.value(option, { option: name, word, at: index + 1 }, index + 2);
  }

  private flag(option: Option, name: string, at: number): void {
    this.options.push({ option: option.names.at(-1)!, word: fixedWord(""), at });
    this.replacesOperand ||= option.replacesOperand;
    if (option.does !== undefined) this.does(option.does, at, name);
  }

  private value(option: Option, { option: name = "", word, at }: Argument, next: number): number {
    this.options.push({ option: option.names.at(-1)!, word, at });
    this.replacesOperand ||= option.replacesOperand;
    if (word.splits && this.spec.inert !== true) this.unknown("the shell may split the value of an option", at);
    if (option.value === "none") this.unknown(`\`${this.name} ${name}\` takes no value`, at);
    if (option.does !== undefined) this.does(option.does, at, name);
    this.use(option.role, { option: name, word, at });
    for (const [index, role] of option.further.entries()) {
      const further = this.words[next + index];
      if (further === undefined) continue;
      if (further.splits) this.unknown("the shell may split the value of an option", next + index);
      this.use(role, { option: name, word: further, at: next + index });
    }
    return next + option.further.length;
  }

  private operand(index: number): number {
    const { commands, ordered } = this.spec;
    if (commands !== undefined) return this.subcommand(commands, index);
    if (this.roles[this.operands.length] === "command") {
      const reason = `${this.name} runs a command`;
      this.effects.push({ kind: "run", words: this.words.slice(index), isRest: true, reason, at: index });
      return this.words.length;
    }
    this.operands.push({ option: undefined, word: this.words[index]!, at: index });
    return ordered === true ? this.allOperands(index + 1) : index + 1;
  }

  private allOperands(index: number): number {
    const { commands } = this.spec;
    if (index < this.words.length && (commands !== undefined || this.roles.includes("command")))
      return this.operand(index);
    for (let at = index; at < this.words.length; at += 1)
      this.operands.push({ option: undefined, word: this.words[at]!, at });
    return this.words.length;
  }

  private subcommand(commands: ReadonlyMap<string, ProgramSpec>, index: number): number {
    this.hasCommand = true;
    const { text, open } = this.words[index]!;
    const found = open === undefined ? commands.get(text) : undefined;
    const name = found === undefined ? this.name : `${this.name} ${text}`;
    const spec = found ?? this.spec.otherwise;
    if (open !== undefined) this.effects.push(unknownProgram(`only the shell knows what ${name} would do`, index));
    else if (found === undefined)
      this.effects.push(unknownProgram(`\`${name} ${shown(text)}\` may change something`, index));
    if (open === undefined && spec !== undefined)
      this.effects.push(...readArguments(spec, this.words, { from: found === undefined ? index : index + 1, name }));
    return this.words.length;
  }

  /** Assigns each operand its role by position. */
  private addOperands(): void {
    const roles = this.replacesOperand ? this.roles.slice(1) : this.roles;
    const isCounted = !roles.at(-1)?.endsWith("*");
    for (const [index, argument] of this.operands.entries()) {
      const role = roleOf(roles, index, this.operands.length);
      if (role === undefined) this.unknown(`${this.name} has too many operands`, argument.at);
      // A word that the shell splits may become several operands, so all operands after it would be miscounted.
      if (argument.word.splits && (isCounted || index < roles.length - 1) && this.spec.inert !== true)
        this.effects.push(unknownArgument("the shell may split an operand into several", argument.at));
      // An unknown option may have taken an operand as its value.
      if (role === undefined || (this.isUnclear && role === "data")) this.use("read", argument);
      if (role !== undefined) this.use(role, argument);
    }
  }

  private use(role: Role, { word, at, option }: Argument): void {
    const what = option === undefined ? this.name : `\`${this.name} ${option}\``;
    switch (role) {
      case "data":
        return;
      case "read":
      case "list":
      case "directory":
        if (word.text !== "-" || word.open !== undefined) this.effects.push({ kind: role, word, at });
        return;
      case "write":
        if (word.open !== undefined || !nowhere.test(word.text)) this.effects.push({ kind: role, word, at });
        return;
      case "network":
        this.effects.push({ kind: "network", word, at });
        return;
      case "variable":
        if (mayEvaluate(word))
          this.effects.push(hiddenRun("bash evaluates the subscript of a variable, which can run commands", at));
        if (word.open !== undefined || !isLocalName(word.text))
          this.effects.push({ kind: "change", reason: `${what} sets a variable`, at });
        return;
      case "script": {
        const isHidden = word.open !== undefined;
        this.effects.push({ kind: "run", script: word.text, isHidden, reason: `${what} runs a script`, at });
        this.does("program", at, option ?? "");
        return;
      }
      default:
        this.does(role, at, option ?? "");
    }
  }

  private does(role: Role, at: number, name: string): void {
    const what = name === this.name || name === "" ? this.name : `\`${this.name} ${name}\``;
    if (role === "program" || role === "settings" || role === "command" || role === "script")
      this.effects.push({ kind: "run", reason: `${what} can run a program`, at });
    else if (role === "network") this.effects.push({ kind: "network", word: undefined, at });
    else if (role === "change" || role === "write" || role === "variable") {
      const use = at > 0 ? what : what.includes(" ") ? `\`${what}\`` : `this use of ${what}`;
      this.effects.push({ kind: "change", reason: `${use} may change something`, at });
    }
  }

  private unknownOption(name: string, index: number): number {
    this.unknown(`${shown(name)} is not a known option of ${this.name}`, index);
    const word = this.words[index]!;
    const equals = word.text.indexOf("=");
    // Other letters in the word may be options too, unless the program has options of several letters: `go list -json`.
    const { all } = optionsOf(this.spec);
    const isCluster = /^-(?!-)/.test(word.text) && !all.some(({ names }) => names.some((each) => /^-\w\w/.test(each)));
    for (const letter of isCluster ? word.text.slice(1) : "") {
      const option = optionsOf(this.spec).exact(`-${letter}`);
      if (option !== undefined && isHarmful(option)) this.does(option.does ?? option.role, index, `-${letter}`);
    }
    // The word may contain a path: `--file=path`, `-fpath`.
    if (equals !== -1) this.effects.push({ kind: "read", word: tail(word, equals + 1), at: index });
    else if (/^-\w+[/.~]/.test(word.text))
      this.effects.push({ kind: "read", word: tail(word, word.text.search(/[/.~]/)), at: index });
    return index + 1;
  }

  private unknown(reason: string, at: number): void {
    this.isUnclear = true;
    const { spec, words } = this;
    const mayRun = spec.isPowerful === true || (words[at]?.open !== undefined && hasHarmfulOptions(spec));
    this.effects.push(mayRun ? unknownCode(reason, at) : unknownArgument(reason, at));
  }
}

function roleOf(roles: readonly string[], index: number, count: number): Role | undefined {
  const star = roles.findIndex((role) => role.endsWith("*"));
  if (star === -1 || index < star) return roles[index] as Role | undefined;
  const fromEnd = count - index;
  const role = fromEnd < roles.length - star ? roles[roles.length - fromEnd]! : roles[star]!.slice(0, -1);
  return role as Role;
}

/**
 * Returns true if bash may evaluate part of the word: a subscript in a variable name, or the list of values in
 * `name=(…)`.
 */
export function mayEvaluate({ text, open, lead }: ShellWord): boolean {
  const equals = lead.indexOf("=");
  if (open === "value" && equals === -1) return true;
  const name = equals === -1 ? text : text.slice(0, equals);
  return /\[(?!(\d+|[@*])\]\+?$)/.test(name) || /^\w+\+?=\(.*[$`[]/s.test(text);
}

/**
 * Matches the standard streams and the null device, because writing there changes nothing. Does not match `-`, which
 * many programs treat as the name of a file.
 */
const nowhere = /^\/dev\/(null|stdout|stderr)$/;

/** Returns true if the shell expands the braces at the start of the word only to names, never to an option. */
function startsWithName({ text, open }: ShellWord): boolean {
  return open === "glob" && text.startsWith("{") && !text.split(/[{},]/).some((piece) => /^[-*?[]/.test(piece));
}

function tail(word: ShellWord, from: number): ShellWord {
  return { ...word, text: word.text.slice(from), lead: word.lead.slice(from) };
}

function shown(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return plain.length > 40 ? `${plain.slice(0, 40)}…` : plain;
}
