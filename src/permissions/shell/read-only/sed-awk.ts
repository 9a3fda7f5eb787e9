/**
 * Returns true for a sed script that only prints: it contains no `w`, `W`, `e` or `r`, and no flag of `s` that writes a
 * file or runs a command.
 */
export function isReadingSed(script: string): boolean {
  let at = 0;
  const rest = () => script.slice(at);
  const take = (pattern: RegExp): boolean => {
    const match = pattern.exec(rest());
    if (match === null) return false;
    at += match[0].length;
    return true;
  };
  if (script.length > 10_000) return false;
  while (at < script.length) {
    if (take(/^[\s;}]+/)) continue;
    if (take(/^#[^\n]*/)) continue;
    // One or two addresses, then an optional `!`.
    if (take(ADDRESS) && take(/^\s*,\s*/) && !(take(ADDRESS) || take(/^[+~]\d+/))) return false;
    take(/^\s*!?\s*/);
    if (take(/^[={pPdDnNhHgGxlFz]/)) {
      // The command must end here. Otherwise, sed would read it as a different command.
      if (script[at - 1] !== "{" && !/^\s*([;}\n]|$)/.test(rest())) return false;
    } else if (
      take(/^[qQ]\s*(?:\d+\s*)?(?=[;}\n]|$)/) ||
      take(/^[btT]\s*(?:\w+\s*)?(?=[;}\n]|$)/) ||
      take(/^:\s*\w+\s*(?=[;\n]|$)/)
    )
      continue;
    else if (!takeSubstitution()) return false;
  }
  return true;

  function takeSubstitution(): boolean {
    const kind = script[at];
    const mark = script[at + 1];
    if ((kind !== "s" && kind !== "y") || mark === undefined || /[\s\\\w]/.test(mark)) return false;
    at += 2;
    for (let part = 0; part < 2; part += 1) {
      const end = endOfPart(mark);
      if (end === undefined) return false;
      at = end + 1;
    }
    return kind === "y" ? take(/^\s*(?=[;}\n]|$)/) : take(/^[gpiIM\d]*\s*(?=[;}\n]|$)/);
  }

  /**
   * Returns the index of the delimiter that ends a part. Undefined if the line has no delimiter, or if one is inside
   * brackets: some versions of sed end the part there, others do not.
   */
  function endOfPart(mark: string): number | undefined {
    for (let index = at; index < script.length; index += 1) {
      const character = script[index];
      if (character === mark) return index;
      if (character === "\n") return undefined;
      if (character === "\\") index += 1;
      else if (character === "[") {
        const close = script.indexOf("]", index + 2);
        const end = script.indexOf(mark, index);
        if (end !== -1 && close !== -1 && end < close) return undefined;
      }
    }
    return undefined;
  }
}

// Matches a line number, the last line, a step, or a pattern whose brackets do not contain its delimiter.
const ADDRESS = /^\s*(?:\d+~\d+|\d+|\$|\/(?:[^\\\n/[]|\\[^\n]|\[\^?\]?[^\]\n/\\]*\])*\/[IM]*)/;

/**
 * Returns true for an awk program that only reads and prints. The program must not contain anything that could run a
 * program, open a file, load code, reveal the environment or access the list of files to read. This applies even to
 * strings, because distinguishing strings from code would require a parser.
 */
export function isReadingAwk(program: string): boolean {
  if (/system|getline|close|fflush|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|FUNCTAB|@|\\\n/.test(program)) return false;
  if (/(^|[^|])\|([^|]|$)/.test(program)) return false;
  if (!program.includes(">")) return true;
  return onlyCompares(program);
}

/**
 * Returns true if every `>` compares, as in `NR>1`, and none writes, as in `{print > "file"}`. Programs with patterns
 * or comments are rejected. This makes strings easy to find, and braces and parentheses outside of strings easy to
 * count.
 */
function onlyCompares(text: string): boolean {
  if (/[/#]/.test(text)) return false;
  const program = text.replaceAll(/"(?:[^"\\\n]|\\[^\n])*"/g, " ");
  if (/["\\]|>>/.test(program)) return false;
  let braces = 0;
  let parentheses = 0;
  for (const character of program) {
    if (character === "{") braces += 1;
    else if (character === "}") braces -= 1;
    else if (character === "(") parentheses += 1;
    else if (character === ")") parentheses -= 1;
    else if (character === ">" && braces > 0 && parentheses <= 0) return false;
    if (braces < 0 || parentheses < 0) return false;
  }
  return true;
}
