import { type ParsedScript, parse } from "unbash";
import { ScriptCollector } from "./script-collector.ts";
import type { ShellAnalysis, SimpleCommand } from "./shell-analysis.ts";

/** Maximum length of a command. The Bash tool rejects longer commands, so everything that can run is analyzed. */
const MAX_LENGTH = 131_072;

/**
 * Returns the commands that a command line would run. Never throws: text that can't be parsed or exceeds a limit is
 * `obscure`.
 */
export function analyzeCommand(text: string): ShellAnalysis {
  if (last?.text !== text) last = analyze(text);
  return last;
}

/**
 * The most recent analysis. A call is analyzed several times in a row: for its accesses, for its approval and before it
 * runs.
 */
let last: ShellAnalysis | undefined;

/** Returns the command of a line that is one simple command without input whose words are all known; otherwise undefined. */
export function soleCommand(text: string): SimpleCommand | undefined {
  const { commands, redirections, obscure, caution } = analyzeCommand(text);
  const [only] = commands;
  if (only === undefined || commands.length > 1 || redirections.length > 0) return undefined;
  if (obscure !== undefined || caution !== undefined || only.unsafeVariables.length > 0 || only.isFed) return undefined;
  return only.words.every(({ open }) => open === undefined) ? only : undefined;
}

function analyze(text: string): ShellAnalysis {
  const collector = new ScriptCollector();
  const why = unreadable(text);
  if (why !== undefined) collector.obscure(why);
  else {
    try {
      collector.script(parse(text) as ParsedScript, 0);
    } catch {
      // The parser failed or the stack overflowed. Either way, the command was not understood.
      collector.obscure("it is too deeply nested, or can't be parsed");
    }
  }
  return collector.finish(text);
}

function unreadable(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  // The shell receives control characters and lone surrogates as text that differs from the text shown to the user.
  if (/[^\P{Cc}\n\t]/u.test(text.replaceAll("\r\n", "\n"))) return "it contains control characters";
  if (/\p{Cs}/u.test(text)) return "it contains an incomplete character";
  return openBraces(text) * text.length > MAX_BRACE_WORK ? "it contains too many braces" : undefined;
}

/**
 * Limit for the number of open braces times the number of characters. For each open brace, the parser may read the rest
 * of the line to look for the closing brace.
 */
const MAX_BRACE_WORK = 20_000_000;

/** Counts braces that may begin an expansion, except those with only plain text before their closing brace. */
function openBraces(text: string): number {
  return text.replaceAll(/\{[\w .,:/-]*\}/g, "").match(/\{(?![\s}])/g)?.length ?? 0;
}
