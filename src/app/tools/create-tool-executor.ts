import { statSync } from "node:fs";
import { createExecutor } from "../../executor/index.ts";
import type { Tool, ToolExecutor, ToolSpec } from "../../ports/index.ts";
import { type Dispatcher, delegationTools } from "../../runs/index.ts";
import { createTools, type ToolsRequest } from "../../tools/index.ts";
import { createLocalWorkspace, createSandbox, type Sandbox } from "../../workspace/index.ts";
import type { Environment } from "../places.ts";
import { type SandboxRequest, sandboxOptions } from "./sandbox-options.ts";

export interface ExecuteRequest extends Omit<ToolsRequest, "workspace"> {
  readonly root: string;
  readonly environment: Environment;
  readonly delegation: Delegation;
  readonly serverTools: readonly Tool[];
  readonly sandbox: Sandbox;
  /** When the session began, in milliseconds since 1970. */
  readonly since: number;
}

/** For all directories of a session. */
export function makeSandbox(request: SandboxRequest): Sandbox {
  return createSandbox(sandboxOptions(request));
}

/** The tools of delegation, and what makes them work. */
export interface Delegation {
  readonly specs: readonly ToolSpec[];
  readonly dispatcher: Dispatcher;
}

/** When a session began; undefined where nothing is kept of it. */
export function beginningOf(transcriptPath: string | undefined): number | undefined {
  const born = transcriptPath && statSync(transcriptPath, { throwIfNoEntry: false })?.birthtimeMs;
  return born || undefined;
}

/** The built-in tools on the files and processes of one directory. */
export function createToolExecutor({
  root,
  environment,
  delegation,
  serverTools,
  sandbox,
  since,
  ...rest
}: ExecuteRequest): ToolExecutor {
  const workspace = createLocalWorkspace({ root, environment, sandbox, since });
  return createExecutor({
    tools: [
      ...createTools({ ...rest, workspace }),
      ...delegationTools(delegation.dispatcher, delegation.specs),
      ...serverTools,
    ],
    workspace,
    results: rest.results,
  });
}
