import * as z from "zod/v4";
import { nearest, plural } from "../../lib/index.ts";
import { problem } from "./problem.ts";

/** Validates a part of a request. Throws an `HttpProblem` that says what is wrong. */
export function validate(schema: z.ZodType | undefined, value: unknown, part: "address" | "query" | "body"): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value, { error: describeIssue });
  if (result.success) return result.data;
  const { path = [], message = "is invalid" } = result.error.issues[0] ?? {};
  const place = path.length === 0 ? `The ${part}` : `"${path.join(".")}" in the ${part}`;
  const advice = message.endsWith(".") || message.endsWith("?") ? "" : `. GET /docs describes the ${part}.`;
  throw problem("invalid_request", `${place} ${message}${advice}`);
}

/** Says what is wrong with a value, as the rest of a sentence that begins with the value's name. */
function describeIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be ${oneOf(issue.values)}`;
    case "invalid_union":
      return `must be ${oneOf((issue["options"] as readonly unknown[] | undefined) ?? [])}`;
    case "too_small":
      if (issue.origin === "string") return "must not be empty";
      if (issue.origin === "array") return `must have at least ${plural(Number(issue.minimum), "element")}`;
      return `must be ${issue.inclusive ? "at least" : "greater than"} ${issue.minimum}`;
    case "too_big":
      if (issue.origin === "string") return `may have at most ${plural(Number(issue.maximum), "character")}`;
      if (issue.origin === "array") return `may have at most ${plural(Number(issue.maximum), "element")}`;
      return `must be at most ${issue.maximum}`;
    case "unrecognized_keys":
      return `has an unknown field ${unknownField(issue)}`;
    default:
      return "is invalid";
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
};

function oneOf(values: readonly unknown[]): string {
  const names = values.map((value) => `"${value}"`);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

function unknownField({ keys, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueUnrecognizedKeys>): string {
  const [key = ""] = keys;
  const known = inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];
  if (known.length === 0) return `"${key}". Leave it out.`;
  const [meant] = nearest(key, known);
  return `"${key}". ${meant === undefined ? `The fields are ${known.join(", ")}.` : `Did you mean "${meant}"?`}`;
}
