import { statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { coerceInput, describeError, formatDuration, isRecord, isWithin, LONGEST_TIMER_MS } from "../../lib/index.ts";
import type { DescribedAccesses, Tool, ToolOutput } from "../../ports/index.ts";
import type { Access, JsonObject } from "../../protocol/index.ts";
import { type ReadSchema, readSchema, type Validation } from "../schemas/schema.ts";
import { isPromptContent, wrongBlock } from "../session/prompt-content.ts";
import { type CustomTool, isToolAccess, type ToolAccess } from "./tool-types.ts";

/** Creates a program's tool for agents that work in a directory. `checkTools` must have checked the tool. */
export function createCustomTool(tool: CustomTool, cwd: string): Tool {
  const { name, description, access, timeoutSeconds = 120, parallel = access === "none" } = tool;
  const input = readSchema(tool.input, tool.inputSchema) as ReadSchema;
  const output = tool.output && (readSchema(tool.output, {}) as ReadSchema);
  const validate = validateOnce(input);
  return {
    declaration: { name, description, inputSchema: input.json },
    // The program's own schema decides, because its library may perform conversions that the JSON Schema does not
    // describe.
    accepts: { additionalProperties: true },
    traits: { parallel, effects: access !== "none" },
    timeoutMs: () => timeoutSeconds * 1_000,
    async accesses(given): Promise<DescribedAccesses> {
      try {
        const valid = await validate(given);
        if (!valid.ok) return { ok: false, message: `${name}: ${invalidInput(valid.problems)}` };
        if (access === undefined) return { ok: true, accesses: [] };
        const declared = typeof access === "function" ? access(valid.value as never) : access;
        return { ok: true, accesses: listed(declared, given) };
      } catch (error) {
        return {
          ok: false,
          message: `${name}: Retinue can't determine what this call accesses: ${describeError(error)}`,
        };
      }
    },
    async run(given, { signal, agentId, callId, progress }) {
      const valid = await validate(given);
      if (!valid.ok) throw new Error(invalidInput(valid.problems));
      const written = writtenFiles(typeof access === "function" ? access(valid.value as never) : access, cwd);
      const before = written.map(stateOf);
      const result = await withinTime(timeoutSeconds * 1_000, signal, async (own) =>
        tool.run(valid.value as never, { signal: own, agentId, callId, cwd, progress }),
      );
      const filesChanged = written
        .filter((path, index) => stateOf(path) !== before[index])
        .map((path) => nameIn(cwd, path));
      const checked = output === undefined ? undefined : await output.validate(result);
      if (checked?.ok === false) throw new Error(`Its result is not valid: ${checked.problems}.`);
      return { content: contentOf(checked === undefined ? result : checked.value), facts: { filesChanged } };
    },
  };
}

/**
 * Runs a tool with a signal that also fires at the time limit. A tool that ignores the signal is abandoned by the
 * executor shortly afterwards.
 */
async function withinTime<T>(
  limitMs: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const reached = new AbortController();
  const timeout = new Error(`Timed out after ${formatDuration(limitMs)}.`);
  const timer = setTimeout(() => reached.abort(timeout), Math.min(limitMs, LONGEST_TIMER_MS));
  // A tool that ignores the signal may never return, and its timer must not keep the process alive.
  const clear = () => clearTimeout(timer);
  signal.addEventListener("abort", clear);
  try {
    return await run(AbortSignal.any([signal, reached.signal]));
  } catch (error) {
    throw reached.signal.aborted ? timeout : error;
  } finally {
    clear();
    signal.removeEventListener("abort", clear);
  }
}

function invalidInput(problems: string): string {
  return `The input is not valid: ${problems}. Make the call again with valid input.`;
}

/**
 * Validates each input once, so that `access` and `run` get the same value, even if the schema creates values, such as
 * ids. If an input is not valid, it is validated again with numbers and booleans that the model has written as strings.
 */
function validateOnce(schema: ReadSchema): (input: JsonObject) => Promise<Validation> {
  const known = new WeakMap<JsonObject, Promise<Validation>>();
  const validate = async (input: JsonObject): Promise<Validation> => {
    const valid = await schema.validate(input);
    const coerced = valid.ok ? input : coerceInput(schema.json, input);
    const again = coerced === input ? valid : await schema.validate(coerced);
    return again.ok ? again : { ok: false, problems: (await schema.problemsIn(coerced)) ?? again.problems };
  };
  return (input) => {
    const validated = known.get(input) ?? validate(input);
    known.set(input, validated);
    return validated;
  };
}

function listed(access: ToolAccess, input: JsonObject): readonly Access[] {
  if (access instanceof Promise)
    throw new Error("The access function is asynchronous. Return the access instead of a promise.");
  if (!isToolAccess(access))
    throw new Error('`access` must return "none", "unknown", or an object with read, write or network.');
  if (access === "none") return [{ kind: "internal" }];
  if (access === "unknown") return [];
  const { read = [], write = [], network = [] } = access;
  return [
    ...[read].flat().flatMap((path) => pathAccesses("read", path, input)),
    ...[write].flat().flatMap((path) => pathAccesses("write", path, input)),
    ...[network].flat().map((url): Access => ({ kind: "network", url })),
  ];
}

/** Returns one access for each property of the input that is the path or lists it, or one without a property. */
function pathAccesses(kind: "read" | "write", path: string, input: JsonObject): readonly Access[] {
  const names = Object.keys(input).filter((name) => [input[name]].flat().includes(path));
  return names.length === 0 ? [{ kind, path }] : names.map((property) => ({ kind, path, property }));
}

/** Returns the absolute paths of the files that a call says it will write. */
function writtenFiles(access: ToolAccess | undefined, cwd: string): readonly string[] {
  if (typeof access !== "object") return [];
  return [access.write ?? []].flat().map((path) => resolve(cwd, path));
}

/** Describes a file so that a change can be detected. */
function stateOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "missing" : `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
}

/** Formats a path as the built-in tools do: relative to the agent's directory if the file is inside it. */
function nameIn(cwd: string, path: string): string {
  return isWithin(path, cwd) ? relative(cwd, path) : path;
}

function contentOf(result: unknown): ToolOutput["content"] {
  if (typeof result === "string") return result === "" ? "(no result)" : result;
  if (result instanceof Error) throw result;
  const problem = problemOf(result);
  if (problem !== undefined) throw new Error(`Its result is not valid: ${problem}.`);
  if (isPromptContent(result) && result.length > 0) return result as Exclude<ToolOutput["content"], string>;
  try {
    return JSON.stringify(result, refuseLosses) ?? "(no result)";
  } catch (error) {
    throw new Error(`\`run\` must return text, blocks or JSON: ${describeError(error)}`);
  }
}

