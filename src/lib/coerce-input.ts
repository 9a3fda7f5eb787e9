import { checkSchema, isOfType, isRecord, type Keywords, type Schema, typesOf } from "./check-schema.ts";

/**
 * Models sometimes write numbers and booleans as strings. Where the schema wants a number or a boolean and no string,
 * decimal numbers and "true"/"false" are taken for what they say; nothing else is changed. Gives a new value where it changes one.
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
