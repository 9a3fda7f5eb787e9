import { misspelledName, nearest } from "../text/nearest.ts";
import { testPattern } from "../text/test-pattern.ts";
import { isRecord } from "./is-record.ts";

/** JSON Schema as tools declare it. Keywords that are not listed in `Keywords` are ignored. */
export type Schema = Readonly<Record<string, unknown>>;

export interface SchemaProblem {
  /** Path such as `edits[2].old`; empty for the value itself. */
  path: string;
  message: string;
}

/**
 * Checks a JSON value against the subset of JSON Schema that Retinue's tools use. Returns an empty list for a valid
 * value.
 */
export function checkSchema(schema: Schema, value: unknown): SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  check(schema, value, { path: "", problems });
  return problems;
}

/** Describes the problems in one line for the model. */
export function describeProblems(problems: readonly SchemaProblem[]): string {
  if (problems.length === 0) return "The input is valid.";
  const sentences = problems.slice(0, mostShown).map(({ path, message }) => {
    const sentence = `${path === "" ? "It" : `\`${path}\``} ${message}`;
    return sentence.endsWith("?") ? sentence : `${sentence}.`;
  });
  if (problems.length > mostShown) sentences.push(`There are ${problems.length - mostShown} more problems.`);
  return `The input is not valid. ${sentences.join(" ")} Correct this and repeat the call.`;
}

const mostShown = 6;

/** Supported JSON Schema keywords. */
interface Keywords {
  type?: string | readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  anyOf?: readonly Schema[];
}

interface CheckContext {
  path: string;
  problems: SchemaProblem[];
}

function check(schema: Schema, value: unknown, { path, problems }: CheckContext): void {
  const keywords = schema as Keywords;
  const report = (message: string) => problems.push({ path, message });
  const types = typesOf(keywords);
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) {
    report(`must be ${types.map(withArticle).join(" or ")}, not ${describeType(value)}`);
    return;
  }
  if (keywords.enum && !keywords.enum.some((allowed) => sameJson(allowed, value))) {
    const given = typeof value === "string" ? `, not ${JSON.stringify(value.slice(0, 40))}` : "";
    report(`must be ${alternatives(keywords.enum)}${given}${suggestion(value, keywords.enum)}`);
  }
  if ("const" in keywords && !sameJson(keywords.const, value)) report(`must be ${JSON.stringify(keywords.const)}`);
  if (typeof value === "number") checkNumber(keywords, value, report);
  if (typeof value === "string") checkString(keywords, value, report);
  if (Array.isArray(value)) checkArray(keywords, value, { path, problems });
  if (isRecord(value)) checkObject(keywords, value, { path, problems });
  if (keywords.anyOf) checkAnyOf(keywords.anyOf, value, { path, problems });
}

type Report = (message: string) => void;

function checkNumber({ minimum, maximum }: Keywords, value: number, report: Report): void {
  if (minimum !== undefined && value < minimum) report(`must be at least ${minimum}, not ${value}`);
  if (maximum !== undefined && value > maximum) report(`must be at most ${maximum}, not ${value}`);
}

function checkString({ minLength, maxLength, pattern }: Keywords, value: string, report: Report): void {
  if (minLength !== undefined && lengthOf(value) < minLength) {
    report(minLength === 1 ? "must not be empty" : `must have at least ${minLength} characters`);
  }
  if (maxLength !== undefined && value.length > maxLength && lengthOf(value) > maxLength) {
    report(`must have at most ${maxLength} characters, not ${lengthOf(value)}`);
  }
  if (pattern !== undefined && !mayMatch(pattern, value)) report(`must match the pattern ${pattern}`);
}

/**
 * Also returns true if the pattern can't be tested, because the MCP server that supplied it checks the value itself.
 */
function mayMatch(pattern: string, value: string): boolean {
  const tested = testPattern(pattern, { texts: [value], flags: "u" });
  return !tested.ok || tested.matches[0] === true;
}

function checkArray(
  { minItems, maxItems, items }: Keywords,
  value: readonly unknown[],
  { path, problems }: CheckContext,
): void {
  if (minItems !== undefined && value.length < minItems)
    problems.push({ path, message: `must have at least ${countOf(minItems)}` });
  if (maxItems !== undefined && value.length > maxItems)
    problems.push({ path, message: `must have at most ${countOf(maxItems)}, not ${value.length}` });
  if (!items) return;
  for (const [index, item] of value.entries()) check(items, item, { path: `${path}[${index}]`, problems });
}

function checkObject(
  { properties = {}, required = [], additionalProperties }: Keywords,
  value: Record<string, unknown>,
  { path, problems }: CheckContext,
): void {
  for (const name of required) {
    if (!Object.hasOwn(value, name) || value[name] === undefined)
      problems.push({ path: join(path, name), message: "is required" });
  }
  for (const [name, member] of Object.entries(value)) {
    const context = { path: join(path, name), problems };
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (member === undefined) continue;
    if (schema) check(schema, member, context);
    else if (additionalProperties === false)
      problems.push({ path: context.path, message: unknownProperty(name, { properties, value }) });
    else if (isRecord(additionalProperties)) check(additionalProperties, member, context);
  }
}

function unknownProperty(name: string, { properties, value }: { properties: object; value: object }): string {
  const known = Object.keys(properties);
  const [guess] = nearest(
    name,
    known.filter((other) => !Object.hasOwn(value, other)),
  );
  if (guess !== undefined) return `is not a known property. Did you mean \`${guess}\`?`;
  if (known.length === 0) return "is not a known property; no properties are defined";
  return `is not a known property; the known properties are ${known.map((other) => `\`${other}\``).join(", ")}`;
}

/** Reports the problems with the alternative that fits best, because the caller most likely meant that one. */
function checkAnyOf(forms: readonly Schema[], value: unknown, { path, problems }: CheckContext): void {
  let best: SchemaProblem[] | undefined;
  const expected = new Set<string>();
  for (const form of forms) {
    const found: SchemaProblem[] = [];
    check(form, value, { path, problems: found });
    if (found.length === 0) return;
    const types = typesOf(form as Keywords);
    if (types.length > 0 && !types.some((type) => isOfType(value, type))) for (const type of types) expected.add(type);
    else if (!best || found.length < best.length) best = found;
  }
  if (best) problems.push(...best);
  else if (expected.size > 0)
    problems.push({
      path,
      message: `must be ${[...expected].map(withArticle).join(" or ")}, not ${describeType(value)}`,
    });
}

function typesOf({ type }: Keywords): readonly string[] {
  if (type === undefined) return [];
  return typeof type === "string" ? [type] : type;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function describeType(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number" && !Number.isInteger(value)) return `${value}`;
  return withArticle(typeof value);
}

function withArticle(type: string): string {
  if (type === "null") return type;
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function alternatives(values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value));
  return [texts.slice(0, -1).join(", "), ...texts.slice(-1)].filter((text) => text !== "").join(" or ");
}

function suggestion(value: unknown, allowed: readonly unknown[]): string {
  if (typeof value !== "string") return "";
  // A loose guess could suggest a value that allows more than was meant.
  const guess = misspelledName(
    value,
    allowed.filter((one) => typeof one === "string"),
  );
  return guess === undefined ? "" : `. Did you mean ${JSON.stringify(guess)}?`;
}

function countOf(items: number): string {
  return items === 1 ? "1 item" : `${items} items`;
}

/** Counts code points rather than UTF-16 code units. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function join(path: string, name: string): string {
  if (!/^[\w$-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

/**
 * Converts strings that contain a decimal number, "true" or "false" where the schema allows a number or a boolean but
 * not a string, because models sometimes write them that way. Leaves all other values unchanged. Returns a new value if
 * anything was converted.
 */
export function coerceInput(schema: Schema, value: unknown): unknown {
  const keywords = schema as Keywords;
  if (keywords.anyOf) return coerceAnyOf(keywords.anyOf, value);
  if (typeof value === "string") return coerceText(typesOf(keywords), value);
  if (Array.isArray(value)) return keywords.items ? coerceItems(keywords.items, value) : value;
  return isRecord(value) ? coerceMembers(keywords, value) : value;
}

function coerceText(types: readonly string[], text: string): unknown {
  if (types.includes("string")) return text;
  if ((types.includes("number") || types.includes("integer")) && decimal.test(text)) {
    const number = Number(text);
    const exact = Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number));
    if (exact && types.some((type) => isOfType(number, type))) return number;
  }
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return text;
}

const decimal = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

function coerceItems(items: Schema, value: readonly unknown[]): readonly unknown[] {
  const coerced = value.map((item) => coerceInput(items, item));
  return coerced.some((item, index) => item !== value[index]) ? coerced : value;
}

function coerceMembers({ properties = {} }: Keywords, value: Record<string, unknown>): Record<string, unknown> {
  const changed: [string, unknown][] = [];
  for (const [name, schema] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const coerced = coerceInput(schema, value[name]);
    if (coerced !== value[name]) changed.push([name, coerced]);
  }
  return changed.length === 0 ? value : Object.fromEntries([...Object.entries(value), ...changed]);
}

function coerceAnyOf(forms: readonly Schema[], value: unknown): unknown {
  if (forms.some((form) => checkSchema(form, value).length === 0)) return value;
  for (const form of forms) {
    const coerced = coerceInput(form, value);
    if (checkSchema(form, coerced).length === 0) return coerced;
  }
  return value;
}
