import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../../protocol/index.ts";
import { enforceableSchema } from "./enforceable-schema.ts";

const jsonOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input" }) as JsonSchema;

describe("the part of a schema that providers can enforce", () => {
  it("has the structure without limits on values, and only named properties", () => {
    const item = z.object({ name: z.string().min(1), kind: z.enum(["a", "b"]), note: z.string().nullable() });
    const schema = jsonOf(
      z.object({ count: z.int().min(0), items: z.array(item).max(9), at: z.iso.date().optional() }),
    );
    expect(enforceableSchema(schema)).toEqual({
      type: "object",
      properties: {
        count: { type: "integer" },
        items: {
          type: "array",
          items: {
            type: "object",
            properties: {
              name: { type: "string" },
              kind: { type: "string", enum: ["a", "b"] },
              note: { type: ["string", "null"] },
            },
            required: ["name", "kind", "note"],
            additionalProperties: false,
          },
        },
        at: { type: "string" },
      },
      required: ["count", "items"],
      additionalProperties: false,
    });
  });

  it("has unions of objects as alternatives", () => {
    const schema = jsonOf(
      z.object({
        one: z.discriminatedUnion("is", [z.object({ is: z.literal("x") }), z.object({ is: z.literal("y") })]),
      }),
    );
    const { properties } = enforceableSchema(schema) as { properties: { one: object } };
    expect(properties.one).toMatchObject({ anyOf: [{ required: ["is"] }, { required: ["is"] }] });
  });

  it.each<[string, JsonSchema]>([
    ["is a list", jsonOf(z.array(z.string()))],
    ["contains a map", jsonOf(z.object({ prices: z.record(z.string(), z.number()) }))],
    ["allows properties that it does not name", jsonOf(z.looseObject({ a: z.string() }))],
    ["contains a tuple", jsonOf(z.object({ pair: z.tuple([z.string(), z.number()]) }))],
    ["combines schemas", { type: "object", properties: { a: { allOf: [{ type: "string" }] } } }],
    ["refers to a part of itself", { type: "object", properties: { a: { $ref: "#" } } }],
    ["has an unknown keyword", { type: "object", properties: {}, propertyNames: { pattern: "a" } }],
    ["accepts anything somewhere", { type: "object", properties: { a: true } }],
  ])("does not exist if the schema %s", (_, schema) => {
    expect(enforceableSchema(schema)).toBeUndefined();
  });
});
