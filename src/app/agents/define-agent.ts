import { describeError, UserError } from "../../lib/index.ts";
import type { AgentDefinition } from "../../protocol/index.ts";
import type { AgentCallback, AgentEnvironment, AgentOptions, AgentPrompt } from "./agent-options.ts";
import { checkAgentOptions } from "./check-agent-options.ts";

/**
 * Defines an agent with type-checked fields. The agent's name is its key in `agents`.
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
  checkAgentOptions(options);
  return options;
}

export interface AgentFunctions {
  readonly prompt?: AgentPrompt | undefined;
  readonly callback?: AgentCallback | undefined;
}

export interface SplitAgents {
  /** Definitions as plain data, from which the functions have been removed. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Functions, keyed by agent name. */
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
 * Returns the functions that the embedding program passed for an agent. Returns none if the definition has another
 * source, such as a file that defines an agent with the same name.
 */
export function functionsFor(definition: AgentDefinition | undefined, { functions }: SplitAgents): AgentFunctions {
  if (definition?.source !== "flag") return {};
  return functions.get(definition.name) ?? {};
}

/** Calls a prompt function. Throws a `UserError` if the function fails or does not return a string. */
export function writePrompt(name: string, prompt: AgentPrompt, environment: AgentEnvironment): string {
  const failed = (message: string, fix?: string): UserError =>
    new UserError(`The prompt of agent "${name}" ${message}`, { code: "agents", fix, exitCode: 2 });
  let text: unknown;
  try {
    text = prompt(environment);
  } catch (error) {
    throw failed(`could not be created: ${describeError(error)}`);
  }
  if (typeof text === "string") return text;
  throw failed("is not a string", "The function must return a string; it can't be asynchronous.");
}
