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
  type Word,
} from "unbash";
import { anyOf, changeDirectory, DirectoryTracker, directoryChangers } from "./directory-changes.ts";
import { openedFiles } from "./opened-files.ts";
import { shells } from "./programs/wrappers.ts";
import { isLocalName, isSafeFor, steersShell } from "./safe-variables.ts";
import { programOf, type Redirection, type ShellAnalysis, type SimpleCommand } from "./shell-analysis.ts";
import { fixedWord, readQuoted, readWord, readWords, type ShellWord, type WordFindings } from "./shell-word.ts";
import { fileTestsIn, testProblem } from "./test-expression.ts";
import { type Unwrapped, unwrapCommand } from "./unwrap-command.ts";

const MAX_DEPTH = 80;
/** Maximum total length of nested scripts. Each level is parsed separately, so this bounds the time. */
const MAX_INNER = 1_000_000;
/** Maximum number of words that brace expansion may add. */
const MAX_ADDED = 10_000;

/** Walks a parsed script and collects the commands that the script would run. Call `script`, then `finish`. */
export class ScriptCollector {
  private commands: SimpleCommand[] = [];
  private readonly redirections: Redirection[] = [];
  private readonly loopWords = new Map<string, ShellWord[]>();
  private readonly assignedNames = new Set<string>();
  private readonly known = new Map<string, readonly ShellWord[]>();
  private added = 0;
  private obscureReason: string | undefined;
  private caution: string | undefined;
  private readonly directories = new DirectoryTracker();
  private readonly directoryVariables = new Set<string>();
  private moves = false;
  private plainShell = false;
  /** True inside a loop. */
  private isRepeated = false;
  private inner = 0;
  private depth = 0;
  /** Text that the next command in a pipeline reads, if known. */
  private piped: string | undefined;
  /** True if the next command does not have the shell's own standard input. */
  private isFed = false;
  private readonly settings: string[] = [];

  obscure(reason: string): void {
    this.obscureReason ??= reason;
  }

  finish(text: string): ShellAnalysis {
    for (const name of this.assignedNames) {
      if (this.directoryVariables.has(name)) this.obscure("it changes to a directory that only the shell knows");
      this.loopWords.delete(name);
    }
    return {
      text,
      commands: this.commands,
      redirections: this.redirections,
      obscure: this.obscureReason,
      caution: this.caution,
      loopWords: this.loopWords,
      moves: this.moves,
      settings: this.settings,
    };
  }

