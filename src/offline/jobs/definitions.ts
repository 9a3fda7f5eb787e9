import type { Hit } from "./results.ts";

const keywords =
  "function\\*?|class|interface|type|enum|struct|trait|union|def|fn|func|fun|const|let|var|val|static|module|namespace|mod|object|record|protocol|macro_rules!|sub|proc|data|newtype|defmodule|defp?|defn|impl";

/**
 * Returns a pattern for lines that define a name, valid in ripgrep and JavaScript. `isDefinition` filters out false
 * matches.
 */
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

/** Pattern for lines that define any name. */
export const anyDefinitionPattern = [
  `^(export |pub(\\(\\w+\\))? |public |private |protected |internal |static |abstract |final |default |declare |async |unsafe |extern )*(function|class|interface|type|enum|struct|trait|def|fn|func|fun|impl|module|namespace|object|record|protocol|defmodule|sub|union|mod|data) +[\\w$(*]`,
  "^export (default |async )*(const|let|var) +[\\w${]",
  "^export \\{|^export \\* |^module\\.exports|^exports\\.\\w+ =",
  "^(const|static|var) +[A-Z]\\w* ",
].join("|");

export function usagePattern(name: string): string {
  return `${start(name)}${escapePattern(name)}${/\w$/.test(name) ? "\\b" : ""}`;
}

/** Returns true if a matching line is a definition and not an import, a call or a comment. This is a heuristic. */
export function isDefinition({ text }: Pick<Hit, "text">, name: string): boolean {
  const line = text.trim();
  if (
    /^(import|from|use|using|require|return|await|throw|yield|new|else|case|if|while|for|not|export \{|export type \{|\/\/|\/?\*|--|;|>|- )/.test(
      line,
    )
  )
    return false;
  if (line.startsWith("#") && !line.startsWith("#define")) return false;
  // Exclude a name in the braces of an import or export that spans several lines.
  return !new RegExp(`^type\\s+${escapePattern(name)}\\s*(,|\\}|$)`).test(line);
}

export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, (mark) => (mark === "/" || mark === "-" ? mark : `\\${mark}`));
}

function start(name: string): string {
  return /^\w/.test(name) ? "\\b" : "";
}

/** Matches TODO and similar words only at the start of a comment, because text about to-do lists contains them too. */
export const todoPattern = "(//|/\\*+|^\\s*\\*|#|<!--|--|;|%)\\s*@?(TODO|FIXME|HACK|XXX)\\b";
