import { platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openMemory } from "../definitions/index.ts";
import { createExecutor } from "../executor/index.ts";
import { homeDirectory, sweepTagged } from "../lib/index.ts";
import { createMcpServers } from "../mcp/index.ts";
import type {
  Clock,
  EnvironmentFacts,
  GitState,
  McpOffer,
  McpServers,
  RunnableMcpConnection,
  ServersRequest,
  ToolExecutor,
  WorkerPort,
  WorkerSession,
  WorkerSessionOptions,
} from "../ports/index.ts";
import { createTrustStore } from "../settings/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import {
  checkInterrupted,
  createGuardedFiles,
  createLocalWorkspace,
  createSandbox,
  type GuardedFiles,
  readGitState,
  repositoryRoot,
  type Sandbox,
  type SandboxState,
} from "../workspace/index.ts";
import { createAgentWorktrees } from "./agent-worktrees.ts";
import { docsDirectory, existingPaths, workspaceDirectory } from "./directories.ts";
import { createHookCommands } from "./hook-commands.ts";
import { keepRule } from "./project-settings.ts";
import { createProjectSnapshots } from "./project-snapshots.ts";
import { restoreFile } from "./restore-file.ts";
import { createSettingsReader } from "./settings-reader.ts";

export interface LocalWorkerOptions {
  /** Path of the workspace. */
  readonly root: string;
  /** State directory of the session, with settings and trust. */
  readonly home: string;
  /** The user's state directory (`RETINUE_HOME`), with records of protected files that all sessions share. */
  readonly state: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Version of Retinue, sent to MCP servers. */
  readonly version: string;
  /** Receives messages for the user. */
  readonly report: (message: string) => void;
}

/**
 * Creates a worker for a directory on this machine, in this process. Throws a `UserError` if the directory can't be used.
 */
export function createLocalWorker({ root: path, ...rest }: LocalWorkerOptions): WorkerPort {
  const options = { ...rest, root: workspaceDirectory(path) };
  const { root, home, environment } = options;
  const userHome = homeDirectory(environment);
  checkInterrupted(options.state, options.report);
  const readSettings = createSettingsReader({ home, cwd: root, environment });
  return {
    describe: () => ({ root, platform: platform(), userHome, stateDirectory: home, docsDirectory: docsDirectory() }),
    ...createProjectSnapshots(options),
    settings: async (request) => readSettings(request),
    openMemory: async (request) => openMemory({ ...request, stateHome: home }),
    sweep: async (sessionId) => void (await sweepTagged(sessionId)),
    open: async (session) => openLocalSession(options, session),
  };
}

function openLocalSession(options: LocalWorkerOptions, session: WorkerSessionOptions): WorkerSession {
  const environment = session.variables ? { ...options.environment, ...session.variables } : options.environment;
  const worker = { ...options, environment };
  const { root, home } = worker;
  const { sessionId, results, since, passedVariables: pass, timeouts } = session;
  const outputDirectory = session.directory ?? join(tmpdir(), `retinue-${sessionId}`);
  const sandbox = createSessionSandbox(worker, session, outputDirectory);
  const hooks = createHookCommands({ workspace: createLocalWorkspace({ root, environment }), sessionId });
  const servers = createProcessServers(worker, session);
  const worktrees = createAgentWorktrees({ sessionId, directory: session.directory, environment }, sandbox);
  const [state = home] = existingPaths([home]);
  const privateDirectory = join(state, "agent-memory");
  const advised = { sandbox: false };
  const guards = new Map<string, GuardedFiles>();
  const guardedAt = (directory: string): GuardedFiles => {
    const known = guards.get(directory) ?? createGuardedFiles(directory);
    guards.set(directory, known);
    return known;
  };
  return {
    readableRoots: [join(outputDirectory, "scratch"), join(outputDirectory, "created")],
    environment: createEnvironmentFacts({
      ...worker,
      trusted: session.trusted,
      sandbox,
      domains: session.sandbox.network?.allowedDomains ?? [],
    }),
    executor: (directory) => {
      const workspace = createLocalWorkspace({
        root: directory,
        environment,
        pass,
        sandbox,
        since,
        guarded: guardedAt(directory),
        privateDirectory,
      });
      const tools = createWorkerTools({ sessionId, workspace, results, outputDirectory, timeouts, environment });
      return createExecutor({ tools, workspace, results, advised });
    },
    runHook: hooks.run,
    ...servers,
    ...worktrees,
    keepRule: (rule) =>
      sandbox.review(({ wrote, ...files }) => {
        const noted = (path: string, content: Uint8Array | string): void => {
          wrote(path, content);
          guardedAt(root).changed(path);
        };
        return keepRule(rule, { home, cwd: root, environment, files: { ...files, wrote: noted } });
      }),
    restoreFile: (request) =>
      restoreFile(request, createLocalWorkspace({ root, environment, guarded: guardedAt(root) })),
    close: async () => {
      await hooks.close();
      await servers.close();
      await sandbox.close();
    },
  };
}

