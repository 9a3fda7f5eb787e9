import { statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createExecutor } from "../../executor/index.ts";
import type { Skills, Tool, ToolExecutor, ToolSpec } from "../../ports/index.ts";
import type { SandboxSettings, Settings } from "../../protocol/index.ts";
import { createSkillRunner, type Dispatcher, delegationTools, NO_ONE_TO_ASK } from "../../runs/index.ts";
import { createTools, searchEngineFor } from "../../tools/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import { createLocalWorkspace, createSandbox, looksSecret, type Sandbox } from "../../workspace/index.ts";
import { stateDirectory } from "../directories.ts";
import type { ChosenModel } from "../settings/choose-model.ts";
import type { SessionContext } from "./session-context.ts";

export interface SessionToolsOptions {
  readonly context: SessionContext;
  readonly transcript: Transcript;
  readonly chosen: ChosenModel;
  /** Skills that the model can load; absent if there are none. */
  readonly skills?: Skills | undefined;
  /** Tools for delegation, for planning and for asking the user. */
  readonly delegation: readonly ToolSpec[];
  readonly dispatcher: Dispatcher;
  /** Tools of MCP servers. They are declared after all other tools. */
  readonly serverTools: readonly Tool[];
  /** Sandbox for commands. It is closed together with the tools. */
  readonly sandbox: Sandbox;
}

export interface SessionTools {
  readonly executor: ToolExecutor;
  /** Creates an executor of the same tools for another directory. */
  executorAt(root: string): ToolExecutor;
  /** Built-in tools that this session does not have, with the reasons. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
  /** Messages for the user about tools that the settings configure but that are not available. */
  readonly notices: readonly string[];
  /** Directory for the complete text of long outputs and other files of the session. */
  readonly outputDirectory: string;
}

/** Creates the tools of a session. The tools for all its directories share one sandbox. */
export function createSessionTools(options: SessionToolsOptions): SessionTools {
  const { context, transcript, chosen, skills, sandbox } = options;
  const { settings, environment } = context;
  const { sessionId, results } = transcript;
  const outputDirectory = filesDirectory(transcript);
  const choice = searchEngineFor(settings.search, environment, { anthropic: chosen.search });
  const since = startTime(transcript.path) ?? Date.now();
  const whyNoSearch = "absent" in choice ? [choice.absent] : [];
  const canAsk = options.delegation.some(({ declaration }) => declaration.name === "AskUserQuestion");
  const absent = [
    ...whyNoSearch.map((reason) => ({ name: "WebSearch", reason })),
    ...(canAsk ? [] : [{ name: "AskUserQuestion", reason: NO_ONE_TO_ASK }]),
  ];

  const advised = { sandbox: false };

  function executorAt(root: string): ToolExecutor {
    const workspace = createLocalWorkspace({ root, environment, pass: passedVariables(settings), sandbox, since });
    const builtIn = createTools({
      sessionId,
      workspace,
      results,
      outputDirectory,
      search: "engine" in choice ? choice.engine : undefined,
      skills,
      skillRunner: createSkillRunner(options.dispatcher),
      timeouts: settings.timeouts,
      environment,
    });
    const delegation = delegationTools(options.dispatcher, options.delegation);
    const tools = [...builtIn, ...delegation, ...options.serverTools];
    return createExecutor({ tools, absent, workspace, results, advised });
  }

  const own = executorAt(context.cwd);
  const wantsSearch = settings.search !== undefined && settings.search.engine !== "off";
  return {
    executor: { ...own, close: () => own.close().then(() => sandbox.close()) },
    executorAt,
    absent,
    notices: wantsSearch ? whyNoSearch : [],
    outputDirectory,
  };
}

/**
 * Returns the names of variables that settings pass to commands. Variables that settings define are included unless
 * they look secret.
 */
function passedVariables({ env = {}, environment = {} }: Settings): readonly string[] {
  return [...Object.keys(env).filter((name) => !looksSecret(name)), ...(environment.pass ?? [])];
}

/** Returns the directory for a session's files, next to its transcript. */
function filesDirectory({ path, sessionId }: Transcript): string {
  return path?.replace(/\.jsonl$/, "") ?? join(tmpdir(), `retinue-${sessionId}`);
}

/** Returns when a session began, in milliseconds since 1970; undefined if it has no transcript file yet. */
function startTime(transcriptPath: string | undefined): number | undefined {
  const born = transcriptPath && statSync(transcriptPath, { throwIfNoEntry: false })?.birthtimeMs;
  return born || undefined;
}

/** Creates the sandbox of a session. `notify` receives messages for the user. */
export function createSessionSandbox(
  context: SessionContext,
  transcript: Transcript,
  notify: (message: string) => void = () => undefined,
): Sandbox {
  const outputDirectory = filesDirectory(transcript);
  const { mode, network = {}, filesystem = {} } = sandboxSettings(context.settings);
  const userHome = context.environment["HOME"] || homedir();
  const projects = transcript.path === undefined ? undefined : dirname(dirname(transcript.path));
  return createSandbox({
    mode,
    scratch: join(outputDirectory, "scratch"),
    userHome,
    writable: (filesystem.allowWrite ?? []).map((path) => path.replace(/^~(?=\/)/, userHome)),
    // Hides other sessions, and settings that may contain keys.
    hidden: projects === undefined ? [] : [projects, join(dirname(projects), "settings.json")],
    shown: [outputDirectory],
    state: stateDirectory(context.environment),
    domains: network.allowedDomains ?? [],
    tell: notify,
  });
}

export function sandboxSettings({
  sandbox = "auto",
}: Settings): SandboxSettings & Required<Pick<SandboxSettings, "mode">> {
  return typeof sandbox === "string" ? { mode: sandbox } : { mode: "auto", ...sandbox };
}
