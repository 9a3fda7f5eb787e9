import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadYamlReader } from "./strict-yaml.ts";
import { readCarelessYaml, readTolerantYaml } from "./tolerant-yaml.ts";

const readYaml = await loadYamlReader();
const isKnown = (key: string) => ["name", "description", "tools"].includes(key);
const essence = ({ key, value, line }: { key: string; value: unknown; line: number }) => ({ key, value, line });

const word = fc.constantFrom("Use", "on:", "a", "'b'", "#c", "x:y", "<example>", "user:", "-", "[d]", '"e"', "*");
const text = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(" "));
const line = fc.oneof(
  fc
    .tuple(fc.constantFrom("name", "description", "tools", "other", "user", "Context"), text)
    .map(([key, value]) => `${key}: ${value}`),
  text,
  fc.constantFrom("", "  more", "# note"),
);

describe("readCarelessYaml", () => {
  it("gives what the tolerant reading gives, and only where YAML fails", () => {
    let answered = 0;
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 5 }), (lines) => {
        const source = `${lines.join("\n")}\n`;
        const careless = readCarelessYaml(source, { firstLine: 1, isKnown });
        if (careless === undefined) return;
        answered += 1;
        expect(readYaml(source, 1).kind).toBe("broken");
        const tolerant = readTolerantYaml(source, { firstLine: 1, isKnown, readYaml });
        expect(careless.fields.map(essence)).toEqual(tolerant.map(essence));
      }),
      { numRuns: 3000 },
    );
    expect(answered).toBeGreaterThan(3);
  });

  it("leaves a line with a comment to YAML, however many colons it has", () => {
    const source = `description: ${"a: ".repeat(20_000)}#\n`;
    expect(readCarelessYaml(source, { firstLine: 1, isKnown })).toBeUndefined();
  });
});
