import type {
  AgentId,
  AgentSettings,
  Approval,
  HookEntry,
  KeptWorktree,
  McpServerUse,
  MemoryRequest,
  OpenedMemory,
  ProjectSettings,
  ProjectSnapshot,
  SandboxMode,
  SandboxSettings,
  SessionId,
  Settings,
  ToolTimeouts,
} from "../protocol/index.ts";
import type { EnvironmentFacts } from "./environment.ts";
import type { ResultStore, ToolExecutor } from "./executor.ts";
import type { McpServerOffers } from "./mcp.ts";

/**
 * Gives access to the machine where the code is: a directory, its files and the processes that run in it. Sessions reach
 * the workspace only through this port. It takes and returns plain data, so that a worker can run on another machine.
 */
export interface WorkerPort {
  describe(): WorkerFacts;
  /** Reads the files that a session depends on: agents, skills, instructions, plugins and trust. */
  snapshot(request: SnapshotRequest): Promise<SnapshotAnswer>;
  /** Reads the workspace's settings. Reports invalid files in `problems`. */
  settings(request: SettingsRequest): Promise<ProjectSettings>;
  /** Finds an agent's memory and reads its index. Called for every run, because agents change their memory. */
  openMemory(request: MemoryRequest): Promise<OpenedMemory>;
  /** Ends processes that an earlier process of a session left behind when it was killed. */
  sweep(sessionId: SessionId): Promise<void>;
  open(options: WorkerSessionOptions): Promise<WorkerSession>;
}

/**
 * A change in the connection to a remote worker. `connected`: it connected for the first time, or reconnected in time.
 * `reconnecting`: the connection broke, and the worker may still return in time. `lost`: the worker did not return in
 * time, was stopped or was restarted; its sessions can no longer be used. `returned`: it connected again after it was
 * lost, so that sessions can be opened again.
 */
export type WorkerChange = "connected" | "reconnecting" | "lost" | "returned";

export interface WorkerFacts {
  /** Real path of the workspace. */
  readonly root: string;
  /** Operating system, such as `linux`. */
  readonly platform: string;
  /** The user's home directory. */
  readonly userHome: string;
  /** State directory, with the user's settings, trust, plugins and memories. */
  readonly stateDirectory: string;
  /** Directory with Retinue's documentation. */
  readonly docsDirectory: string;
}

export interface SnapshotRequest {
  /** Hash of the snapshot that the session has. If it is still current, no snapshot is returned. */
  readonly known?: string | undefined;
  /**
   * Whether the project's files are used in addition to the user's own. If absent, files are only read if `required` is
   * true, and plugins add no hooks and no MCP servers.
   */
  readonly trusted?: boolean | undefined;
  /**
   * Whether the current content of the workspace is approved, even if the user has not trusted it. If absent, the
   * content is approved if `trusted` is true and the user has not trusted the workspace.
   */
  readonly trust?: boolean | undefined;
  /**
   * Hooks and MCP servers in agent files that `trust` approves; if absent, all that the workspace contains now. A
   * session that reads the files again passes the approvals that it began with, because agents may have changed the
   * files.
   */
  readonly approvals?: readonly Approval[] | undefined;
  /** Agents that the program defines, keyed by name. Their functions (`prompt`, `callback`) have been removed. */
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
  /** Agents from settings; read from the settings files if absent. */
  readonly settings?: Pick<AgentSettings, "definitions" | "directories"> | undefined;
  /** True if the session needs agents from files, whether or not it trusts the project. */
  readonly required: boolean;
  /** Directories that agents may use in addition to the workspace. */
  readonly additionalDirectories?: readonly string[] | undefined;
}

export type SnapshotAnswer =
  | { readonly changed: true; readonly snapshot: ProjectSnapshot }
  /** The snapshot that the session has is current. */
  | { readonly changed: false };

export interface SettingsRequest {
  /** Trusts the workspace even if the user has not trusted it. */
  readonly trust: boolean;
  /** Path of the file that replaces the user's settings file in the state directory. */
  readonly file?: string | undefined;
  /** Settings from the command line or the program. They override every file except managed ones. */
  readonly flags?: Settings | undefined;
}

