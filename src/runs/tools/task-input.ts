import type { ToolFace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Delegation } from "../delegation.ts";

/** A call in the words of the Dispatcher. */
export function readWish(input: JsonObject): Delegation {
  const { max_turns: maxTurns } = input;
  const name = textIn(input, "name");
  const model = textIn(input, "model");
  const acceptance = textIn(input, "acceptance");
  return {
    agentType: (textIn(input, "subagent_type") ?? textIn(input, "agentType") ?? "").slice(0, LONGEST_NAME),
    description: String(input["description"]).slice(0, LONGEST_NAME),
    prompt: String(input["prompt"]),
    background: input["run_in_background"] === true,
    ...(name === undefined ? {} : { name }),
    ...(model === undefined ? {} : { model }),
    ...(typeof maxTurns === "number" ? { maxTurns } : {}),
    ...(input["isolation"] === "worktree" ? { isolation: "worktree" } : {}),
    ...(acceptance === undefined ? {} : { acceptance }),
  };
}

const LONGEST_NAME = 200;

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
export function takingAnyName({ declaration, ...face }: ToolFace): ToolFace {
  const { inputSchema } = declaration;
  const required = inputSchema["required"] as readonly string[];
  const text = { type: "string" };
  // The last two have a meaning elsewhere and none here.
  const more = { subagent_type: text, agentType: text, team_name: {}, mode: {} };
  const all = Object.entries({ ...(inputSchema["properties"] as JsonObject), ...more });
  const properties = Object.fromEntries(
    all.map(([name, schema]) => [name, required.includes(name) ? schema : { anyOf: [schema, { type: "null" }] }]),
  );
  const prompt = { type: "string", minLength: 1 };
  return {
    ...face,
    declaration: { ...declaration, inputSchema: { ...inputSchema, properties: { ...properties, prompt } } },
  };
}
