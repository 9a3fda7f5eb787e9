import { createHash } from "node:crypto";

/** Maximum length of a name. Most providers accept up to 64 letters, digits, `_` and `-`. */
const MAX_NAME = 64;
const MAX_SERVER = 30;

/**
 * Returns, for each of an agent's servers, the part of its tool names that identifies the server. This part never
 * contains `__`, so `mcp__a` in a rule can't refer to a server named `a__b`.
 */
export function nameServers(names: readonly string[]): ReadonlyMap<string, string> {
  const safe = (name: string) => {
    const text = name.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|(?<!_)_+$/g, "");
    return shorten(text === "" ? "server" : text, { name, most: MAX_SERVER });
  };
  return distinct(names, { safe, most: MAX_SERVER });
}

/** Returns the full names of one server's tools. */
export function nameTools(server: string, names: readonly string[]): ReadonlyMap<string, string> {
  const prefix = `mcp__${server}__`;
  const most = MAX_NAME - prefix.length;
  const safe = (name: string) => {
    const text = name.replace(/[^A-Za-z0-9_-]/g, "_");
    return shorten(text === "" ? "tool" : text, { name, most });
  };
  const short = distinct(names, { safe, most });
  return new Map([...short].map(([name, text]) => [name, prefix + text]));
}

/** Returns names that every provider accepts for the properties of a tool's input. */
export function nameProperties(names: readonly string[]): ReadonlyMap<string, string> {
  const safe = (name: string) => {
    const text = name.replace(/[^A-Za-z0-9_.-]/g, "_");
    return shorten(text === "" ? "member" : text, { name, most: MAX_NAME });
  };
  return distinct(names, { safe, most: MAX_NAME });
}

/** Makes names unique. Valid names stay unchanged; other names get a hash if they collide. */
function distinct(
  names: readonly string[],
  { safe, most }: { readonly safe: (name: string) => string; readonly most: number },
): ReadonlyMap<string, string> {
  const wanted = new Map<string, number>();
  const all = new Set(names);
  for (const name of all) wanted.set(safe(name), (wanted.get(safe(name)) ?? 0) + 1);
  return new Map(
    [...all].map((name) => {
      const text = safe(name);
      return [name, text === name || wanted.get(text) === 1 ? text : withHash(text, { name, most })];
    }),
  );
}

function shorten(text: string, { name, most }: { readonly name: string; readonly most: number }): string {
  return text.length <= most ? text : withHash(text, { name, most });
}

function withHash(text: string, { name, most }: { readonly name: string; readonly most: number }): string {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${text.slice(0, most - hash.length - 1).replace(/(?<!_)_+$/, "")}_${hash}`;
}
