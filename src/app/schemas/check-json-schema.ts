import { isRecord, misspelledName } from "../../lib/index.ts";

/** A problem that makes a JSON Schema unusable, and what to do about it. */
export interface JsonSchemaProblem {
  /** Continues a sentence that begins with the schema: `has an unknown type "strng" at properties.name`. */
  readonly message: string;
  readonly fix: string;
}

/**
 * Returns the first problem in a program's JSON Schema. An invalid schema must be refused when the program passes it,
 * because it could reject, or accept, every answer from the model.
 */
export function findSchemaProblem(schema: Readonly<Record<string, unknown>>): JsonSchemaProblem | undefined {
  if (Object.values(schema).some(isOfLibrary))
    return {
      message: "is an object of schemas instead of a schema",
      fix: "Wrap it in an object schema, such as z.object({ … }).",
    };
  const names = Object.keys(schema);
  const isKeyword = (name: string) => keywords.has(name) || annotations.has(name);
  const wrong = names.some(isKeyword) ? names.find((name) => typeof schema[name] === "function") : names[0];
  if (wrong !== undefined)
    return {
      message: `is not a JSON Schema: "${wrong}" is not a keyword`,
      fix: 'Use a schema from a library, or a JSON Schema such as { type: "object", properties: { … } }.',
    };
  try {
    JSON.stringify(schema);
  } catch {
    return { message: "contains itself, so it can't be converted to JSON", fix: 'Refer to it with { $ref: "#" }.' };
  }
  if (!draftOf(schema))
    return {
      message: `has an unknown $schema ${JSON.stringify(schema["$schema"])}`,
      fix: "Remove $schema, or use draft 4, 6, 7, 2019-09 or 2020-12.",
    };
  return findProblem(schema, "", schema);
}

/** Returns the JSON Schema draft that a schema follows, which is the newest by default; undefined if it is unknown. */
export function draftOf({ $schema = "2020-12" }: Readonly<Record<string, unknown>>): Draft | undefined {
  return typeof $schema === "string" ? drafts.find(([name]) => $schema.includes(name))?.[1] : undefined;
}

export type Draft = "4" | "7" | "2019-09" | "2020-12";

const drafts = [
  ["2020-12", "2020-12"],
  ["2019-09", "2019-09"],
  ["draft-07", "7"],
  ["draft-06", "7"],
  ["draft-04", "4"],
] as const;

/** Returns the part of a schema that a `$ref` names; undefined if there is none, or if it is outside the schema. */
export function resolveReference(root: unknown, reference: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return findAnchor(root, reference.slice(1));
  return reference.slice(2).split("/").reduce<unknown>(member, root);
}

/** Returns the part of a schema that a segment of a JSON pointer names. */
export function member(part: unknown, segment: string): unknown {
  const name = decodeSegment(segment);
  return typeof part === "object" && part !== null && Object.hasOwn(part, name)
    ? (part as Record<string, unknown>)[name]
    : undefined;
}

export function decodeSegment(segment: string): string {
  return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
}