  script(script: ParsedScript | undefined, depth: number): void {
    if (script !== undefined && depth > 0) this.inner += script.end - script.pos;
    const problem = this.problemOf(script, depth);
    if (script === undefined || problem !== undefined) {
      this.obscure(problem ?? "a part of it can't be parsed");
      return;
    }
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
      case "Statement":
        if (node.background === true) this.inBackground(node.command);
        else this.node(node.command);
        return;
      case "AndOr":
        this.directories.inAndOr(node, (each) => this.node(each));
        return;
      case "If":
        this.directories.inIf(node, (each) => this.node(each));
        return;
      case "Subshell":
        this.directories.inSubshell(() => this.node(node.body));
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
        this.repeated(() => this.directories.inBlock(node.body, () => this.node(node.body)));
        return;
      case "While":
        this.repeated(() => this.block(node));
        return;
      case "Script":
        this.script(node, this.depth + 1);
        return;
      case "Pipeline":
        this.pipeline(node);
        return;
      case "Redirected":
        this.fedBy(node.redirects.some(isInput), () => this.block(node));
        return;
      case "BraceGroup":
      case "CompoundList":
        forEachChild(node, (child) => this.child(child));
        return;
      default:
        this.remark(node);
        this.block(node);
    }
  }

  private block(node: SyntaxNode): void {
    this.directories.inBlock(node, () => forEachChild(node, (child) => this.child(child)));
  }

  private repeated(visit: () => void): void {
    const outer = this.isRepeated;
    this.isRepeated = true;
    visit();
    this.isRepeated = outer;
  }

  private fedBy<T>(feeds: boolean, visit: () => T): T {
    const outer = this.isFed;
    this.isFed ||= feeds;
    const result = visit();
    this.isFed = outer;
    return result;
  }

  private inBackground(node: SyntaxNode): void {
    if (this.isRepeated) this.caution ??= "it can start an unlimited number of processes at once";
    this.directories.inSubshell(() => this.node(node));
  }

  private pipeline(node: Pipeline): void {
    const [only] = node.commands;
    if (only !== undefined && node.commands.length === 1) {
      this.node(only);
      const isNegated = node.prefixes.filter(({ type }) => type === "Negation").length % 2 === 1;
      if (isNegated) this.directories.negate();
      return;
    }
    let piped: string | undefined;
    for (const command of node.commands) {
      const visit = () => {
        this.piped = command.type === "Command" ? piped : undefined;
        const found = command.type === "Command" ? this.command(command) : undefined;
        if (command.type !== "Command") this.node(command);
        piped = found && printedBy(found);
      };
      this.directories.inSubshell(() => this.fedBy(command !== only, visit));
    }
  }

  /** Records the implications of a compound command's type, regardless of its content. */
  private remark(node: SyntaxNode): void {
    if (node.type === "Function") this.caution ??= "it defines a function";
    else if (node.type === "Select" || node.type === "Coproc") this.caution ??= "it uses select or coproc";
    else if (node.type === "ArithmeticFor" || node.type === "ArithmeticCommand")
      this.obscure("bash evaluates the contents of variables in arithmetic, which can run commands");
    else if (node.type === "TestCommand") {
      const problem = testProblem(node.expression);
      if (problem !== undefined) this.obscure(problem);
      // `[[` reveals as much about files as `test` does.
      for (const { operator, words } of fileTestsIn(node.expression)) {
        const [first, second] = words.map((word) => this.word(word));
        const tested = second === undefined ? [fixedWord(operator), first!] : [first!, fixedWord(operator), second];
        this.commands.push(this.describe([fixedWord("test"), ...tested], { unsafeVariables: [], level: 0 }));
      }
    }
  }

  /** Visits nodes that contain expansions but are not words: arithmetic, the body of a here-document. */
  private child(node: SyntaxNode): void {
    if (node.type === "HereDocBody") {
      const { parts } = node;
      if (parts === undefined) return;
      readQuoted(parts, this.findings);
    } else this.node(node);
  }

  private get findings(): WordFindings {
    return {
      script: (script, isFed) =>
        this.directories.inSubshell(() => this.fedBy(isFed, () => this.script(script, this.depth + 1))),
      assigned: (name) => this.assigned(name),
      obscure: (reason) => this.obscure(reason),
      plainShell: this.plainShell,
    };
  }

  /** Reads a word in which braces have no special meaning. */
  private word(word: Word): ShellWord {
    return readWord(word, this.findings);
  }

  /** Reads a word of a command or a loop, which braces may expand to several words. */
  private words(word: Word): readonly ShellWord[] {
    if (this.added > MAX_ADDED) return [this.word(word)];
    const known = this.plainShell ? undefined : this.known.get(word.text);
    const read = known ?? readWords(word, this.findings);
    this.added += Math.max(0, read.length - 1);
    if (this.added > MAX_ADDED) this.obscure("its braces expand to too many words");
    // A substitution must be read each time, because the result depends on where it occurs.
    if (word.text.length < 200 && !/[(`]/.test(word.text)) this.known.set(word.text, read);
    return read;
  }

  private loop(name: string, words: readonly Word[] | undefined): void {
    const read = (words ?? []).flatMap((word) => this.words(word));
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
    const { piped } = this;
    this.piped = undefined;
    const words: ShellWord[] = [];
    if (node.name !== undefined) words.push(...this.words(node.name));
    for (const argument of node.args) words.push(...this.argument(argument));
    const unsafe: string[] = [];
    const settings: string[] = [];
    for (const part of node.prefix) {
      if (part.type !== "Assignment") continue;
      const value = this.assignment(part);
      const setting = value?.open === undefined && value !== undefined ? `${part.name}=${value.text}` : part.text;
      if (words.length === 0) {
        this.assigned(part.name);
        if (!isLocalName(part.name)) this.settings.push(setting);
      } else if (!isSafeFor(words, part.name, value)) {
        unsafe.push(part.name);
        settings.push(setting);
      }
    }
    for (const redirect of node.redirects) this.redirect(redirect);
    this.directories.leave(this.directories.current, this.directories.current);
    if (words.length === 0) return undefined;
    const texts = [piped, ...node.redirects.map(hereText)].filter((text) => text !== undefined);
    const feeds = node.redirects.some(isInput);
    const described: SimpleCommand = {
      ...this.fedBy(feeds, () => this.describe(words, { unsafeVariables: unsafe, level: 0 })),
      settings,
      input: texts.length === 0 ? undefined : texts.join("\n"),
    };
    outside.push(described);
    // `exec < file` connects the file to the standard input of all commands that follow.
    this.isFed ||= feeds && words.some(({ text }) => text === "exec");
    return described;
  }

  private assignment(node: Assignment): ShellWord | undefined {
    if (node.index !== undefined) {
      if (!/^\d+$/.test(node.index.text))
        this.obscure("bash evaluates the contents of variables in a subscript, which can run commands");
      this.word(node.index);
    }
    const { value } = node;
    const words = value.type === "Word" ? [value] : value.elements;
    if (words.some(({ text }) => /^['"]?([/~]|.*\.\.\/).*[*?[]/.test(text)))
      this.caution ??= "a variable may expand to paths outside the workspace";
    if (value.type === "Word") {
      const read = this.word(value);
      return node.append === true || node.index !== undefined ? undefined : read;
    }
    for (const element of value.elements) {
      // A subscript, as in `[subscript]=value`.
      if (/^\[(?!\d+\]\+?=)/.test(element.text))
        this.obscure("bash evaluates the contents of variables in a subscript, which can run commands");
      this.word(element);
    }
    return undefined;
  }

  private argument(node: CommandArgument): readonly ShellWord[] {
    if (node.type === "Word") return this.words(node);
    const value = this.assignment(node);
    if (value !== undefined && value.open === undefined) return [fixedWord(`${node.name}=${value.text}`)];
    const lead = `${node.name}=`;
    return [{ text: node.text, open: "value", lead, splits: false, variables: undefined }];
  }

  private redirect(node: RedirectionNode): void {
    if (node.descriptor?.type === "FileDescriptorVariable") this.assigned(node.descriptor.name);
    if (node.type === "HereDoc") this.child(node.body);
    else if (node.target === undefined) this.obscure("a redirection has no target");
    else {
      const target = this.word(node.target);
      if (node.type !== "Redirect" || isProcess(node.target)) return;
      const { files, obscure } = openedFiles(node.operator, target, this.directories.current);
      this.redirections.push(...files);
      if (obscure !== undefined) this.obscure(obscure);
    }
  }

  private describe(
    words: readonly ShellWord[],
    { unsafeVariables, level }: { unsafeVariables: readonly string[]; level: number },
  ): SimpleCommand {
    const { isFed } = this;
    const { current } = this.directories;
    const plain: SimpleCommand = { words, unsafeVariables, directories: current, isFed, runs: undefined };
    const program = programOf(plain);
    if (directoryChangers.has(program)) this.changesDirectory(plain, level);
    if (program === "read") for (const { text } of words) this.assignedNames.add(text);
    const unwrapped = unwrapCommand(words);
    if (unwrapped === undefined) return plain;
    if (level >= 20) {
      this.obscure("programs that run programs are nested too deeply");
      return plain;
    }
    const commands = this.inPlaceOf(program, unwrapped, () => this.innerCommands(unwrapped, level));
    const { at, transparent } = unwrapped;
    return { ...plain, runs: { commands, at, transparent } };
  }

  private changesDirectory(command: SimpleCommand, level: number): void {
    const before = this.directories.current;
    this.moves = true;
    for (const { variables } of command.words) for (const name of variables ?? []) this.directoryVariables.add(name);
    const after = changeDirectory(before, command, this.loopWords);
    // If the `cd` follows a program such as `command` or `env`, that program determines whether the shell changes
    // directory.
    if (level === 0) this.directories.leave(after, before);
    else this.directories.leave(anyOf(before, after), anyOf(before, after));
  }

  /** Visits the commands that a program runs, in the directory and the kind of shell in which the program runs them. */
  private inPlaceOf<T>(program: string, unwrapped: Unwrapped, visit: () => T): T {
    const { plainShell } = this;
    const { current } = this.directories;
    const isShell = shells.has(program);
    if (isShell) this.plainShell = program !== "bash";
    if (unwrapped.moves || program === "trap") this.directories.current = undefined;
    this.moves ||= unwrapped.moves;
    const result = visit();
    if (program === "trap" && unwrapped.scripts.some((script) => /cd|pushd|popd/.test(script)))
      this.obscure("a trap may change the directory");
    if (isShell || unwrapped.moves || program === "trap") this.directories.leave(current, current);
    this.plainShell = plainShell;
    return result;
  }

  private innerCommands(unwrapped: Unwrapped, level: number): readonly SimpleCommand[] {
    const outside = this.commands;
    const inside: SimpleCommand[] = [];
    this.commands = inside;
    for (const words of unwrapped.commands)
      inside.push(this.describe(words, { unsafeVariables: unwrapped.unsafeVariables, level: level + 1 }));
    for (const text of unwrapped.scripts) this.script(parse(text) as ParsedScript, this.depth + 1);
    this.commands = outside;
    if (unwrapped.obscure !== undefined) this.obscure(unwrapped.obscure);
    return inside;
  }
}

/** Returns true for a redirection that connects something other than an empty device to the standard input. */
function isInput(node: RedirectionNode): boolean {
  if (node.type !== "Redirect") return true;
  const isZero =
    node.descriptor !== undefined && (node.descriptor.type !== "FileDescriptor" || node.descriptor.value === 0);
  return (node.operator.startsWith("<") || isZero) && !/^(-|\/dev\/null)$/.test(node.target?.text ?? "");
}

/** Returns the text of a here-document or here-string. */
function hereText(node: RedirectionNode): string | undefined {
  if (node.type === "HereDoc") return node.body.text;
  return node.type === "HereString" ? node.target?.text : undefined;
}

/**
 * Returns the text that a command passes on: the words of `echo`, or the input of a command that may copy its input.
 */
function printedBy(command: SimpleCommand): string | undefined {
  const words = /^(echo|printf)$/.test(programOf(command)) ? command.words.slice(1).map(({ text }) => text) : [];
  return words.length > 0 ? words.join(" ") : command.input;
}

function isProcess(word: Word): boolean {
  return word.parts?.length === 1 && word.parts[0]!.type === "ProcessSubstitution";
}
