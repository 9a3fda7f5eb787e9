import { installedPlugins } from "../../definitions/index.ts";
import type { JsonObject, JsonValue } from "../../protocol/index.ts";

/** The MCP servers of the plugins that are switched on, called `plugin:server`. */
export function readPluginServers(home: string): Readonly<Record<string, JsonObject>> {
  const entries = installedPlugins(home).plugins.flatMap(({ state, plugin }) => {
    if (state !== "enabled" || plugin?.mcpServers === undefined) return [];
    const { name, root } = plugin;
    return Object.entries(plugin.mcpServers).flatMap(([server, config]): [string, JsonObject][] =>
      isObject(config) ? [[`${name}:${server}`, atRoot(config, root) as JsonObject]] : [],
    );
  });
  return Object.fromEntries(entries);
}

/** `${RETINUE_PLUGIN_ROOT}`, and what other programs call it, is where the plugin stands. */
function atRoot(value: JsonValue, root: string): JsonValue {
  if (typeof value === "string") return value.replaceAll(/\$\{(?:CLAUDE|RETINUE)_PLUGIN_ROOT\}/g, () => root);
  if (Array.isArray(value)) return value.map((each) => atRoot(each, root));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, atRoot(each ?? null, root)]));
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
