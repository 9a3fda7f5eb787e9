import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { McpServers, RunnableMcpConnection, ToolOutput } from "../ports/index.ts";
import type { CallId, JsonObject } from "../protocol/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createMcpServers, type McpLimits, type McpServersOptions } from "./create-mcp-servers.ts";

export interface TestServers extends McpServers {
  readonly root: string;
  readonly tag: string;
  /** Returns the number of running processes with the tag. */
  processes(): number;
  remove(): Promise<void>;
}

interface TestOptions extends Pick<McpServersOptions, "report"> {
  readonly limits?: McpLimits;
  readonly environment?: Record<string, string>;
}

let made = 0;

/** Creates servers in a separate directory, with time limits that are short enough for tests. */
export function createTestServers(
  configured: McpServersOptions["configured"],
  { limits = {}, environment = {}, report }: TestOptions = {},
): TestServers {
  const root = mkdtempSync(join(tmpdir(), "mcp-"));
  made += 1;
  const tag = `mcp-test-${process.pid}-${made}`;
  const all = { PATH: process.env["PATH"], ...environment };
  const servers = createMcpServers({
    workspace: createLocalWorkspace({ root, environment: all }),
    configured,
    environment: all,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    limits: { startMs: 15_000, callMs: 15_000, ...limits },
    tag,
    report,
  });
  return {
    ...servers,
    root,
    tag,
    processes: () => countProcesses(tag),
    remove: async () => {
      await servers.close();
      rmSync(root, { recursive: true });
    },
  };
}

export function runTool(
  { tools }: RunnableMcpConnection,
  name: string,
  { input = {}, signal = neverAborted, progress = () => {} }: RunOptions = {},
): Promise<ToolOutput> {
  const tool = tools.find((each) => each.declaration.name === name);
  if (tool === undefined) throw new Error(`There is no ${name}.`);
  return tool.run(input, {
    agentId: "main",
    callId: "c1" as CallId,
    signal,
    paths: [],
    progress,
    authorize: () => Promise.reject(new Error("not asked for")),
    hidden: () => false,
    hiddenElsewhere: async () => new Set(),
  });
}

interface RunOptions {
  readonly input?: JsonObject;
  readonly signal?: AbortSignal;
  readonly progress?: (text: string) => void;
}

export const neverAborted = new AbortController().signal;

export function textOfOutput({ content }: ToolOutput): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : `[${block.mediaType}]`)).join("\n");
}

function countProcesses(tag: string): number {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && carries(name, tag)).length;
}

function carries(pid: string, tag: string): boolean {
  try {
    if (/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))) return false;
    return readFileSync(`/proc/${pid}/environ`, "utf8").includes(tag);
  } catch {
    return false;
  }
}
