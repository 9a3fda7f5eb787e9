import { realpathSync } from "node:fs";
import { describeError, homeDirectory } from "../lib/index.ts";
import { explainDenial, readsOnly } from "../permissions/index.ts";
import {
  type ExecuteRequest,
  type Judgment,
  type ResultStore,
  type Tool,
  type ToolExecutor,
  unknownTraits,
  type Workspace,
} from "../ports/index.ts";
import {
  type AgentId,
  canonicalToolName,
  type InputPath,
  type Policy,
  type ToolCall,
  textResult,
} from "../protocol/index.ts";
import { executeCall, type JudgedCalls } from "./execute-call.ts";
import { foreseeError } from "./foresee-error.ts";
import { createCommandGuard } from "./guard-commands.ts";
import { type Advised, type JudgedCall, judgeUse } from "./judge-call.ts";
import { type AbsentTool, readCall } from "./read-call.ts";

export interface ExecutorLimits {
  /** Time limit for tools that do not set one. */
  readonly timeoutMs?: number;
  /** Additional time for a tool to finish on its own after its time limit. */
  readonly graceMs?: number;
  /** Time for an aborted tool to report its progress. */
  readonly abortGraceMs?: number;
  /** Time limit for releasing an agent's resources. */
  readonly releaseMs?: number;
  /** Maximum number of characters in the text of a result for the model. */
  readonly maxCharacters?: number;
}

export interface ExecutorOptions {
  /** Tools in the order they are declared to models. */
  readonly tools: readonly Tool[];
  readonly absent?: readonly AbsentTool[] | undefined;
  /** Names of all tools, for messages about unknown tools; defaults to the tools of this executor. */
  readonly names?: readonly string[] | undefined;
  /** Absent if the tools use no files and run no commands. */
  readonly workspace?: Workspace | undefined;
  readonly results: ResultStore;
  readonly limits?: ExecutorLimits | undefined;
  /** Directory that `~/` in rules refers to. Defaults to the home directory of this process. */
  readonly home?: string | undefined;
  /** Advice that the user has already been given; shared by all executors in a session. */
  readonly advised?: Advised | undefined;
}

/** Creates an executor that runs tools in this process. */
export function createExecutor(options: ExecutorOptions): ToolExecutor {
  const { workspace = noWorkspace, results, absent = [] } = options;
  const tools = new Map(options.tools.map((tool) => [tool.declaration.name, tool]));
  const { names = [...tools.keys()] } = options;
  const declarations = options.tools.map((tool) => tool.declaration);
  const limits = { ...defaultLimits, ...options.limits };
  const place = { workspace, homes: homesOf(options.home ?? homeDirectory()), advised: options.advised };
  const judgedCalls: JudgedCalls = new WeakMap();
  const guard = createCommandGuard(place);
  const running = new Map<AgentId, Set<(reason: Error) => void>>();
  let closed = false;

  async function judge(call: ToolCall, policy: Policy, agentId?: AgentId): Promise<Judgment> {
    const known = judgedCalls.get(call)?.read;
    const read = known ?? readCall(call, { tools, absent, names, pool: policy.pool });
    if (!read.ok) return { kind: "invalid", message: read.message };
    const use = await judgeUse({ tool: read.tool, input: read.input, policy, agentId }, place);
    if (!use.ok) return { kind: "invalid", message: use.message };
    const { judged } = use;
    const { decision, accesses } = judged;
    if (decision.effect === "ask" && agentId !== undefined) {
      const message = await foreseeError({ tool: read.tool, input: read.input, policy, judged, agentId }, place);
      if (message !== undefined) return { kind: "invalid", message };
    }
    judgedCalls.set(call, { policy, read, judged });
    return {
      kind: "decided",
      decision,
      accesses,
      paths: inputPaths(judged),
      ignored: read.ignored.length === 0 ? undefined : read.ignored,
      readsOnly: readsOnly(accesses) ? true : undefined,
      denial: decision.effect === "allow" ? undefined : explainDenial(decision, call),
    };
  }

  async function execute(request: ExecuteRequest, emit: (progress: string) => void, signal: AbortSignal) {
    if (closed) return textResult("cancelled", "The call was not started because the session is ending.");
    const mine = running.get(request.agentId) ?? new Set();
    running.set(request.agentId, mine);
    try {
      return await executeCall(request, {
        tools,
        absent,
        names,
        place,
        results,
        limits,
        judgedCalls,
        guard,
        emit,
        signal,
        running: mine,
      });
    } catch (error) {
      return textResult("error", `${request.call.name} could not be run: ${describeError(error)}`);
    }
  }

  async function release(agentId: AgentId): Promise<void> {
    for (const end of [...(running.get(agentId) ?? [])]) end(new Error("The agent was released."));
    running.delete(agentId);
    await releaseAgent(agentId, options.tools, limits.releaseMs);
  }

  return {
    declarations: () => declarations,
    traits: (toolName) => tools.get(canonicalToolName(toolName))?.traits ?? unknownTraits,
    judge,
    execute,
    inherit: (agentId, from) => {
      for (const tool of options.tools) tool.inherit?.(agentId, from);
    },
    release,
    close: async () => {
      closed = true;
      await Promise.all([...running.keys()].map(release));
    },
  };
}

function inputPaths({ accesses, resolved }: JudgedCall): readonly InputPath[] {
  const paths: InputPath[] = [];
  let index = 0;
  for (const access of accesses) {
    const place = "path" in access ? resolved[index++] : undefined;
    if (place === undefined || !("path" in access) || access.property === undefined) continue;
    const { requested, absolute, real, inWorkspace } = place;
    paths.push({ property: access.property, requested, absolute, real, inWorkspace });
  }
  return paths;
}

/** Placeholder for tools that have no workspace. A tool that uses the placeholder has a bug. */
const noWorkspace = new Proxy({} as Workspace, {
  get(_, name) {
    throw new Error(`This tool has no workspace, but uses ${String(name)}.`);
  },
});

const defaultLimits: Required<ExecutorLimits> = {
  timeoutMs: 120_000,
  graceMs: 1_500,
  abortGraceMs: 250,
  releaseMs: 15_000,
  maxCharacters: 30_000,
};

function homesOf(home: string): readonly string[] {
  try {
    const real = realpathSync.native(home);
    return real === home ? [home] : [home, real];
  } catch {
    return [home];
  }
}

/** Releases the resources that tools hold for an agent. Ignores tools that fail or take too long. */
async function releaseAgent(agentId: AgentId, tools: readonly Tool[], releaseMs: number): Promise<void> {
  const releases = tools.filter(({ release }) => release).map(async (tool) => tool.release?.(agentId));
  if (releases.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, releaseMs);
  });
  await Promise.race([Promise.allSettled(releases), late]);
  clearTimeout(timer);
}
