import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { checkSchema, coerceInput } from "../../lib/index.ts";
import type { ResultStore, Tool, ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { createMemoryTranscript } from "../../transcript/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { createSeenFiles, type SeenFiles } from "./seen-files.ts";

export interface ToolPlace {
  readonly root: string;
  readonly workspace: Workspace;
  readonly seen: SeenFiles;
  readonly results: ResultStore;
  put(name: string, content: string | Uint8Array): string;
  get(name: string): string;
  remove(): void;
}

/** Creates a temporary directory with a real workspace. */
export function createToolPlace(): ToolPlace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tool-")));
  return {
    root,
    workspace: createLocalWorkspace({ root, environment: process.env }),
    seen: createSeenFiles(),
    results: createMemoryTranscript({
      sessionId: basename(root),
      clock: { now: Date.now, monotonic: () => performance.now() },
    }).results,
    put(name, content) {
      const path = join(root, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    get: (name) => readFileSync(join(root, name), "utf8"),
    remove: () => rmSync(root, { recursive: true }),
  };
}

/** Allows everything and hides nothing, unless the test overrides it. */
export function toolContext(own: Partial<ToolContext> = {}): ToolContext {
  return {
    agentId: "main",
    callId: "c1",
    signal: new AbortController().signal,
    paths: [],
    progress: () => {},
    authorize: async () => ({ effect: "allow", rule: "test", scope: "session", reason: "a test" }),
    hidden: () => false,
    hiddenElsewhere: async () => new Set(),
    ...own,
  };
}

/** Validates the input against the schema first, as the executor does. */
export async function callTool(tool: Tool, input: JsonObject, context = toolContext()): Promise<ToolOutput> {
  const coerced = coerceInput(tool.declaration.inputSchema, input) as JsonObject;
  const problems = checkSchema(tool.declaration.inputSchema, coerced);
  if (problems.length > 0) throw new Error(`bad input in test: ${JSON.stringify(problems)}`);
  return tool.run(coerced, context);
}

export function textOfOutput(output: ToolOutput): string {
  if (typeof output.content === "string") return output.content;
  return output.content.map((block) => (block.type === "text" ? block.text : `[${block.mediaType}]`)).join("\n");
}