function findAnchor(part: unknown, name: string): unknown {
  if (typeof part !== "object" || part === null) return undefined;
  const { $anchor, $id } = part as { readonly $anchor?: unknown; readonly $id?: unknown };
  if ($anchor === name || $id === `#${name}`) return part;
  for (const value of Object.values(part)) {
    const found = findAnchor(value, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isOfLibrary(value: unknown): boolean {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}

function findProblem(
  schema: unknown,
  path: string,
  root: Readonly<Record<string, unknown>>,
): JsonSchemaProblem | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isRecord(schema)) return { message: `has an invalid schema at ${path}`, fix: "Use an object, true or false." };
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || annotations.has(keyword)) continue;
    const kind = keywords.get(keyword);
    const place = path === "" ? keyword : `${path}.${keyword}`;
    const problem = kind === undefined ? misspelled(keyword, path) : findIn({ kind, keyword, value, place, root });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function misspelled(keyword: string, path: string): JsonSchemaProblem | undefined {
  const meant = misspelledName(keyword, [...keywords.keys()]);
  if (meant === undefined) return undefined;
  return { message: `has an unknown keyword ${keyword}${at(path)}`, fix: `Did you mean ${meant}?` };
}

interface Place {
  readonly kind: Kind;
  readonly keyword: string;
  readonly value: unknown;
  readonly place: string;
  readonly root: Readonly<Record<string, unknown>>;
}

function findIn({ kind, keyword, value, place, root }: Place): JsonSchemaProblem | undefined {
  const schemas = (parts: readonly (readonly [string, unknown])[]) => {
    for (const [name, part] of parts) {
      const problem = findProblem(part, `${place}.${name}`, root);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  const path = place.slice(0, -keyword.length - 1);
  const invalid = (fix: string): JsonSchemaProblem => ({
    message: `has an invalid value for ${keyword}${at(path)}: ${JSON.stringify(value)?.slice(0, 60) ?? String(value)}`,
    fix,
  });
  switch (kind) {
    case "type":
      return findUnknownType(value, path);
    case "schema":
      return Array.isArray(value) && keyword === "items"
        ? schemas(Object.entries(value))
        : findProblem(value, place, root);
    case "schemas":
      return Array.isArray(value) && value.length > 0
        ? schemas(Object.entries(value))
        : invalid("Use a non-empty list of schemas.");
    case "map": {
      if (!isRecord(value)) return invalid("Use an object of schemas.");
      const pattern = keyword === "patternProperties" ? Object.keys(value).find((each) => !isPattern(each)) : undefined;
      if (pattern !== undefined) return invalid("Its keys must be regular expressions.");
      return schemas(Object.entries(value).filter(([, part]) => keyword !== "dependencies" || !Array.isArray(part)));
    }
    case "lists":
      return isRecord(value) && Object.values(value).every(areStrings)
        ? undefined
        : invalid("Use an object of lists of strings.");
    case "strings":
      return areStrings(value) ? undefined : invalid("Use a list of strings.");
    case "list":
      return Array.isArray(value) ? undefined : invalid("Use a list.");
    case "boolean":
      return typeof value === "boolean" ? undefined : invalid("Use true or false.");
    case "count":
      return Number.isInteger(value) && Number(value) >= 0 ? undefined : invalid("Use a whole number.");
    case "number":
      return typeof value === "number" || (typeof value === "boolean" && draftOf(root) === "4")
        ? undefined
        : invalid("Use a number.");
    case "pattern":
      return isPattern(value) ? undefined : invalid("Use a regular expression that is valid with the u flag.");
    case "string":
      return typeof value === "string" ? undefined : invalid("Use a string.");
    case "reference":
      return findLostReference(value, { path, root });
    case "unsupported":
      return { message: `uses ${keyword}${at(path)}, which is not supported`, fix: "Use $ref." };
    default:
      return undefined;
  }
}

function findUnknownType(value: unknown, path: string): JsonSchemaProblem | undefined {
  const wrong = [value].flat().find((type) => !types.some((known) => known === type));
  if (wrong === undefined) return undefined;
  const meant = typeof wrong === "string" ? misspelledName(wrong, types) : undefined;
  return {
    message: `has an unknown type ${JSON.stringify(wrong)}${at(path)}`,
    fix: meant === undefined ? `Use ${types.join(", ")}.` : `Did you mean "${meant}"?`,
  };
}

function findLostReference(
  reference: unknown,
  { path, root }: { readonly path: string; readonly root: Readonly<Record<string, unknown>> },
): JsonSchemaProblem | undefined {
  const isInside = typeof reference === "string" && reference.startsWith("#");
  if (isInside && resolveReference(root, reference) !== undefined) return undefined;
  return {
    message: `has a $ref${at(path)} to ${JSON.stringify(reference)}, which is ${isInside ? "not in the schema" : "outside the schema"}`,
    fix: 'Put the definition in $defs, and refer to it as "#/$defs/NAME".',
  };
}

function at(path: string): string {
  return path === "" ? "" : ` at ${path}`;
}

function areStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") !== undefined;
  } catch {
    return false;
  }
}

const types = ["string", "number", "integer", "boolean", "object", "array", "null"] as const;

/** Keywords that are checked, grouped by the kind of their values. */
const keywordsByKind = {
  type: ["type"],
  schema: [
    ...["additionalProperties", "unevaluatedProperties", "propertyNames", "items", "additionalItems"],
    ...["unevaluatedItems", "contains", "not", "if", "then", "else"],
  ],
  schemas: ["prefixItems", "allOf", "anyOf", "oneOf"],
  map: ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"],
  lists: ["dependentRequired"],
  strings: ["required"],
  list: ["enum"],
  boolean: ["uniqueItems"],
  count: [
    ...["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"],
    ...["minProperties", "maxProperties"],
  ],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  pattern: ["pattern"],
  string: ["format"],
  reference: ["$ref"],
  anything: ["const"],
  unsupported: ["$dynamicRef", "$recursiveRef"],
} as const;

type Kind = keyof typeof keywordsByKind;

const keywords = new Map<string, Kind>(
  Object.entries(keywordsByKind).flatMap(([kind, names]) => names.map((name) => [name, kind as Kind] as const)),
);

/** Keywords that only describe a value. */
const annotations = new Set([
  ...["$schema", "$id", "id", "$anchor", "$comment", "$vocabulary", "$dynamicAnchor", "$recursiveAnchor"],
  ...["title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "nullable"],
  ...["contentEncoding", "contentMediaType", "contentSchema", "discriminator", "externalDocs", "xml"],
]);
