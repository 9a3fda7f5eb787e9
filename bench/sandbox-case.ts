import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createExecutor } from "../src/executor/index.ts";
import type { ToolExecutor } from "../src/ports/index.ts";
import type { Policy } from "../src/protocol/index.ts";
import { createWorkerTools } from "../src/tools/index.ts";
import { createLocalWorkspace, createSandbox, type Sandbox } from "../src/workspace/index.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

/** Measures a Bash command in the sandbox, against the same command without a sandbox. */
export async function sandboxCase(): Promise<Figure[]> {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "retinue-sandbox-")));
  const root = join(top, "project");
  mkdirSync(root);
  const sandbox = createSandbox({
    ...{ mode: "auto", scratch: join(top, "scratch"), userHome: top, writable: [], hidden: [], shown: [], domains: [] },
    tell: () => undefined,
  });
  try {
    const state = await sandbox.ready();
    if (state.kind !== "on") {
      console.error(`SKIPPED sandbox: ${state.reason}.`);
      return [];
    }
    return await measure(root, sandbox);
  } finally {
    await sandbox.close();
    rmSync(top, { recursive: true });
  }
}

async function measure(root: string, sandbox: Sandbox): Promise<Figure[]> {
  const confined = executorAt(root, sandbox);
  const free = executorAt(root);
  const times: Record<"baseline" | "ours" | "readOnly", number[]> = { baseline: [], ours: [], readOnly: [] };
  for (let round = 0; round < 41; round += 1) {
    times.baseline.push(await timeOf(free, { root, callId: `f${round}`, rules }));
    times.ours.push(await timeOf(confined, { root, callId: `c${round}`, rules }));
    times.readOnly.push(await timeOf(confined, { root, callId: `r${round}` }));
  }
  await Promise.all([confined.close(), free.close()]);
  const [baseline, ours, readOnly] = [median(times.baseline), median(times.ours), median(times.readOnly)];
  return [
    { name: "Bash `true` in the sandbox, against no sandbox", ours, baseline, unit: "ms", limit: 4 },
    {
      name: "Bash `true` read-only in the sandbox, against no sandbox",
      ours: readOnly,
      baseline,
      unit: "ms",
      limit: 4,
    },
    // The read-only profile may add at most 25 ms to a command, so the ratio must not exceed 1.
    {
      name: "Cost of the read-only profile, against 25 ms",
      ours: readOnly - baseline,
      baseline: 25,
      unit: "ms",
      limit: 1,
    },
  ];
}

/** Allows the command by a rule, not because it is read-only. */
const rules: Policy["rules"] = [{ effect: "allow", text: "Bash(true)", scope: "user" }];

function executorAt(root: string, sandbox?: Sandbox): ToolExecutor {
  const workspace = createLocalWorkspace({ root, environment: process.env, ...(sandbox && { sandbox }) });
  const results = { save: async () => "", saveFile: async () => "" };
  const tools = createWorkerTools({ sessionId: "bench", workspace, results, outputDirectory: root });
  return createExecutor({ tools, workspace, results });
}

async function timeOf(
  executor: ToolExecutor,
  { root, callId, rules = [] }: { root: string; callId: string; rules?: Policy["rules"] },
): Promise<number> {
  const policy: Policy = { mode: "default", pool: ["Bash"], rules, workspaceRoots: [root], readableRoots: [] };
  const call = { callId, name: "Bash", inputJson: JSON.stringify({ command: "true" }) };
  const startedAt = performance.now();
  const result = await executor.execute({ agentId: "main", call, policy }, () => {}, new AbortController().signal);
  if (result.outcome !== "ok") throw new Error(JSON.stringify(result.content));
  return performance.now() - startedAt;
}
