/**
 * The words of one simple command whose meaning needs no shell: plain words and quoted words without expansions.
 * Undefined for everything else (operators, expansions, globs, comments, assignments in front), and so never guessed at.
 */
export function simpleWords(text: string): readonly string[] | undefined {
  // Only what the shell takes for blanks: another kind of space is part of a word to it.
  const command = text.replace(/^[ \t\n]+|[ \t\n]+$/g, "");
  if (command.length > MAX_SIMPLE || /[^\P{Cc}\n\t]/u.test(command)) return undefined;
  const words: string[] = [];
  const piece = new RegExp(PIECE);
  let word: string | undefined;
  while (piece.lastIndex < command.length) {
    const match = piece.exec(command);
    if (match === null) return undefined;
    const [, space, plain, single, double] = match;
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + (plain ?? single ?? double ?? "");
  }
  if (word !== undefined) words.push(word);
  const first = words[0];
  if (first === undefined || first === "" || first.includes("=")) return undefined;
  return hasTilde(command) ? undefined : words;
}

/** A command read as loosely as possible, for finding what a restriction names. Never for allowing. */
export interface LooseReading {
  readonly text: string;
  words(): readonly string[];
}

/** Several readings, because quotes and escapes can join words as well as part them. */
export function looseReadings(command: string): readonly LooseReading[] {
  const joined = command.replace(/\\\r?\n/g, "");
  const decoded = decodeEscapes(joined);
  const texts = decoded === joined ? [joined] : [joined, decoded];
  const readings = new Set<string>();
  for (const text of texts) {
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
      words ??= text.split(SEPARATORS).filter((word) => word !== "");
      return words;
    },
  };
}

/** True when what would be executed is only known to the shell: `$X file`, `$(…) file`, `/bin/r?`, `eval`, `| sh`. */
export function hasHiddenCommand(command: string): boolean {
  // A backtick in place of a program must not vanish with the split.
  const text = command.replace(/\\\r?\n/g, "").replaceAll("`", " $ ;");
  if (!SUSPICIOUS.test(text)) return false;
  for (const part of text.split(/[;&|\n()]+|(?<=^|\s)[{}!](?=\s|$)/)) {
    const words = part.split(/\s+/).filter((word) => word !== "");
    const start = words.findIndex((word) => !/^[A-Za-z_]\w*\+?=/.test(word) && !grammarWords.has(word));
    const name = words[start];
    if (name === undefined) continue;
    if (/[$*?[{~]/.test(name) || evaluators.has(baseName(name))) return true;
    const others = words.slice(start + 1);
    if (launchers.has(baseName(name)) && others.some((word) => /[$*?[{]/.test(word) || shells.has(baseName(word))))
      return true;
    if (shells.has(baseName(name)) && !others.includes("-c")) return true;
    if (finders.has(baseName(name)) && others.some((word) => /^-(exec|ok|x|X)/.test(word)) && part.includes("$"))
      return true;
  }
  return false;
}

export function baseName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}

/** Programs that run a program given in their arguments. */
export const launchers: ReadonlySet<string> = new Set([
  ..."env nice nohup timeout time stdbuf ionice chrt setsid xargs parallel command builtin exec sudo doas su runuser".split(
    " ",
  ),
  ..."script watch flock strace ltrace gdb ssh chroot unshare nsenter systemd-run busybox coproc noglob taskset".split(
    " ",
  ),
  ..."entr expect screen tmux at batch crontab".split(" "),
]);

const finders = new Set(["find", "fd"]);
const shells = new Set("sh bash dash zsh ksh fish csh tcsh ash".split(" "));
const evaluators = new Set("eval source . alias hash enable trap bind".split(" "));
const grammarWords = new Set("if then elif else while until do for case in select function coproc time !".split(" "));

// What hasHiddenCommand could object to has one of these somewhere.
const SUSPICIOUS = new RegExp(
  `[$*?[{~]|(?<![\\w-])(${[...evaluators, ...shells].filter((word) => word !== ".").join("|")})(?![\\w-])|(?<=^|[\\s;&|(])\\.\\s`,
);
const MAX_SIMPLE = 100_000;
// Space, plain characters, single-quoted, double-quoted. A backslash or anything the shell reacts to ends the match.
const PIECE = /([ \t]+)|([\p{L}\p{N}\p{M}_\-./:=,+@%^~]+)|'([^']*)'|"([^"$`\\!]*)"/uy;
const SEPARATORS = /[\s;&|()<>`{},]+/;

/** A tilde is expanded at the start of a word and after `:` and `=`. Inside quotes it is plain, but that is rare. */
function hasTilde(command: string): boolean {
  return /(^|[\s:='"])~/.test(command);
}

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
