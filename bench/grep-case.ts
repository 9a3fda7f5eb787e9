import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { createExecutor } from "../src/executor/index.ts";
import type { Policy } from "../src/protocol/index.ts";
import { createWorkerTools } from "../src/tools/index.ts";
import { createLocalWorkspace } from "../src/workspace/index.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

/** Measures Grep through the executor, against ripgrep started directly in the same tree. */
export async function grepCase(): Promise<Figure[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-grep-")));
  makeTree(root, 20_000);
  const workspace = createLocalWorkspace({ root, environment: process.env });
  const results = { save: async () => "", saveFile: async () => "" };
  const tools = createWorkerTools({ sessionId: "bench", workspace, results, outputDirectory: root });
  const executor = createExecutor({ tools, workspace, results });
  const policy: Policy = { mode: "default", pool: ["Grep"], rules: [], workspaceRoots: [root], readableRoots: [] };
  const inputJson = JSON.stringify({
    pattern: "needle in the \\w+",
    output_mode: "files_with_matches",
    head_limit: 500,
  });
  const ours: number[] = [];
  const baseline: number[] = [];
  for (let round = 0; round < 9; round += 1) {
    const before = performance.now();
    const raw = spawnSync(rgPath, ["--no-config", "-l", "needle in the \\w+", "."], { cwd: root });
    baseline.push(performance.now() - before);
    const found = raw.stdout.toString().trim().split("\n").length;
    const startedAt = performance.now();
    const call = { callId: `c${round}`, name: "Grep", inputJson };
    const result = await executor.execute({ agentId: "main", call, policy }, () => {}, new AbortController().signal);
    ours.push(performance.now() - startedAt);
    if (result.outcome !== "ok" || found !== 200)
      throw new Error(`grep found ${found}: ${JSON.stringify(result.content)}`);
  }
  await executor.close();
  rmSync(root, { recursive: true });
  return [
    {
      name: "Grep over 20,000 files, against ripgrep started directly",
      ours: median(ours),
      baseline: median(baseline),
      unit: "ms",
      limit: 1.3,
    },
  ];
}

function makeTree(directory: string, files: number): void {
  for (let index = 0; index < files; index += 1) {
    const folder = join(directory, `d${index % 200}`);
    if (index < 200) mkdirSync(folder);
    const body = Array.from({ length: 40 }, (_, line) => `const value${line} = compute(${index}, ${line});`);
    if (index % 100 === 0) body.push("// needle in the haystack");
    writeFileSync(join(folder, `f${index}.ts`), body.join("\n"));
  }
}
