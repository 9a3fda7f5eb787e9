import { isDeepStrictEqual } from "node:util";
import type { JudgedInput } from "../ports/index.ts";
import type { HookAnswer, HookEvent, HookFacts, InputPath, JsonObject, JsonValue } from "../protocol/index.ts";

type Facts = HookFacts[HookEvent];

/**
 * Returns the facts that hooks get, in the order in which they get them. Paths in a call's input are absolute, and
 * properties that the tool ignores are left out, because a hook could mistake them for the ones that it uses. If
 * symlinks lead elsewhere, there are two versions: one with the paths as they are named and one with the paths that
 * they lead to, because a hook may be about either.
 */
export function factsForHooks<Given extends Facts>(
  facts: Given,
  { paths, ignored = [] }: JudgedInput = { paths: [] },
): readonly Given[] {
  if (!("tool_input" in facts) || !isObject(facts.tool_input)) return [facts];
  const used = Object.entries(facts.tool_input).filter(([name]) => !ignored.includes(name));
  const input = Object.fromEntries(used) as JsonObject;
  const named = withPaths(input, paths, ({ absolute, inWorkspace = absolute }) => inWorkspace);
  const followed = withPaths(input, paths, ({ absolute, real }) => (real === "" ? absolute : real));
  const inputs = isDeepStrictEqual(named, followed) ? [named] : [named, followed];
  return inputs.map((tool_input) => ({ ...facts, tool_input }));
}

function withPaths(
  input: JsonObject,
  paths: readonly InputPath[],
  absoluteOf: (path: InputPath) => string,
): JsonObject {
  const entries = Object.entries(input).map(([name, value]) => {
    const own = paths.filter(({ property }) => property === name);
    return [name, own.length === 0 ? value : withPath(value, own, absoluteOf)] as const;
  });
  return Object.fromEntries(entries) as JsonObject;
}

/** Makes the paths absolute in a value that is a path, that begins with one, or that is a list of paths. */
function withPath(
  value: JsonValue | undefined,
  paths: readonly InputPath[],
  absoluteOf: (path: InputPath) => string,
): JsonValue | undefined {
  if (Array.isArray(value)) {
    return value.map((each) => {
      const path = paths.find(({ requested }) => requested === each);
      return path === undefined ? each : absoluteOf(path);
    });
  }
  const path = typeof value === "string" ? paths.find(({ requested }) => value.startsWith(requested)) : undefined;
  if (path === undefined || typeof value !== "string") return value;
  const rest = value.slice(path.requested.length);
  const absolute = absoluteOf(path);
  return absolute === "/" && rest.startsWith("/") ? rest : absolute + rest;
}

/**
 * Removes the changed input from a hook's answer unless the hook changed it. A property that the hook returned as it
 * got it is as in the original call. So a hook that returns its input has changed nothing, even if a path was relative.
 */
export function withoutUnchanged(
  answer: HookAnswer,
  { given, original }: { readonly given: Facts; readonly original: Facts },
): HookAnswer {
  if (answer.input === undefined || !("tool_input" in given) || !("tool_input" in original)) return answer;
  const [sent, made] = [given.tool_input, original.tool_input];
  if (!isObject(sent) || !isObject(made)) return answer;
  if (isDeepStrictEqual(answer.input, sent)) return { ...answer, input: undefined };
  const entries = Object.entries(answer.input).map(
    ([name, value]) => [name, isDeepStrictEqual(value, sent[name]) ? made[name] : value] as const,
  );
  const input = Object.fromEntries(entries) as JsonObject;
  return { ...answer, input: isDeepStrictEqual(input, made) ? undefined : input };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
