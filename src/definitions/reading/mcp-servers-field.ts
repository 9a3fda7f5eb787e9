import type { JsonObject, McpServerUse } from "../../protocol/index.ts";
import type { Field } from "./field.ts";
import { splitList } from "./tool-list.ts";

/** Names, `{name: config}`, or a mix in a list. Undefined: can't be read. */
export function readMcpServers({ value }: Field): readonly McpServerUse[] | undefined {
  if (typeof value === "string") return splitList(value)?.map((name) => ({ name }));
  if (Array.isArray(value)) {
    const uses = value.map((item) => (typeof item === "string" ? [{ name: item.trim() }] : fromMap(item)));
    return uses.includes(undefined) ? undefined : uses.flatMap((use) => use ?? []);
  }
  return fromMap(value);
}

function fromMap(value: unknown): McpServerUse[] | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const uses: McpServerUse[] = [];
  for (const [name, config] of Object.entries(value)) {
    if (config === null || config === true) uses.push({ name });
    else if (typeof config === "object" && !Array.isArray(config)) uses.push({ name, config: config as JsonObject });
    else return undefined;
  }
  return uses;
}
