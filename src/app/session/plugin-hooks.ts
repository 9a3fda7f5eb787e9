import { installedPlugins } from "../../definitions/index.ts";
import type { CommandHook } from "../../hooks/index.ts";
import { type HookEntry, readHookEntries } from "../../protocol/index.ts";

export interface PluginHooks {
  readonly hooks: readonly CommandHook[];
  /** What of them is not run. */
  readonly notices: readonly string[];
}

/** The hooks of the plugins that are switched on. */
export function readPluginHooks(home: string): PluginHooks {
  const read = installedPlugins(home).plugins.flatMap(({ state, plugin }) => {
    if (state !== "enabled" || plugin?.hooks === undefined) return [];
    const { name, root } = plugin;
    const { hooks, problems } = readHookEntries(plugin.hooks);
    return {
      hooks: hooks.map(
        (hook): CommandHook => ({ kind: "command", source: "plugin", pluginRoot: root, ...atRoot(hook, root) }),
      ),
      notices: problems.map(({ message }) => `Plugin "${name}": ${message}`),
    };
  });
  return { hooks: read.flatMap(({ hooks }) => hooks), notices: read.flatMap(({ notices }) => notices) };
}

/** A shell finds the root in its environment; a program without one is told. */
function atRoot({ args, ...hook }: HookEntry, root: string): HookEntry {
  if (args === undefined) return hook;
  const placed = (text: string): string => text.replaceAll(/\$\{(?:CLAUDE|RETINUE)_PLUGIN_ROOT\}/g, () => root);
  return { ...hook, command: placed(hook.command), args: args.map(placed) };
}
