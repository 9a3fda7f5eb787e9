import type { ParsedScript, SyntaxNode, Word, WordPart } from "unbash";
import { forEachChild } from "unbash";

/** One word of a command, with quotes removed. */
export interface ShellWord {
  /** Text of the word; exact unless the word is open. Expansions appear as their source text. */
  readonly text: string;
  /**
   * Explains why the text is not exact. `glob`: file names or braces; `value`: a variable, a substitution or the home
   * directory.
   */
  readonly open: "glob" | "value" | undefined;
  /** The beginning of the word, as far as it is certain. */
  readonly lead: string;
  /** True if the shell may turn the word into several words, or none. */
  readonly splits: boolean;
  /** The variables in the word, if nothing else makes the word a `value`. */
  readonly variables: readonly string[] | undefined;
}

/**
 * Receives what occurs inside words: scripts in substitutions, assigned variables, and reasons why a word is obscure.
 */
export interface WordFindings {
  script(script: ParsedScript | undefined): void;
  assigned(name: string): void;
  obscure(reason: string): void;
}

export function fixedWord(text: string): ShellWord {
  return { text, open: undefined, lead: text, splits: false, variables: undefined };
}

/** Creates a word of which only the beginning is known. */
export function openWord(text: string, lead: string): ShellWord {
  return { text, open: "value", lead, splits: true, variables: undefined };
}

/** Creates a word for files below a known directory, as listed by a program. */
export function listedWord(directory: string): ShellWord {
  return { text: directory, open: "glob", lead: directory, splits: true, variables: undefined };
}

export function readWord(word: Word, findings: WordFindings): ShellWord {
  // The program `[` and its closing word are not globs.
  if (PLAIN.test(word.text) || word.text === "[" || word.text === "]") return fixedWord(word.text);
  const reading = new Reading(findings);
  const { parts } = word;
  if (parts === undefined) reading.literal(word.value, word.text);
  else for (const part of parts) reading.part(part, false);
  return reading.finish();
}

// Characters without a special meaning to the shell at any position.
const PLAIN = /^[\w\-./:,+@%^=]+$/;
const NUMBERS_ONLY = /^\$\(\([\d\s+\-*/%()<>=!&|^~?:,]*\)\)$/;

class Reading {
  private readonly findings: WordFindings;
  private text = "";
  private lead: string | undefined;
  private open: "glob" | "value" | undefined;
  private splits = false;
  private variables: string[] | undefined = [];

  constructor(findings: WordFindings) {
    this.findings = findings;
  }

  finish(): ShellWord {
    const { text, open, splits, variables } = this;
    if (text.includes("\u0000")) this.findings.obscure("a word contains a NUL character");
    return { text, open, lead: this.lead ?? text, splits, variables: open === "value" ? variables : undefined };
  }

  literal(value: string, source: string): void {
    const bare = source.replace(/\\./gs, "_");
    // The shell expands a tilde at the start of a word and after `:` and `=`.
    if (/(^|[:=])~/.test(bare) && (this.text === "" || /[:=]~/.test(bare) || /[:=]$/.test(this.text)))
      this.opens("value", false);
    if (/[*?[]/.test(bare)) this.opens("glob", true);
    if (bare.includes("{") || (this.text.includes("{") && bare.includes("}"))) this.braces(bare);
    this.text += value;
  }

  part(part: WordPart, quoted: boolean): void {
    switch (part.type) {
      case "Literal":
        if (quoted) this.text += part.value;
        else this.literal(part.value, part.text);
        return;
      case "SingleQuoted":
      case "AnsiCQuoted":
        this.text += part.value;
        return;
      case "DoubleQuoted":
        for (const child of part.parts) this.part(child, true);
        return;
      case "SimpleExpansion":
        this.variable(part.text.slice(1), quoted);
        break;
      case "ParameterExpansion":
        if (part.operation === undefined && part.index === undefined && part.prefix === undefined)
          this.variable(part.parameter, quoted);
        else this.opens("value", !quoted);
        this.parameter(part);
        break;
      case "ArithmeticExpansion":
        this.opens("value", false);
        if (!NUMBERS_ONLY.test(part.text)) this.findings.obscure("arithmetic evaluates the contents of variables");
        this.inside(part);
        break;
      case "CommandExpansion":
        this.opens("value", !quoted);
        if (part.text.startsWith("${")) this.findings.obscure("shells parse a substitution in braces differently");
        this.findings.script(part.script);
        break;
      case "ProcessSubstitution":
        this.opens("value", false);
        this.findings.script(part.script);
        break;
      case "Glob":
        this.opens("glob", true);
        this.inside(part);
        break;
      case "BraceExpansion":
        this.opens("glob", true);
        this.inside(part);
        break;
      case "LocaleString":
      case "ExtendedGlob":
        this.opens("value", true);
        this.findings.obscure("shells parse one of its words differently");
        this.inside(part);
        break;
    }
    this.text += part.text;
  }

  private braces(bare: string): void {
    if (/[,.]/.test(bare) || this.open !== undefined) this.opens("glob", true);
  }

  private variable(name: string, quoted: boolean): void {
    const counted = /^[?#$!]$/.test(name);
    const known = this.variables;
    this.opens("value", (!quoted && !counted) || name === "@");
    this.variables = known;
    if (!counted) known?.push(name);
  }

  private opens(kind: "glob" | "value", splits: boolean): void {
    this.lead ??= this.text;
    this.open = this.open === "value" ? "value" : kind;
    this.splits ||= splits;
    if (kind === "value") this.variables = undefined;
  }

  private parameter(part: Extract<WordPart, { type: "ParameterExpansion" }>): void {
    const { findings } = this;
    if (part.prefix === "!") findings.obscure("the contents of a variable are used as a name");
    if (part.index !== undefined && !/^(\d+|[@*])$/.test(part.index.text))
      findings.obscure("a subscript evaluates the contents of variables");
    const { operation } = part;
    if (operation?.type === "Unknown" || operation?.type === "Names")
      findings.obscure("a variable is used in an unknown way");
    if (operation?.type === "Transform" && !/^[QULu]$/.test(operation.operand.text))
      findings.obscure("`@P` and similar operators evaluate the contents of a variable");
    if (operation?.type === "Slice") {
      const offsets = [operation.offset, operation.length].filter((word) => word !== undefined);
      if (offsets.some((word) => !/^\s*(-?\d+|\(-\d+\))\s*$/.test(word.text)))
        findings.obscure("an offset evaluates the contents of variables");
    }
    if (operation?.type === "Default" && operation.operator.endsWith("=")) {
      findings.assigned(part.parameter);
    }
    this.inside(part);
  }

  /** Reports scripts and expansions inside a part of a word whose own text stays open. */
  private inside(node: SyntaxNode): void {
    forEachChild(node, (child) => {
      if (child.type === "Word") readWord(child, this.findings);
      else if (child.type === "Script") this.findings.script(child);
      else if (isPart(child)) new Reading(this.findings).part(child, false);
      else this.inside(child);
    });
  }
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
