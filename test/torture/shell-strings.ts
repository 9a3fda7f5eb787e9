import { readFileSync } from "node:fs";
import { join } from "node:path";
import { programs as readOnly } from "../../src/permissions/shell/programs/effects-of.ts";
import type { Random } from "../reliability/work-script.ts";
import { modelCommand } from "./model-commands.ts";
import { pick, times } from "./random-choice.ts";
import { disguised, operandWord } from "./shell-words.ts";

/**
 * Returns a command line as people, models and attackers may write it: generated from the tables of known programs or
 * from a grammar of the shell, or combined from known attacks. `{CANARY}` and `{TOP}` are placeholders for paths in a
 * stage.
 */
export function shellString(random: Random): string {
  const roll = random();
  if (roll < 0.4) return modelCommand(random).join(" ");
  return roll < 0.75 ? list(random, 0) : spliced(random);
}

function list(random: Random, depth: number): string {
  const count = 1 + Math.floor(random() * random() * 4);
  const parts = Array.from({ length: count }, () => compound(random, depth));
  return parts.reduce((whole, part) => `${whole}${pick(random, operators)}${part}`);
}

/** Commands that list files, including some whose output contains other names. */
const listers = [
  ...[
    "find sub",
    "find . -name 'f*'",
    "find odd",
    "grep -rl a sub",
    "rg -l a sub",
    "git ls-files",
    "git diff --name-only HEAD",
  ],
  ...["git ls-files --format={TOP}/outside/secret.txt", "git diff --name-only HEAD~1 --line-prefix={TOP}/"],
  ...["grep -hel list.txt", "rg -NIel list.txt", "cd sub && find .. .", "find sub -path '*x/h.txt'"],
];
const lineFilters = [
  ...[
    "",
    " | head -3",
    " | sort -u",
    " | grep -v x",
    " | tail -c 12",
    " | uniq -c",
    " | grep 1 list.txt",
    " | sort list.txt",
  ],
  ...[" | sort < list.txt", " | grep . <<< link", " 2>&1"],
];
const collectors = [
  ...["xargs cat", "xargs -n 1 head -1", "xargs -d t cat", "xargs -0 cat", "xargs cat < list.txt", "xargs -I{} cat {}"],
];

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
    () => `cat <<E\n\${x:-${pick(random, ["'", "$'", '"'])}$(${inner()})'}\nE`,
    () => `${pick(random, listers)}${pick(random, lineFilters)} | ${pick(random, collectors)}`,
    () =>
      `find sub -exec echo ${pick(random, ["?", "*", "[;]", '"$x"'])} ${pick(random, ["-delete", "-fprint out.txt"])} -o -exec echo \\;`,
    () => `[[ -n ${operand(random, depth)} ]] && ${inner()}`,
    () => `! ${inner()}`,
    () => `cd ${pick(random, ["sub", ".", "dirlink", "..", "opts", "-", "sub/..", "~", "odd"])} && ${inner()}`,
    () => `for f in ${disguised(random, operandWord(random))} *; do ${inner()}; done`,
    () => `while read -r x; do ${inner()}; done < ${pick(random, ["list.txt", "link", "f.txt", ".env"])}`,
    () => `cat <<'E' | ${inner()}\nlink\n.env\n{CANARY}\nE`,
    () => `x=${disguised(random, operandWord(random))}; ${inner()}`,
    () => `if [ -f ${operandWord(random)} ]; then ${inner()}; else ${inner()}; fi`,
    () => `until ${inner()}; do break; done`,
    () => `${pick(random, evaluations)}; ${inner()}`,
    () => `for ((i=0; i<${pick(random, ["2", "a[$(touch {CANARY})]", "x"])}; i++)); do ${inner()}; break; done`,
    () => `select f in a; do ${inner()}; done`,
    () => `coproc ${inner()}`,
    () => `f() { cat "$1"; }; f ${disguised(random, operandWord(random))}`,
    () =>
      `printf '%s %s\\n' ${operandWord(random)} ${pick(random, inputs)} | xargs ${pick(random, joint)} ${pick(random, programs)}`,
    () => `set -- ${disguised(random, operandWord(random))}; cat "$@"`,
  ])();
}

function simple(random: Random, depth: number): string {
  const before = random() < 0.1 ? [pick(random, assignments)] : [];
  const wrapper = random() < 0.15 ? [pick(random, wrappers)] : [];
  const after = random() < 0.15 ? [pick(random, redirections)] : [];
  if (random() < 0.5) return [...before, ...wrapper, ...modelCommand(random, depth), ...after].join(" ");
  const words = times(random, 4).map(() => argument(random, depth));
  return [...before, ...wrapper, pick(random, programs), ...words, ...after].join(" ");
}

