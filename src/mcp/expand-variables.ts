import type { McpServerConfig } from "../ports/index.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type ExpandedConfig =
  | { readonly ok: true; readonly config: McpServerConfig }
  /** Names of variables that are not set and have no other value beside them. */
  | { readonly ok: false; readonly missing: readonly string[] };

/** Replaces `${NAME}` and `${NAME:-otherwise}` in all texts of a configuration. What is put in is not looked at again. */
export function expandVariables(config: McpServerConfig, environment: Environment): ExpandedConfig {
  const missing = new Set<string>();
  const text = (template: string) =>
    template.replace(reference, (_, name: string, otherwise: string | undefined) => {
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      // As in a shell: `:-` also stands in for a variable that is empty.
      if (otherwise !== undefined) return value || otherwise;
      if (value === undefined) missing.add(name);
      return value ?? "";
    });
  const texts = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, text(value)]));
  const expanded: McpServerConfig =
    config.type === "stdio"
      ? {
          ...config,
          command: text(config.command),
          ...(config.args ? { args: config.args.map(text) } : {}),
          ...(config.env ? { env: texts(config.env) } : {}),
          ...(config.cwd ? { cwd: text(config.cwd) } : {}),
        }
      : { ...config, url: text(config.url), ...(config.headers ? { headers: texts(config.headers) } : {}) };
  return missing.size > 0 ? { ok: false, missing: [...missing] } : { ok: true, config: expanded };
}

const reference = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;
