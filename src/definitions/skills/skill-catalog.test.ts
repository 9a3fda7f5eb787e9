import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "../../lib/index.ts";
import type { LoadedSkill, SkillDefinition } from "../../protocol/index.ts";
import { createSkillCatalog } from "./skills.ts";

function skill(name: string, more: Partial<SkillDefinition> = {}): LoadedSkill {
  const file = `/skills/${name}/SKILL.md`;
  const definition = { name, description: "Does it.", source: "user", file, modelInvocable: true, ...more } as const;
  return { definition, version: "1", body: `How to ${name}.\n` };
}

const hidden = skill("secret", { modelInvocable: false });

describe("the list", () => {
  it("has a line for each skill that a model may load, and says when to use it", () => {
    const shelf = createSkillCatalog([skill("b", { extra: { whenToUse: "Before a release." } }), hidden, skill("a")]);
    expect(shelf?.list()).toBe("- a: Does it.\n- b: Does it. Before a release.");
  });

  it("is empty if models may load no skill", () => {
    expect(createSkillCatalog([])).toBeUndefined();
    expect(createSkillCatalog([hidden])).toBeUndefined();
  });

  it("cuts a description at 1,536 characters, never within a character", () => {
    const long = createSkillCatalog([skill("a", { description: "x".repeat(1_536) })])?.list();
    expect(long).toBe(`- a: ${"x".repeat(1_536)}`);
    const longer = createSkillCatalog([skill("a", { description: `${"x".repeat(1_534)}😀😀` })])?.list();
    expect(longer).toBe(`- a: ${"x".repeat(1_534)}…`);
  });

  it("takes up at most 4,000 tokens, and still names every skill", () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      skill(`skill-${index}`, { description: "word ".repeat(80) }),
    );
    const text = createSkillCatalog(many)?.list() ?? "";
    expect(estimateTokens(text)).toBeLessThanOrEqual(4_000);
    for (const { definition } of many) expect(text).toContain(definition.name);
  });

  it("does not depend on the order of the skills", () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 12 });
    const shuffled = names.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        const listOf = (all: readonly string[]) => createSkillCatalog(all.map((name) => skill(name)))?.list();
        expect(listOf(one)).toBe(listOf(other));
      }),
    );
  });
});

describe("loading", () => {
  const plugin = skill("kit:pack", { plugin: "kit", source: "plugin" });
  const shelf = createSkillCatalog([skill("deploy"), plugin, hidden]);

  it.each([
    ["deploy", "deploy"],
    ["/deploy", "deploy"],
    [" deploy ", "deploy"],
    ["kit:pack", "kit:pack"],
    ["pack", "kit:pack"],
  ])("finds %j", async (name, found) => {
    const directory = `/skills/${found}`;
    expect(await shelf?.load(name)).toEqual({ ok: true, name: found, body: `How to ${found}.\n`, directory });
  });

  it("suggests the nearest name for an unknown one, but never a skill that is hidden from models", async () => {
    const loaded = await shelf?.load("deplo");
    expect(loaded).toEqual({ ok: false, message: 'There is no skill "deplo". Similar names: deploy, kit:pack.' });
    expect(await shelf?.load("../../etc/passwd")).toMatchObject({ ok: false });
  });

  it("refuses a skill that its author hides from models, and explains why", async () => {
    const loaded = await shelf?.load("secret");
    expect(loaded).toMatchObject({ ok: false, message: expect.stringContaining("disable-model-invocation") });
  });
});
