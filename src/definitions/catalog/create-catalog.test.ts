import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentPlace } from "../../protocol/index.ts";
import { type AgentDefinition, definitionSources } from "../../protocol/index.ts";
import { type CatalogEntry, createCatalog } from "./create-catalog.ts";

function entry(name: string, source: AgentDefinition["source"], more: Partial<AgentDefinition> = {}): CatalogEntry {
  return { definition: { name, source, description: `${name} of ${source}`, ...more } };
}

const place = (more: Partial<AgentPlace>): AgentPlace => ({ distance: 0, form: "file", directory: 0, ...more });

describe("names that look like another agent's", () => {
  it("are reported, for both agents if both are disguised, but not if only the case differs", () => {
    const agents = [
      entry("reviewer", "user", { file: "/h/reviewer.md" }),
      entry("r\u0435viewer", "project", { file: "/p/other.md" }),
      entry("\u0442\u0435\u0441\u0442", "project", { file: "/p/small.md" }),
      entry("\u0422\u0415\u0421\u0422", "project", { file: "/p/capital.md" }),
    ];
    const { diagnostics } = createCatalog(agents);
    expect(diagnostics).toMatchObject([{ severity: "warning", file: "/p/other.md", line: 1, code: "confusable_name" }]);
    expect(diagnostics[0]?.message).toContain(
      'contains "\u0435" (Cyrillic, U+0435) and looks like the name of another agent, "reviewer" from /h/',
    );
    expect(createCatalog([...agents, entry("tect", "user")]).diagnostics).toHaveLength(3);
  });
});

describe("the agent that takes precedence", () => {
  it("comes from the source with the higher precedence", () => {
    const entries = definitionSources.map((source) => entry("a", source));
    for (let count = 1; count <= entries.length; count += 1) {
      const catalog = createCatalog(entries.slice(0, count));
      expect(catalog.agents).toEqual([entries[count - 1]]);
      expect(catalog.overrides.map(({ rule }) => rule)).toEqual(Array(count - 1).fill("source"));
      expect(catalog.diagnostics).toEqual([]);
    }
  });

  it("comes from the nearer directory in a project", () => {
    const near = { ...entry("a", "project", { file: "/p/x/z.md" }), place: place({ distance: 0, directory: 1 }) };
    const far = { ...entry("a", "project", { file: "/p/a.md" }), place: place({ distance: 1 }) };
    const { agents, overrides } = createCatalog([far, near]);
    expect(agents).toEqual([near]);
    expect(overrides).toMatchObject([{ winner: near, loser: far, rule: "nearest" }]);
  });

  it("comes from the file if settings of the same scope also define it, with a report", () => {
    const file = { ...entry("a", "user", { file: "/h/a.md" }), place: place({ distance: 3 }) };
    const settings = { ...entry("a", "user", { file: "/h/settings.json" }), place: place({ form: "settings" }) };
    const { agents, diagnostics } = createCatalog([settings, file]);
    expect(agents).toEqual([file]);
    expect(diagnostics).toMatchObject([{ code: "settings_agent_hidden", file: "/h/settings.json" }]);
  });

  it("comes from the first path if one directory defines it twice, with a report", () => {
    const one = entry("a", "user", { file: "/h/1.md" });
    const two = entry("a", "user", { file: "/h/2.md" });
    const { agents, diagnostics } = createCatalog([two, one]);
    expect(agents).toEqual([one]);
    expect(diagnostics).toMatchObject([{ code: "duplicate_name", file: "/h/2.md" }]);
  });

  it("is a plugin agent instead of a built-in one only if the user allows it", () => {
    const entries = [entry("Plan", "built-in"), entry("kit:Plan", "plugin", { plugin: "kit" })];
    expect(createCatalog(entries).find("Plan")?.agent).toBe(entries[0]);
    const replaced = createCatalog(entries, { replaceBuiltIns: ["kit:Plan"] });
    expect(replaced.find("Plan")).toEqual({ agent: entries[1], by: "plugin" });
    expect(replaced.agents).toEqual([entries[1]]);
    expect(replaced.overrides).toMatchObject([{ rule: "opt-in", loser: entries[0] }]);
  });
});

