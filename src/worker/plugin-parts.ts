import { readFileSync } from "node:fs";
import type { PartSource, Plugin } from "../definitions/index.ts";
import { misspelledName } from "../lib/index.ts";
import {
  type HookEntry,
  type JsonObject,
  type JsonValue,
  type PluginHook,
  type PluginParts,
  readHookEntries,
} from "../protocol/index.ts";
import { lineOf } from "../settings/index.ts";

/** Returns the hooks and MCP servers of plugins, with the plugins' directories in place of variables. */
export function pluginParts(plugins: readonly Plugin[]): PluginParts {
  const hooks: PluginHook[] = [];
  const notices: string[] = [];
  const mcpServers: [string, JsonObject][] = [];
  const serverPlaces: [string, string][] = [];
  for (const plugin of plugins) {
    const { name, root, sources } = plugin;
    const read = plugin.hooks === undefined ? { hooks: [], problems: [] } : readHookEntries(plugin.hooks);
    const placeOfHook = placesIn(sources.hooks);
    for (const hook of read.hooks) {
      const { event, matcher, command } = hook;
      const where = placeOfHook(matcher === undefined ? [event, command] : [event, matcher]);
      hooks.push({ pluginRoot: root, ...withRoot(hook, root), where });
    }
    for (const { event, message, unknown } of read.problems) {
      const meant = unknown && misspelledName(unknown.name, unknown.valid);
      // A plugin's hooks may have keys for another program.
      if (unknown !== undefined && unknown.name !== event && meant === undefined) continue;
      const place = placeOfHook([event, unknown?.name].filter((key) => key !== undefined));
      notices.push(`${place}: Plugin "${name}": ${message}${meant === undefined ? "" : ` Did you mean "${meant}"?`}`);
    }
    const placeOfServer = placesIn(sources.mcpServers);
    for (const [server, config] of Object.entries(plugin.mcpServers ?? {})) {
      const place = placeOfServer([server]);
      if (!isObject(config)) {
        const problem = 'is not used, because its configuration is not an object such as { "command": "…" }';
        notices.push(`${place}: Plugin "${name}": The MCP server "${server}" ${problem}.`);
        continue;
      }
      mcpServers.push([`${name}:${server}`, replaceRoot(config, root) as JsonObject]);
      serverPlaces.push([`${name}:${server}`, place]);
    }
  }
  return {
    hooks,
    notices,
    mcpServers: Object.fromEntries(mcpServers),
    serverPlaces: Object.fromEntries(serverPlaces),
  };
}

/** Returns a function that finds the file and line of a key in a part of a plugin. Reads the file once. */
function placesIn(source: PartSource | undefined): (path: readonly string[]) => string {
  let text: string | undefined;
  return (path) => {
    if (source === undefined) return "";
    text ??= textOf(source.file);
    return `${source.file}:${lineOf(text, [...source.keys, ...path])}`;
  };
}

/** Returns an empty text if the file was removed after the plugin was read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/**
 * Replaces the plugin root variable in the arguments of a program. A shell expands the variable from its environment,
 * but a program that runs without a shell does not.
 */
function withRoot({ args, ...hook }: HookEntry, root: string): HookEntry {
  if (args === undefined) return hook;
  return { ...hook, command: replaceVariable(hook.command, root), args: args.map((arg) => replaceVariable(arg, root)) };
}

function replaceRoot(value: JsonValue, root: string): JsonValue {
  if (typeof value === "string") return replaceVariable(value, root);
  if (Array.isArray(value)) return value.map((each) => replaceRoot(each, root));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceRoot(each ?? null, root)]));
}

/** Replaces `${RETINUE_PLUGIN_ROOT}`, and Claude Code's name for it, with the plugin's directory. */
function replaceVariable(text: string, root: string): string {
  return text.replaceAll(/\$\{(?:CLAUDE|RETINUE)_PLUGIN_ROOT\}/g, () => root);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
