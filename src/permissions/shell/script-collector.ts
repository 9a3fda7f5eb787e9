import {
  type Assignment,
  type Command,
  type CommandArgument,
  forEachChild,
  type ParsedScript,
  type Pipeline,
  parse,
  type Redirection as RedirectionNode,
  type SyntaxNode,
  type TestExpression,
  type Word,
} from "unbash";
import { createDirectoryChanges } from "./directory-changes.ts";
import { isLocalName, isSafeFor, steersShell } from "./safe-variables.ts";
import { programOf, type Redirection, type ShellAnalysis, type SimpleCommand } from "./shell-analysis.ts";
import { fixedWord, listedWord, readWord, type ShellWord, type WordFindings } from "./shell-word.ts";
import { type Unwrapped, unwrapCommand } from "./unwrap-command.ts";

const MAX_DEPTH = 80;
/** Maximum total length of scripts inside scripts. Each level is parsed again, so this bounds the time. */
const MAX_INNER = 1_000_000;

/** Walks a parsed script and collects the commands that the script would run. Call `script`, then `finish`. */
export class ScriptCollector {
  private commands: SimpleCommand[] = [];
  private readonly redirections: Redirection[] = [];
  private readonly loopWords = new Map<string, ShellWord[]>();
  private readonly assignedNames = new Set<string>();
  private readonly known = new Map<string, ShellWord>();
  private obscureReason: string | undefined;
  private caution: string | undefined;
  private readonly directoryChanges = createDirectoryChanges();
  private inner = 0;
  private depth = 0;
  /** Word that xargs receives from the previous command of a pipeline, if known. */
  private input: ShellWord | undefined;

  obscure(reason: string): void {
    this.obscureReason ??= reason;
  }

  finish(text: string): ShellAnalysis {
    for (const name of this.assignedNames) this.loopWords.delete(name);
    return {
      text,
      commands: this.commands,
      redirections: this.directoryChanges.resolve(this.redirections),
      obscure: this.obscureReason,
      caution: this.caution,
      loopWords: this.loopWords,
      moves: this.directoryChanges.any(),
    };
  }

  script(script: ParsedScript | undefined, depth: number): void {
    if (script !== undefined && depth > 0) this.inner += script.end - script.pos;
    const problem = this.problemOf(script, depth);
    if (script === undefined || problem !== undefined) {
      this.obscure(problem ?? "a part of it can't be parsed");
      return;
    }
    if (depth === 0) this.directoryChanges.begin(script);
    const outer = this.depth;
    this.depth = depth;
    for (const statement of script.commands) this.node(statement);
    this.depth = outer;
  }

  private problemOf(script: ParsedScript | undefined, depth: number): string | undefined {
    const error = script?.errors?.[0];
    if (error !== undefined) return `it can't be parsed as a shell command (${error.message})`;
    return depth > MAX_DEPTH || this.inner > MAX_INNER ? "it is too deeply nested" : undefined;
  }

  private node(node: SyntaxNode): void {
    switch (node.type) {
      case "Command":
        this.command(node);
        return;
      case "Word":
        this.word(node);
        return;
      case "Redirect":
      case "HereString":
      case "HereDoc":
        this.redirect(node);
        return;
      case "For":
        this.loop(node.name.text, node.wordlist);
        this.node(node.body);
        return;
      case "Script":
        this.script(node, this.depth + 1);
        return;
      case "Pipeline":
        this.pipeline(node);
        return;
      default:
        this.remark(node);
        forEachChild(node, (child) => this.child(child));
    }
  }

  /**
   * Visits a pipeline. File names that one program lists, filtered or not, are the input that xargs passes to another
   * program.
   */
  private pipeline(node: Pipeline): void {
    let listed = false;
    for (const command of node.commands) {
      if (command.type !== "Command") {
        listed = false;
        this.node(command);
        continue;
      }
      // xargs splits names at blanks, so a piece of a name may look like an option.
      this.input = listed ? { ...listedWord("."), lead: "" } : undefined;
      const found = this.command(command);
      this.input = undefined;
      listed = found !== undefined && (listsFiles(found) || (listed && filtersLines(found)));
    }
  }

