import type { ToolDeclaration } from "../../protocol/index.ts";

/**
 * Returns a tool as it is declared to an agent, without properties that require a tool that the agent does not have.
 */
export function declareTool(tool: ToolDeclaration, pool: readonly string[]): ToolDeclaration {
  const { propertyNeeds, ...declared } = tool;
  if (propertyNeeds === undefined) return tool;
  const { inputSchema } = declared;
  const properties = Object.entries((inputSchema["properties"] ?? {}) as object).filter(([name]) => {
    const needed = propertyNeeds[name];
    return needed === undefined || pool.includes(needed);
  });
  return { ...declared, inputSchema: { ...inputSchema, properties: Object.fromEntries(properties) } };
}
