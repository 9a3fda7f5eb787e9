import { expect, it } from "vitest";
import type { JsonSchema } from "../protocol/index.ts";
import { toolSpecs } from "../tools/index.ts";
import { leanToolSpec } from "./lazy-executor.ts";

const named = (schema: JsonSchema) => Object.keys(schema["properties"] ?? {});

it("shows a model all inputs of a built-in tool but those it is not told of, without their bounds", () => {
  for (const { declaration, traits, untold = [] } of toolSpecs({ search: {} })) {
    const taken = named(declaration.inputSchema);
    const { declaration: shown } = leanToolSpec({ declaration, traits, untold });
    expect(taken).toEqual(expect.arrayContaining([...untold]));
    expect(named(shown.inputSchema)).toEqual(taken.filter((input) => !untold.includes(input)));
    expect(JSON.stringify(shown.inputSchema)).not.toMatch(/"(minimum|maximum|minLength)"/);
    expect(shown.inputSchema["required"]).toEqual(declaration.inputSchema["required"]);
  }
});
