import type { ToolSpec } from "../../ports/index.ts";
import { FORK_TYPE, type JsonObject, type JsonSchema } from "../../protocol/index.ts";
import type { ForkBounds, SpawnRequest } from "../subagents/subagent.ts";

/** Reads the input of a Task call. If forks are on, a call without a type asks for one. */
export function readRequest(input: JsonObject, mayFork: boolean): SpawnRequest {
  const { max_turns: maxTurns } = input;
  const named = (textIn(input, "subagent_type") ?? textIn(input, "agentType") ?? "").slice(0, LONGEST_NAME);
  const isFork = mayFork && (named === "" || named.toLowerCase() === FORK_TYPE);
  return {
    agentType: isFork ? FORK_TYPE : named,
    fork: isFork ? boundsIn(input) : undefined,
    description: String(input["description"]).slice(0, LONGEST_NAME),
    prompt: String(input["prompt"]),
    background: input["run_in_background"] === true,
    name: textIn(input, "name"),
    model: textIn(input, "model"),
    maxTurns: typeof maxTurns === "number" ? maxTurns : undefined,
    isolation: input["isolation"] === "worktree" ? "worktree" : undefined,
    acceptance: textIn(input, "acceptance"),
  };
}

const LONGEST_NAME = 200;

/** What a call may say about a fork alone. */
export const forkProperties: Readonly<Record<string, JsonSchema>> = {
  context_turns: { type: "integer", minimum: 1 },
  allowed_tools: { type: "array", items: { type: "string" } },
  read_only: { type: "boolean" },
};

export const forkBounds: readonly string[] = Object.keys(forkProperties);

function boundsIn(input: JsonObject): ForkBounds {
  const { context_turns: turns, allowed_tools: tools, read_only: readOnly } = input;
  return {
    turns: typeof turns === "number" ? turns : undefined,
    allowedTools: Array.isArray(tools) ? tools.map(String) : undefined,
    readOnly: readOnly === true ? true : undefined,
  };
}

/** Models write nothing in several ways: no field, null, blanks. */
export function textIn(input: JsonObject, name: string): string | undefined {
  const value = input[name];
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/**
 * Models are shown the names that are on the list, and what is taken is more: the catalog knows agents by other names
 * too, and has a better answer to one it does not know. In every request that would only cost bytes.
 */
export function takingAnyName({ declaration, ...spec }: ToolSpec): ToolSpec {
  const { inputSchema } = declaration;
  const required = inputSchema["required"] as readonly string[];
  const text = { type: "string" };
  // The last two have a meaning elsewhere and none here. Where there is no background, no is still an answer.
  const more = { subagent_type: text, agentType: text, team_name: {}, mode: {} };
  const no = { run_in_background: { enum: [false] } };
  const all = Object.entries({ ...no, ...(inputSchema["properties"] as JsonObject), ...more });
  const properties = Object.fromEntries(
    all.map(([name, schema]) => [name, required.includes(name) ? schema : { anyOf: [schema, { type: "null" }] }]),
  );
  const prompt = { type: "string", minLength: 1 };
  return {
    ...spec,
    declaration: { ...declaration, inputSchema: { ...inputSchema, properties: { ...properties, prompt } } },
  };
}
