import { nearest } from "../../lib/index.ts";
import type { Field, FieldReader } from "./field-reader.ts";

// Readers for fields that do not affect permissions: a value of the wrong type is reported and ignored.

export function readText<Name extends string>(reader: FieldReader<Name>, name: Name): string | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const text = textOf(field);
  if (text === undefined) wrongType(reader, field, "text");
  return text;
}

/** Returns a scalar as written, so that the name `007` does not become 7. */
export function textOf(field: Field): string | undefined {
  if (typeof field.value === "string") return field.value;
  if (typeof field.value === "number" || typeof field.value === "boolean") return field.text ?? String(field.value);
  return undefined;
}

export function isEmpty(field: Field): boolean {
  return (
    field.value === null || field.value === undefined || (typeof field.value === "string" && field.value.trim() === "")
  );
}

export function readBoolean<Name extends string>(reader: FieldReader<Name>, name: Name): boolean | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const value = booleanOf(field);
  if (value === undefined) wrongType(reader, field, "true or false");
  return value;
}

export function booleanOf({ value }: Field): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") return undefined;
  if (/^(?:true|yes|on)$/i.test(value.trim())) return true;
  return /^(?:false|no|off)$/i.test(value.trim()) ? false : undefined;
}

export function readCount<Name extends string>(reader: FieldReader<Name>, name: Name): number | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const value = numberOf(field.value);
  if (value !== undefined && Number.isSafeInteger(value) && value > 0) return value;
  wrongType(reader, field, "a whole number above 0");
  return undefined;
}

export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  return Number(value);
}

export interface Choice<Value extends string, Name extends string> {
  readonly name: Name;
  readonly values: readonly Value[];
}

export function readChoice<Value extends string, Name extends string>(
  reader: FieldReader<Name>,
  { name, values }: Choice<Value, Name>,
): Value | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const text = textOf(field)?.trim().toLowerCase();
  const value = values.find((candidate) => candidate === text);
  if (value !== undefined) return value;
  const guess = text === undefined ? undefined : nearest(text, values)[0];
  wrongType(reader, field, `one of ${values.join(", ")}`, guess);
  return undefined;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads a duration: a number of seconds, or a number with the unit `ms`, `s`, `m` or `h`. */
export function readDurationMs<Name extends string>(reader: FieldReader<Name>, name: Name): number | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)?\s*$/.exec(textOf(field) ?? "");
  const value = match === null ? 0 : Math.round(Number(match[1]) * (unitMs[match[2] ?? "s"] ?? 0));
  if (value > 0 && Number.isSafeInteger(value)) return value;
  wrongType(reader, field, 'a number of seconds or a duration such as "5m"');
  return undefined;
}

// biome-ignore lint/complexity/useMaxParams: a reader, a field, the expected type and a guess
export function wrongType<Name extends string>(
  reader: FieldReader<Name>,
  field: Field,
  wanted: string,
  guess?: string,
): void {
  reader.warn(field, {
    code: "wrong_type",
    message: `"${field.key}" must be ${wanted}; it is ${describe(field.value)}. The field is ignored.`,
    fix: guess === undefined ? `Write ${wanted}, or delete the ${reader.syntax.unit}.` : `Did you mean "${guess}"?`,
  });
}

export function describe(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  return `"${String(value).slice(0, 60)}"`;
}
