import { isRecord } from "../../lib/index.ts";
import type { AgentId, CallId, JsonSchema, UserBlock } from "../../protocol/index.ts";
import type { Schema, SchemaValue } from "../schemas/schema.ts";

/**
 * What a tool call accesses. `none`: nothing outside the program. `unknown`: something that rules for files and domains
 * can't describe, such as a payment, so the call needs approval. Paths are relative to the agent's directory.
 */
export type ToolAccess =
  | "none"
  | "unknown"
  | {
      /** Files that the call reads. */
      readonly read?: string | readonly string[] | undefined;
      /** Files that the call creates, changes or deletes. */
      readonly write?: string | readonly string[] | undefined;
      /** URLs that the call requests. */
      readonly network?: string | readonly string[] | undefined;
    };

/** Returns whether a value is a valid `ToolAccess`. Programs without type checking may return anything. */
export function isToolAccess(value: unknown): value is ToolAccess {
  if (value === "none" || value === "unknown") return true;
  if (!isRecord(value)) return false;
  return Object.entries(value).every(([kind, places]) => {
    const isKnown = kind === "read" || kind === "write" || kind === "network";
    return isKnown && (places === undefined || [places].flat().every((place) => typeof place === "string"));
  });
}

/** Context of one tool call. */
export interface ToolCallContext {
  /** Fires when the run is stopped or the call reaches its time limit. A call that does not end soon afterwards is abandoned. */
  readonly signal: AbortSignal;
  /** The calling agent's directory: the workspace, or the agent's own worktree. */
  readonly cwd: string;
  readonly agentId: AgentId;
  readonly callId: CallId;
  /** Reports progress to be shown while the call runs. */
  progress(text: string): void;
}

/** A tool for `openSession`. Use `defineTool` to create one, so that the compiler checks its types. */
export interface CustomTool {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly inputSchema?: JsonSchema | undefined;
  readonly output?: Schema | undefined;
  readonly access?: ToolAccess | ((input: never) => ToolAccess) | undefined;
  readonly parallel?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
  run(input: never, context: ToolCallContext): unknown;
}

/** A tool that runs in the program, for `defineTool`. */
export interface ToolOptions<Input extends Schema, Output extends Schema | undefined> {
  /** Letters, digits, `_` and `-`; at most 64 characters. Rules and agents' `tools` lists use this name. */
  readonly name: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** Describes an object: a schema from zod, valibot, arktype or another Standard Schema library, or a JSON Schema. */
  readonly input: Input;
  /** JSON Schema of the input. Needed only if `input` comes from a library that can't convert it. */
  readonly inputSchema?: JsonSchema | undefined;
  /** Describes the result, which is validated. If absent, the result can be anything. */
  readonly output?: Output | undefined;
  /**
   * What a call accesses. Modes and rules for files and domains apply to it as they do to built-in tools. If absent
   * or `unknown`, a call needs approval unless a rule such as `allowedTools: ["my_tool"]` allows it.
   */
  readonly access?: ToolAccess | ((input: SchemaValue<Input>) => ToolAccess) | undefined;
  /** Whether calls can run in parallel with others. Defaults to true if `access` is `none`. */
  readonly parallel?: boolean | undefined;
  /** Time limit for a call, in seconds; defaults to 120. */
  readonly timeoutSeconds?: number | undefined;
  /**
   * Performs a call. Return text, content blocks (text and images) or any other value, which is sent to the model as
   * JSON. An exception is sent to the model as an error.
   */
  run(
    input: SchemaValue<Input>,
    context: ToolCallContext,
  ): Output extends Schema ? SchemaValue<Output> | Promise<SchemaValue<Output>> : ToolReturn | Promise<ToolReturn>;
}

/** A result for the model: text, blocks, or any value that can be converted to JSON. */
type ToolReturn = string | readonly Extract<UserBlock, { type: "text" | "image" }>[] | unknown;

/** An agent as a tool, created with `agentTool`. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** Name of the agent. */
  readonly agent: string;
}
