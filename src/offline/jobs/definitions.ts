import type { Hit } from "./results.ts";

const keywords =
  "function\\*?|class|interface|type|enum|struct|trait|union|def|fn|func|fun|const|let|var|val|static|module|namespace|mod|object|record|protocol|macro_rules!|sub|proc|data|newtype|defmodule|defp?|defn|impl";

/** A search for lines that define a name, in a syntax that ripgrep and JavaScript share. Some lines are not: `isDefinition`. */
export function definitionPattern(name: string): string {
  const word = escapePattern(name);
  const end = /\w$/.test(name) ? "\\b" : "";
  const modifiers =
    "public|private|protected|internal|static|async|readonly|override|abstract|final|export|get|set|virtual|inline|extern|unsafe|pub";
  return [
    `(^|[^\\w.])(${keywords})\\s+(\\([^)]*\\)\\s*)?(self\\.)?${word}${end}`,
    `^\\s*(${modifiers})\\s[^=;]*${start(name)}${word}\\s*[(:=<]`,
    `^\\s*${word}\\s*(\\(\\)\\s*\\{|[:=]\\s*(async\\s*)?(function|class|lambda|\\())`,
    `^\\s*(async\\s+)?\\*?${word}\\s*(<[^>]*>)?\\([^;]*\\)[^;]*\\{\\s*$`,
    `^${word}\\s*(:[^=]*)?=[^=]`,
    `^[A-Za-z_][\\w*&<>:, ]*[\\s*&]${word}\\s*\\(`,
    `#define\\s+${word}${end}`,
  ].join("|");
}

/** Lines of a whole file or directory that define something: as many names as there are. */
export const anyDefinitionPattern = [
  `^(export |pub(\\(\\w+\\))? |public |private |protected |internal |static |abstract |final |default |declare |async |unsafe |extern )*(function|class|interface|type|enum|struct|trait|def|fn|func|fun|impl|module|namespace|object|record|protocol|defmodule|sub|union|mod|data) +[\\w$(*]`,
  "^export (default |async )*(const|let|var) +[\\w${]",
  "^export \\{|^export \\* |^module\\.exports|^exports\\.\\w+ =",
  "^(const|static|var) +[A-Z]\\w* ",
].join("|");

export function usagePattern(name: string): string {
  return `${start(name)}${escapePattern(name)}${/\w$/.test(name) ? "\\b" : ""}`;
}

/** The search can't tell imports, calls and comments from definitions; this can, mostly. */
export function isDefinition({ text }: Pick<Hit, "text">, name: string): boolean {
  const line = text.trim();
  if (
    /^(import|from|use|using|require|return|await|throw|yield|new|else|case|if|while|for|not|export \{|export type \{|\/\/|\/?\*|--|;|>|- )/.test(
      line,
    )
  )
    return false;
  if (line.startsWith("#") && !line.startsWith("#define")) return false;
  // One of the names in braces of an import or export over several lines.
  return !new RegExp(`^type\\s+${escapePattern(name)}\\s*(,|\\}|$)`).test(line);
}

export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, (mark) => (mark === "/" || mark === "-" ? mark : `\\${mark}`));
}

function start(name: string): string {
  return /^\w/.test(name) ? "\\b" : "";
}

/** To-do words right after what begins a comment; the word alone also stands in texts about to-do lists. */
export const todoPattern = "(//|/\\*+|^\\s*\\*|#|<!--|--|;|%)\\s*@?(TODO|FIXME|HACK|XXX)\\b";
