import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";

const common = { name: "tool", description: "Does it." } as const;

describe("a tool's types", () => {
  it("come from a library's schema", () => {
    defineTool({
      ...common,
      input: z.object({ path: z.string(), day: z.string().transform((text) => new Date(text)) }),
      access: ({ path }) => ({ read: path }),
      run: (input, { signal }) => {
        expectTypeOf(input).toEqualTypeOf<{ path: string; day: Date }>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      },
    });
  });

  it("come from a JSON Schema", () => {
    defineTool({
      ...common,
      input: {
        type: "object",
        properties: {
          name: { type: "string" },
          count: { type: "integer" },
          color: { enum: ["red", "blue"] },
          tags: { type: "array", items: { type: "string" } },
          place: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
          any: {},
        },
        required: ["name", "color", "place"],
      },
      run: ({ name, count, color, tags, place, any }) => {
        expectTypeOf(name).toEqualTypeOf<string>();
        expectTypeOf(count).toEqualTypeOf<number | undefined>();
        expectTypeOf(color).toEqualTypeOf<"red" | "blue">();
        expectTypeOf(tags).toEqualTypeOf<string[] | undefined>();
        expectTypeOf(place.x).toEqualTypeOf<number>();
        expectTypeOf(any).toEqualTypeOf<unknown>();
      },
    });
  });

  it("include the result if there is an output schema", () => {
    defineTool({ ...common, input: z.object({}), output: z.object({ n: z.number() }), run: async () => ({ n: 1 }) });
    defineTool({
      ...common,
      input: z.object({}),
      output: z.object({ n: z.number() }),
      // @ts-expect-error The result has the wrong type.
      run: () => ({ n: "1" }),
    });
  });
});
