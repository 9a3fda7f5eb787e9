import { accesses, decide, pathsOf } from "../../src/permissions/index.ts";
import type { Policy } from "../../src/protocol/index.ts";
import { createLocalWorkspace } from "../../src/workspace/index.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import type { Campaign } from "./campaign.ts";
import { createStage, type Stage } from "./shell-stage.ts";
import { shellString } from "./shell-strings.ts";

const batchSize = 500;
/** One worker checks its lines while another one's lines run. */
const workers = 2;

/**
 * Commands that need no approval must not change files. Generates command lines, and runs those that are allowed
 * without any rule. `count` is the number of lines.
 */
export const shellFuzz: Campaign = async ({ seed, count, until }) => {
  const work = { lines: 0, allowed: 0 };
  const failures: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    let stage = createStage();
    try {
      for (let batch = next++; batch * batchSize < count && performance.now() < until; batch = next++) {
        const random = seededRandom(seed * 100_003 + batch);
        const length = Math.min(batchSize, count - batch * batchSize);
        const lines = Array.from({ length }, () => shellString(random, stage.canary));
        const { allowed, crashed } = await judgeAll(lines, stage);
        work.lines += lines.length;
        work.allowed += allowed.length;
        const tell = (what: string): void => void failures.push(`batch ${batch}: ${what}`);
        crashed.forEach(tell);
        if (!(await stage.changes(allowed))) continue;
        (await culprits(allowed, stage)).forEach(tell);
        stage.remove();
        stage = createStage();
      }
    } finally {
      stage.remove();
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return {
    passed: work.lines - failures.length,
    run: work.lines,
    firstFailure: failures.length === 0 ? undefined : failures.slice(0, 5).join(" ¦ "),
    work,
  };
};

interface Judged {
  readonly allowed: readonly string[];
  readonly crashed: readonly string[];
}

async function judgeAll(lines: readonly string[], { root, home }: Stage): Promise<Judged> {
  const policy: Policy = { mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [root], readableRoots: [] };
  const workspace = createLocalWorkspace({ root, environment: { HOME: home }, home });
  const allowed: string[] = [];
  const crashed: string[] = [];
  for (const command of lines) {
    try {
      const list = accesses("Bash", { command });
      const resolved = await workspace.resolve(pathsOf(list));
      const { effect } = decide({ toolName: "Bash", accesses: list, resolved, policy, homes: [home] });
      if (effect === "allow") allowed.push(command);
    } catch (error) {
      crashed.push(`${command}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { allowed, crashed };
}

/** Finds the lines that change something by running halves of the list, each on a new stage. */
async function culprits(lines: readonly string[], { canary }: Stage): Promise<readonly string[]> {
  const found: string[] = [];
  const search = async (part: readonly string[]): Promise<void> => {
    const stage = createStage();
    const changed = await stage.changes(part.map((line) => line.replaceAll(canary, stage.canary)));
    stage.remove();
    if (!changed) return;
    if (part.length === 1) {
      found.push(...part);
      return;
    }
    const middle = Math.ceil(part.length / 2);
    await search(part.slice(0, middle));
    await search(part.slice(middle));
  };
  await search(lines);
  return found.length > 0 ? found : ["several lines together changed something"];
}