  /** Records what the kind of a compound command implies, regardless of its content. */
  private remark(node: SyntaxNode): void {
    if (node.type === "Function") this.caution ??= "it defines a function";
    else if (node.type === "Select" || node.type === "Coproc") this.caution ??= "it uses select or coproc";
    else if (node.type === "ArithmeticFor" || node.type === "ArithmeticCommand")
      this.obscure("arithmetic evaluates the contents of variables");
    else if (node.type === "TestCommand") {
      const problem = testProblem(node.expression);
      if (problem !== undefined) this.obscure(problem);
    }
  }

  /** Visits parts of words that occur outside of words: arithmetic, the body of a here-document. */
  private child(node: SyntaxNode): void {
    if (node.type === "HereDocBody") {
      const { parts } = node;
      if (parts === undefined) return;
      const { pos, end, text } = node;
      readWord({ type: "Word", pos, end, text: '"', value: text, parts }, this.findings);
    } else this.node(node);
  }

  private readonly findings: WordFindings = {
    script: (script) => this.script(script, this.depth + 1),
    assigned: (name) => this.assigned(name),
    obscure: (reason) => this.obscure(reason),
  };

  private word(word: Word): ShellWord {
    const known = this.known.get(word.text);
    if (known !== undefined) return known;
    const read = readWord(word, this.findings);
    // A substitution must be read each time, because what it reports depends on where it occurs.
    if (word.text.length < 200 && !/[(`]/.test(word.text)) this.known.set(word.text, read);
    return read;
  }

  private loop(name: string, words: readonly Word[] | undefined): void {
    const read = (words ?? []).map((word) => this.word(word));
    if (!isLocalName(name)) this.assigned(name);
    if (words === undefined) this.assignedNames.add(name);
    const known = this.loopWords.get(name);
    if (known === undefined) this.loopWords.set(name, read);
    else known.push(...read);
  }

  private assigned(name: string): void {
    this.assignedNames.add(name);
    if (steersShell(name)) this.obscure(`it sets ${name}`);
    else if (!isLocalName(name)) this.caution ??= `it sets ${name}`;
  }

  private command(node: Command): SimpleCommand | undefined {
    const outside = this.commands;
    const { input } = this;
    this.input = undefined;
    const words: ShellWord[] = [];
    if (node.name !== undefined) words.push(this.word(node.name));
    for (const argument of node.args) words.push(this.argument(argument));
    const unsafe: string[] = [];
    for (const part of node.prefix) {
      if (part.type !== "Assignment") continue;
      const value = this.assignment(part);
      if (words.length === 0) this.assigned(part.name);
      else if (!isSafeFor(words, part.name, value)) unsafe.push(part.name);
    }
    for (const redirect of node.redirects) this.redirect(redirect);
    if (words.length === 0) return undefined;
    this.input = input;
    const described = this.describe(words, { unsafeVariables: unsafe, level: 0 });
    this.input = undefined;
    outside.push(described);
    return described;
  }

  private assignment(node: Assignment): ShellWord | undefined {
    if (node.index !== undefined) {
      if (!/^\d+$/.test(node.index.text)) this.obscure("a subscript evaluates the contents of variables");
      this.word(node.index);
    }
    const { value } = node;
    if (value.type === "Word") {
      const read = this.word(value);
      return node.append === true || node.index !== undefined ? undefined : read;
    }
    for (const element of value.elements) this.word(element);
    return undefined;
  }

  private argument(node: CommandArgument): ShellWord {
    if (node.type === "Word") return this.word(node);
    const value = this.assignment(node);
    if (value !== undefined && value.open === undefined) return fixedWord(`${node.name}=${value.text}`);
    const lead = `${node.name}=`;
    return { text: node.text, open: "value", lead, splits: false, variables: undefined };
  }

  private redirect(node: RedirectionNode): void {
    if (node.descriptor?.type === "FileDescriptorVariable") this.assigned(node.descriptor.name);
    if (node.type === "HereDoc") this.child(node.body);
    else if (node.target === undefined) this.obscure("a redirection has no target");
    else {
      const target = this.word(node.target);
      if (node.type === "Redirect" && !isProcess(node.target)) this.open(node.operator, target);
    }
  }

  private open(operator: string, { text, open }: ShellWord): void {
    if (operator.endsWith("&") && open === undefined && /^(\d+-?|-)$/.test(text)) return;
    const kind = operator === "<" || operator === "<&" ? "read" : "write";
    if (open !== undefined || text === "") this.redirections.push({ kind, path: undefined });
    else if (/^\/dev\/(tcp|udp)\//.test(text)) this.obscure("a redirection opens a network connection");
    else if (!harmlessDevice.test(text)) this.redirections.push({ kind, path: text });
  }

  private describe(
    words: readonly ShellWord[],
    { unsafeVariables, level }: { unsafeVariables: readonly string[]; level: number },
  ): SimpleCommand {
    const plain: SimpleCommand = { words, unsafeVariables, runs: undefined };
    const program = programOf(plain);
    this.directoryChanges.observe(plain, { isFirst: this.depth === 0 && this.commands.length === 0 && level === 0 });
    if (program === "read") for (const { text } of words) this.assignedNames.add(text);
    const unwrapped = unwrapCommand(words, this.input);
    if (unwrapped === undefined) return plain;
    if (level >= 20) {
      this.obscure("programs that run programs are nested too deeply");
      return plain;
    }
    if (unwrapped.moves) this.directoryChanges.loseTrack();
    const commands = this.innerCommands(unwrapped, level);
    return { words, unsafeVariables, runs: { commands, at: unwrapped.at, transparent: unwrapped.transparent } };
  }

  private innerCommands(unwrapped: Unwrapped, level: number): readonly SimpleCommand[] {
    const outside = this.commands;
    const inside: SimpleCommand[] = [];
    this.commands = inside;
    for (const words of unwrapped.commands)
      inside.push(this.describe(words, { unsafeVariables: unwrapped.unsafeVariables, level: level + 1 }));
    this.input = undefined;
    for (const text of unwrapped.scripts) this.script(parse(text) as ParsedScript, this.depth + 1);
    this.commands = outside;
    if (unwrapped.obscure !== undefined) this.obscure(unwrapped.obscure);
    return inside;
  }
}

const harmlessDevice = /^\/dev\/(null|stdin|stdout|stderr|fd\/\d+)$/;

function isProcess(word: Word): boolean {
  return word.parts?.length === 1 && word.parts[0]!.type === "ProcessSubstitution";
}

/**
 * Returns true for programs that print names of files below their operands. The operands themselves are judged
 * separately.
 */
function listsFiles({ words }: SimpleCommand): boolean {
  const texts = words.map(({ text }) => text);
  const [program, second] = texts;
  if (program === "find") return !texts.some((text) => /^-(printf|exec|ok|ls)/.test(text));
  if (program === "git") return second === "ls-files" || (second === "diff" && texts.includes("--name-only"));
  if (program === "rg") return texts.some((text) => /^(-[A-Za-z]*l|--files|--files-with-matches)$/.test(text));
  return program === "grep" && texts.some((text) => /^(-[A-Za-z]*l[A-Za-z]*|--files-with-matches)$/.test(text));
}

/** Returns true for programs that only pass some of the input lines through. */
function filtersLines({ words }: SimpleCommand): boolean {
  const [program, ...given] = words.map(({ text }) => text);
  const operands = given.filter((text) => !/^(-[A-Za-z\d]+|\d+)$/.test(text));
  if (/^(head|tail|sort|uniq)$/.test(program ?? "")) return operands.length === 0;
  return program === "grep" && operands.length === 1 && given.every((text) => /^(-[vivnEFwx]+|[^-].*)$/.test(text));
}

/** Explains why `[[ … ]]` could run something; undefined if it can't. Numeric comparisons evaluate their operands. */
function testProblem(expression: TestExpression): string | undefined {
  switch (expression.type) {
    case "TestUnary":
      return fileAndTextTests.has(expression.operator) ? undefined : `\`${expression.operator}\` evaluates a name`;
    case "TestBinary": {
      if (textComparisons.has(expression.operator)) return undefined;
      const numbers = [expression.left, expression.right].every((word) => /^-?\d{1,18}$/.test(word.text));
      return numbers ? undefined : `\`${expression.operator}\` evaluates its operands`;
    }
    case "TestLogical":
      return expression.operands.map(testProblem).find((problem) => problem !== undefined);
    case "TestNot":
      return testProblem(expression.operand);
    case "TestGroup":
      return testProblem(expression.expression);
  }
}

const fileAndTextTests = new Set("-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S -z -n".split(" "));
const textComparisons = new Set("= == != =~ < > -nt -ot -ef".split(" "));
