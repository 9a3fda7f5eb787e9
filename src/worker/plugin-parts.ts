import type { Plugin } from "../definitions/index.ts";
import {
  type HookEntry,
  type JsonObject,
  type JsonValue,
  type PluginHook,
  type PluginParts,
  readHookEntries,
} from "../protocol/index.ts";

/** Returns the hooks and MCP servers of plugins, with the plugins' directories in place of variables. */
export function pluginParts(plugins: readonly Plugin[]): PluginParts {
  const hooks: PluginHook[] = [];
  const notices: string[] = [];
  const mcpServers: [string, JsonObject][] = [];
  for (const plugin of plugins) {
    const { name, root } = plugin;
    const read = plugin.hooks === undefined ? { hooks: [], problems: [] } : readHookEntries(plugin.hooks);
    hooks.push(...read.hooks.map((hook) => ({ pluginRoot: root, ...withRoot(hook, root) })));
    notices.push(...read.problems.map(({ message }) => `Plugin "${name}": ${message}`));
    for (const [server, config] of Object.entries(plugin.mcpServers ?? {})) {
      if (isObject(config)) mcpServers.push([`${name}:${server}`, replaceRoot(config, root) as JsonObject]);
    }
  }
  return { hooks, notices, mcpServers: Object.fromEntries(mcpServers) };
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
