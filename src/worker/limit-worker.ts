import { isDeepStrictEqual } from "node:util";
import { describeError, isWithin } from "../lib/index.ts";
import { nameServers } from "../mcp/index.ts";
import type {
  ExecuteRequest,
  McpOffer,
  SnapshotRequest,
  ToolExecutor,
  WorkerPort,
  WorkerSession,
  WorkerSessionOptions,
} from "../ports/index.ts";
import type { CallId, McpServerUse, Policy, ProjectSettings, Settings, ToolCall } from "../protocol/index.ts";
import { existingPaths } from "./directories.ts";
import {
  isOwnHook,
  isOwnServer,
  limitOptions,
  type OwnRights,
  ownPolicy,
  readOwnRights,
  refreshRights,
} from "./own-rights.ts";

/**
 * Limits a worker to what the settings on its own machine allow, because a server may ask for more. The machine's deny
 * rules, sandbox and directories apply to every call; hooks and MCP servers run only if they are configured here; and
 * no server can trust the workspace or change its rules.
 */
export function limitWorker(worker: WorkerPort): WorkerPort {
  const places: Places = { skills: new Set(), memories: new Set() };

  async function limitRequest(request: SnapshotRequest): Promise<SnapshotRequest> {
    const { settings, trusted } = await worker.settings({ trust: false });
    const own = settings.permissions?.additionalDirectories ?? [];
    return {
      ...request,
      trusted: request.trusted && trusted,
      trust: false,
      approvals: undefined,
      additionalDirectories: request.additionalDirectories?.filter((each) => own.includes(each)),
    };
  }

  return {
    ...worker,
    snapshot: async (request) => {
      const answer = await worker.snapshot(await limitRequest(request));
      if (answer.changed) for (const root of answer.snapshot.skillRoots) places.skills.add(root);
      return answer;
    },
    settings: async ({ flags }) => withoutKeys(await worker.settings({ trust: false, flags })),
    openMemory: async ({ projectRoot, ...request }) => {
      const { snapshot } = await readOwnRights(worker);
      const hasMemory = snapshot.agents.some(
        ({ definition: { name, memory } }) => name === request.agent && memory === request.scope,
      );
      if (!hasMemory)
        return { ok: false, problem: `no agent "${request.agent}" on the worker's machine has such a memory` };
      const trustedRoot = request.scope === "user" ? undefined : snapshot.trustedRoot;
      if (request.scope !== "user" && (trustedRoot === undefined || projectRoot !== trustedRoot))
        return { ok: false, problem: `${projectRoot ?? "the project"} is not trusted on the worker's machine` };
      const opened = await worker.openMemory({ ...request, projectRoot: trustedRoot });
      if (opened.ok) places.memories.add(opened.directory);
      return opened;
    },
    open: async (asked) => openLimited(asked, worker, places),
  };
}

/** Directories outside the workspace that the worker's agents use. */
interface Places {
  /** Directories that skills may refer to. */
  readonly skills: Set<string>;
  readonly memories: Set<string>;
}

