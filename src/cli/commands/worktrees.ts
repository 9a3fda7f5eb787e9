import { type ListedWorktree, stateDirectory, worktreeCommands } from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import type { Command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import { renderKept, renderWorktree } from "./worktrees-render.ts";

type WorktreesCommand = Extract<Command, { kind: `worktrees.${string}` }>;

/** `retinue worktrees list|prune`. */
export async function worktrees(command: WorktreesCommand): Promise<number> {
  const { listWorktrees, describeState } = await worktreeCommands();
  const home = stateDirectory(process.env);
  const { write } = createOutput(process.stdout, () => undefined);
  if (command.kind === "worktrees.prune") return prune(command, { home, write });
  const found = await listWorktrees(home, process.env);
  const now = Date.now();
  if (command.json) await write(`${JSON.stringify(found.map(flatten(describeState)), null, 2)}\n`);
  else if (found.length === 0) await write("There are no worktrees of agents.\n");
  else await write(found.map((each) => renderWorktree(each, { describe: describeState, now })).join(""));
  return exitCodes.succeeded;
}

interface Surroundings {
  readonly home: string;
  readonly write: (text: string) => Promise<void>;
}

async function prune(
  { json, dryRun }: Extract<Command, { kind: "worktrees.prune" }>,
  { home, write }: Surroundings,
): Promise<number> {
  const { pruneWorktrees, describeState: describe } = await worktreeCommands();
  const { removed, kept, failed } = await pruneWorktrees(home, { environment: process.env, dryRun });
  if (json) {
    const flat = flatten(describe);
    const failures = failed.map(({ worktree, message }) => ({ ...flat(worktree), message }));
    await write(
      `${JSON.stringify({ dryRun, removed: removed.map(flat), kept: kept.map(flat), failed: failures }, null, 2)}\n`,
    );
  } else {
    const done = dryRun ? "Would remove" : "Removed";
    for (const each of removed)
      await write(`${stripControls(`${done} ${each.path}: ${describe(each.state)}${stays(each)}`)}\n`);
    for (const { worktree, message } of failed) {
      await write(`${stripControls(`Could not remove ${worktree.path}: ${message}`)}\n`);
    }
    for (const each of kept) await write(renderKept(each, { describe }));
    if (removed.length + kept.length + failed.length === 0) await write("There are no worktrees of agents.\n");
  }
  return failed.length === 0 ? exitCodes.succeeded : exitCodes.failed;
}

/** Of a directory that was deleted by hand only the record goes; commits are never removed. */
function stays({ record, state }: ListedWorktree): string {
  return state.kind === "gone" && state.commits > 0 ? `; the branch ${record?.branch} stays` : "";
}

function flatten(describe: (state: ListedWorktree["state"]) => string): (worktree: ListedWorktree) => object {
  return ({ path, record, inUse, state: { kind, ...details } }) => ({
    path,
    branch: record?.branch,
    base: record?.base,
    repository: record?.repository,
    session: record?.session,
    agent: record?.agent,
    createdAt: record?.createdAt,
    inUse,
    state: kind,
    changes: describe({ kind, ...details } as ListedWorktree["state"]),
    ...details,
  });
}
