import { installedPlugins, type Plugin } from "../../definitions/index.ts";
import type { CommandHook } from "../../hooks/index.ts";
import { type HookEntry, type JsonObject, type JsonValue, readHookEntries } from "../../protocol/index.ts";

export interface PluginHooks {
  readonly hooks: readonly CommandHook[];
  /** Messages about hooks that are not run. */
  readonly notices: readonly string[];
}

/** Returns the hooks of the enabled plugins. */
export function readPluginHooks(home: string): PluginHooks {
  const read = enabledPlugins(home).flatMap(({ name, root, hooks: entries }) => {
    if (entries === undefined) return [];
    const { hooks, problems } = readHookEntries(entries);
    return {
      hooks: hooks.map(
        (hook): CommandHook => ({ kind: "command", source: "plugin", pluginRoot: root, ...withRoot(hook, root) }),
      ),
      notices: problems.map(({ message }) => `Plugin "${name}": ${message}`),
    };
  });
  return { hooks: read.flatMap(({ hooks }) => hooks), notices: read.flatMap(({ notices }) => notices) };
}

/** Returns the MCP servers of the enabled plugins, keyed by `plugin:server`. */
export function readPluginServers(home: string): Readonly<Record<string, JsonObject>> {
  const entries = enabledPlugins(home).flatMap(({ name, root, mcpServers = {} }) =>
    Object.entries(mcpServers).flatMap(([server, config]): [string, JsonObject][] =>
      isObject(config) ? [[`${name}:${server}`, replaceRoot(config, root) as JsonObject]] : [],
    ),
  );
  return Object.fromEntries(entries);
}

function enabledPlugins(home: string): readonly Plugin[] {
  return installedPlugins(home).plugins.flatMap(({ state, plugin }) =>
    state === "enabled" && plugin !== undefined ? [plugin] : [],
  );
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

/** Replaces `${RETINUE_PLUGIN_ROOT}`, and Claude Code's name for it, with the directory of the plugin. */
function replaceVariable(text: string, root: string): string {
  return text.replaceAll(/\$\{(?:CLAUDE|RETINUE)_PLUGIN_ROOT\}/g, () => root);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
