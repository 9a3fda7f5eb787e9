import { statSync } from "node:fs";
import { combineExecutors, createExecutor } from "../../executor/index.ts";
import type { McpConnection, Skills, ToolExecutor, ToolSpec, WorkerPort, WorkerSession } from "../../ports/index.ts";
import {
  createAgentTool,
  createSkillRunner,
  type Dispatcher,
  delegationTools,
  NO_ONE_TO_ASK,
} from "../../runs/index.ts";
import { createServerTools, createTextTools, searchEngineFor, toolOrder } from "../../tools/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import { passedVariables, sandboxSettings } from "../../worker/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import type { ChosenModel } from "../settings/choose-model.ts";
import { createCustomTool } from "../tools/custom-tool.ts";
import type { AgentTool, CustomTool } from "../tools/tool-types.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";
import { addressesOfFiles, createSessionTexts } from "./session-texts.ts";

export interface SessionToolsOptions {
  readonly context: SessionContext;
  readonly transcript: Transcript;
  readonly chosen: ChosenModel;
  /** Skills that the model can load; absent if there are none. */
  readonly skills?: Skills | undefined;
  /** Tools for delegation, planning and asking the user. */
  readonly delegation: readonly ToolSpec[];
  readonly dispatcher: Dispatcher;
  /** Tools that the program defines. */
  readonly custom: readonly (CustomTool | AgentTool)[];
  /** The main agent's MCP servers. Their tools are declared after all other tools. */
  readonly connection: McpConnection;
  readonly worker: WorkerSession;
}

export interface SessionTools {
  readonly executor: ToolExecutor;
  /** Creates an executor for the same tools in another directory. */
  executorAt(root: string): ToolExecutor;
  /** Built-in tools that this session does not have, with the reasons. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
  /** Messages for the user about tools that the settings configure but that are not available. */
  readonly notices: readonly string[];
}

/** Creates a session's tools. Those that need no workspace run here, all others on the worker. */
export function createSessionTools(options: SessionToolsOptions): SessionTools {
  const { context, transcript, chosen, skills, connection, worker, dispatcher } = options;
  const { settings, environment } = context;
  const choice = searchEngineFor(settings.search, environment, { anthropic: chosen.search });
  const whyNoSearch = "absent" in choice ? [choice.absent] : [];
  const canAsk = options.delegation.some(({ declaration }) => declaration.name === "AskUserQuestion");
  const absent = [
    ...whyNoSearch.map((reason) => ({ name: "WebSearch", reason })),
    ...(canAsk ? [] : [{ name: "AskUserQuestion", reason: NO_ONE_TO_ASK }]),
  ];
  const builtIn = createServerTools({
    search: "engine" in choice ? choice.engine : undefined,
    skills,
    skillRunner: createSkillRunner(dispatcher),
  });
  const delegation = delegationTools(dispatcher, options.delegation);
  const agentTools = options.custom.flatMap((tool) => ("agent" in tool ? [createAgentTool(dispatcher, tool)] : []));
  const order = [
    ...toolOrder,
    ...delegation.map(({ declaration }) => declaration.name),
    ...options.custom.map(({ name }) => name),
    ...connection.tools.map(({ declaration }) => declaration.name),
  ];
  const { results } = transcript;
  const server = createExecutor({ tools: [...builtIn, ...delegation, ...agentTools], absent, names: order, results });
  const own = new Set(server.declarations().map(({ name }) => name));
  const texts = createTextExecutor(options);
  const addresses = { executor: texts, addressOf: addressesOfFiles(transcript.path) };
  const executorAt = (root: string): ToolExecutor => {
    const tools = worker.executor(root);
    // A worker's program may be another one, and must not take the place of the session's own tools.
    const onWorker = { ...tools, declarations: () => tools.declarations().filter(({ name }) => !own.has(name)) };
    const executors = [server, texts, onWorker, ...createCustomExecutor(options, root)] as const;
    return connection.addTo(combineExecutors({ executors, order, addresses }));
  };
  const wantsSearch = settings.search !== undefined && settings.search.engine !== "off";
  return { executor: executorAt(context.cwd), executorAt, absent, notices: wantsSearch ? whyNoSearch : [] };
}

/**
 * Creates the executor that lets Read and Grep open addresses. It runs in the session's process, which stores the text
 * at these addresses. Its workspace is used only to start ripgrep.
 */
function createTextExecutor({ context, transcript, dispatcher }: SessionToolsOptions): ToolExecutor {
  const workspace = createLocalWorkspace({ root: "/", environment: context.environment });
  const tools = createTextTools({ texts: createSessionTexts(transcript, dispatcher), workspace });
  return createExecutor({ tools, results: transcript.results });
}

/**
 * Creates the executor for the tools that the program defines. They run in this process, and the paths that they access
 * are on this machine.
 */
function createCustomExecutor({ context, transcript, custom }: SessionToolsOptions, root: string): ToolExecutor[] {
  const tools = custom.flatMap((tool) => ("agent" in tool ? [] : [createCustomTool(tool, root)]));
  if (tools.length === 0) return [];
  const workspace = createLocalWorkspace({ root, environment: context.environment });
  return [createExecutor({ tools, workspace, results: transcript.results })];
}

interface WorkerOptions {
  readonly context: SessionContext;
  readonly transcript: Transcript;
  readonly worker: WorkerPort;
}

/** Opens the part of a session that runs on the worker. */
export function openWorker(
  { trusted, onTrouble }: SessionOptions,
  { context, transcript, worker }: WorkerOptions,
): Promise<WorkerSession> {
  const { settings } = context;
  const { sessionId, path, results } = transcript;
  return worker.open({
    sessionId,
    directory: path?.replace(/\.jsonl$/, ""),
    since: startTime(path) ?? Date.now(),
    sandbox: sandboxSettings(settings),
    passedVariables: passedVariables(settings),
    timeouts: settings.timeouts,
    trusted: trusted === true,
    results,
    report: (message) => onTrouble?.(message),
  });
}

/** Returns the time at which a session began, in milliseconds since 1970; undefined if it has no transcript file yet. */
function startTime(transcriptPath: string | undefined): number | undefined {
  const born = transcriptPath && statSync(transcriptPath, { throwIfNoEntry: false })?.birthtimeMs;
  return born || undefined;
}
