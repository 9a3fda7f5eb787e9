import { statSync } from "node:fs";
import { createExecutor } from "../../executor/index.ts";
import type { Skills, Tool, ToolExecutor, ToolSpec } from "../../ports/index.ts";
import type { Settings } from "../../protocol/index.ts";
import { type Dispatcher, delegationTools } from "../../runs/index.ts";
import { createTools, searchEngineFor } from "../../tools/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import { createLocalWorkspace, createSandbox } from "../../workspace/index.ts";
import type { Environment } from "../places.ts";
import type { ChosenModel } from "../settings/choose-model.ts";
import { sandboxOptions } from "./sandbox-options.ts";

export interface SessionToolsOptions {
  /** Absolute real path of the workspace. */
  readonly root: string;
  readonly transcript: Transcript;
  /** Directory for the complete text of long outputs. */
  readonly outputDirectory: string;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly chosen: ChosenModel;
  /** Skills that the model can load; absent if there are none. */
  readonly skills?: Skills | undefined;
  /** Tools for delegating work and for planning. */
  readonly delegation: readonly ToolSpec[];
  readonly dispatcher: Dispatcher;
  /** Tools of MCP servers. They are declared after all others. */
  readonly serverTools: readonly Tool[];
  /** Receives messages for the user. */
  readonly tell?: ((message: string) => void) | undefined;
}

export interface SessionTools {
  readonly executor: ToolExecutor;
  /** Creates an executor of the same tools for another directory. */
  readonly executorAt: (root: string) => ToolExecutor;
  /** Built-in tools that this session does not have, with the reason. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
}

/** Creates the tools of a session. All its directories share one sandbox. */
export function createSessionTools(options: SessionToolsOptions): SessionTools {
  const { transcript, outputDirectory, settings, environment, chosen, skills } = options;
  const { sessionId, results } = transcript;
  const choice = searchEngineFor(settings.search, environment, { anthropic: chosen.search });
  const sandbox = createSandbox(sandboxOptions(options));
  const since = beginningOf(transcript.path) ?? Date.now();

  function executorAt(root: string): ToolExecutor {
    const workspace = createLocalWorkspace({ root, environment, sandbox, since });
    const builtIn = createTools({
      sessionId,
      workspace,
      results,
      outputDirectory,
      search: "engine" in choice ? choice.engine : undefined,
      skills,
      timeouts: settings.timeouts,
    });
    const delegation = delegationTools(options.dispatcher, options.delegation);
    return createExecutor({ tools: [...builtIn, ...delegation, ...options.serverTools], workspace, results });
  }

  const own = executorAt(options.root);
  const executor = { ...own, close: () => own.close().then(() => sandbox.close()) };
  return { executor, executorAt, absent: "absent" in choice ? [{ name: "WebSearch", reason: choice.absent }] : [] };
}

/** Returns when a session began, in milliseconds since 1970, or undefined if it has no transcript file yet. */
function beginningOf(transcriptPath: string | undefined): number | undefined {
  const born = transcriptPath && statSync(transcriptPath, { throwIfNoEntry: false })?.birthtimeMs;
  return born || undefined;
}
