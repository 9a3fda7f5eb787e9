/**
 * True for a program of awk that only reads and prints. Whatever could run a program, open a file, load code or tell the
 * environment must not occur anywhere, not even in a text: telling texts from code would need the whole grammar.
 */
export function isReadingAwk(program: string): boolean {
  if (/system|getline|close|fflush|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|@|\\\n/.test(program)) return false;
  if (/(^|[^|])\|([^|]|$)/.test(program)) return false;
  if (!program.includes(">")) return true;
  return onlyCompares(program);
}

/** `NR>1` compares; `{print > "file"}` writes. Without texts and patterns the braces and parentheses can be counted. */
function onlyCompares(program: string): boolean {
  if (/["/#\\]|>>/.test(program)) return false;
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
