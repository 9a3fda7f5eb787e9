import { describeState, type ListedWorktree, listWorktrees, pruneWorktrees, stateDirectory } from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput } from "../output.ts";
import { type HelpRequest, helpOption, readVerb, refusePositionals } from "../read-options.ts";
import { ago } from "./listing.ts";

/** Runs `retinue worktrees list|prune`. */
export async function worktrees(argv: readonly string[]): Promise<number> {
  const command = parseWorktrees(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const home = stateDirectory(process.env);
  const { write } = createOutput(process.stdout);
  if (command.kind === "prune") return prune(command, { home, write });
  const found = await listWorktrees(home, process.env);
  const now = Date.now();
  if (command.json) await write(`${JSON.stringify(found.map(flatten), null, 2)}\n`);
  else if (found.length === 0) await write("There are no agent worktrees.\n");
  else await write(found.map((each) => renderWorktree(each, now)).join(""));
  return exitCodes.succeeded;
}

type WorktreesCommand =
  | { readonly kind: "list"; readonly json: boolean }
  | { readonly kind: "prune"; readonly json: boolean; readonly dryRun: boolean };

const verbs = {
  list: { json: {}, help: helpOption },
  prune: { json: {}, "dry-run": {}, help: helpOption },
};

function parseWorktrees(argv: readonly string[]): WorktreesCommand | HelpRequest {
  const read = readVerb("worktrees", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  refusePositionals(options, `worktrees ${verb}`, 'See "retinue worktrees --help".');
  const json = options.has("json");
  if (verb === "list") return { kind: "list", json };
  return { kind: "prune", json, dryRun: options.has("dry-run") };
}

async function prune(
  { json, dryRun }: Extract<WorktreesCommand, { kind: "prune" }>,
  { home, write }: { readonly home: string; readonly write: (text: string) => Promise<void> },
): Promise<number> {
  const { removed, kept, failed } = await pruneWorktrees(home, { environment: process.env, dryRun });
  if (json) {
    const failures = failed.map(({ worktree, message }) => ({ ...flatten(worktree), message }));
    const report = { dryRun, removed: removed.map(flatten), kept: kept.map(flatten), failed: failures };
    await write(`${JSON.stringify(report, null, 2)}\n`);
  } else {
    const done = dryRun ? "Would remove" : "Removed";
    for (const each of removed)
      await write(`${stripControls(`${done} ${each.path}: ${describeState(each.state)}${keptBranch(each)}`)}\n`);
    for (const { worktree, message } of failed) {
      await write(`${stripControls(`Could not remove ${worktree.path}: ${message}`)}\n`);
    }
    for (const each of kept) await write(renderKept(each));
    if (removed.length + kept.length + failed.length === 0) await write("There are no agent worktrees.\n");
  }
  return failed.length === 0 ? exitCodes.succeeded : exitCodes.failed;
}

/** Names the branch that remains if the worktree's directory was deleted by hand. Commits are never removed. */
function keptBranch({ record, state }: ListedWorktree): string {
  return state.kind === "gone" && state.commits > 0 ? `; the branch ${record?.branch} remains` : "";
}

function flatten({ path, record, inUse, state }: ListedWorktree): object {
  const { kind, ...details } = state;
  return {
    path,
    branch: record?.branch,
    base: record?.base,
    repository: record?.repository,
    session: record?.session,
    agent: record?.agent,
    createdAt: record?.createdAt,
    inUse,
    state: kind,
    changes: describeState(state),
    ...details,
  };
}

/** Renders three lines: the state, the path, and the repository and the agent. */
function renderWorktree({ path, record, inUse, state }: ListedWorktree, now: number): string {
  const head = [
    record?.branch,
    describeState(state),
    record && ago(now - record.createdAt),
    inUse ? "in use" : undefined,
  ];
  const lines = [head.filter((word) => word !== undefined).join(" · "), `  ${path}`];
  if (record !== undefined) {
    const agent = record.agent === undefined ? "" : `, agent ${record.agent}`;
    const session = record.session === undefined ? "" : ` of session ${record.session}`;
    lines.push(`  of ${record.repository}${agent}${session}`);
  }
  return lines.map((line) => `${stripControls(line, { visible: true })}\n`).join("");
}

/** Renders why a worktree is kept, and commands to look at it, merge it or delete it. */
function renderKept(worktree: ListedWorktree): string {
  const { path, inUse, state } = worktree;
  const why = `Kept ${path}: ${inUse ? "in use" : describeState(state)}`;
  const lines = [why, ...(inUse ? [] : fixes(worktree).map((line) => `  ${line}`))];
  return lines.map((line) => `${stripControls(line, { visible: true })}\n`).join("");
}

function fixes({ path, record, state }: ListedWorktree): string[] {
  if (record === undefined || state.kind !== "changed")
    return [`look    ls -la ${quote(path)}`, `delete  rm -r ${quote(path)}`];
  const { branch, base, repository } = record;
  const [own, main] = [`git -C ${quote(path)}`, `git -C ${quote(repository)}`];
  const commit = state.files > 0 ? `${own} add -A && ${own} commit -m "Add the agent's work"; ` : "";
  return [
    `look    ${own} status; ${own} diff ${base.slice(0, 12)}`,
    `merge   ${commit}${main} merge ${quote(branch)}`,
    `delete  ${main} worktree remove --force ${quote(path)} && ${main} branch -D ${quote(branch)}`,
  ];
}

/** Quotes an argument for a shell. */
function quote(argument: string): string {
  return /^[\w./@:+-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
