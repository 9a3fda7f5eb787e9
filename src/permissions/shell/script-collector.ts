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
import { isLister, isPicker } from "./listed-names.ts";
import { createMoves } from "./moves.ts";
import { isLocalName, isSafeFor, steersShell } from "./safe-variables.ts";
import { programOf, type Redirection, type ShellAnalysis, type SimpleCommand } from "./shell-analysis.ts";
import { fixedWord, listedWord, readWord, type ShellWord, type WordFindings } from "./shell-word.ts";
import { testProblem } from "./test-expression.ts";
import { type Unwrapped, unwrapCommand } from "./unwrap-command.ts";

const MAX_DEPTH = 80;
/** Characters of scripts inside scripts; each level is read once more, so this bounds the time. */
const MAX_INNER = 1_000_000;

export interface Collector {
  script(script: ParsedScript | undefined, depth: number): void;
  obscure(reason: string): void;
  finish(text: string): ShellAnalysis;
}

export function createCollector(): Collector {
  return new ScriptCollector();
}

class ScriptCollector implements Collector {
  private commands: SimpleCommand[] = [];
  private readonly redirections: Redirection[] = [];
  private readonly loopWords = new Map<string, ShellWord[]>();
  private readonly assignedNames = new Set<string>();
  private readonly known = new Map<string, ShellWord>();
  private obscureReason: string | undefined;
  private caution: string | undefined;
  private readonly moves = createMoves();
  private inner = 0;
  private depth = 0;
  /** What the command before gives to xargs, when that is known. */
  private input: ShellWord | undefined;

  obscure(reason: string): void {
    this.obscureReason ??= reason;
  }

  finish(text: string): ShellAnalysis {
    for (const name of this.assignedNames) this.loopWords.delete(name);
    return {
      text,
      commands: this.commands,
      redirections: this.moves.place(this.redirections),
      obscure: this.obscureReason,
      caution: this.caution,
      loopWords: this.loopWords,
      moves: this.moves.any(),
    };
  }

  script(script: ParsedScript | undefined, depth: number): void {
    if (script !== undefined && depth > 0) this.inner += script.end - script.pos;
    const problem = this.problemOf(script, depth);
    if (script === undefined || problem !== undefined) {
      this.obscure(problem ?? "a part of it can't be read");
      return;
    }
    if (depth === 0) this.moves.begin(script);
    const outer = this.depth;
    this.depth = depth;
    for (const statement of script.commands) this.node(statement);
    this.depth = outer;
  }

  private problemOf(script: ParsedScript | undefined, depth: number): string | undefined {
    const error = script?.errors?.[0];
    if (error !== undefined) return `it can't be read as a shell command (${error.message})`;
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

  /** What a program lists, as it is or picked from, is what xargs gives to another one. */
  private pipeline(node: Pipeline): void {
    let listed = false;
    for (const command of node.commands) {
      if (command.type !== "Command") {
        listed = false;
        this.node(command);
        continue;
      }
      // xargs parts names at blanks, so that a piece of one may look like an option.
      this.input = listed ? { ...listedWord("."), lead: "" } : undefined;
      const found = this.command(command);
      this.input = undefined;
      listed = found !== undefined && (isLister(found) || (listed && isPicker(found)));
    }
  }

  /** What the kind of a compound command says, whatever stands in it. */
  private remark(node: SyntaxNode): void {
    if (node.type === "Function") this.caution ??= "it defines a function";
    else if (node.type === "Select" || node.type === "Coproc") this.caution ??= "it uses select or coproc";
    else if (node.type === "ArithmeticFor" || node.type === "ArithmeticCommand")
      this.obscure("arithmetic evaluates what variables hold");
    else if (node.type === "TestCommand") {
      const problem = testProblem(node.expression);
      if (problem !== undefined) this.obscure(problem);
    }
  }

  /** Parts of words that stand outside of words: arithmetic, the text of a here-document. */
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
    // What stands inside a substitution must be looked at each time: there, findings depend on the place.
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
      if (!/^\d+$/.test(node.index.text)) this.obscure("a subscript evaluates what variables hold");
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
    this.moves.see(plain, { isFirst: this.depth === 0 && this.commands.length === 0 && level === 0 });
    if (program === "read") for (const { text } of words) this.assignedNames.add(text);
    const unwrapped = unwrapCommand(words, this.input);
    if (unwrapped === undefined) return plain;
    if (level >= 20) {
      this.obscure("programs run programs in too many levels");
      return plain;
    }
    if (unwrapped.moves) this.moves.lose();
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
