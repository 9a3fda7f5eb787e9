import { lazyExecutor, leanToolSpec } from "../../executor/index.ts";
import type { Skills, Tool, ToolExecutor, ToolSpec } from "../../ports/index.ts";
import type { Settings } from "../../protocol/index.ts";
import { searchEngineFor, toolSpecs } from "../../tools/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import type { Sandbox } from "../../workspace/index.ts";
import type { Environment } from "../places.ts";
import type { ChosenModel } from "../settings/choose-model.ts";
import type { Delegation } from "./create-tool-executor.ts";

export interface SessionToolsOptions {
  /** Absolute real path of the workspace. */
  readonly root: string;
  readonly transcript: Transcript;
  /** Where long outputs are kept whole. */
  readonly outputDirectory: string;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly chosen: ChosenModel;
  /** What the model may call for; absent where there is nothing. */
  readonly skills?: Skills | undefined;
  readonly delegation: Delegation;
  /** Those to plan with. */
  readonly planning: readonly ToolSpec[];
  /** Of MCP servers; declared behind all others. */
  readonly serverTools: readonly Tool[];
  /** Takes what a person should know at once. */
  readonly tell?: ((message: string) => void) | undefined;
}

/** The tools of a session. */
export interface SessionTools {
  readonly executor: ToolExecutor;
  /** The same tools on another directory. */
  readonly executorAt: (root: string) => Promise<ToolExecutor>;
  /** Tools that exist and are not there, and why. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
}

/** Creates the tools of a session on its workspace. Their code is loaded with the first call. */
export function createSessionTools(options: SessionToolsOptions): SessionTools {
  const { transcript, outputDirectory, settings, environment, chosen } = options;
  const { sessionId, results } = transcript;
  const skills = options.skills ? { skills: options.skills } : {};
  const choice = searchEngineFor(settings.search, environment, chosen.search ? { anthropic: chosen.search } : {});
  const search = "engine" in choice ? { search: choice.engine } : {};
  const { serverTools, planning } = options;
  const delegation = { ...options.delegation, specs: [...options.delegation.specs, ...planning] };
  const builtIn = toolSpecs({ ...search, ...skills });
  let sandbox: Sandbox | undefined;
  let since: number | undefined;
  const executorAt = async (root: string): Promise<ToolExecutor> => {
    const { beginningOf, createToolExecutor, makeSandbox } = await import("./create-tool-executor.ts");
    sandbox ??= makeSandbox(options);
    since ??= beginningOf(transcript.path) ?? Date.now();
    return createToolExecutor({
      sandbox,
      since,
      root,
      environment,
      sessionId,
      results,
      outputDirectory,
      timeouts: settings.timeouts,
      ...search,
      ...skills,
      delegation,
      serverTools,
    });
  };
  // Tools of others are shown as they are.
  const specs = [...[...builtIn, ...delegation.specs].map(leanToolSpec), ...serverTools];
  const own = lazyExecutor(specs, () => executorAt(options.root));
  const executor = { ...own, close: () => own.close().then(() => sandbox?.close()) };
  return { executor, executorAt, absent: "absent" in choice ? [{ name: "WebSearch", reason: choice.absent }] : [] };
}
