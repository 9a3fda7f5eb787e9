import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Policy, type Rule, textOf } from "../protocol/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import { createMemoryTranscript } from "../transcript/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createExecutor } from "./index.ts";

export type RealCall = readonly [tool: string, input: object];

export interface RealProject {
  readonly root: string;
  /** Writes a file. The path is relative to the project. */
  put(path: string, text: string): void;
  /** Executes calls one after the other, without a sandbox, and without anyone who could approve them. */
  run(
    calls: readonly RealCall[],
    policy?: Partial<Policy>,
  ): Promise<readonly { readonly outcome: string; readonly text: string }[]>;
  remove(): void;
}

/** Creates a directory with a project in it, and a home directory next to the project. */
export function createRealProject(): RealProject {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "real-calls-")));
  const [root, home] = [join(top, "project"), join(top, "home")];
  for (const path of [root, home]) mkdirSync(path);
  return {
    root,
    put(path, text) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    async run(calls, more = {}) {
      const { results } = createMemoryTranscript();
      const environment = { PATH: process.env["PATH"], HOME: home };
      const workspace = createLocalWorkspace({ root, environment, home });
      // Processes are recognized by the session, so parallel tests need different ones.
      const tools = createWorkerTools({
        sessionId: basename(top),
        workspace,
        results,
        outputDirectory: join(top, "results"),
      });
      const executor = createExecutor({ tools, workspace, results, home });
      const policy: Policy = {
        mode: "default",
        pool: ["Read", "Grep", "Write", "Edit", "Bash"],
        rules: [],
        workspaceRoots: [root],
        readableRoots: [],
        ...more,
      };
      const found: { readonly outcome: string; readonly text: string }[] = [];
      for (const [index, [name, input]] of calls.entries()) {
        const call = { callId: `c${index}`, name, inputJson: JSON.stringify(input) };
        const request = { agentId: "main", call, policy };
        const { outcome, content } = await executor.execute(request, () => {}, new AbortController().signal);
        found.push({ outcome, text: textOf(content) });
      }
      await executor.close();
      return found;
    },
    remove: () => rmSync(top, { recursive: true, force: true }),
  };
}

export const bash = (command: string): RealCall => ["Bash", { command }];
export const allow = (text: string): Rule => ({ text, effect: "allow", scope: "user" });
export const deny = (text: string): Rule => ({ text, effect: "deny", scope: "user" });
