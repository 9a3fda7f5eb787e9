import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createExecutor } from "../executor/index.ts";
import type { ResultStore, Tool, ToolExecutor } from "../ports/index.ts";
import { callsOf, type Head, type Message, type Policy, type StopReason, textOf } from "../protocol/index.ts";
import { createBashTool } from "../tools/bash/bash.ts";
import { createShells } from "../tools/bash/shells.ts";
import { createGlobTool } from "../tools/glob/glob.ts";
import { createGrepTool } from "../tools/grep/grep.ts";
import { createLsTool } from "../tools/ls/ls.ts";
import { createReadTool } from "../tools/read/read.ts";
import { createSeenFiles } from "../tools/shared/seen-files.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createOfflineModel } from "./offline-model.ts";

export interface Conversation {
  readonly messages: readonly Message[];
  readonly report: string;
  readonly stopReason: StopReason;
  readonly turns: number;
  readonly calls: readonly { readonly name: string; readonly input: string; readonly isError: boolean }[];
}

export interface OfflineWorkspace {
  readonly root: string;
  readonly head: Head;
  put(files: Readonly<Record<string, string>>): void;
  has(path: string): boolean;
  git(...args: readonly string[]): void;
  /** Sends a prompt, and runs tool calls with a real executor and a policy until the model makes no more calls. */
  talk(
    text: string,
    options?: { readonly before?: readonly Message[]; readonly policy?: Partial<Policy> },
  ): Promise<Conversation>;
  remove(): Promise<void>;
}

export interface WorkspaceOptions {
  readonly without?: readonly string[];
  /** Uses this directory instead of a temporary one, and leaves it in place. */
  readonly root?: string;
}

const results: ResultStore = {
  save: async (id) => `retinue://result/${id}`,
  saveFile: async (id) => `retinue://result/${id}`,
};

/** Creates a temporary directory with real tools and the offline model. */
export function createOfflineWorkspace({ without = [], root: given }: WorkspaceOptions = {}): OfflineWorkspace {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "offline-")));
  const root = given ?? join(made, "project");
  if (given === undefined) mkdirSync(root);
  const environment = { PATH: process.env["PATH"], HOME: made, GIT_CEILING_DIRECTORIES: made };
  const workspace = createLocalWorkspace({ root, environment, home: made });
  const shells = createShells();
  const tools: Tool[] = [
    createReadTool({ workspace, seen: createSeenFiles() }),
    createGrepTool({ workspace }),
    createGlobTool({ workspace }),
    createLsTool({ workspace }),
    createBashTool({ workspace, shells, results, outputDirectory: join(made, "output") }),
  ].filter((tool) => !without.includes(tool.declaration.name));
  const executor = createExecutor({ tools, workspace, results, home: made });
  const head: Head = {
    provider: "offline",
    model: "offline",
    dialect: "anthropic",
    tools: executor.declarations(),
    system: "You are a test.",
    systemContext: "",
    userContext: "",
  };
  const policy: Policy = {
    mode: "default",
    pool: tools.map(({ declaration }) => declaration.name),
    rules: [],
    workspaceRoots: [root],
    readableRoots: [],
  };
  return {
    root,
    head,
    put: (files) => {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(root, name)), { recursive: true });
        writeFileSync(join(root, name), content);
      }
    },
    has: (path) => existsSync(join(root, path)),
    git: (...args) => {
      const dates = { GIT_AUTHOR_DATE: "2024-03-01T10:00:00Z", GIT_COMMITTER_DATE: "2024-03-01T10:00:00Z" };
      const config = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"];
      execFileSync("git", [...config, ...args], { cwd: root, env: { ...environment, ...dates }, stdio: "pipe" });
    },
    talk: (text, options = {}) =>
      talk(text, { executor, head, policy: { ...policy, ...options.policy }, before: options.before ?? [] }),
    remove: async () => {
      await executor.close();
      rmSync(made, { recursive: true, force: true });
    },
  };
}

interface Talk {
  readonly executor: ToolExecutor;
  readonly head: Head;
  readonly policy: Policy;
  readonly before: readonly Message[];
}

async function talk(text: string, { executor, head, policy, before }: Talk): Promise<Conversation> {
  const model = createOfflineModel();
  const messages: Message[] = [...before, { role: "user", content: [{ type: "text", text }] }];
  const calls: { name: string; input: string; isError: boolean }[] = [];
  const { signal } = new AbortController();
  for (let turns = 1; turns <= 20; turns += 1) {
    const prompt = { head, messages: () => messages, body: () => [] };
    const turn = before.length + turns;
    const outcome = await model.call(
      { prompt, maxTokens: 1_000, callId: (index) => `c${turn}_${index}`, signal },
      () => {},
    );
    if (!outcome.ok) throw new Error(outcome.error.message);
    messages.push(outcome.message);
    const wanted = callsOf(outcome.message);
    if (wanted.length === 0)
      return { messages, report: textOf(outcome.message.content), stopReason: outcome.stopReason, turns, calls };
    const blocks = await Promise.all(
      wanted.map(async (call) => {
        const result = await executor.execute({ agentId: "main", call, policy }, () => {}, signal);
        const isError = result.outcome !== "ok";
        calls.push({ name: call.name, input: call.inputJson, isError });
        return { type: "tool_result" as const, callId: call.callId, content: result.content, isError };
      }),
    );
    messages.push({ role: "user", content: blocks });
  }
  throw new Error("the model did not finish");
}