async function openLimited(asked: WorkerSessionOptions, worker: WorkerPort, places: Places): Promise<WorkerSession> {
  let rights = await readOwnRights(worker);
  const { root, docsDirectory } = worker.describe();
  const session = await worker.open(limitOptions(asked, rights));
  for (const each of rights.snapshot.skillRoots) places.skills.add(each);
  const worktrees = new Set<string>();
  /** MCP servers of each connection, with the prefix of each server's tool names. The key is the connection's id. */
  const connected = new Map<string, readonly { readonly use: McpServerUse; readonly prefix: string }[]>();
  const rootsNow = (): readonly string[] => [root, ...rights.snapshot.additionalDirectories, ...worktrees];

  /** Reads all files again, because they may have changed since the session began. */
  async function isAllowed(test: (own: OwnRights) => boolean): Promise<boolean> {
    rights = await readOwnRights(worker);
    return test(rights);
  }

  const isUsable = (path: string): boolean => within([path], rootsNow()).length > 0;

  /**
   * Reads the settings again before a call. Returns a reason if they forbid the call; otherwise, the policy decides.
   */
  async function whyForbidden({ name }: ToolCall, connectionId?: string): Promise<string | undefined> {
    try {
      rights = await refreshRights(rights, worker);
    } catch (error) {
      return `The settings on the worker's machine are invalid, so no call is allowed. ${describeError(error)}`;
    }
    const servers = connectionId === undefined ? [] : (connected.get(connectionId) ?? []);
    const removed = servers.find(({ use, prefix }) => name.startsWith(prefix) && !isOwnServer(use, rights));
    return removed && `The MCP server "${removed.use.name}" is no longer configured on this worker.`;
  }

  function limitPolicy(policy: Policy): Policy {
    const { permissions } = rights.loaded.settings;
    const roots = rootsNow();
    const memories = [...places.memories];
    const readable = [...session.readableRoots, ...places.skills, ...memories, docsDirectory];
    const own = ownPolicy(rights, { roots, readable, memories });
    const isBypass = policy.mode === "bypassPermissions" && permissions?.disableBypassPermissionsMode === "disable";
    return {
      ...policy,
      mode: isBypass ? "default" : policy.mode,
      workspaceRoots: within(policy.workspaceRoots, own.workspaceRoots),
      readableRoots: within(policy.readableRoots, [...own.workspaceRoots, ...readable]),
      limits: { ...own, pool: policy.pool },
    };
  }

  return {
    ...session,
    environment: {
      ...session.environment,
      git: async (directory) => (isUsable(directory) ? session.environment.git(directory) : undefined),
    },
    executor: (directory) => {
      if (!isUsable(directory)) throw notUsable(directory);
      return limitExecutor(session.executor(directory), { limitPolicy, whyForbidden });
    },
    serverExecutor: (connectionId) =>
      limitExecutor(session.serverExecutor(connectionId), {
        limitPolicy,
        whyForbidden: (call) => whyForbidden(call, connectionId),
      }),
    runHook: async (hook, signal) => {
      if (await isAllowed((own) => isOwnHook(hook, own))) return session.runHook(hook, signal);
      return { ended: false, failure: `\`${hook.command}\` is not a hook in this worker's settings.` };
    },
    connectServers: async (request, signal): Promise<McpOffer> => {
      if (!isUsable(request.root)) throw notUsable(request.root);
      const allowed = await Promise.all(request.uses.map((use) => isAllowed((own) => isOwnServer(use, own))));
      const uses = request.uses.filter((_, index) => allowed[index]);
      const refused = request.uses.filter((_, index) => !allowed[index]);
      const offer = await session.connectServers({ ...request, uses }, signal);
      const names = nameServers(request.names);
      const prefixed = uses.map((use) => ({ use, prefix: `mcp__${names.get(use.name) ?? use.name}__` }));
      connected.set(offer.connectionId, prefixed);
      return {
        ...offer,
        servers: [...offer.servers, ...refused.map(({ name }) => ({ name, status: "failed" as const }))],
        problems: [
          ...offer.problems,
          ...refused.map(({ name }) => `The MCP server "${name}" is not configured on this worker.`),
        ],
      };
    },
    openWorktree: async (request) => {
      if (!isUsable(request.cwd)) throw notUsable(request.cwd);
      const opened = await session.openWorktree(checkAgent(request));
      if (opened.ok) worktrees.add(opened.top);
      return opened;
    },
    leaveWorktree: async (agentId) => session.leaveWorktree(checkAgent({ agentId }).agentId),
    restoreFile: async (request) => {
      const input = { file_path: request.path, content: "" };
      const call = { callId: "restore", name: "Write", inputJson: JSON.stringify(input) };
      const own = limitPolicy({ ...editing, workspaceRoots: [root] });
      const executor = session.executor(root);
      const judged = await executor.judge(call, own).finally(() => executor.close());
      if (judged.kind === "decided" && judged.decision.effect === "allow") return session.restoreFile(request);
      return { ok: false, message: "the settings on the worker's machine do not allow it" };
    },
    keepRule: async (rule) =>
      `${rule} applies in this session only. To keep it, add it to \`permissions.allow\` in the settings on the worker's machine.`,
  };
}

