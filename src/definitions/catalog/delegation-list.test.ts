import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "../../lib/index.ts";
import { type AgentDefinition, definitionSources } from "../../protocol/index.ts";
import { delegationList } from "./delegation-list.ts";

const agent = (name: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name,
  description: "Does it.",
  source: "user",
  ...more,
});

const shown = {
  toolsOf: ({ tools }: AgentDefinition) => ({ text: tools?.join(", ") ?? "All tools", count: tools?.length }),
};

describe("a line", () => {
  it.each<[Partial<AgentDefinition>, string]>([
    [{ tools: ["Read", "LS"] }, "- a: Does it. (Tools: Read, LS)"],
    [{ background: true, tools: ["LS"] }, "- a: Does it. (Properties: background; Tools: LS)"],
    [{ description: "Two\n lines." }, "- a: Two lines. (Tools: All tools)"],
  ])("shows the properties and tools of %j", (more, line) => {
    expect(delegationList([agent("a", more)], shown).text).toBe(line);
  });

  it("is omitted for a hidden agent, without making the list incomplete", () => {
    const list = delegationList([agent("a"), agent("b", { hidden: true }), agent("c", { hidden: false })], shown);
    expect(list.text).toBe("- a: Does it. (Tools: All tools)\n- c: Does it. (Tools: All tools)");
    expect(list.agents.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(list.complete).toBe(true);
  });

  it("loses its examples first, then its end", () => {
    const description = `Reviews code. Use after changes. <example>${"long ".repeat(400)}</example>`;
    const { text, agents } = delegationList([agent("a", { description })], shown);
    expect(text).toBe("- a: Reviews code. Use after changes. (Tools: All tools)");
    expect(agents).toEqual([{ name: "a", tokens: estimateTokens(`${text}\n`), shown: "cut" }]);
    const cut = delegationList([agent("a", { description: "word ".repeat(900) })], { ...shown, maxPerAgent: 40 });
    expect(cut.text).toMatch(/^- a: (word )+word… \(Tools: All tools\)$/);
    expect(cut.tokens).toBeLessThanOrEqual(40);
  });
});

describe("many agents", () => {
  const many = Array.from({ length: 500 }, (_, index) =>
    agent(`specialist-number-${index}`, {
      description: `Works on part ${index}. ${"Use it when this is needed. ".repeat(20)}`,
      source: index < 10 ? "built-in" : index % 2 === 0 ? "project" : "user",
      tools: ["Read", "Grep", "Glob", "Bash"],
    }),
  );

  it("take up at most 8,000 tokens, and every name is still listed", () => {
    const { text, tokens, complete, agents } = delegationList(many, shown);
    expect(tokens).toBe(estimateTokens(text));
    expect(tokens).toBeLessThanOrEqual(8_000);
    expect(tokens).toBeGreaterThan(7_000);
    expect(complete).toBe(false);
    for (const { name } of many) expect(text).toContain(name);
    expect(agents.filter(({ shown }) => shown === "left-out")).toEqual([]);
    for (const { name } of many.slice(0, 10)) expect(text).toContain(`- ${name}: Works`);
  });

  it("all keep their own line as long as shortening the lines is enough", () => {
    const { complete, tokens } = delegationList(many.slice(0, 150), shown);
    expect(complete).toBe(true);
    expect(tokens).toBeLessThanOrEqual(8_000);
  });

  it("are only counted if even their names do not fit", () => {
    const { text, tokens } = delegationList(many, { ...shown, maxTotal: 300 });
    expect(tokens).toBeLessThanOrEqual(300);
    expect(text).toMatch(/And \d+ more: /);
  });
});

it("the list stays within its limits and does not depend on the order of the agents", () => {
  const anyAgent = fc.record({
    name: fc.string({ minLength: 1, maxLength: 30 }),
    description: fc.string({ maxLength: 900, unit: "grapheme" }),
    source: fc.constantFrom(...definitionSources),
    tools: fc.array(fc.constantFrom("Read", "Bash", "Grep"), { maxLength: 3 }),
  });
  const some = fc.uniqueArray(anyAgent, { maxLength: 30, selector: ({ name }) => name });
  const both = some.chain((agents) =>
    fc.tuple(fc.constant(agents), fc.shuffledSubarray(agents, { minLength: agents.length })),
  );
  fc.assert(
    fc.property(both, fc.integer({ min: 100, max: 2_000 }), ([agents, other], maxTotal) => {
      const list = delegationList(agents, { ...shown, maxTotal });
      expect(list.tokens).toBeLessThanOrEqual(maxTotal);
      expect(delegationList(other, { ...shown, maxTotal })).toEqual(list);
      expect(list.agents).toHaveLength(agents.length);
    }),
    { numRuns: 60 },
  );
});
