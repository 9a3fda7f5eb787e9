import { isObject, type JsonObject } from "../json-values.ts";

/** A message in a request, with its content as blocks. */
export type CheckedMessage = { index: number; role: "user" | "assistant"; blocks: readonly JsonObject[] };

/** Thrown only inside validators, whose checks are deeply nested, and caught by `firstProblem`. */
class Problem extends Error {}

/** Returns the first problem that the checks find, or undefined. */
export function firstProblem(checks: () => void): string | undefined {
  try {
    checks();
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

export function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Problem(message);
}

export function demandObject(value: unknown, where: string): JsonObject {
  demand(isObject(value), `${where}: Input should be an object`);
  return value;
}

export function demandList(value: unknown, where: string): readonly unknown[] {
  demand(Array.isArray(value), `${where}: Input should be a list`);
  return value;
}

export function demandText(value: unknown, where: string): string {
  demand(typeof value === "string", `${where}: Input should be a string`);
  return value;
}

export function demandKeys(value: JsonObject, where: string, known: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  demand(unknown === undefined, `${where === "" ? "" : `${where}.`}${unknown}: Extra inputs are not permitted`);
}
