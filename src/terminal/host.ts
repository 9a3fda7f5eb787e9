import type { NewCommand, ViewUpdate } from "../client/index.ts";
import type {
  AgentId,
  ApprovalQuestion,
  ContextReport,
  ImageBlock,
  Line,
  PastPrompt,
  PermissionMode,
  Receipt,
} from "../protocol/index.ts";
import type { HostCommand } from "./host-command.ts";

/** A session that the terminal uses, either in this process or on a server. */
export interface TerminalHost {
  readonly facts: SessionFacts;
  /**
   * Yields all recorded updates of the session, oldest first, then new ones, until the signal fires or the session is
   * closed.
   */
  updates(signal: AbortSignal): AsyncIterable<ViewUpdate>;
  /** Carries out a command. Never rejects. */
  send(command: NewCommand): Promise<Receipt>;
  /** Returns the whole request for approval; undefined if it is no longer waiting for an answer. Never rejects. */
  question(requestId: string): Promise<ApprovalQuestion | undefined>;
  /** Says how a request can be answered if this terminal may not answer it. Absent if it may. */
  readonly howToAnswer?: ((requestId: string) => string) | undefined;
  /**
   * Returns the unified diff of the change that a call would make; undefined if it is unknown. Absent if files are on
   * another machine. Never rejects.
   */
  readonly preview?: ((question: ApprovalQuestion) => Promise<string | undefined>) | undefined;
  /** Returns the prompts that the user can go back to, oldest first. */
  prompts(): Promise<readonly PastPrompt[]>;
  /** Reports what fills the main agent's context window; undefined if it has made no request. */
  context(): Promise<ContextReport | undefined>;
  /** Lists the models that the user can choose. Absent if they are unknown. Never rejects. */
  readonly models?: (() => Promise<readonly HostModel[]>) | undefined;
  /** Lists the permission rules in force. Absent if they are on another machine. */
  readonly rules?: (() => Promise<string>) | undefined;
  /** Slash commands, in addition to the terminal's own. */
  commands(): readonly HostCommand[];
  /** Runs the user's shell command in the session's directory. Absent if that is on another machine. */
  readonly shell?: ((command: string, signal: AbortSignal) => Promise<ShellOutput>) | undefined;
  /** Runs the `statusLine` setting's command. Absent if it is not set. Never rejects. */
  readonly statusLine?: ((facts: StatusFacts) => Promise<StatusOutput>) | undefined;
  /** Reads an image that the user mentions; undefined if there is none. Absent if files are on another machine. */
  readonly image?: ((path: string) => Promise<ImageBlock | undefined>) | undefined;
  /** Lists files for completion, as paths relative to the session's directory. Never rejects. */
  files(): Promise<readonly string[]>;
  /** Returns an agent's transcript. */
  lines(agentId: AgentId): Promise<readonly Line[]>;
  /**
   * Looks for the user's own server on this machine, on which the session could continue. Absent for a session on a
   * server. Never rejects.
   */
  readonly server?: (() => Promise<OwnServerFacts>) | undefined;
  /** Closes the session. Returns a message for the user if agents do not continue as requested. Never rejects. */
  close(how: ClosingWay): Promise<string | undefined>;
}

/**
 * `stop`: stops all agents. `park`: they continue when the session is resumed; on a server, they keep running. `serve`:
 * they continue on the user's own server.
 */
export type ClosingWay = "stop" | "park" | "serve";

export interface OwnServerFacts {
  readonly url: string;
  /** Whether the server is running and serves the session's directory. */
  readonly isRunning: boolean;
  /** Tells the user how to let agents continue without a terminal. */
  readonly advice: string;
}

export interface ShellOutput {
  /** The output, and the exit code if the command failed. The middle of a long output is left out. */
  readonly text: string;
  /** Number of lines, including those that were left out. */
  readonly lines: number;
}

/** A model that the user can choose. */
export interface HostModel {
  readonly name: string;
  /** The model's tiers and price, as short text; may be empty. */
  readonly about: string;
}

/**
 * JSON input that the `statusLine` setting's command gets on its standard input. Has the fields that scripts for Claude
 * Code read, and more.
 */
export interface StatusFacts {
  readonly session_id: string;
  readonly transcript_path?: string | undefined;
  readonly cwd: string;
  readonly model: { readonly id: string; readonly display_name: string };
  readonly workspace: { readonly current_dir: string; readonly project_dir: string };
  readonly version: string;
  readonly cost: { readonly total_cost_usd: number; readonly total_duration_ms: number };
  readonly state: string;
  readonly agents: number;
  readonly cost_usd: number;
  readonly tokens: number;
}

export interface StatusOutput {
  /** First line that the command printed; may be empty. */
  readonly line: string;
  /** Why the command failed, if it did and printed nothing. */
  readonly problem?: string | undefined;
}

/** Facts about a session that are known when it is opened. */
export interface SessionFacts {
  readonly sessionId: string;
  /** Path of the main agent's transcript, if it is on this machine. */
  readonly transcriptPath?: string | undefined;
  readonly cwd: string;
  readonly model: string;
  readonly agentType: string;
  /** The main agent's permission mode, if it is known. Otherwise, the conversation shows it. */
  readonly permissionMode?: PermissionMode | undefined;
  /** Whether the session uses the offline model. */
  readonly isOffline: boolean;
  /** Whether the session continues when the terminal is closed. */
  readonly isRemote: boolean;
  /**
   * Position of the last update from before the session was opened here, if no other process has it open. Agents that
   * had not ended by then were cut off.
   */
  readonly resumedAt?: number | undefined;
  /** Messages for the user. */
  readonly notices: readonly string[];
  /** Names of the agents that the main agent can start. */
  readonly agents: readonly string[];
}
