import { analyzeCommand } from "../shell/analyze-command.ts";
import { isReadOnly } from "../shell/read-only/read-only.ts";
import { programOf, type SimpleCommand, unitsOf } from "../shell/shell-analysis.ts";
import { launchers, modelled } from "./command-hazards.ts";
import { allowsUnit, parseCommandPattern } from "./command-pattern.ts";

export interface AlwaysPatterns {
  /** Specifier of a rule that allows only this command line. */
  readonly exact: string;
  /** Specifier of a rule that allows similar commands, if that is safe. */
  readonly pattern?: string | undefined;
}

/**
 * Returns the rules that "always allow" can create for a command: the line itself, and a pattern from its first words.
 */
export function alwaysPatterns(command: string): AlwaysPatterns {
  const exact = command.trim().replaceAll("*", "\\*");
  return { exact, pattern: patternFor(command) };
}

function patternFor(line: string): string | undefined {
  const analysis = analyzeCommand(line);
  if (analysis.obscure !== undefined || analysis.caution !== undefined) return undefined;
  // A pattern does not cover the files that a line writes; only the literal line does.
  if (analysis.redirections.some(({ kind }) => kind === "write")) return undefined;
  const open = unitsOf(analysis).filter(({ command }) => !isReadOnly(command));
  const [unit] = open;
  if (unit === undefined || open.length > 1 || unit.wrappers.length > 0) return undefined;
  const words = headOf(unit.command);
  if (words === undefined) return undefined;
  const pattern = `${words.join(" ")} *`;
  const context = { roots: [], loopWords: analysis.loopWords };
  // A command that no wildcard covers unless the rule spells it out gets no pattern.
  const patterns = modelled.has(words[0]!) ? [pattern, `${words[0]} *`] : [pattern];
  return patterns.every((each) => allowsUnit(parseCommandPattern(each), unit, context)) ? pattern : undefined;
}

/** Returns the program and the words that identify the operation, such as `git log`. */
function headOf(command: SimpleCommand): readonly string[] | undefined {
  const name = programOf(command);
  const [, second] = command.words;
  if (tooPowerful.has(name) || launchers.has(name) || command.words[0]!.text !== name) return undefined;
  if (command.words.some(({ text }) => /^-(?=[A-Za-z]*[fD])[A-Za-z]+$/.test(text))) return undefined;
  if (runners.has(`${name} ${second?.text}`)) return undefined;
  const arity = arities.get(`${name} ${second?.text}`) ?? arities.get(name) ?? 1;
  const words = command.words.slice(0, arity);
  const plain = words.every(({ text, open }) => open === undefined && /^[A-Za-z0-9_@][\w@:./+-]*$/.test(text));
  return words.length === arity && plain ? words.map(({ text }) => text) : undefined;
}

/** Number of words that identify an operation of a program; 1 for programs that are not listed. */
const arities = new Map<string, number>([
  ..."git npm pnpm yarn bun deno cargo go docker podman kubectl helm gh brew apt apt-get pip pip3 poetry uv dotnet gradle mvn terraform composer bundle rails mix flutter nx turbo systemctl rustup conda make"
    .split(" ")
    .map((name) => [name, 2] as const),
  ..."npm run|pnpm run|yarn run|bun run|deno task|docker compose|git remote|git stash|git worktree|gh pr|gh issue|gh run|gh repo|uv run|poetry run|bundle exec|cargo run|kubectl config"
    .split("|")
    .map((name) => [name, 3] as const),
]);

/** Subcommands that run an arbitrary program from their arguments. */
const runners = new Set(
  "docker run|docker exec|podman run|podman exec|kubectl exec|kubectl run|pnpm exec|pnpm dlx|yarn exec|yarn dlx|go run|go generate".split(
    "|",
  ),
);

/** Programs that get no pattern because they delete, change privileges or run arbitrary code. */
const tooPowerful = new Set(
  [
    "rm rmdir shred dd mkfs fdisk parted mount umount kill killall pkill shutdown reboot chmod chown chgrp mv ln",
    "node python python2 python3 ruby perl php lua Rscript java osascript pwsh tsx ts-node awk gawk sed",
    "npx pnpx bunx uvx pipx dlx curl wget nc ncat telnet ftp sftp scp rsync find fd eval source export crontab gdb",
  ].flatMap((line) => line.split(" ")),
);
