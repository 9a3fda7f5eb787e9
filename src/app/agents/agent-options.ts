import type { PromptEnvironment } from "../../definitions/index.ts";
import type { AgentDefinition, Effect, JsonObject, RunResult, ToolText } from "../../protocol/index.ts";

/** Values that a prompt function may use. They contain no dates or ids, so that providers can cache the prompt. */
export interface AgentEnvironment extends PromptEnvironment {
  /** Real path of the workspace. */
  readonly cwd: string;
  /** Node's name for the platform, such as `linux` or `darwin`. */
  readonly platform: string;
}

/** Returns an agent's prompt for the environment in which it works. */
export type AgentPrompt = (environment: AgentEnvironment) => string;
/** Called after each run of an agent, with its result. */
export type AgentCallback = (result: RunResult) => void | Promise<void>;

/** A hook command in an agent's definition. */
export interface HookOptions {
  /** Tools to match, such as `Bash` or `Edit|Write`; all tools if absent. */
  readonly matcher?: string | undefined;
  readonly command: string;
  /** Timeout in seconds. */
  readonly timeout?: number | undefined;
}

type SameInFiles =
  | "model"
  | "effort"
  | "permissionMode"
  | "maxTurns"
  | "contextTokens"
  | "budget"
  | "acceptance"
  | "outputSchema"
  | "color"
  | "background"
  | "memory"
  | "skills"
  | "isolation"
  | "omitProjectContext"
  | "forkContext"
  | "criticalReminder"
  | "initialPrompt"
  | "hidden";

/** The fields of an agent file, and two functions that files can't contain. The agent's name is its key in `agents`. */
export interface AgentOptions extends Pick<AgentDefinition, "description" | SameInFiles> {
  readonly prompt: string | AgentPrompt;
  /**
   * Tools that the agent has, optionally with a limit, as in `Bash(git diff *)`. If absent, it has all of its parent's
   * tools.
   */
  readonly tools?: readonly ToolText[] | undefined;
  /** Tools to remove, or with a specifier, calls to deny. */
  readonly disallowedTools?: readonly ToolText[] | undefined;
  /** Tools that the agent requires. The agent can't be started without them. */
  readonly requiredTools?: readonly ToolText[] | undefined;
  /** Called after each run. If it throws, the run gets a notice, but its result does not change. */
  readonly callback?: AgentCallback | undefined;
  /** Timeout in seconds, or as a duration such as `5m`. */
  readonly timeout?: number | string | undefined;
  /** One effect for all tools, or an object with an effect for each tool or for each pattern of a tool. */
  readonly permission?: Effect | Readonly<Record<string, Effect | Readonly<Record<string, Effect>>>> | undefined;
  /** Names of configured servers, or servers with their own configuration. */
  readonly mcpServers?: readonly (string | Readonly<Record<string, JsonObject>>)[] | undefined;
  readonly hooks?: AgentHooks | undefined;
}

/** Hook commands of an agent, keyed by event. */
export type AgentHooks = {
  readonly [Event in "PreToolUse" | "PostToolUse" | "Stop" | "SubagentStop"]?: readonly HookOptions[] | undefined;
};