function argument(random: Random, depth: number): string {
  return random() < 0.45 ? pick(random, options) : operand(random, depth);
}

function operand(random: Random, depth: number): string {
  const roll = random();
  if (roll > 0.6) return disguised(random, operandWord(random));
  const word = pick(random, operands);
  if (roll < 0.08 && depth < 2) return `$(${list(random, depth + 1)})`;
  if (roll < 0.11 && depth < 2) return `<(${list(random, depth + 1)})`;
  if (roll < 0.2) return `'${word.replaceAll("'", "")}'`;
  if (roll < 0.28) return `"${word.replace(/["`\\]/g, "")}"`;
  if (roll < 0.32) return `\\${word}`;
  return word;
}

/** Combines the words of two known attacks. */
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
/** Maximum length of an attack to combine. Attacks of a megabyte are only useful for measuring time. */
const longest = 1_000;
const known: readonly string[] = ["own-bash-attacks.jsonl", "bash-attacks.jsonl"]
  .flatMap((name) => readFileSync(join(fixtures, name), "utf8").trim().split("\n"))
  .map((line) => (JSON.parse(line) as { input: { command: string } }).input.command)
  .filter((command) => command.length < longest);

const split = (text: string): string[] => text.split(" ");
/** Commands that would only slow down the campaign. */
const slow = new Set(["sleep", "yes", "wait", "top", "watch", "vmstat", "free"]);
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
/** Options of xargs that cancel or complement each other. */
const joint = ["-I% -n2", "-I% -L1", "-n2 -I%", "-i -l", "-n2", "-I% -n1", "-I f.txt"];
/** Words that programs treat as more than a file name if xargs passes them on. */
const inputs = ["-delete", "-oout.txt", "out.txt", "--output=out.txt", "-C", "-i", "{CANARY}", "link", "-D"];
/** Words that make bash evaluate text. */
const evaluations = [
  "a[$(touch {CANARY})]=1",
  "x='a[$(touch {CANARY})]'; echo $((x))",
  `x='$(touch {CANARY})'; echo \${x@P}`,
  `x=y; echo \${!x}`,
  "[[ -v 'a[$(touch {CANARY})]' ]]",
  "[[ 'a[$(touch {CANARY})]' -eq 1 ]]",
  "printf -v 'a[$(touch {CANARY})]' x",
  "read 'a[$(touch {CANARY})]' < f.txt",
  "mapfile -C 'touch {CANARY} #' -c 1 z < f.txt",
  "unset 'a[$(touch {CANARY})]'",
  "declare -n r=x",
  "let 'a[$(touch {CANARY})]=1'",
  "jobs -x touch {CANARY}",
  "wait -p 'a[$(touch {CANARY})]' -n",
  "hash -p ./evil.sh ls",
  "enable -n test",
  "shopt -s extglob",
  "complete -C ./evil.sh x",
  "compgen -C ./evil.sh x",
  "compgen -f ../outside/",
  "trap 'touch {CANARY}' EXIT",
  "alias ls=./evil.sh",
  "ls() { ./evil.sh; }",
  "IFS=/",
  "PATH=.:$PATH",
  `echo \${x:=$(touch {CANARY})}`,
  "echo $[1+1] $((1<<2))",
  "echo `ls` $(< link)",
  "echo $(<.env)",
  "exec 5< link; cat <&5",
  "exec 5> out.txt",
  "ulimit -c",
  "umask 0",
  "pushd sub",
  "source link",
  ". ./evil.sh",
  "times",
  "help -m cd",
  "history -w out.txt",
  "fc -l",
  "getopts a x",
  "export GIT_DIR=sub",
  "export LC_ALL=C",
  "readonly q=1",
  "printf '%(%s)T' -1",
  "printf '%ln' PATH; ls",
  "printf '%hn' GIT_CONFIG_COUNT; git status -s",
  "printf -- '%s' *",
  "echo ~ ~+ ~- ~root",
  "time ls",
];
const redirections = [
  "< link",
  "< .env",
  "< hard",
  "0< dirlink/secret.txt",
  "< l*",
  "< {.env,}",
  "< $'li\\x6ek'",
  "<<< $(< link)",
  "< <(cat f.txt)",
  "> >(cat)",
  "2>> /dev/null",
  "> /dev/tcp/127.0.0.1/9",
  "< /dev/udp/127.0.0.1/9",
  "<> f.txt",
  ">&out.txt",
  "<&0",
  "> /dev/fd/1",
  "> /dev/stdout",
  "> /proc/self/cwd/out.txt",
  "2> $x",
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