export interface WorkerSessionOptions {
  readonly sessionId: SessionId;
  /** Directory for the session's temporary files. If absent, the worker uses a temporary directory. */
  readonly directory?: string | undefined;
  /** Start of the session in milliseconds since 1970. */
  readonly since: number;
  readonly sandbox: SandboxSettings & { readonly mode: SandboxMode };
  /** Environment variables to pass to commands in addition to those that are always passed, such as `PATH`. */
  readonly passedVariables: readonly string[];
  /** Variables that settings on the worker's machine define, in addition to those of the worker's process. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  readonly timeouts?: ToolTimeouts | undefined;
  /** Whether the user trusts the workspace, so that git may read its configuration. */
  readonly trusted: boolean;
  /** Stores complete outputs with the session, so that the session can read them later. */
  readonly results: ResultStore;
  /** Receives messages for the user. */
  readonly report: (message: string) => void;
}

/** The part of a session that runs on the worker's machine. */
export interface WorkerSession {
  /** Directories outside the workspace that agents may read, such as the one for commands' temporary files. */
  readonly readableRoots: readonly string[];
  readonly environment: EnvironmentFacts;
  /** Returns the executor for the worker's tools in a directory: the workspace or a worktree. */
  executor(root: string): ToolExecutor;
  /** Runs a hook's command within its time limit. Never rejects. */
  runHook(hook: HookInvocation, signal: AbortSignal): Promise<HookRun>;
  /** Connects an agent to servers that run as processes. Never rejects. */
  connectServers(request: ServersRequest, signal: AbortSignal): Promise<McpOffer>;
  /** Returns the executor for the tools that connected servers offer. */
  serverExecutor(connectionId: string): ToolExecutor;
  /** Releases servers. A server that no other agent uses is stopped with all its processes. */
  releaseServers(connectionId: string): Promise<void>;
  /** Opens an agent's worktree. Creates the worktree if it does not exist. */
  openWorktree(request: AgentWorktreeRequest): Promise<OpenedWorktree>;
  /**
   * Removes an agent's worktree if it has no changes. Returns the worktree if it is kept. Call this after everything
   * that runs in the worktree has ended. Never rejects.
   */
  leaveWorktree(agentId: AgentId): Promise<KeptWorktree | undefined>;
  /** Adds an allow rule to the workspace's settings. Returns a message for the user. Never rejects. */
  keepRule(rule: string): Promise<string>;
  /**
   * Restores the earlier content of a file in the workspace, unless someone else has changed the file. Never rejects.
   */
  restoreFile(request: FileRestoration): Promise<RestoredFile>;
  /** Ends everything that runs for the session. Executors must be closed first. */
  close(options?: ClosingOptions): Promise<void>;
}

export interface FileRestoration {
  /** Real path of the file. */
  readonly path: string;
  /** Earlier content in base64. Null if there was no file. */
  readonly content: string | null;
  /** SHA-256 of the content that the file must have now. Null if there must be no file. */
  readonly expect: string | null;
}

/** `message` explains why the file was not restored. */
export type RestoredFile = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** One run of a hook's command. */
export interface HookInvocation extends Pick<HookEntry, "command" | "args"> {
  readonly agentId: AgentId;
  /** Directory of the plugin that the hook belongs to. */
  readonly pluginRoot?: string | undefined;
  readonly stdin: string;
  readonly seconds: number;
}

/** Result of running a hook's command. */
export type HookRun =
  | { readonly ended: true; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** The command could not be started, was aborted, timed out or wrote too much. */
  | { readonly ended: false; readonly failure: string };

export interface ServersRequest {
  /** Servers to connect, each with its configuration. */
  readonly uses: readonly McpServerUse[];
  /**
   * Names of all of the agent's servers, including those that run elsewhere. Tool names must differ between servers.
   */
  readonly names: readonly string[];
  readonly owner: AgentId;
  /** Directory in which the servers start. Servers that start outside the workspace are not shared between agents. */
  readonly root: string;
}

/** Tools and instructions that an agent gets from servers that run as processes. */
export interface McpOffer extends McpServerOffers {
  readonly connectionId: string;
}

export interface AgentWorktreeRequest {
  readonly agentId: AgentId;
  /** Directory that the agent would work in without a worktree. */
  readonly cwd: string;
  /** Whether the worktree is a scratch copy, which includes uncommitted changes. */
  readonly scratch: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export type OpenedWorktree =
  | {
      readonly ok: true;
      /** Directory in which the agent works. */
      readonly root: string;
      /** Top directory of the worktree. */
      readonly top: string;
      /** Whether commands in a scratch copy run in the sandbox. */
      readonly sandboxed: boolean;
    }
  | { readonly ok: false; readonly message: string };

export interface ClosingOptions {
  /**
   * Whether to keep calls for the next process that opens the session. If true, results are kept, and calls that an
   * earlier process started continue to run. If false, which is the default, all running calls are ended and results are
   * discarded.
   */
  readonly keepsCalls?: boolean | undefined;
}