describe("find", () => {
  const catalog = createCatalog([
    entry("Explore", "built-in"),
    entry("general-purpose", "built-in"),
    entry("retinue-guide", "built-in"),
    entry("Mixed", "user"),
    entry("mixed", "project"),
    entry("kit:lint", "plugin", { plugin: "kit" }),
    entry("kit:both", "plugin", { plugin: "kit" }),
    entry("bag:both", "plugin", { plugin: "bag" }),
    entry("kit:mixed", "plugin", { plugin: "kit" }),
    entry("kit:general", "plugin", { plugin: "kit" }),
  ]);
  it.each([
    ["Explore", "Explore", "name"],
    ["explore", "Explore", "alias"],
    ["EXPLORE", "Explore", "case"],
    ["general", "general-purpose", "alias"],
    ["General", "general-purpose", "case"],
    ["claude-code-guide", "retinue-guide", "alias"],
    ["mixed", "mixed", "name"],
    ["lint", "kit:lint", "plugin"],
    ["LINT", "kit:lint", "case"],
    ["kit:both", "kit:both", "name"],
  ])("resolves %s to %s by %s", (asked, name, by) => {
    const found = catalog.find(asked);
    expect([found?.agent.definition.name, found?.by]).toEqual([name, by]);
  });

  it.each(["MIXED", "both", "nobody", "", "constructor", "__proto__"])("%j matches no agent", (asked) => {
    expect(catalog.find(asked)).toBeUndefined();
  });

  it("prefers an agent's own name to another agent's alias", () => {
    const own = entry("explore", "user");
    expect(createCatalog([entry("Explore", "built-in"), own]).find("explore")?.agent).toBe(own);
  });
});

describe("nearest", () => {
  const catalog = createCatalog([
    entry("reviewer", "user"),
    entry("tester", "user"),
    entry("dba", "user", { description: "Tunes a database and its queries." }),
  ]);
  it("ranks by spelling, then by description, and fills up the list", () => {
    expect(catalog.nearest("reviewr")).toEqual(["reviewer", "dba", "tester"]);
    expect(catalog.nearest("database-expert")[0]).toBe("dba");
    expect(catalog.nearest("reviewr", 1)).toEqual(["reviewer"]);
  });
});

describe("in any set of agents", () => {
  const anyEntry = fc
    .record({
      name: fc.constantFrom("a", "A", "b", "kit:a", "Explore", "explore"),
      source: fc.constantFrom(...definitionSources),
      file: fc.constantFrom("/1.md", "/2.md", "/3.md"),
      place: fc.record({
        distance: fc.nat(2),
        form: fc.constantFrom("file" as const, "settings" as const),
        directory: fc.nat(1),
      }),
    })
    .map(({ name, source, file, place: where }) => {
      const plugin = name.startsWith("kit:") ? { plugin: "kit" } : {};
      return { ...entry(name, source, { file, ...plugin }), place: where };
    });
  const anyEntries = fc.array(anyEntry, { maxLength: 12 });
  const asked = ["a", "A", "b", "kit:a", "explore", "EXPLORE", "Explore"];
  const picture = (entries: CatalogEntry[]) => {
    const { agents, overrides, diagnostics, find, nearest } = createCatalog(entries);
    return { agents, overrides, diagnostics, found: asked.map((name) => find(name)), near: nearest("a") };
  };

  it("the order of definitions does not matter", () => {
    const shuffled = anyEntries.chain((entries) =>
      fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, { minLength: entries.length })),
    );
    fc.assert(
      fc.property(shuffled, ([entries, other]) => {
        expect(picture(other)).toEqual(picture(entries));
      }),
    );
  });

  it("an agent from a lower source never overrides one from a higher source", () => {
    fc.assert(
      fc.property(anyEntries, anyEntry, (entries, added) => {
        const rank = (one: CatalogEntry) => definitionSources.indexOf(one.definition.source);
        const after = createCatalog([...entries, added]);
        for (const winner of createCatalog(entries).agents) {
          if (rank(winner) <= rank(added)) continue;
          expect(after.find(winner.definition.name)).toEqual({ agent: winner, by: "name" });
        }
      }),
    );
  });

  it("each agent is overridden at most once, and none disappears", () => {
    fc.assert(
      fc.property(anyEntries, (entries) => {
        const { agents, overrides } = createCatalog(entries);
        expect(agents.length + overrides.length).toBe(entries.length);
      }),
    );
  });
});