/** Policy for restoring files, before the worker's limits are applied. */
const editing: Policy = {
  mode: "acceptEdits",
  pool: ["Write"],
  rules: [],
  workspaceRoots: [],
  readableRoots: [],
};

interface Limits {
  readonly limitPolicy: (policy: Policy) => Policy;
  readonly whyForbidden: (call: ToolCall) => Promise<string | undefined>;
}

/** A call that was just allowed. */
interface AllowedCall {
  readonly call: ToolCall;
  /** Policy that the server sent. */
  readonly policy: Policy;
  readonly limited: Policy;
  readonly at: number;
}

/** Time in milliseconds for which the decision about a call, and the settings that were read for it, stay valid. */
const FRESH_MS = 20;

function limitExecutor(executor: ToolExecutor, { limitPolicy, whyForbidden }: Limits): ToolExecutor {
  const allowed = new Map<CallId, AllowedCall>();

  /** Remembers a call that was allowed, and forgets those that are too old to matter. */
  function remember(given: AllowedCall): void {
    for (const [callId, { at }] of allowed) {
      if (given.at - at <= FRESH_MS) break;
      allowed.delete(callId);
    }
    allowed.set(given.call.callId, given);
  }

  /** Returns the record of this call if it was just allowed under the same policy, and forgets the record. */
  function takeAllowed({ call, policy }: ExecuteRequest): AllowedCall | undefined {
    const known = allowed.get(call.callId);
    allowed.delete(call.callId);
    const isFresh = known !== undefined && performance.now() - known.at <= FRESH_MS;
    return isFresh && isDeepStrictEqual([known.call, known.policy], [call, policy]) ? known : undefined;
  }

  return {
    ...executor,
    judge: async (call, policy, agentId) => {
      const message = await whyForbidden(call);
      if (message !== undefined) return { kind: "invalid", message };
      const at = performance.now();
      const limited = limitPolicy(policy);
      const judgment = await executor.judge(call, limited, agentId);
      if (judgment.kind === "decided" && judgment.decision.effect === "allow") remember({ call, policy, limited, at });
      return judgment;
    },
    execute: async (request, emit, signal) => {
      // The executor recognizes a call and a policy that it has already judged, and does not judge them again.
      const known = takeAllowed(request);
      if (known) return executor.execute({ ...request, call: known.call, policy: known.limited }, emit, signal);
      const text = await whyForbidden(request.call);
      if (text !== undefined) return { outcome: "denied", content: [{ type: "text", text }] };
      return executor.execute({ ...request, policy: limitPolicy(request.policy) }, emit, signal);
    },
  };
}

/** Settings about models and keys, which a server does not need and must not see. */
const keptSettings: ReadonlySet<string> = new Set<keyof Settings>(["provider", "providers", "model", "search", "env"]);

function withoutKeys(loaded: ProjectSettings): ProjectSettings {
  const settings = Object.entries(loaded.settings).filter(([key]) => !keptSettings.has(key));
  const origins = loaded.origins.filter(({ path }) => !keptSettings.has(path.split(".")[0] ?? ""));
  return { ...loaded, settings: Object.fromEntries(settings), origins };
}

/** Returns the paths that are within the roots. Directories for temporary files may not exist yet. */
function within(paths: readonly string[], roots: readonly string[]): readonly string[] {
  const isInside = (path: string): boolean =>
    existingPaths([path]).some((real) => roots.some((root) => isWithin(real, root)));
  return paths.filter((path) => roots.includes(path) || isInside(path));
}

/** Agent ids become parts of paths. */
function checkAgent<Request extends { readonly agentId: string }>(request: Request): Request {
  if (!/^[\w-]+$/.test(request.agentId)) throw new Error(`"${request.agentId}" is not a valid agent id.`);
  return request;
}

function notUsable(directory: string): Error {
  return new Error(
    `${directory} is not one of this worker's directories. Add it to \`permissions.additionalDirectories\` in the settings on the worker's machine.`,
  );
}
