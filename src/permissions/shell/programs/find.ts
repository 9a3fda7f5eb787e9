import { listedWord, openWord, type ShellWord } from "../shell-word.ts";
import { type CommandEffect, type Effects, unknownArgument } from "./effects.ts";

/** Reads the arguments of find: starting points, then an expression of tests and actions. */
export function readFind(words: readonly ShellWord[]): Effects {
  const effects: CommandEffect[] = [];
  let index = 1;
  while (/^-([HLP]|O\d)$/.test(words[index]?.text ?? "") && words[index]!.open === undefined) index += 1;
  const starts: ShellWord[] = [];
  for (; index < words.length && !/^[-(!,]/.test(words[index]!.text); index += 1) {
    const word = words[index]!;
    starts.push(word);
    effects.push({ kind: "list", word, at: index });
    if (word.open !== undefined && !/^[^-(!,]/.test(word.lead))
      effects.push(unknownArgument("the shell may expand a starting point of find to an action", index));
  }
  // If there are several starting points, they may have no common prefix.
  const start = starts.length === 0 ? "." : starts.length === 1 && starts[0]!.open === undefined ? starts[0]!.text : "";
  while (index < words.length) index = readTerm(words, { index, start }, effects);
  return effects;
}

/** Reads one test or action, and returns the index of the next one. */
function readTerm(
  words: readonly ShellWord[],
  { index, start }: { readonly index: number; readonly start: string },
  effects: CommandEffect[],
): number {
  const { text, open } = words[index]!;
  if (open !== undefined) {
    effects.push(unknownArgument("only the shell knows what an argument of find means", index));
    return index + 1;
  }
  if (/^-(exec|execdir|ok|okdir)$/.test(text)) {
    const end = endOfExecution(words, index + 1);
    const inner = words.slice(index + 1, end).map((word) => withFile(word, start));
    const reason = `\`find ${text}\` runs a command`;
    if (inner.length > 0)
      effects.push({ kind: "run", words: inner, elsewhere: text.endsWith("dir"), reason, at: index });
    if (end >= words.length || inner.length === 0 || text.startsWith("-ok") || words.slice(index + 1, end).some(mayEnd))
      effects.push(unknownArgument(`it is unknown when \`find ${text}\` runs the command`, index));
    return end + 1;
  }
  if (text === "-delete") effects.push({ kind: "change", reason: "`find -delete` deletes files", at: index });
  const taken = tests.get(text) ?? written.get(text) ?? (newer.test(text) ? 1 : undefined);
  if (taken === undefined && text !== "-delete")
    effects.push(unknownArgument(`${text.slice(0, 40)} is not a known find test`, index));
  const values = words.slice(index + 1, index + 1 + (taken ?? 0));
  if (values.length < (taken ?? 0)) effects.push(unknownArgument(`\`find ${text}\` has no value`, index));
  if (values.some(({ splits }) => splits))
    effects.push(unknownArgument("the shell may split the value of a find test", index + 1));
  const [file] = values;
  if (file !== undefined) {
    if (written.has(text)) effects.push({ kind: "write", word: file, at: index + 1 });
    if (/^-(newer|samefile|anewer|cnewer)/.test(text)) effects.push({ kind: "list", word: file, at: index + 1 });
  }
  return index + 1 + values.length;
}

function endOfExecution(words: readonly ShellWord[], from: number): number {
  for (let index = from; index < words.length; index += 1) {
    const { text } = words[index]!;
    if (text === ";" || (text === "+" && words[index - 1]?.text === "{}")) return index;
  }
  return words.length;
}

/** Returns true if the shell may expand the word to the `;` or `+` that ends the command, or to `{}`. */
function mayEnd({ open, lead }: ShellWord): boolean {
  return open === "value" || (open === "glob" && !/^[\w./]/.test(lead));
}

/** Replaces `{}` with a file below the starting point. */
function withFile(word: ShellWord, start: string): ShellWord {
  if (!word.text.includes("{}")) return word;
  if (word.text !== "{}" || start === "") return openWord(word.text, word.lead.slice(0, word.lead.indexOf("{}")));
  return listedWord(start);
}

const newer = /^-newer[aBcm][aBcmt]$/;

/** Actions that write to a file, with the number of words that each takes. */
const written = new Map<string, number>([
  ["-fprint", 1],
  ["-fprint0", 1],
  ["-fls", 1],
  ["-fprintf", 2],
]);

/** Tests and options, with the number of words that each takes. */
const tests = new Map<string, number>([
  ..."( ) ! , -not -a -and -o -or -depth -d -mount -xdev -noleaf -daystart -follow -empty -executable -readable -writable -nouser -nogroup -true -false -print -print0 -ls -prune -quit -nowarn -warn -ignore_readdir_race -noignore_readdir_race --help -help --version -version"
    .split(" ")
    .map((name) => [name, 0] as const),
  ...[
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -maxdepth -mindepth",
    "-size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -samefile -perm -user -group -uid -gid -links",
    "-inum -fstype -used -regextype -printf -context -D",
  ]
    .flatMap((line) => line.split(" "))
    .map((name) => [name, 1] as const),
]);
