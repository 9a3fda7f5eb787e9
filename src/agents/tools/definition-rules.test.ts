import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createExecutor } from "../../executor/index.ts";
import type { ToolExecutor } from "../../ports/index.ts";
import { type Policy, type PolicyLayer, type Rule, resultAddress, type ToolResult } from "../../protocol/index.ts";
import { createWorkerTools } from "../../tools/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { limitLayers } from "./definition-rules.ts";

function place(limits: readonly string[]): { executor: ToolExecutor; policy: Policy; root: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-limits-")));
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src/a.txt"), "alpha\n");
  writeFileSync(join(root, "secret.txt"), "omega\n");
  const workspace = createLocalWorkspace({ root, environment: { PATH: process.env["PATH"] } });
  const results = { save: async (id: string) => resultAddress(id), saveFile: async (id: string) => resultAddress(id) };
  const tools = createWorkerTools({
    sessionId: basename(root),
    workspace,
    results,
    outputDirectory: join(root, "out"),
  });
  const executor = createExecutor({ tools, workspace, results });
  onTestFinished(async () => {
    await executor.close();
    rmSync(root, { recursive: true, force: true });
  });
  const pool = ["Read", "Write", "Grep", "Bash"];
  return {
    executor,
    root,
    policy: { ...bypass, pool, layers: limitsTo(limits), workspaceRoots: [root] },
  };
}

const bypass = { mode: "bypassPermissions", rules: [], readableRoots: [] } as const;

const limitsTo = (texts: readonly string[]): readonly PolicyLayer[] =>
  limitLayers(texts.map((text): Rule => ({ text, effect: "allow", scope: "project" })));

async function use(
  { executor, policy }: { readonly executor: ToolExecutor; readonly policy: Policy },
  name: string,
  input: object,
): Promise<{ judged: string; outcome: ToolResult["outcome"] }> {
  const call = { callId: "c1", name, inputJson: JSON.stringify(input) };
  const judgment = await executor.judge(call, policy);
  const judged = judgment.kind === "decided" ? judgment.decision.effect : "invalid";
  const { outcome } = await executor.execute(
    { agentId: "main", call, policy },
    () => undefined,
    new AbortController().signal,
  );
  return { judged, outcome };
}

const denied = { judged: "deny", outcome: "denied" };
const done = { judged: "allow", outcome: "ok" };

it("allows only commands that a limit covers, even if everything is allowed", async () => {
  const at = place(["Bash(echo:*)"]);
  expect(await use(at, "Bash", { command: "echo hello" })).toEqual(done);
  for (const command of ["ls", "git status", "echo a && ls", "echo $(ls)", "echo a > b.txt", "echo a; rm -rf src"]) {
    expect(await use(at, "Bash", { command }), command).toEqual(denied);
  }
});

it("allows only paths that a limit covers", async () => {
  const at = place(["Read(src/**)", "Write(src/**)"]);
  expect(await use(at, "Read", { file_path: "src/a.txt" })).toEqual(done);
  expect(await use(at, "Read", { file_path: "secret.txt" })).toEqual(denied);
  expect(await use(at, "Read", { file_path: "src/../secret.txt" })).toEqual(denied);
  expect(await use(at, "Write", { file_path: "src/b.txt", content: "b" })).toEqual(done);
  expect(await use(at, "Write", { file_path: "b.txt", content: "b" })).toEqual(denied);
});

it("ignores tools without a limit", async () => {
  const at = place(["Bash(echo:*)"]);
  expect(await use(at, "read_file", { file_path: "secret.txt" })).toEqual(done);
  expect(await use(at, "Grep", { pattern: "omega" })).toEqual(done);
});

it("allows only calls that both of two layers cover", async () => {
  const at = place(["Bash(echo:*)"]);
  const policy = { ...at.policy, layers: [...(at.policy.layers ?? []), ...limitsTo(["Bash(echo hello)"])] };
  expect(await use({ ...at, policy }, "Bash", { command: "echo hello" })).toEqual(done);
  expect(await use({ ...at, policy }, "Bash", { command: "echo other" })).toEqual(denied);
});

it("never allows what the policy denies", async () => {
  const at = place(["Bash(echo:*)"]);
  const policy: Policy = { ...at.policy, rules: [{ text: "Bash(echo:*)", effect: "deny", scope: "user" }] };
  expect(await use({ ...at, policy }, "Bash", { command: "echo hello" })).toEqual(denied);
});
