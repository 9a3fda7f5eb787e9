import type { ParsedScript, SyntaxNode, Word, WordPart } from "unbash";
import { forEachChild } from "unbash";
import { expandBraces, tokensOf } from "./brace-expansion.ts";

/** One word of a command, with braces expanded and quotes removed. */
export interface ShellWord {
  /** Text of the word; exact unless the word is open. Expansions appear as their source text. */
  readonly text: string;
  /**
   * Explains why the text is not exact. `glob`: the word expands to file names. `value`: it contains a variable, a
   * substitution or the home directory.
   */
  readonly open: "glob" | "value" | undefined;
  /** The part at the beginning of the word whose text is exact. */
  readonly lead: string;
  /** True if the shell may turn the word into several words, or none. */
  readonly splits: boolean;
  /** The variables in the word, if nothing else makes the word a `value`. */
  readonly variables: readonly string[] | undefined;
  /** The pieces of an open word; undefined if the word is not open, or if only the shell knows a part of it. */
  readonly pieces?: readonly WordPiece[] | undefined;
  /** True if the word represents files that `find` found below the directory `text`. */
  readonly below?: true | undefined;
  /** True for `<(…)`: the word names a pipe, not a file. */
  readonly isPipe?: true | undefined;
}

/** A pattern (`\` precedes quoted characters, a leading `~` is the home directory), or the value of a variable. */
export type WordPiece = string | { readonly variable: string; readonly quoted: boolean };

/**
 * Receives findings about the contents of words: scripts in substitutions, assigned variables, and reasons why a word
 * is obscure.
 */
export interface WordFindings {
  /** `isFed`: the script reads what the command writes, as in `>(…)`. */
  script(script: ParsedScript | undefined, isFed: boolean): void;
  assigned(name: string): void;
  obscure(reason: string): void;
  /** True if the words are from a script for `sh`, which supports fewer kinds of words than bash. */
  readonly plainShell?: boolean | undefined;
}

export function fixedWord(text: string): ShellWord {
  return { text, open: undefined, lead: text, splits: false, variables: undefined };
}

/** Creates a word of which only the beginning is known. */
export function openWord(text: string, lead: string): ShellWord {
  return { text, open: "value", lead, splits: true, variables: undefined };
}

/** Creates a word for files that `find` found below a known directory. */
export function listedWord(directory: string): ShellWord {
  return { text: directory, open: "glob", lead: directory, splits: true, variables: undefined, below: true };
}

/** Reads a word in which the shell does not expand braces, such as an assigned value or the target of a redirection. */
export function readWord(word: Word, findings: WordFindings): ShellWord {
  if (isPlain(word)) return fixedWord(word.text);
  const reading = new Reading(findings);
  reading.word(word);
  return reading.finish(reading.code);
}

/** Reads the body of a here-document, in which quotes have no special meaning. */
export function readQuoted(parts: readonly WordPart[], findings: WordFindings): void {
  const reading = new Reading(findings);
  reading.all(parts, true);
  reading.finish(reading.code);
}

/** Reads a word of a command or a loop, which braces may expand to several words or none. */
export function readWords(word: Word, findings: WordFindings): readonly ShellWord[] {
  if (isPlain(word)) return [fixedWord(word.text)];
  const reading = new Reading(findings);
  reading.word(word);
  const codes = expandBraces(reading.code);
  if (codes === undefined) {
    findings.obscure("its braces expand to too many words");
    return [openWord(word.text, "")];
  }
  if (findings.plainShell && codes[0] !== reading.code) findings.obscure("not every shell expands its braces");
  return codes.filter((code) => code !== "" || codes.length === 1).map((code) => reading.finish(code));
}

// Characters without a special meaning to the shell at any position.
const PLAIN = /^[\w\-./:,+@%^=]+$/;
const NUMBERS_ONLY = /^\$\(\([\d\s+\-*/%()<>=!&|^~?:,]*\)\)$/;

function isPlain({ text }: Word): boolean {
  // The program `[` and its closing word are not globs.
  return PLAIN.test(text) || text === "[" || text === "]";
}

/** An expansion in a word, or a pair of quotes with nothing between them. */
interface Atom {
  readonly text: string;
  /** Undefined unless the expansion is the plain value of a variable. */
  readonly variable?: string | undefined;
  readonly quoted: boolean;
  readonly splits: boolean;
  readonly empty?: true | undefined;
  readonly isPipe?: true | undefined;
}

/** Encodes a word so that its braces can be expanded. See `expandBraces` for the encoding. */
class Reading {
  code = "";
  private readonly findings: WordFindings;
  private readonly atoms: Atom[] = [];

  constructor(findings: WordFindings) {
    this.findings = findings;
  }

  word({ text, value, parts }: Word): void {
    if (text.includes("\u0000")) this.findings.obscure("a word contains a NUL character");
    if (parts !== undefined) for (const part of parts) this.part(part, false);
    else {
      this.source(text);
      if (decode(this.code) !== value) this.findings.obscure("different shells parse one of its words differently");
    }
  }

