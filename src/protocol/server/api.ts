import type { AgentDefinition, Diagnostic } from "../agents/definition.ts";
import type { ChildMetadata } from "../events/durable-event.ts";
import type { EndReason, Outcome } from "../events/outcome.ts";
import type { AgentId, SessionId } from "../ids.ts";
import type { ApprovalQuestion } from "../permissions/approval.ts";
import type { PermissionMode } from "../permissions/permission.ts";
import type { ToolReport } from "../tools/tool.ts";

/**
 * Actions that a token allows. `read`: see sessions. `prompt`: start, steer and stop sessions. `approve`: answer
 * questions and requests for approval, choose a permission mode that asks less often, and write agent files. `admin`:
 * delete sessions. `worker`: connect as a worker, and nothing else.
 */
export type Scope = "read" | "prompt" | "approve" | "admin" | "worker";

/** Body of every response with an error status (RFC 9457). */
export interface Problem {
  readonly status: number;
  /** Short name for programs, such as `unknown_session`. */
  readonly code: string;
  /** Says in one or two sentences what happened and what to do. */
  readonly detail: string;
}

/**
 * `running`: at least one agent is working. `waiting`: every agent with work to do is waiting for approval. `idle`:
 * open, with nothing to do. `parked`: continues when its worker returns or the session is resumed. `ended`: not open.
 */
export type SessionState = "running" | "waiting" | "idle" | "parked" | "ended";

/** A session in a list. */
export interface SessionInfo {
  readonly id: SessionId;
  /** Name of the worker that the session's tools run on. */
  readonly worker: string;
  /** Directory of the session on its worker. */
  readonly cwd: string;
  readonly state: SessionState;
  /** Explains why a session is parked, or describes a problem with its files. */
  readonly detail?: string | undefined;
  /**
   * Messages that were shown to the user when the session was opened, for example about the offline model or an invalid
   * rule. Absent if the server does not have the session open.
   */
  readonly notices?: readonly string[] | undefined;
  /** The most that all agents together may cost, in US dollars, if the client that started the session has set it. */
  readonly maxCost?: number | undefined;
  /**
   * Known cost of all agents, in US dollars. Absent if no price is known, or if no server has closed the session since
   * it was last used.
   */
  readonly costUsd?: number | undefined;
  /** Set if `costUsd` includes the maximum cost of requests whose responses were lost. */
  readonly isCostAtMost?: true | undefined;
  /** Set if another process has the session open. The session can be watched and steered, but not deleted. */
  readonly elsewhere?: true | undefined;
  /** Start of the first prompt. */
  readonly title?: string | undefined;
  readonly model?: string | undefined;
  /** The main agent's permission mode. Absent if the server does not have the session open. */
  readonly permissionMode?: PermissionMode | undefined;
  readonly createdAt?: number | undefined;
  readonly updatedAt: number;
  /** Outcome of the main agent's last run, if it has ended. */
  readonly outcome?: Outcome | undefined;
  readonly reason?: EndReason | undefined;
  /** Set if the last run ended because the price of its model is unknown, so a budget in dollars can't be enforced. */
  readonly unpriced?: true | undefined;
  readonly turns: number;
  /** Number of requests that are waiting for approval. */
  readonly approvals: number;
  /** Number of prompts that no agent has received yet: in the queue, or sent while the session was not running. */
  readonly waitingPrompts?: number | undefined;
}

/** Options for a new session. */
export interface NewSession {
  /** First prompt. If absent, the session waits for a message. */
  readonly prompt?: string | undefined;
  /** Name of a connected worker. By default, the server's own worker. */
  readonly worker?: string | undefined;
  /** Agent to run as the main agent. */
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  readonly maxTurns?: number | undefined;
  /** The most that all agents together may cost, in US dollars. */
  readonly maxCost?: number | undefined;
  /** The most tokens that all agents together may use. */
  readonly maxTokens?: number | undefined;
}

/** An agent in the list of a session's agents. */
export interface AgentInfo {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly name?: string | undefined;
  readonly description: string;
  /** Ids of the agents from the main agent's child down to this one. Empty for the main agent. */
  readonly path: readonly AgentId[];
  /** Absent for the main agent. */
  readonly metadata?: ChildMetadata | undefined;
}

/** A request for approval that has no answer yet. */
export interface WaitingApproval {
  readonly question: ApprovalQuestion;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
}

/** A worker that sessions can be started on. */
export interface WorkerInfo {
  readonly name: string;
  /** Directory that the worker owns. */
  readonly root: string;
  readonly platform: string;
  /** `lost`: the worker has not returned in time. Its sessions are parked until it does. */
  readonly state: "connected" | "reconnecting" | "lost";
}

/** Describes an agent that is available in a directory: its definition, tools, size and problems. */
export interface AgentReport
  extends Pick<
    AgentDefinition,
    | "name"
    | "description"
    | "source"
    | "file"
    | "plugin"
    | "model"
    | "effort"
    | "permissionMode"
    | "maxTurns"
    | "background"
    | "isolation"
    | "memory"
    | "color"
    | "skills"
    | "tools"
    | "disallowedTools"
  > {
  /** Names of the agent's MCP servers. */
  readonly mcpServers: readonly string[];
  /** Events for which the agent has hooks. */
  readonly hooks: readonly string[];
  /**
   * Permission mode that the agent gets if a main agent in the configured mode starts it. Absent if the agent can't be
   * started.
   */
  readonly mode?: PermissionMode | undefined;
  /** Built-in tools that the agent would get if the main agent started it. */
  readonly toolReport: ToolReport;
  /** Explains why the agent can't be started. */
  readonly problem?: string | undefined;
  readonly notices: readonly string[];
  /** Definitions with the same name that this one replaces. */
  readonly overrides: readonly {
    readonly source: string;
    readonly file?: string | undefined;
    readonly reason: string;
  }[];
  /** Whether the list from which a model chooses agents omits this agent. */
  readonly hidden: boolean;
  /** Explains which rule denies the use of the agent. */
  readonly denied?: string | undefined;
  /**
   * Estimated number of tokens in the agent's line in the list from which a model chooses agents, and in its prompt.
   */
  readonly tokens: { readonly listing: number; readonly prompt: number };
  readonly prompt: string;
  /** Problems found while reading and linting the definition. */
  readonly diagnostics: readonly Diagnostic[];
  /** Content of the agent's file, if the client may change the file. `hash` is the content's hash. */
  readonly text?: string | undefined;
  readonly hash?: string | undefined;
}

/** A new agent to be written to a file. */
export interface AgentDraft {
  readonly name: string;
  readonly description: string;
  /** Tools as in a definition, with optional specifiers. If absent, all tools. */
  readonly tools?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  /** System prompt. If absent, a template is used. */
  readonly prompt?: string | undefined;
}

/** Result of checking an agent file before it is written. */
export interface AgentFileCheck {
  /** Path that the file would have. */
  readonly file: string;
  readonly text: string;
  /** Whether the agent would load. */
  readonly loads: boolean;
  readonly diagnostics: readonly Diagnostic[];
  /**
   * Report on the agent that the file would define. Absent if it would not load, or if another definition overrides it.
   */
  readonly report?: AgentReport | undefined;
}

/** An agent file that was written. */
export interface WrittenAgent {
  readonly name: string;
  readonly file: string;
  /** Hash of the content. */
  readonly hash: string;
  /** False if the agent is not available, because its directory is not trusted. */
  readonly loaded: boolean;
}
