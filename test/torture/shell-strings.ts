import { readFileSync } from "node:fs";
import { join } from "node:path";
import { programs as readOnly } from "../../src/permissions/shell/programs/effects-of.ts";
import type { Random } from "../reliability/work-script.ts";

/** Returns a command line as people, models and attackers may write it: from a grammar, or spliced from known rows. */
export function shellString(random: Random, canary: string): string {
  const text = random() < 0.5 ? list(random, 0) : spliced(random);
  return text.replaceAll("{CANARY}", canary);
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

function times(random: Random, most: number, make: () => string): string[] {
  return Array.from({ length: Math.floor(random() * (most + 1)) }, make);
}

function list(random: Random, depth: number): string {
  const count = 1 + Math.floor(random() * random() * 4);
  const parts = Array.from({ length: count }, () => compound(random, depth));
  return parts.reduce((whole, part) => `${whole}${pick(random, operators)}${part}`);
}

const operators = [" && ", " || ", "; ", " | ", "\n", " |& ", " & ", ";", "|"];

function compound(random: Random, depth: number): string {
  if (depth > 2 || random() < 0.7) return simple(random, depth);
  const inner = () => list(random, depth + 1);
  return pick(random, [
    () => `(${inner()})`,
    () => `{ ${inner()}; }`,
    () => `if ${inner()}; then ${inner()}; fi`,
    () => `for f in ${operand(random, depth)} ${operand(random, depth)}; do ${inner()}; done`,
    () => `while read -r x; do ${inner()}; done < f.txt`,
    () => `case ${operand(random, depth)} in ${operand(random, depth)}) ${inner()};; esac`,
    () => `bash -c '${inner().replaceAll("'", "")}'`,
    () => `eval '${inner().replaceAll("'", "")}'`,
    () => `x() { ${inner()}; }; x`,
    () => `cat <<E\n$(${inner()})\nE`,
    () => `[[ -n ${operand(random, depth)} ]] && ${inner()}`,
    () => `! ${inner()}`,
  ])();
}

function simple(random: Random, depth: number): string {
  const before = random() < 0.1 ? [pick(random, assignments)] : [];
  const wrapper = random() < 0.15 ? [pick(random, wrappers)] : [];
  const words = times(random, 4, () => argument(random, depth));
  const after = random() < 0.15 ? [pick(random, redirections)] : [];
  return [...before, ...wrapper, pick(random, programs), ...words, ...after].join(" ");
}

function argument(random: Random, depth: number): string {
  return random() < 0.45 ? pick(random, options) : operand(random, depth);
}

function operand(random: Random, depth: number): string {
  const word = pick(random, operands);
  const roll = random();
  if (roll < 0.08 && depth < 2) return `$(${list(random, depth + 1)})`;
  if (roll < 0.11 && depth < 2) return `<(${list(random, depth + 1)})`;
  if (roll < 0.2) return `'${word.replaceAll("'", "")}'`;
  if (roll < 0.28) return `"${word.replace(/["`\\]/g, "")}"`;
  if (roll < 0.32) return `\\${word}`;
  return word;
}

/** Combines the words of two known rows. */
function spliced(random: Random): string {
  const left = pick(random, known).split(" ");
  const right = pick(random, known).split(" ");
  const cut = Math.floor(random() * (left.length + 1));
  const from = Math.floor(random() * (right.length + 1));
  const words = [...left.slice(0, cut), ...right.slice(from)];
  if (random() < 0.3) words.splice(Math.floor(random() * (words.length + 1)), 0, argument(random, 2));
  if (random() < 0.2) words.splice(Math.floor(random() * words.length), 1);
  return words.join(" ");
}

const fixtures = join(import.meta.dirname, "../../src/permissions/fixtures");
/** Maximum length of a row to combine. Rows of a megabyte are only useful for measuring time. */
const longest = 1_000;
const known: readonly string[] = ["own-bash-attacks.jsonl", "bash-attacks.jsonl"]
  .flatMap((name) => readFileSync(join(fixtures, name), "utf8").trim().split("\n"))
  .map((line) => (JSON.parse(line) as { input: { command: string } }).input.command)
  .filter((command) => command.length < longest);

const split = (text: string): string[] => text.split(" ");
/** Commands that would only slow down the campaign. */
const slow = new Set(["sleep", "yes", "wait"]);
const common = split(
  "ls cat head tail wc grep egrep find sed awk sort uniq cut tr diff stat file du echo printf test [ read date tee xargs env git git git git rg fd jq tar xxd base64 tree column paste comm nl od rev tac seq basename realpath cd command type export set tr fold xargs timeout uniq sort sed find awk touch cp rm",
);
/** Mostly common programs, and sometimes any program that is allowed without approval. */
const programs = [...common, ...common, ...[...readOnly.keys()].filter((name) => !slow.has(name))];
const wrappers = [
  "timeout 2",
  "env",
  "nice -n 5",
  "nohup",
  "command",
  "builtin",
  "exec",
  "xargs",
  "xargs -I{}",
  "time",
  "env X=1",
  "stdbuf -oL",
  "xargs -n 1",
];
const assignments = [
  "x=1",
  "LC_ALL=C",
  "PATH=.",
  "IFS=",
  "CI=1",
  "x=$(touch {CANARY})",
  "GIT_PAGER=./evil.sh",
  "x[1]=2",
  "f+=a",
];
const redirections = [
  "> out.txt",
  ">> f.txt",
  "2>&1",
  "> /dev/null",
  "&> out.txt",
  "< f.txt",
  "<<< a",
  "> $x",
  ">| {CANARY}",
  "2> /dev/null",
  "1<> new.txt",
  "{fd}> out.txt",
  ">& 2",
];
const operands = [
  "f.txt",
  "g.txt",
  "sub",
  "sub/h.txt",
  ".",
  "*",
  "*.txt",
  "$x",
  "$f",
  "a",
  "b",
  "{}",
  "1",
  "{a,b}",
  "{CANARY}",
  "out.txt",
  "~",
  "s/a/b/",
  "p",
  "w out.txt",
  "1,2p",
  "$d",
  "s/a/b/w out.txt",
  "{print}",
  '{print > "out.txt"}',
  "NR>1",
  "HEAD",
  "log",
  "status",
  "show",
  "branch",
  "tag",
  "diff",
  "stash",
  "list",
  "config",
  "grep",
  "blame",
  "+%s",
  "-",
  "--",
  "]",
  "=",
  "!",
  "$((1+1))",
  "$?",
  "-v",
  "x y",
  "evil.sh",
  "./evil.sh",
  "touch",
  ";",
  "+",
].map((word) => (word === ";" ? "\\;" : / |[{}()>$]/.test(word) && !/^[${*]/.test(word) ? `'${word}'` : word));
const options = split(
  "-n -o -i -e -f -r -l -a -c -d -u -z -w -s -v -p -t -k1 -1 -5 -rn -la -ni -Ei.bak -oout.txt -uo --output=out.txt --out=out.txt --in-place --stat --oneline --name-only -p -O -exec -execdir -delete -fprint -fls -print -name -type -maxdepth 0 1 --list -D -m --pre=./evil.sh -I -T -S --files0-from=f.txt --compress-program=./evil.sh --no-ext-diff --cached --get --all -R -H -tf -xf -cf -C --textconv --ext-diff --open-files-in-pager=./evil.sh --exec=./evil.sh --format=%h -F -1 -nr -E -q -x -X",
);