  /** Returns the word that an encoded text represents. */
  finish(code: string): ShellWord {
    const tokens = tokensOf(code);
    const [only] = this.atoms;
    if (tokens.length === 1 && only?.isPipe && tokens[0] === "\u00000\u0000") {
      return { ...openWord(only.text, "/dev/fd/"), splits: false, isPipe: true };
    }
    const tilde = tildeOf(tokens);
    let text = "";
    let lead: string | undefined = tilde === "home" ? "~" : tilde === "unknown" ? "" : undefined;
    let open: ShellWord["open"] = tilde === undefined ? undefined : "value";
    let splits = false;
    let variables: string[] | undefined = tilde === undefined ? [] : undefined;
    let pieces: WordPiece[] | undefined = tilde === "unknown" ? undefined : [];
    let pattern = "";
    for (const [index, token] of tokens.entries()) {
      const atom = token.startsWith("\u0000") ? this.atoms[Number(token.slice(1, -1))]! : undefined;
      if (atom === undefined) {
        const isGlob = /^[*?[]$/.test(token);
        if (isGlob) {
          lead ??= text;
          open ??= "glob";
          splits = true;
        }
        text += token.length > 1 && token.startsWith("\\") ? token.slice(1) : token;
        pattern += token === "~" && !(index === 0 && tilde === "home") ? "\\~" : token;
        continue;
      }
      if (atom.empty) continue;
      lead ??= text;
      open = "value";
      splits ||= atom.splits;
      text += atom.text;
      const { variable } = atom;
      if (variable === undefined) pieces = undefined;
      else pieces?.push(pattern, { variable, quoted: atom.quoted });
      pattern = "";
      if (variable === undefined) variables = isCounter(atom.text) ? variables : undefined;
      else variables?.push(variable);
    }
    if (text.includes("\u0000")) this.findings.obscure("a word contains a NUL character");
    pieces?.push(pattern);
    return {
      text,
      open,
      lead: lead ?? text,
      splits,
      variables: open === "value" ? variables : undefined,
      pieces: open === undefined ? undefined : pieces?.filter((piece) => piece !== ""),
    };
  }

  /** Adds unquoted source text, in which `\` quotes the next character. */
  private source(text: string): void {
    const joined = text.replaceAll(/\\(.)/gs, (pair, next: string) => (next === "\n" ? "" : pair));
    // A single backslash at the end of the input is an ordinary character.
    const isLoose = /(?:^|[^\\])(?:\\\\)*\\$/.test(joined);
    this.code += isLoose ? `${joined}\\` : joined;
  }

  private quote(text: string): void {
    this.code += text.replaceAll(/./gsu, "\\$&");
  }

  private part(part: WordPart, quoted: boolean): void {
    switch (part.type) {
      case "Literal":
        if (quoted) this.quote(part.value);
        else this.source(part.text);
        return;
      case "AnsiCQuoted":
        if (this.findings.plainShell) this.findings.obscure("not every shell supports quotes that begin with `$`");
        this.quoted(() => this.quote(part.value));
        return;
      case "SingleQuoted":
        this.quoted(() => this.quote(part.value));
        return;
      case "LocaleString":
        if (this.findings.plainShell) this.findings.obscure("not every shell supports quotes that begin with `$`");
        this.quoted(() => this.all(part.parts, true));
        return;
      case "DoubleQuoted":
        this.quoted(() => this.all(part.parts, true));
        return;
      case "SimpleExpansion":
        this.variable(part, part.text.slice(1), quoted);
        return;
      case "ParameterExpansion":
        if (part.operation === undefined && part.index === undefined && part.prefix === undefined)
          this.variable(part, part.parameter, quoted);
        else this.atom({ text: part.text, quoted, splits: !quoted });
        if (quoted && hasSingleQuote(part))
          this.findings.obscure("different shells parse quotes in a quoted expansion differently");
        this.parameter(part);
        return;
      case "ArithmeticExpansion":
        this.atom({ text: part.text, quoted, splits: false });
        if (!NUMBERS_ONLY.test(part.text))
          this.findings.obscure("bash evaluates the contents of variables in arithmetic, which can run commands");
        this.inside(part);
        return;
      case "CommandExpansion":
        this.atom({ text: part.text, quoted, splits: !quoted });
        if (part.text.startsWith("${"))
          this.findings.obscure("different shells parse a substitution in braces differently");
        this.findings.script(part.script, false);
        return;
      case "ProcessSubstitution":
        this.atom({ text: part.text, quoted, splits: false, isPipe: true });
        this.findings.script(part.script, part.operator === ">");
        return;
      case "Glob":
        this.nested(part, "[", "]");
        return;
      case "BraceExpansion":
        this.nested(part, "{", "}");
        return;
      case "ExtendedGlob":
        this.atom({ text: part.text, quoted, splits: true });
        this.findings.obscure("different shells parse one of its words differently");
        this.inside(part);
        return;
    }
  }

  all(parts: readonly WordPart[], quoted: boolean): void {
    for (const part of parts) this.part(part, quoted);
  }

  /** Adds the parts inside quotes. Empty quotes preserve a word that braces or variables would otherwise remove. */
  private quoted(add: () => void): void {
    const before = this.code.length;
    add();
    if (this.code.length === before) this.atom({ text: "", quoted: true, splits: false, empty: true });
  }

  private nested({ text, parts }: Extract<WordPart, { type: "Glob" | "BraceExpansion" }>, open: string, close: string) {
    if (parts === undefined || parts.length === 0) this.source(text);
    else {
      this.code += open;
      this.all(parts, false);
      this.code += close;
    }
  }

  private variable({ text }: { readonly text: string }, name: string, quoted: boolean): void {
    const counter = isCounter(text);
    this.atom({ text, quoted, splits: (!quoted && !counter) || name === "@", variable: counter ? undefined : name });
  }

  private atom(atom: Atom): void {
    this.code += `\u0000${this.atoms.length}\u0000`;
    this.atoms.push(atom);
  }

  private parameter(part: Extract<WordPart, { type: "ParameterExpansion" }>): void {
    const { findings } = this;
    if (part.prefix === "!")
      findings.obscure("bash evaluates the contents of a variable as the name of another one, which can run commands");
    if (part.index !== undefined && !/^(\d+|[@*])$/.test(part.index.text))
      findings.obscure("bash evaluates the contents of variables in a subscript, which can run commands");
    const { operation } = part;
    if (operation?.type === "Unknown" || operation?.type === "Names")
      findings.obscure("a variable is used in an unknown way");
    if (operation?.type === "Transform" && !/^[QULu]$/.test(operation.operand.text))
      findings.obscure("`@P` and similar operators evaluate the contents of a variable, which can run commands");
    if (operation?.type === "Slice") {
      const offsets = [operation.offset, operation.length].filter((word) => word !== undefined);
      if (offsets.some((word) => !/^\s*(-?\d+|\(-\d+\))\s*$/.test(word.text)))
        findings.obscure("bash evaluates the contents of variables in an offset, which can run commands");
    }
    if (operation?.type === "Default" && operation.operator.endsWith("=")) {
      findings.assigned(part.parameter);
    }
    this.inside(part);
  }

  /** Reports scripts and expansions inside a part of a word whose text is unknown. */
  private inside(node: SyntaxNode): void {
    forEachChild(node, (child) => {
      if (child.type === "Word") readWord(child, this.findings);
      else if (child.type === "Script") this.findings.script(child, true);
      else if (isPart(child)) new Reading(this.findings).part(child, false);
      else this.inside(child);
    });
  }
}

/**
 * Returns true if there is a single quote in an expansion, except in its commands. Inside double quotes and
 * here-documents, `'…'` and `$'…'` are not quotes but ordinary characters, so the shell runs the text between them.
 */
function hasSingleQuote(node: SyntaxNode): boolean {
  if (node.type === "CommandExpansion") return false;
  if (node.type === "ProcessSubstitution") return true;
  let isLeaf = true;
  let isFound = false;
  forEachChild(node, (child) => {
    isLeaf = false;
    isFound ||= hasSingleQuote(child);
  });
  return isLeaf ? "text" in node && String(node.text).includes("'") : isFound;
}

/** Returns true for variables that only the shell sets, and only to numbers. */
function isCounter(text: string): boolean {
  return /^\$\{?[?#$!]\}?$/.test(text);
}

/** Returns how the shell expands a tilde at the start of the word, or after `:` or `=`. */
function tildeOf(tokens: readonly string[]): "home" | "unknown" | undefined {
  if (tokens.some((token, index) => token === "~" && /[:=]$/.test(tokens[index - 1] ?? ""))) return "unknown";
  if (tokens[0] !== "~") return undefined;
  const end = tokens.indexOf("/");
  const user = tokens.slice(1, end === -1 ? tokens.length : end);
  if (user.length === 0) return "home";
  // A quoted character in the user name keeps the shell from expanding the tilde.
  return user.some((token) => /^\\/.test(token)) ? undefined : "unknown";
}

/** Decodes an encoded text that has no expansions. */
function decode(code: string): string {
  return code.replaceAll(/\\(.)/gs, "$1");
}

const partTypes: ReadonlySet<string> = new Set([
  "Literal",
  "Glob",
  "SingleQuoted",
  "DoubleQuoted",
  "AnsiCQuoted",
  "LocaleString",
  "SimpleExpansion",
  "ParameterExpansion",
  "CommandExpansion",
  "ArithmeticExpansion",
  "ProcessSubstitution",
  "ExtendedGlob",
  "BraceExpansion",
] satisfies WordPart["type"][]);

function isPart(node: SyntaxNode): node is WordPart {
  return partTypes.has(node.type);
}
