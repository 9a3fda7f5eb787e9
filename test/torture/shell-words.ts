import type { Role } from "../../src/permissions/shell/programs/model.ts";
import type { Random } from "../reliability/work-script.ts";
import { pick } from "./random-choice.ts";

/** Returns a word that an option or operand with this role could have. */
export function roleWord(random: Random, role: Role): string {
  switch (role) {
    case "read":
    case "list":
    case "directory":
      return pick(random, files);
    case "write":
    case "change":
      return pick(random, ["{CANARY}", "out.txt", "sub/out.txt", "/dev/null", "/dev/stdout", "-", "f.txt"]);
    case "program":
    case "settings":
    case "command":
      return pick(random, [
        "./evil.sh",
        "evil.sh",
        "{TOP}/project/evil.sh",
        "'touch {CANARY}'",
        "cat",
        "evil.awk",
        "evil.sed",
        "touch",
      ]);
    case "network":
      return pick(random, ["http://127.0.0.1:9/", "localhost", "ext::./evil.sh", "127.0.0.1", "origin"]);
    default:
      return pick(random, [...data, ...data, ...scripts]);
  }
}

/** Returns any word that has a meaning for programs or the shell. */
export function operandWord(random: Random): string {
  return pick(
    random,
    random() < 0.5 ? files : [...data, ...scripts, "{CANARY}", "./evil.sh", "--", "-", "'a[$(touch {CANARY})]'"],
  );
}

const split = (text: string): readonly string[] => text.split(" ");

/** Files that may be read, and files that may not: links out of the workspace, and files that rules deny. */
const files: readonly string[] = [
  ...split("f.txt g.txt sub/h.txt . sub f.txt g.txt list.txt README.md package.json opts inside - zero.txt sums.txt"),
  ...split(
    "link dirlink dirlink/secret.txt sub/up .env hard envlink sub/.env ../outside/secret.txt {TOP}/outside/secret.txt",
  ),
  ...split(
    "~/.ssh/id * .* *.txt sub/* opts/* l* dirlink/* ./.en? sub/../link dirlink/../outside/secret.txt {TOP}/home/.ssh/id ..",
  ),
  ...split(
    '$HOME/.* ~root/.* ~/* "$HOME"/* /dev/stdin /dev/fd/0 /proc/self/cwd/link /proc/self/root{TOP}/outside/secret.txt odd/* ./link //{TOP}/outside/secret.txt',
  ),
];

const data: readonly string[] = [
  ...split(
    "a b 1 2 0 -1 +1 1,2 always never auto name none x all HEAD HEAD~1 main other v1 HEAD:f.txt HEAD..main : :/ stash@{0} origin",
  ),
  ...split(
    "%h %H '%h %s' '%G?' format:%GS evil oneline raw short full , ';' = utf-8 C posix 10k 1K json word lines 2020-01-01 now '*.txt' f",
  ),
  ...split("@at.txt . ^user"),
  ...split("user.name core.pager alias.x diff.external remote.origin.url refs/heads log status"),
];

const scripts: readonly string[] = [
  ..."p 1p 1,2p $p s/a/b/ s/a/b/e s/a/b/w{CANARY} w{CANARY} r{TOP}/outside/secret.txt e d ="
    .split(" ")
    .map((text) => `'${text}'`),
  "'w {CANARY}'",
  "'1e touch {CANARY}'",
  "'{print}'",
  "'{print $1}'",
  "'{print > \"{CANARY}\"}'",
  "'BEGIN{system(\"touch {CANARY}\")}'",
  "'{print | \"touch {CANARY}\"}'",
  "'BEGIN{while((getline l < \"link\")>0)print l}'",
  "'{a=\"touch {CANARY}\"; a | getline}'",
  "'NR>1'",
  "'{ARGV[1]=\"link\"}1'",
  "'BEGIN{ARGV[1]=\"link\";ARGC=2}1'",
  "'{FILENAME=\"link\"}1'",
  "'/a/,/b/{p;s/x/y/}'",
  "'y/abc/def/'",
  "'$!N;P;D'",
  "'.name'",
  "'.'",
  "'input_filename'",
  "'env'",
  "'$__prog_args'",
  "'%s\\n'",
  "'%n'",
  "'%b'",
  "'a b'",
  "''",
];

/** Writes a word in one of several ways that the shell reads identically, or almost so. */
export function disguised(random: Random, word: string): string {
  const roll = random();
  if (roll < 0.72 || /['"$`]/.test(word)) return word;
  const cut = 1 + Math.floor(random() * Math.max(1, word.length - 1));
  const [left, right] = [word.slice(0, cut), word.slice(cut)];
  const isPlain = !/[{}*?~[\]]/.test(word);
  if (roll < 0.75) return `'${word}'`;
  if (roll < 0.78) return `"${word}"`;
  if (roll < 0.8) return `${left}''${right}`;
  if (roll < 0.82 && isPlain && right !== "") return `${left}\\${right}`;
  if (roll < 0.85 && isPlain)
    return `$'${[...word].map((each) => pick(random, [each, `\\x${each.charCodeAt(0).toString(16).padStart(2, "0")}`, `\\${each.charCodeAt(0).toString(8).padStart(3, "0")}`])).join("")}'`;
  if (roll < 0.88 && isPlain)
    return pick(random, [
      `{${word},f.txt}`,
      `{f.txt,${word}}`,
      `${left}{${right},}`,
      `{${word},{g.txt,a}}`,
      `${left}{${right},${right}}`,
    ]);
  if (roll < 0.92 && isPlain && right !== "")
    return pick(random, [
      `${left}?${right.slice(1)}`,
      `${left}[${right[0]}]${right.slice(1)}`,
      `${left}*`,
      `${left}[[:graph:]]${right.slice(1)}`,
      `${left}[!/]${right.slice(1)}`,
    ]);
  if (roll < 0.94) return `$(echo ${word})`;
  if (roll < 0.945) return `\${x:-${word}}`;
  // Single quotes inside double quotes have no effect.
  if (roll < 0.95)
    return pick(random, [
      `"\${x:-$'$(touch {CANARY})'}"`,
      `"\${x:+'$(cat ${word})'}"`,
      `"\${x#$'$(cat ${word})'}"`,
      `"\${x:-<(a '$(cat ${word})')}"`,
    ]);
  if (roll < 0.96) return `"$(printf %s ${word})"`;
  if (roll < 0.97) return `$y${word}`;
  if (roll < 0.98) return `<(cat ${word})`;
  if (roll < 0.99) return `$((1+1))${word}`;
  return `$"${word}"`;
}
