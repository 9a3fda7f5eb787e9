/**
 * One possible interpretation of a command, used to find anything that a restriction names. Never used to allow a
 * command.
 */
export interface LooseReading {
  readonly text: string;
  words(): readonly string[];
}

/** Returns several interpretations of a command, because quotes and escapes can join words as well as separate them. */
export function looseReadings(command: string): readonly LooseReading[] {
  const joined = command.replace(/\\\r?\n/g, "");
  const decoded = decodeEscapes(joined);
  // A shell that evaluates the text may replace expansions with nothing, and `env -S` may replace some escapes with
  // whitespace.
  const emptied = joined.replace(/\$(\{[^{}]*\}|\(\)|\w+|[@*#?!$-])|``/g, "");
  const split = joined.replace(/\\[_tnrvf]/g, " ");
  const readings = new Set<string>();
  for (const text of new Set([joined, decoded, emptied, split])) {
    const lower = text.toLowerCase();
    readings.add(lower.replace(/["'\\]/g, ""));
    readings.add(lower.replace(/["']/g, " ").replace(/\\/g, ""));
  }
  return [...readings].map(looseReading);
}

function looseReading(text: string): LooseReading {
  let words: readonly string[] | undefined;
  return {
    text,
    words: () => {
      words ??= text
        .split(SEPARATORS)
        .filter((word) => word !== "")
        .flatMap(separateGit);
      return words;
    },
  };
}

/** Returns `git push` for `git-push`, the program that git itself runs. */
export function separateGit(word: string): readonly string[] {
  const name = /^(?:.*\/)?git-(\w[\w-]*)$/.exec(word)?.[1];
  return name === undefined ? [word] : ["git", name];
}

const SEPARATORS = /[\s;&|()<>`{},]+/;

function decodeEscapes(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3}))/g,
    (whole, ...groups) => {
      const [hexadecimal, short, long, octal] = groups as (string | undefined)[];
      const code =
        octal === undefined ? Number.parseInt(hexadecimal ?? short ?? long ?? "", 16) : Number.parseInt(octal, 8);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
