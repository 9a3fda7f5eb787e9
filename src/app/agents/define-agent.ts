import type { PromptEnvironment } from "../../definitions/index.ts";
import { UserError } from "../../lib/index.ts";
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
  readonly matcher?: string;
  readonly command: string;
  /** Timeout in seconds. */
  readonly timeout?: number;
}

type SameInFiles =
  | "model"
  | "effort"
  | "permissionMode"
  | "maxTurns"
  | "contextTokens"
  | "budget"
  | "acceptance"
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
  /** Tools, or uses of tools, that the agent does not have. */
  readonly disallowedTools?: readonly ToolText[] | undefined;
  /** Tools without which the agent can't be started. */
  readonly requiredTools?: readonly ToolText[] | undefined;
  /** Called after each run. If it throws, the run gets a notice, but its result does not change. */
  readonly callback?: AgentCallback;
  /** Timeout in seconds, or as a duration such as `5m`. */
  readonly timeout?: number | string;
  /** One effect for all tools, or effects by tool, or by tool and pattern. */
  readonly permission?: Effect | Readonly<Record<string, Effect | Readonly<Record<string, Effect>>>>;
  /** Names of configured servers, or servers with their own configuration. */
  readonly mcpServers?: readonly (string | Readonly<Record<string, JsonObject>>)[];
  readonly hooks?: Readonly<
    Partial<Record<"PreToolUse" | "PostToolUse" | "Stop" | "SubagentStop", readonly HookOptions[]>>
  >;
}

/**
 * Defines an agent, so that the compiler checks its fields. Its name is its key in `agents`.
 *
 * ```ts
 * const reviewer = defineAgent({
 *   description: "Reviews changes.",
 *   prompt: "You review code. Report every bug with its file and line.",
 *   tools: ["Read", "Grep", "Bash(git diff *)"],
 * });
 * const session = await openSession({ agents: { reviewer } });
 * ```
 */
export function defineAgent(options: AgentOptions): AgentOptions {
  return options;
}

export interface AgentFunctions {
  readonly prompt?: AgentPrompt | undefined;
  readonly callback?: AgentCallback | undefined;
}

export interface SplitAgents {
  /** Definitions as JSON, without functions. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Functions, by agent name. */
  readonly functions: ReadonlyMap<string, AgentFunctions>;
}

/** Separates functions from data. The data is read like any other definition. */
export function splitAgents(agents: Readonly<Record<string, unknown>>): SplitAgents {
  const functions = new Map<string, AgentFunctions>();
  const data = Object.entries(agents).map(([key, value]): [string, unknown] => {
    const { prompt, callback } = functionsOf(value);
    if (prompt === undefined && callback === undefined) return [key, value];
    const name = key.trim();
    functions.set(name, { prompt, callback });
    const data = new Map<string, unknown>(Object.entries(value as object)).set("name", name);
    if (prompt) data.set("prompt", "");
    if (callback) data.delete("callback");
    return [key, Object.fromEntries(data)];
  });
  return { data: Object.fromEntries(data), functions };
}

function functionsOf(value: unknown): AgentFunctions {
  if (typeof value !== "object" || value === null) return {};
  const { prompt, callback } = value as { readonly prompt?: unknown; readonly callback?: unknown };
  return {
    prompt: typeof prompt === "function" ? (prompt as AgentPrompt) : undefined,
    callback: typeof callback === "function" ? (callback as AgentCallback) : undefined,
  };
}

/**
 * Returns a definition's functions if the definition comes from the embedding program, not from another source with the
 * same name.
 */
export function functionsFor(definition: AgentDefinition | undefined, { functions }: SplitAgents): AgentFunctions {
  if (definition?.source !== "flag") return {};
  return functions.get(definition.name) ?? {};
}

/**
 * Calls a prompt function. Throws a `UserError` if the function does not return a string, and rethrows the function's
 * errors.
 */
export function writePrompt(name: string, prompt: AgentPrompt, environment: AgentEnvironment): string {
  const text: unknown = prompt(environment);
  if (typeof text === "string") return text;
  const cure = "The function must return a string; it can't be asynchronous.";
  throw new UserError(`The prompt of agent "${name}" is not a string`, { code: "agents", cure, exitCode: 2 });
}
