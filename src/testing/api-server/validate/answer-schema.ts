import { isObject } from "../json-values.ts";
import { demand, demandList, demandObject } from "./check.ts";

const knownKeywords = ["type", "description", "title", "enum", "const", "required", "properties", "items", "anyOf"];

interface Place {
  readonly where: string;
  /** Whether every property must be required, as in OpenAI's strict mode. */
  readonly everythingRequired: boolean;
}

/** Checks a schema for structured outputs. Allows only keywords that every provider accepts. */
export function checkAnswerSchema(value: unknown, { where, everythingRequired }: Place): void {
  const schema = demandObject(value, where);
  const { type, properties, items, anyOf, required = [], additionalProperties } = schema;
  const unknown = Object.keys(schema).find((key) => ![...knownKeywords, "additionalProperties"].includes(key));
  demand(unknown === undefined, `${where}: '${unknown}' is not supported`);
  const check = (part: unknown, name: string) =>
    checkAnswerSchema(part, { where: `${where}.${name}`, everythingRequired });
  if (type === "object") {
    demand(additionalProperties === false, `${where}: 'additionalProperties' must be set to false`);
    const names = Object.keys(demandObject(properties, `${where}.properties`));
    const areRequired = names.every((name) => demandList(required, `${where}.required`).includes(name));
    demand(!everythingRequired || areRequired, `${where}: 'required' must include every key in properties`);
  }
  if (isObject(properties)) for (const [name, part] of Object.entries(properties)) check(part, `properties.${name}`);
  if (type === "array") check(items, "items");
  if (anyOf !== undefined)
    for (const [index, part] of demandList(anyOf, where).entries()) check(part, `anyOf.${index}`);
}
