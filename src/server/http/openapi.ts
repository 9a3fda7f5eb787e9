import * as z from "zod/v4";
import { VERSION } from "../../app/index.ts";
import type { Problem } from "../../protocol/index.ts";
import type { Route } from "./route.ts";

/** Describes the routes in OpenAPI 3.1. */
export function describeApi(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const operations = paths[route.path] ?? {};
    operations[route.method.toLowerCase()] = operationOf(route);
    paths[route.path] = operations;
  }
  return {
    openapi: "3.1.0",
    info: { title: "Retinue", version: VERSION },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Problem: jsonSchemaOf(problemSchema) },
    },
  };
}

const problemSchema = z.object({
  status: z.int(),
  code: z.string().describe("Short name for programs, such as unknown_session."),
  detail: z.string().describe("Says in one or two sentences what happened and what to do."),
}) satisfies z.ZodType<Problem>;

function operationOf({ summary, scope, parameters, query, body, response }: Route): object {
  const type = "type" in response ? response.type : "application/json";
  const schema = "schema" in response ? jsonSchemaOf(response.schema, "output") : { type: "string" };
  const content = response.status === 204 ? undefined : { [type]: { schema } };
  return {
    summary,
    description: `Needs the ${scope} scope.`,
    parameters: [...parametersOf(parameters, "path"), ...parametersOf(query, "query")],
    requestBody: body && { required: true, content: { "application/json": { schema: jsonSchemaOf(body) } } },
    responses: {
      [response.status]: { description: "The request succeeded.", content },
      default: {
        description: "The request failed.",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

function parametersOf(schema: z.ZodType | undefined, place: "path" | "query"): readonly object[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = jsonSchemaOf(schema) as ObjectSchema;
  return Object.entries(properties).map(([name, each]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: each,
  }));
}

/** Returns a zod schema as JSON Schema. `output`: describes the data that the server sends. */
export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output" = "input"): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}
