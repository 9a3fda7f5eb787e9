/** True for a script of sed that only prints: no `w`, `W`, `e`, `r`, and no flag of `s` that writes or runs. */
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
    // One address or two, and a `!`.
    if (take(ADDRESS) && take(/^\s*,\s*/) && !(take(ADDRESS) || take(/^[+~]\d+/))) return false;
    take(/^\s*!?\s*/);
    if (take(/^[={pPdDnNhHgGxlFz]/)) {
      // What stands directly behind must end the command, or it would be read as something else.
      if (script[at - 1] !== "{" && !/^\s*([;}\n]|$)/.test(rest())) return false;
    } else if (
      take(/^[qQ]\s*\d*\s*(?=[;}\n]|$)/) ||
      take(/^[btT]\s*\w*\s*(?=[;}\n]|$)/) ||
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

  /** In a bracket the mark is plain to some versions and an end to others; then nobody knows what follows. */
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

// A line number, the last line, a step, or a pattern without brackets that hold its end.
const ADDRESS = /^\s*(?:\d+~\d+|\d+|\$|\/(?:[^\\\n/[]|\\[^\n]|\[\^?\]?[^\]\n/\\]*\])*\/[IM]*)/;
