import { existsSync } from "node:fs";
import { askGit, type Environment, runGit } from "./git.ts";
import type { WorktreeRecord } from "./record.ts";

/** How many commits its branch has that were not there when it was made; 0 where the branch or the repository is gone. */
export async function commitsOn(record: WorktreeRecord, environment: Environment): Promise<number> {
  const { commonDirectory, branch, base } = record;
  if (!existsSync(commonDirectory)) return 0;
  const place = { environment, cwd: commonDirectory, gitDirectory: commonDirectory };
  const tip = await askGit(["rev-parse", "--verify", "--quiet", `refs/heads/${branch}^{commit}`], place);
  if (tip.code !== 0) return 0;
  const count = await runGit(["rev-list", "--count", tip.output.toString("latin1").trim(), `^${base}`], place);
  return Number(count.toString("latin1"));
}
