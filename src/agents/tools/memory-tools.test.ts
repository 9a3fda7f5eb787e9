import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AgentDefinition, permissionModes, type Rule } from "../../protocol/index.ts";
import type { AgentRequest } from "../resolve/resolution.ts";
import { resolveAgent } from "../resolve/resolve-agent.ts";

const directory = "/home/me/.retinue/agent-memory/tester";
const own = (tool: string) => `${tool}(/${directory}/**)`;
const toolNames = ["Read", "Edit", "Write", "Grep", "Bash"];

function resolve(definition: Partial<AgentDefinition>, request: Partial<AgentRequest> = {}) {
  const resolution = resolveAgent({
    definition: { name: "tester", description: "Tests.", source: "project", memory: "user", ...definition },
    prompt: "Test things.",
    model: { provider: "p", model: "m", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 },
    requestedModel: null,
    modelReason: "test",
    tools: toolNames.map((name) => ({ name, description: name, inputSchema: { type: "object" } })),
    rules: [],
    asked: {},
    settings: {},
    workspaceRoot: "/work",
    additionalDirectories: [],
    readableRoots: [],
    memory: { directory },
    ...request,
  });
  if (!resolution.ok) throw new Error(resolution.message);
  const { agent, report } = resolution;
  const { pool, rules, layers = [] } = agent.policy;
  const texts = (some: readonly Rule[]) => some.map(({ text }) => text);
  const limits = layers.map((layer) => texts(layer.rules.filter(({ effect }) => effect === "allow")));
  return { agent, report, pool, limits, rules: texts(rules) };
}

describe("file tools for the memory", () => {
  it("are added if the agent lacks them, for its memory directory only", () => {
    const { pool, limits, rules, report } = resolve({ tools: ["Grep"] });
    expect(pool).toEqual(["Read", "Edit", "Write", "Grep"]);
    expect(report.resolvedTools).toEqual(pool);
    expect(limits).toEqual([[own("Read"), own("Edit"), own("Write")]]);
    expect(rules).toEqual([own("Read"), own("Edit")]);
  });

  it("that the agent already has are kept, and can use the directory too", () => {
    const all = resolve({});
    expect(all.pool).toEqual(toolNames);
    expect(all.limits).toEqual([]);
    expect(all.rules).toEqual([own("Read"), own("Edit")]);
    const some = resolve({ tools: ["Read", "Write(docs/**)"] });
    expect(some.pool).toEqual(["Read", "Edit", "Write"]);
    expect(some.limits).toEqual([
      ["Write(docs/**)", own("Edit")],
      ["Write", own("Edit")],
    ]);
  });

  it.each<[string, Partial<AgentDefinition>]>([
    ["disallowed", { tools: ["Grep"], disallowedTools: ["edit_file", "Write"] }],
    [
      "denied in the short form",
      {
        permission: [
          { tool: "Edit", effect: "deny" },
          { tool: "Write", effect: "deny" },
        ],
      },
    ],
  ])("are not added back if they were %s", (_, definition) => {
    const { pool, agent } = resolve(definition);
    expect(pool).not.toContain("Edit");
    expect(pool).not.toContain("Write");
    expect(agent.policy.rules.filter(({ effect }) => effect === "allow")).toEqual([]);
    expect(agent.head.system).not.toContain(directory);
  });

  it("are not granted if a session rule denies them", () => {
    const rules: Rule[] = ["Edit", "Write"].map((text) => ({ text, effect: "deny", scope: "user" }));
    expect(resolve({ tools: ["Grep"] }, { rules }).pool).toEqual(["Grep"]);
  });

  it.each<[string, Partial<AgentDefinition>, Partial<AgentRequest>]>([
    ["in plan mode", { tools: ["Grep"], permissionMode: "plan" }, {}],
    ["if the user requests plan mode", { tools: ["Grep"] }, { asked: { mode: "plan" } }],
    ["for a built-in agent", { tools: ["Grep"], source: "built-in" }, {}],
  ])("are not added %s: the agent only gets the index", (_, definition, request) => {
    const { pool, rules, agent } = resolve(definition, { memory: { directory, index: "- tabs" }, ...request });
    expect(pool).toEqual(["Grep"]);
    expect(rules).toEqual([]);
    expect(agent.head.system).toContain("- tabs");
    expect(agent.head.system).not.toContain(directory);
  });

  it("are the only tools that are added, and none are removed, whatever the definition says", () => {
    const lists = fc.option(fc.subarray([...toolNames, "Write(docs/**)", "Bash(git:*)"], { minLength: 1 }), {
      nil: undefined,
    });
    fc.assert(
      fc.property(lists, fc.constantFrom(...permissionModes), (tools, mode) => {
        const definition = tools === undefined ? {} : { tools };
        const asked = { mode };
        const { pool, limits } = resolve(definition, { asked });
        const plain = resolve({ ...definition, source: "built-in" }, { asked });
        expect(plain.pool.every((tool) => pool.includes(tool))).toBe(true);
        const added = pool.filter((tool) => !plain.pool.includes(tool));
        for (const tool of added) expect(limits.flat()).toContain(own(tool));
        expect(added.every((tool) => ["Read", "Edit", "Write"].includes(tool))).toBe(true);
      }),
    );
  });
});

describe("the memory text", () => {
  it("contains the directory and the index, and tells the model if the index was cut off", () => {
    expect(resolve({}).agent.head.system).toMatch(/\/agent-memory\/tester.*There are no notes yet\.$/s);
    const whole = resolve({}, { memory: { directory, index: "- tabs", cut: false } }).agent.head.system;
    expect(whole).toMatch(/- tabs$/);
    const cut = resolve({}, { memory: { directory, index: "- tabs", cut: true } }).agent.head.system;
    expect(cut).toContain("longer than 200 lines");
  });
});

it("escapes special characters in the name of the memory directory", () => {
  const { rules } = resolve({}, { memory: { directory: "/w/a*[b]/m" } });
  expect(rules).toEqual(["Read(//w/a\\*\\[b]/m/**)", "Edit(//w/a\\*\\[b]/m/**)"]);
});
