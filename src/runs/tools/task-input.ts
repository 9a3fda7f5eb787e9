import type { ToolFace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Delegation } from "../delegation.ts";

/** A call in the words of the Dispatcher. */
export function readWish(input: JsonObject): Delegation {
  const { model, max_turns: maxTurns, name, acceptance } = input;
  return {
    agentType: String(input["subagent_type"] || input["agentType"] || "").trim(),
    description: String(input["description"]).slice(0, 200),
    prompt: String(input["prompt"]),
    background: input["run_in_background"] === true,
    ...(typeof name === "string" && name !== "" ? { name } : {}),
    ...(typeof model === "string" && model !== "" ? { model } : {}),
    ...(typeof maxTurns === "number" ? { maxTurns } : {}),
    ...(input["isolation"] === "worktree" ? { isolation: "worktree" } : {}),
    ...(typeof acceptance === "string" && acceptance !== "" ? { acceptance } : {}),
  };
}

/**
 * Models are shown the names that are on the list, and what is taken is more: the catalog knows agents by other names
 * too, and has a better answer to one it does not know. In every request that would only cost bytes.
 */
export function takingAnyName({ declaration, ...face }: ToolFace): ToolFace {
  const { inputSchema } = declaration;
  const text = { type: "string" };
  const declared = inputSchema["properties"] as JsonObject;
  // The last two have a meaning elsewhere and none here.
  const properties = { ...declared, subagent_type: text, agentType: text, team_name: {}, mode: {} };
  return { ...face, declaration: { ...declaration, inputSchema: { ...inputSchema, properties } } };
}
