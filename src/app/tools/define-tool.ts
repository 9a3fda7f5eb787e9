import type { Schema } from "../schemas/schema.ts";
import { checkTool } from "./check-tools.ts";
import type { AgentTool, CustomTool, ToolOptions } from "./tool-types.ts";

/**
 * Defines a tool that runs in your program. The types of the input and the result are inferred from the schemas.
 *
 * ```ts
 * const stock = defineTool({
 *   name: "stock",
 *   description: "Returns how many units of a product are in stock.",
 *   input: z.object({ product: z.string() }),
 *   access: "none",
 *   run: ({ product }) => database.count(product),
 * });
 * const session = await openSession({ tools: [stock] });
 * ```
 */
export function defineTool<const Input extends Schema, Output extends Schema | undefined = undefined>(
  options: ToolOptions<Input, Output>,
): CustomTool {
  checkTool(options, "defineTool");
  return options;
}

/**
 * Lets the model start an agent by calling a separate tool. The rules, limits and budgets for Task apply.
 *
 * ```ts
 * const review = agentTool({ name: "review", description: "Reviews a change.", agent: "reviewer" });
 * const session = await openSession({ agents: { reviewer }, tools: [review] });
 * ```
 */
export function agentTool(options: AgentTool): AgentTool {
  checkTool(options, "agentTool");
  return options;
}
