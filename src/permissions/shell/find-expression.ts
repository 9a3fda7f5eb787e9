import { listedWord, openWord, type ShellWord } from "./shell-word.ts";

export interface FindExpression {
  /** True if every word is known, and find does nothing but search and run `executions`. */
  readonly understood: boolean;
  readonly executions: readonly FindExecution[];
  /** Starting points, and files that find compares with. */
  readonly paths: readonly ShellWord[];
}

interface FindExecution {
  readonly words: readonly ShellWord[];
  /** True if the command runs in the directory of each file (`-execdir`). */
  readonly elsewhere: boolean;
}

export function readFind(words: readonly ShellWord[]): FindExpression {
  const executions: FindExecution[] = [];
  let index = 1;
  let understood = true;
  while (/^-[HLP]$/.test(words[index]?.text ?? "")) index += 1;
  const starts: ShellWord[] = [];
  for (; index < words.length && !/^[-(!,]/.test(words[index]!.text); index += 1) starts.push(words[index]!);
  const paths = [...starts];
  // The shell could expand a starting point to an action.
  if (starts.some(({ open, lead }) => open !== undefined && !/^[^-(!,]/.test(lead))) understood = false;
  // Several starting points have no common beginning.
  const start = starts.length === 0 ? "." : starts.length === 1 && starts[0]!.open === undefined ? starts[0]!.text : "";
  while (index < words.length) {
    const { text, open } = words[index]!;
    const execution = open === undefined ? /^-(exec|execdir|ok|okdir)$/.exec(text) : null;
    if (execution !== null) {
      const end = endOfExecution(words, index + 1);
      const inner = words.slice(index + 1, end).map((word) => withFile(word, start));
      if (inner.length > 0) executions.push({ words: inner, elsewhere: text.endsWith("dir") });
      if (end >= words.length || inner.length === 0 || text.startsWith("-ok")) understood = false;
      index = end + 1;
      continue;
    }
    const taken = open === undefined ? tests.get(text) : undefined;
    if (taken === undefined && !(open === undefined && newer.test(text))) understood = false;
    const values = words.slice(index + 1, index + 1 + (taken ?? (newer.test(text) ? 1 : 0)));
    if (values.some(({ splits }) => splits)) understood = false;
    if (/^-(newer|samefile|anewer|cnewer)/.test(text)) paths.push(...values);
    index += 1 + values.length;
  }
  return { understood, executions, paths };
}

function endOfExecution(words: readonly ShellWord[], from: number): number {
  for (let index = from; index < words.length; index += 1) {
    const { text } = words[index]!;
    if (text === ";" || (text === "+" && words[index - 1]?.text === "{}")) return index;
  }
  return words.length;
}

/** Replaces `{}` by a file below the starting point. */
function withFile(word: ShellWord, start: string): ShellWord {
  if (!word.text.includes("{}")) return word;
  if (word.text !== "{}" || start === "") return openWord(word.text, word.lead.slice(0, word.lead.indexOf("{}")));
  return listedWord(start);
}

const newer = /^-newer[aBcm][aBcmt]$/;

/** Tests and options, with the number of words that each takes. Actions that write, delete or run are left out. */
const tests = new Map<string, number>([
  ..."( ) ! , -not -a -and -o -or -depth -d -mount -xdev -noleaf -daystart -follow -empty -executable -readable -writable -nouser -nogroup -true -false -print -print0 -ls -prune -quit -nowarn -warn"
    .split(" ")
    .map((name) => [name, 0] as const),
  ...[
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -maxdepth -mindepth",
    "-size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -samefile -perm -user -group -uid -gid -links",
    "-inum -fstype -used -regextype -printf",
  ]
    .flatMap((line) => line.split(" "))
    .map((name) => [name, 1] as const),
]);
