import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { judgeCall } from "../../src/executor/judge-call.ts";
import type { Decision, Policy, Rule } from "../../src/protocol/index.ts";
import { createLocalWorkspace, createSandbox, type Sandbox } from "../../src/workspace/index.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import type { Campaign, CampaignOptions, CampaignReport } from "./campaign.ts";
import { createRemotePlace } from "./remote-place.ts";
import { hasContainer, type RunPlace, runLines } from "./run-lines.ts";
import { createStage, type Stage } from "./shell-stage.ts";
import { shellString } from "./shell-strings.ts";

const batchSize = 500;
/** Number of workers. While one of them decides on a batch of lines, the other one runs a batch. */
const workers = 2;
/** Number of failures after which the campaign ends. */
const enough = 50;

/** Rules for git commands that only read. Under them, git must not run programs from the repository either. */
const gitRules = [
  "diff",
  "log",
  "show",
  "status",
  "blame",
  "grep",
  "stash list",
  "stash show",
  "cat-file",
  "describe",
].map((name): Rule => ({ text: `Bash(git ${name}:*)`, effect: "allow", scope: "user" }));

/**
 * Commands that need no approval must change nothing, must not reveal what rules deny or what is outside the workspace,
 * and must leave no process and use no network. Generates command lines, and runs those that are allowed, in half
 * of the batches with rules for git commands that read, in a container in which they could do all of that. `count` is the number of lines.
 */
export const shellFuzz: Campaign = async (options) =>
  hasContainer
    ? fuzz(options, createOpenPlace)
    : skip("they must run in a container, and /usr/bin/bwrap is missing or does not work");

/**
 * The same campaign for machines with a sandbox, where many more commands need no approval and run in the sandbox's
 * read-only profile.
 */
export const shellFuzzSandboxed: Campaign = async (options) => {
  const sandbox = createFuzzSandbox();
  try {
    const state = await sandbox.ready();
    if (state.kind === "on") return await fuzz(options, (stage) => placeOf(stage, sandbox));
    return skip(`there is no sandbox: ${state.reason}`);
  } finally {
    await sandbox.close();
  }
};

/** The same campaign on a worker in another process, whose calls go through a connection. */
export const shellFuzzRemote: Campaign = async (options) =>
  hasContainer
    ? fuzz(options, (stage) => placeElsewhere(stage, false))
    : skip("they must run in a container, and /usr/bin/bwrap is missing or does not work");

export const shellFuzzRemoteSandboxed: Campaign = (options) => fuzz(options, (stage) => placeElsewhere(stage, true));

async function placeElsewhere(stage: Stage, sandboxed: boolean): Promise<RunPlace> {
  return { ...placeOf(stage, undefined), sandboxed, remote: await createRemotePlace(stage, { sandboxed }) };
}

function skip(reason: string): CampaignReport {
  return { passed: 0, run: 0, firstFailure: undefined, work: {}, skipped: [`all lines, because ${reason}`] };
}

type CreatePlace = (stage: Stage) => RunPlace | Promise<RunPlace>;

async function fuzz({ seed, count, until }: CampaignOptions, createPlace: CreatePlace): Promise<CampaignReport> {
  const work = { lines: 0, allowed: 0, executed: 0 };
  const failures: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    const stage = createStage();
    const place = await createPlace(stage);
    try {
      for (let batch = next++; batch * batchSize < count && performance.now() < until; batch = next++) {
        if (failures.length >= enough) return;
        const random = seededRandom(seed * 100_003 + batch);
        const length = Math.min(batchSize, count - batch * batchSize);
        const lines = Array.from({ length }, () => stage.place(shellString(random)));
        const rules = [...place.policy.rules, ...(batch % 2 === 0 ? [] : gitRules)];
        const { allowed, crashed } = await judgeAll(lines, { ...place, policy: { ...place.policy, rules } });
        const found = [...crashed, ...(await culprits(allowed, { ...place, policy: { ...place.policy, rules } }))];
        work.executed += allowed.length;
        work.lines += lines.length;
        work.allowed += allowed.length;
        failures.push(...found.map((what) => `batch ${batch}: ${what}`));
      }
    } finally {
      await place.remote?.close();
      stage.remove();
    }
  };
  const batches = Math.ceil(count / batchSize);
  await Promise.all(Array.from({ length: Math.min(workers, batches) }, worker));
  return {
    passed: work.lines - failures.length,
    run: work.lines,
    firstFailure: failures.length === 0 ? undefined : failures.slice(0, enough).join("\n    "),
    work,
  };
}

