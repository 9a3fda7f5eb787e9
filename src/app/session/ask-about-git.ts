import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Policy, PolicyLayer } from "../../protocol/index.ts";

export interface CautiousPolicy {
  readonly policy: Policy;
  readonly notices: readonly string[];
}

/**
 * A directory that somebody packed with its `.git` can name programs in it that git runs when it only looks at files. As
 * long as nobody trusts it, git is not used there unasked.
 */
export function askAboutGit(policy: Policy, untrusted: string | undefined): CautiousPolicy {
  const isAsked = untrusted !== undefined && policy.mode !== "bypassPermissions";
  const file = isAsked ? configurations(untrusted).find(namesPrograms) : undefined;
  if (file === undefined) return { policy, notices: [] };
  const layer: PolicyLayer = { rules: [{ text: "Bash(git:*)", effect: "ask", scope: "builtin", file }] };
  const notice = `${file} names programs that git would run, and this directory is not trusted: commands with git are asked about. Look at the file, then trust the directory with "retinue trust add", or for one run with --trust.`;
  return { policy: { ...policy, layers: [...(policy.layers ?? []), layer] }, notices: [notice] };
}

/** Those that git reads in this directory and that come with it. */
function configurations(cwd: string): readonly string[] {
  const found = gitDirectory(cwd);
  if (found === undefined) return [];
  const common = textOf(join(found, "commondir"))?.trim();
  const shared = common ? resolve(found, common) : found;
  return [join(shared, "config"), join(shared, "config.worktree"), join(found, "config.worktree")];
}

function gitDirectory(directory: string): string | undefined {
  const path = join(directory, ".git");
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return path;
  const [, elsewhere] = (stat?.isFile() && /^gitdir:\s*(.+?)\s*$/.exec(textOf(path) ?? "")) || [];
  if (elsewhere !== undefined) return resolve(directory, elsewhere);
  if (["HEAD", "config", "objects"].every((name) => existsSync(join(directory, name)))) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : gitDirectory(above);
}

/** Rather too often than once too seldom: words are looked for, however git would read the lines they stand in. */
function namesPrograms(file: string): boolean {
  const text = textOf(file)?.replace(usualFilter, "") ?? "";
  return dangers.some((words) => words.every((word) => word.test(text)));
}

/** As git-lfs itself writes them. */
const usualFilter =
  /^\s*(?:clean|smudge|process)\s*=\s*git-lfs (?:clean -- %f|smudge(?: --skip)? -- %f|filter-process(?: --skip)?)\s*$/gm;

const dangers: readonly (readonly RegExp[])[] = [
  [/\[\s*include/i],
  [/\[\s*filter/i, /\b(?:clean|smudge|process|customtransfer)\b/i],
  [/\[\s*diff/i, /\b(?:textconv|command|external)\b/i],
];

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
