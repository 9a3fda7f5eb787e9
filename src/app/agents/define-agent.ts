import type { PromptEnvironment } from "../../definitions/index.ts";
import { UserError } from "../../lib/index.ts";
import type { AgentDefinition, Effect, JsonObject, RunResult } from "../../protocol/index.ts";

/** What a prompt may depend on. No dates and no ids: the same place gives the same words, which providers can cache. */
export interface AgentEnvironment extends PromptEnvironment {
  /** The workspace, a real path. */
  readonly cwd: string;
  /** As Node names it: `linux`, `darwin`. */
  readonly platform: string;
}

export type AgentPrompt = (environment: AgentEnvironment) => string;
export type AgentCallback = (result: RunResult) => void | Promise<void>;

export interface HookOptions {
  /** Which tools, `Bash` or `Edit|Write`; absent: all. */
  readonly matcher?: string;
  readonly command: string;
  /** Seconds. */
  readonly timeout?: number;
}

type SameInFiles =
  | "tools"
  | "disallowedTools"
  | "requiredTools"
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

/** The fields of an agent's file, and two functions no file can have. Its name is the key it is given under. */
export interface AgentOptions extends Pick<AgentDefinition, "description" | SameInFiles> {
  readonly prompt: string | AgentPrompt;
  /** After each run of it, however that ended. What it throws becomes a notice of the run and changes nothing. */
  readonly callback?: AgentCallback;
  /** Seconds, or a time such as `5m`. */
  readonly timeout?: number | string;
  /** For every tool, or by tool, or by tool and pattern. */
  readonly permission?: Effect | Readonly<Record<string, Effect | Readonly<Record<string, Effect>>>>;
  /** Names of configured servers, or servers with a configuration of their own. */
  readonly mcpServers?: readonly (string | Readonly<Record<string, JsonObject>>)[];
  readonly hooks?: Readonly<Partial<Record<"PreToolUse" | "PostToolUse" | "Stop", readonly HookOptions[]>>>;
}

/** An agent for `openSession({ agents: { name: defineAgent({...}) } })`, checked by the compiler. */
export function defineAgent(options: AgentOptions): AgentOptions {
  return options;
}

export interface AgentFunctions {
  readonly prompt?: AgentPrompt;
  readonly callback?: AgentCallback;
}

export interface SplitAgents {
  /** What the reader of the JSON form understands. */
  readonly data: Readonly<Record<string, unknown>>;
  /** By name. */
  readonly functions: ReadonlyMap<string, AgentFunctions>;
}

/** Data goes the way of every definition; functions travel beside it and come back by the name. */
export function splitAgents(agents: Readonly<Record<string, unknown>>): SplitAgents {
  const functions = new Map<string, AgentFunctions>();
  const data = Object.entries(agents).map(([key, value]): [string, unknown] => {
    const own = functionsOf(value);
    if (Object.keys(own).length === 0) return [key, value];
    const name = key.trim();
    functions.set(name, own);
    const fields = Object.entries(value as object).filter(([field]) => !Object.hasOwn(own, field));
    return [key, { ...Object.fromEntries(fields), name, ...(own.prompt === undefined ? {} : { prompt: "" }) }];
  });
  return { data: Object.fromEntries(data), functions };
}

function functionsOf(value: unknown): AgentFunctions {
  if (typeof value !== "object" || value === null) return {};
  const { prompt, callback } = value as { readonly prompt?: unknown; readonly callback?: unknown };
  return {
    ...(typeof prompt === "function" ? { prompt: prompt as AgentPrompt } : {}),
    ...(typeof callback === "function" ? { callback: callback as AgentCallback } : {}),
  };
}

/** The functions of an agent that was found, if it is the one the program gave and none that took its name. */
export function functionsFor(definition: AgentDefinition | undefined, { functions }: SplitAgents): AgentFunctions {
  if (definition?.source !== "flag") return {};
  return functions.get(definition.name) ?? {};
}

/** Throws a `UserError` where a function gives no text. What it throws itself is the program's own and passes through. */
export function writePrompt(name: string, prompt: AgentPrompt, environment: AgentEnvironment): string {
  const text: unknown = prompt(environment);
  if (typeof text === "string") return text;
  const cure = "Let the function return a string at once; it can't be asynchronous.";
  throw new UserError(`The prompt of agent "${name}" is no text`, { code: "agents", cure, exitCode: 2 });
}
