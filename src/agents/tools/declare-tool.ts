import type { ToolDeclaration } from "../../protocol/index.ts";

/**
 * Returns a tool as it is declared to an agent. Leaves out input properties that are useless without another tool if
 * the agent does not have that tool.
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