/** Creates a place without a sandbox. */
export function createOpenPlace(stage: Stage): RunPlace {
  return placeOf(stage, undefined);
}

function placeOf(stage: Stage, sandbox: Sandbox | undefined): RunPlace {
  const { root, home } = stage;
  const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, LANG: "C.UTF-8" };
  const policy: Policy = {
    mode: "default",
    pool: ["Bash", "Read"],
    rules: [{ text: "Read(.env)", effect: "deny", scope: "user" }],
    workspaceRoots: [root],
    readableRoots: [],
  };
  const workspace = createLocalWorkspace({ root, environment, pass: [], home, sandbox });
  return { stage, workspace, policy, sandboxed: sandbox !== undefined };
}

function createFuzzSandbox(): Sandbox {
  const directory = realpathSync(mkdtempSync("/var/tmp/retinue-fuzz-"));
  const sandbox = createSandbox({
    ...{ mode: "auto", scratch: join(directory, "scratch"), userHome: join(directory, "home"), writable: [] },
    ...{ hidden: [], shown: [], domains: [], tell: () => undefined },
  });
  return {
    ...sandbox,
    close: async () => {
      await sandbox.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Judged {
  readonly allowed: readonly string[];
  readonly crashed: readonly string[];
}

/** Decides on the lines as the executor does. */
async function judgeAll(lines: readonly string[], place: RunPlace): Promise<Judged> {
  const allowed: string[] = [];
  const crashed: string[] = [];
  for (const command of lines) {
    try {
      const decision = await judge(command, place);
      if (place.sandboxed && place.remote === undefined && (await isWidened(command, place)))
        crashed.push(`would get write access because a rule allows another command in the same line: ${command}`);
      if (decision.effect !== "allow") continue;
      allowed.push(command);
      if (decision.readsOnly !== true) crashed.push(`allowed, but would not run read-only: ${command}`);
    } catch (error) {
      crashed.push(`${command}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { allowed, crashed };
}

async function judge(command: string, { stage, workspace, policy, remote }: RunPlace): Promise<Decision> {
  if (remote !== undefined) return remote.judge(command, policy);
  const call = { toolName: "Bash", input: { command }, policy };
  return (await judgeCall(call, { workspace, homes: [stage.home] })).decision;
}

/**
 * Returns true if a line is allowed only because it would run read-only, and a rule for another command makes it run
 * with write access.
 */
async function isWidened(line: string, place: RunPlace): Promise<boolean> {
  if (line.trim() === "") return false;
  const { policy, workspace } = place;
  const rules = [...policy.rules, { text: "Bash(approved-program:*)", effect: "allow", scope: "user" } as const];
  const beside = await judge(`approved-program\n${line}`, { ...place, policy: { ...policy, rules } });
  if (beside.effect !== "allow" || beside.readsOnly === true) return false;
  const open = { ...workspace, confinement: async () => ({ kind: "off" }) as const };
  return (await judge(line, { ...place, workspace: open })).effect !== "allow";
}

/** Runs the lines, and bisects the list to find those that had an effect. */
export async function culprits(lines: readonly string[], place: RunPlace): Promise<readonly string[]> {
  const { revealing, symptoms } = await runLines(lines, place);
  if (revealing.length === 0 && symptoms.length === 0) return [];
  place.stage.reset();
  const shown = new Set(revealing);
  const found = revealing.map((index) => `reveals a secret: ${lines[index]}`);
  const rest = lines.filter((_, index) => !shown.has(index));
  if (revealing.length > 0) return [...found, ...(await culprits(rest, place))];
  if (lines.length === 1) return [`${symptoms.slice(0, 3).join(", ")}: ${lines[0]}`];
  const middle = Math.ceil(lines.length / 2);
  const [left, right] = [await culprits(lines.slice(0, middle), place), await culprits(lines.slice(middle), place)];
  return left.length + right.length > 0 ? [...left, ...right] : [`several lines together: ${symptoms.join(", ")}`];
}