/** Replacer for `JSON.stringify` that throws if a value has contents that JSON can't represent. */
function refuseLosses(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  // Checks the original, because a Buffer has already been converted in `value`.
  const loss = lossIn(this[key]);
  if (loss !== undefined) throw new Error(`${loss}.`);
  return value;
}

function lossIn(value: unknown): string | undefined {
  if (value instanceof Map || value instanceof Set)
    return `JSON can't contain a ${value.constructor.name}. Convert it to an array or an object`;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value))
    return `JSON can't contain bytes (${value.constructor.name}). Convert them to text, or leave them out`;
  return undefined;
}

/** Returns what is wrong with a result whose contents would be lost in JSON, or that no model accepts. */
function problemOf(result: unknown): string | undefined {
  if (typeof result === "function" || typeof result === "symbol") return `it can't be a ${typeof result}`;
  const loss = lossIn(result);
  if (loss !== undefined) return loss;
  if (isOpaque(result)) {
    const what = `an object of type ${Object.prototype.toString.call(result).slice(8, -1)}`;
    return `${what} would be empty in JSON. Return its data, such as \`await response.json()\``;
  }
  if (!Array.isArray(result) || !result.some(isImage)) return undefined;
  const index = result.findIndex((block) => isImage(block) && !isBase64(block["data"]));
  return wrongBlock(result) ?? (index === -1 ? undefined : `the data of block ${index} is not base64`);
}

/** Returns whether a value has contents that JSON leaves out, such as a `Response`, a stream or a generator. */
function isOpaque(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return !isPlain && !("toJSON" in value) && Object.keys(value).length === 0;
}

function isImage(block: unknown): block is Record<string, unknown> {
  return isRecord(block) && block["type"] === "image";
}

function isBase64(data: unknown): boolean {
  return typeof data === "string" && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}
