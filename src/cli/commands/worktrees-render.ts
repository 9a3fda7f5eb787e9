import type { ListedWorktree } from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import { ago } from "./sessions/render-sessions.ts";

export interface WorktreeWords {
  /** What is in a worktree, in words. */
  readonly describe: (state: ListedWorktree["state"]) => string;
}

/** Three lines each: what is in it, where it is, whose it is. */
export function renderWorktree(
  worktree: ListedWorktree,
  { describe, now }: WorktreeWords & { readonly now: number },
): string {
  const { path, record, inUse, state } = worktree;
  const head = [record?.branch, describe(state), record && ago(now - record.createdAt), inUse ? "in use" : undefined];
  const lines = [head.filter((word) => word !== undefined).join(" · "), `  ${path}`];
  if (record !== undefined) {
    const agent = record.agent === undefined ? "" : `, agent ${record.agent}`;
    const session = record.session === undefined ? "" : ` of session ${record.session}`;
    lines.push(`  of ${record.repository}${agent}${session}`);
  }
  return lines.map((line) => `${stripControls(line, { visible: true })}\n`).join("");
}

/** Why it stays, and how a person looks at it, takes it over or deletes it. */
export function renderKept({ path, record, inUse, state }: ListedWorktree, { describe }: WorktreeWords): string {
  const why = `Kept ${path}: ${inUse ? "in use" : describe(state)}`;
  const lines = [why, ...(inUse ? [] : cures({ path, record, state }).map((line) => `  ${line}`))];
  return lines.map((line) => `${stripControls(line, { visible: true })}\n`).join("");
}

function cures({
  path,
  record,
  state,
}: Pick<ListedWorktree, "path" | "state"> & { record: ListedWorktree["record"] }): string[] {
  if (record === undefined || state.kind !== "changed")
    return [`look    ls -la ${quote(path)}`, `delete  rm -r ${quote(path)}`];
  const { branch, base, repository } = record;
  const [own, main] = [`git -C ${quote(path)}`, `git -C ${quote(repository)}`];
  const commit = state.files > 0 ? `${own} add -A && ${own} commit -m "Work of an agent"; ` : "";
  return [
    `look    ${own} status; ${own} diff ${base.slice(0, 12)}`,
    `merge   ${commit}${main} merge ${quote(branch)}`,
    `delete  ${main} worktree remove --force ${quote(path)} && ${main} branch -D ${quote(branch)}`,
  ];
}

/** As a shell reads it. */
function quote(word: string): string {
  return /^[\w./@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