function createSessionSandbox(
  { environment, state, home }: LocalWorkerOptions,
  { directory, sandbox: settings, report }: WorkerSessionOptions,
  outputDirectory: string,
): Sandbox {
  const { mode, network = {}, filesystem = {} } = settings;
  const userHome = homeDirectory(environment);
  return createSandbox({
    mode,
    scratch: join(outputDirectory, "scratch"),
    userHome,
    writable: (filesystem.allowWrite ?? []).map((path) => path.replace(/^~(?=\/)/, userHome)),
    hidden: directory === undefined ? [] : hiddenPaths(home, directory),
    shown: [join(outputDirectory, "created")],
    state,
    domains: network.allowedDomains ?? [],
    tell: report,
  });
}

/** Returns the paths of other sessions, and of files that contain keys or tokens. */
function hiddenPaths(home: string, directory: string): readonly string[] {
  const names = ["projects", "workers", "remote", "settings.json", "server.json", "worker-token"];
  return [...new Set([dirname(dirname(directory)), ...names.map((name) => join(home, name))])];
}

interface OpenConnection {
  readonly connection: RunnableMcpConnection;
  readonly root: string;
  release(): Promise<void>;
}

type ProcessServers = Pick<WorkerSession, "connectServers" | "serverExecutor" | "releaseServers" | "close">;

/** Creates the MCP servers that run as processes. Servers in a worktree are not shared with other agents. */
function createProcessServers(worker: LocalWorkerOptions, session: WorkerSessionOptions): ProcessServers {
  const { environment, clock, version } = worker;
  const connections = new Map<string, OpenConnection>();
  const callSeconds = session.timeouts?.mcp;
  let count = 0;
  const createServersAt = (root: string): McpServers =>
    createMcpServers({
      workspace: createLocalWorkspace({ root, environment }),
      configured: {},
      environment,
      clock,
      limits: callSeconds === undefined ? {} : { callMs: callSeconds * 1_000 },
      tag: session.sessionId,
      version,
      report: session.report,
    });
  const shared = createServersAt(worker.root);

  async function connect({ uses, names, owner, root }: ServersRequest, signal: AbortSignal): Promise<McpOffer> {
    const own = root === worker.root ? undefined : createServersAt(root);
    const connection = await (own ?? shared).connect(uses, { owner, names }, signal);
    count += 1;
    const connectionId = `c${count}`;
    connections.set(connectionId, { connection, root, release: own ? () => own.close() : connection.release });
    const { servers, instructions, problems } = connection;
    const tools = connection.tools.map(({ declaration, traits }) => ({ declaration, traits }));
    return { connectionId, servers, tools, instructions, problems };
  }

  return {
    connectServers: connect,
    serverExecutor: (connectionId): ToolExecutor => {
      const open = connections.get(connectionId);
      const { connection, root } = open ?? { connection: { tools: [] }, root: worker.root };
      const workspace = createLocalWorkspace({ root, environment });
      return createExecutor({ tools: connection.tools, workspace, results: session.results });
    },
    releaseServers: async (connectionId) => {
      const open = connections.get(connectionId);
      connections.delete(connectionId);
      await open?.release();
    },
    close: () => shared.close(),
  };
}

interface EnvironmentFactsOptions {
  /** Real path of the workspace. */
  readonly root: string;
  /** State directory. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** True if the user trusts the workspace, so that git may read its configuration. */
  readonly trusted: boolean;
  readonly sandbox: Sandbox;
  /** Domains that commands in the sandbox can reach. */
  readonly domains: readonly string[];
}

/**
 * Collects the facts about the environment of a session's agents. Starts reading the state of the workspace's
 * repository at once.
 */
function createEnvironmentFacts(options: EnvironmentFactsOptions): EnvironmentFacts {
  const { root, environment, trusted, sandbox, domains } = options;
  const states = new Map<string, Promise<GitState | undefined>>();
  const git = (directory: string): Promise<GitState | undefined> => {
    const known = states.get(directory) ?? stateOf(directory);
    states.set(directory, known);
    return known;
  };
  const mayAskGit = trusted && isRepositoryTrusted(options);
  const stateOf = async (directory: string): Promise<GitState | undefined> => {
    if (repositoryRoot(directory) === undefined) return undefined;
    return mayAskGit ? readGitState(directory, environment) : {};
  };
  void git(root);
  return {
    platform: platform(),
    git,
    commands: async () => describeCommands(await sandbox.expected(), domains),
  };
}

/**
 * Trust in a directory does not extend to a repository whose root is above it. A trusted repository's worktrees are
 * also trusted.
 */
function isRepositoryTrusted({ root, home }: EnvironmentFactsOptions): boolean {
  const top = repositoryRoot(root);
  return top === undefined || top === root || createTrustStore({ stateHome: home }).coveredBy(top) !== undefined;
}

function describeCommands(state: SandboxState["kind"], domains: readonly string[]): string {
  if (state === "off") return "they run without a sandbox, with all the user's permissions.";
  if (state === "missing") return "they can't run, because settings require a sandbox and none is available.";
  const network =
    domains.length === 0
      ? "reach no network except 127.0.0.1"
      : `reach only these hosts and 127.0.0.1: ${domains.join(", ")}`;
  return `they run in a sandbox, write only to the workspace and temporary directories, and ${network}. Approval does not change this. If the sandbox prevented something, the result says so: do not repeat that command unchanged. If no other tool can do it, tell the user which command to run.`;
}
