import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentDefinition, PermissionMode, Rule } from "../../protocol/index.ts";
import { definitionSources, permissionModes } from "../../protocol/index.ts";
import type { AgentRequest, AgentResolution, ResolvedAgent } from "./resolution.ts";
import { resolveAgent } from "./resolve-agent.ts";

const toolNames = [
  "Read",
  "Edit",
  "Write",
  "Grep",
  "Glob",
  "LS",
  "Bash",
  "WebFetch",
  "mcp__db__query",
  "mcp__db__list",
];

function resolve(definition: Partial<AgentDefinition>, request: Partial<AgentRequest> = {}): AgentResolution {
  return resolveAgent({
    definition: { name: "tester", description: "Tests.", source: "project", ...definition },
    prompt: "Test things.",
    model: { provider: "p", model: "m", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 },
    requestedModel: null,
    modelReason: "test",
    tools: toolNames.map((name) => ({ name, description: name, inputSchema: { type: "object" } })),
    absentTools: [{ name: "WebSearch", reason: "No search engine is configured." }],
    rules: [],
    asked: {},
    settings: {},
    workspaceRoot: "/work",
    additionalDirectories: [],
    readableRoots: [],
    ...request,
  });
}

function resolved(definition: Partial<AgentDefinition>, request: Partial<AgentRequest> = {}) {
  const resolution = resolve(definition, request);
  if (!resolution.ok) throw new Error(resolution.message);
  return resolution;
}

describe("agent tools", () => {
  const names = ["Read", "Task", "TaskOutput", "TaskStop", "SendMessage"];
  const tools = names.map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
  const pool = (definition: Partial<AgentDefinition>, rules: readonly Rule[] = []) =>
    resolved(definition, { tools, rules }).agent.policy.pool;

  it("are all removed together with Task, no matter how Task is removed", () => {
    expect(pool({})).toEqual(names);
    expect(pool({}, [{ text: "Task", effect: "deny", scope: "user" }])).toEqual(["Read"]);
    expect(pool({ disallowedTools: ["Agent"] })).toEqual(["Read"]);
    expect(pool({ permission: [{ tool: "task", pattern: "*", effect: "deny" }] })).toEqual(["Read"]);
    expect(pool({ tools: ["Read", "Task", "TaskStop"] })).toEqual(["Read", "Task", "TaskStop"]);
    expect(pool({ tools: ["Read", "TaskOutput"] })).toEqual(["Read"]);
  });

  it("are reported with the reason if they are listed but missing", () => {
    const { notices, report } = resolved({ tools: ["Read", "TaskOutput"] }, { tools });
    expect(report.invalidTools).toEqual(["TaskOutput"]);
    expect(notices).toEqual([expect.stringMatching(/lists TaskOutput, which is not available: .*Task/)]);
  });
});

describe("tools", () => {
  it("include everything without a list, and nothing with an empty one", () => {
    expect(resolved({}).report).toEqual({
      hasWildcard: true,
      validTools: ["*"],
      invalidTools: [],
      resolvedTools: toolNames,
    });
    expect(resolved({ tools: [] }).agent.policy.pool).toEqual([]);
  });

  it("are found by any of their names, in declaration order", () => {
    const { report, agent } = resolved({ tools: ["grep_search", "read_file", "list_dir", "replace"] });
    expect(report).toMatchObject({
      hasWildcard: false,
      validTools: ["grep_search", "read_file", "list_dir", "replace"],
    });
    expect(agent.head.tools.map(({ name }) => name)).toEqual(["Read", "Edit", "Grep", "LS"]);
  });

  it("that are unknown or absent are reported with advice, and the agent still starts", () => {
    const { report, notices } = resolved({ tools: ["Read", "Grpe", "WebSearch"] });
    expect(report).toMatchObject({
      validTools: ["Read"],
      invalidTools: ["Grpe", "WebSearch"],
      resolvedTools: ["Read"],
    });
    // The unknown name was reported when the definition was read.
    expect(notices).toHaveLength(1);
    expect(notices.join("\n")).toContain("No search engine is configured.");
  });

  it("cause a notice if they include Skill but there are no skills", () => {
    const { notices } = resolved({ tools: ["Read", "skill"] });
    expect(notices.join()).toContain("no skills that a model can load");
  });

  it("prevent the agent from starting if all names are unknown, because unknown names never mean all tools", () => {
    expect(resolve({ tools: ["Grpe", "teleport"] })).toMatchObject({
      ok: false,
      message: expect.stringContaining("no tools left"),
    });
  });

  it("prevent the agent from starting if a required one is missing", () => {
    expect(resolve({ requiredTools: ["Bash"], disallowedTools: ["Bash"] })).toMatchObject({
      ok: false,
      message: expect.stringContaining("requires Bash"),
    });
    expect(resolve({ requiredTools: ["mcp__db"] }).ok).toBe(true);
  });

  it("from a server can be listed by the server's name", () => {
    for (const entry of ["mcp__db", "mcp__db__*"]) {
      expect(resolved({ tools: [entry] }).report.resolvedTools).toEqual(["mcp__db__query", "mcp__db__list"]);
      expect(resolved({ disallowedTools: [entry] }).report.resolvedTools).not.toContain("mcp__db__list");
    }
    expect(resolve({ tools: ["mcp__d"] }).ok).toBe(false);
  });

  it("are limited by specifiers, unless they are also listed without one", () => {
    const { agent } = resolved({ tools: ["Bash(git:*)", "Bash(npm test)", "Read"] });
    expect(layersOf(agent)).toEqual([["deny Bash", "allow Bash(git:*)", "allow Bash(npm test)"]]);
    expect(agent.policy.rules).toEqual([]);
    expect(agent.head.system).toContain("Bash(git:*), Bash(npm test)");
    expect(layersOf(resolved({ tools: ["Bash(git:*)", "Bash"] }).agent)).toEqual([]);
    expect(layersOf(resolved({ tools: ["Bash(*)"] }).agent)).toEqual([]);
  });

  it("with a specifier that can't be enforced are not granted", () => {
    const { report, notices } = resolved({ tools: ["Read", "mcp__db__query(select)"] });
    expect(report.resolvedTools).toEqual(["Read"]);
    expect(notices.join()).toContain("specifier is not supported");
  });

  it("are removed if disallowed; with a specifier, only the uses that it covers are denied", () => {
    const { agent } = resolved({ disallowedTools: ["Write", "Bash(rm:*)"] });
    expect(agent.policy.pool).not.toContain("Write");
    expect(agent.policy.pool).toContain("Bash");
    expect(agent.policy.layers).toEqual([{ rules: [{ text: "Bash(rm:*)", effect: "deny", scope: "project" }] }]);
  });

  it("are removed by deny lines, unless a later line allows some uses", () => {
    const line = (effect: "allow" | "deny", text: string): Rule => ({ text, effect, scope: "user", form: "compact" });
    const pool = (...rules: Rule[]) => resolved({ tools: ["Bash", "Read"] }, { rules }).agent.policy.pool;
    expect(pool(line("deny", "Bash"))).toEqual(["Read"]);
    expect(pool(line("deny", "Bash"), line("allow", "Bash(git *)"))).toEqual(["Read", "Bash"]);
    expect(pool(line("deny", "Bash"), line("allow", "Bash(git *)"), line("deny", "Bash"))).toEqual(["Read"]);
    expect(pool(line("allow", "Bash"), line("deny", "Bash(rm *)"))).toEqual(["Read", "Bash"]);
  });

  it("that session rules remove are not added back", () => {
    const rules = [{ text: "bash", effect: "deny", scope: "user" }] as const;
    expect(resolved({ tools: ["Bash", "Read"] }, { rules }).agent.policy.pool).toEqual(["Read"]);
  });

  it("never include unlisted or disallowed ones", () => {
    const entry = fc.constantFrom(
      ...toolNames,
      "Grpe",
      "read_file",
      "Bash(git:*)",
      "Edit(src/**)",
      "mcp__db",
      "Nope(x)",
      "*(x)",
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 6 }), fc.array(entry, { maxLength: 3 }), (tools, disallowedTools) => {
        const resolution = resolve({ tools, disallowedTools });
        if (!resolution.ok) return;
        const { resolvedTools } = resolution.report;
        const names = (entries: readonly string[]) =>
          entries.map((text) => text.replace(/\(.*/, "").replace("read_file", "Read"));
        for (const tool of resolvedTools) {
          expect(names(tools).some((name) => tool === name || tool.startsWith(`${name}__`))).toBe(true);
          expect(names(disallowedTools.filter((text) => !text.includes("(")))).not.toContain(tool);
        }
      }),
    );
  });
});

describe("compact rules", () => {
  it("keep the tools that the last matching line allows", () => {
    const permission = [
      { tool: "*", effect: "deny" },
      { tool: "grep", effect: "allow" },
      { tool: "read_file", effect: "allow" },
    ] as const;
    expect(resolved({ permission }).agent.policy).toMatchObject({ pool: ["Read", "Grep"], rules: [] });
  });

  it("limit a tool to its allowed uses", () => {
    const permission = [
      { tool: "bash", effect: "deny" },
      { tool: "bash", pattern: "git status", effect: "allow" },
    ] as const;
    const { agent } = resolved({ permission });
    expect(layersOf(agent)).toEqual([["deny Bash", "allow Bash(git status)"]]);
    expect(agent.head.system).toContain("limited to: Bash(git status)");
    const both = resolved({ permission, tools: ["Bash(git:*)"] }).agent;
    expect(layersOf(both)).toEqual([
      ["deny Bash", "allow Bash(git:*)"],
      ["deny Bash", "allow Bash(git status)"],
    ]);
    expect(agent.policy.pool).toContain("Bash");
  });

  it("keep their order, and approve calls only if the source is the user's own", () => {
    const permission = [
      { tool: "edit", effect: "allow" },
      { tool: "*", pattern: "*.env", effect: "deny" },
    ] as const;
    const { agent } = resolved({ permission, tools: ["Read", "Edit"] });
    expect(layersOf(agent)).toEqual([["allow Edit", "deny Read(*.env)", "deny Edit(*.env)"]]);
    expect(agent.policy.layers?.[0]?.settles).toBe(undefined);
    expect(resolved({ permission, source: "user" }).agent.policy.layers?.[0]?.settles).toBe(true);
  });
});

describe("the permission mode", () => {
  const modeOf = (definition: Partial<AgentDefinition>, request: Partial<AgentRequest> = {}): PermissionMode =>
    resolved(definition, request).agent.policy.mode;

  it("comes from the user, then the definition, then the settings", () => {
    expect(modeOf({ permissionMode: "plan" }, { asked: { mode: "acceptEdits" } })).toBe("acceptEdits");
    expect(modeOf({ permissionMode: "plan" }, { settings: { mode: "acceptEdits" } })).toBe("plan");
    expect(modeOf({}, { settings: { mode: "acceptEdits" } })).toBe("acceptEdits");
  });

  it("is bypassPermissions only if the user or the administrator sets it", () => {
    for (const source of definitionSources) {
      const mode = modeOf({ permissionMode: "bypassPermissions", source });
      expect(mode).toBe(source === "user" || source === "policy" ? "bypassPermissions" : "default");
    }
    expect(resolved({ permissionMode: "bypassPermissions" }).notices.join()).toContain("`permissionMode`");
  });

  it("is never loosened by a definition under plan or dontAsk", () => {
    for (const fallback of ["plan", "dontAsk"] as const) {
      for (const source of definitionSources) {
        for (const permissionMode of permissionModes) {
          const mode = modeOf({ permissionMode, source }, { settings: { mode: fallback } });
          expect(["plan", fallback]).toContain(mode);
        }
      }
    }
  });
});

describe("resolving an agent", () => {
  it("takes the turn limit and the effort from the call, the definition and the settings, in that order", () => {
    const definition = { maxTurns: 7, effort: "low" } as const;
    const settings = { maxTurns: 9, effort: "high" } as const;
    expect(resolved(definition, { settings }).agent).toMatchObject({ maxTurns: 7, head: { effort: "low" } });
    expect(resolved(definition, { settings, asked: { maxTurns: 3, effort: "max" } }).agent).toMatchObject({
      maxTurns: 3,
      head: { effort: "max" },
    });
    expect(resolved({}, { settings }).agent).toMatchObject({ maxTurns: 9, head: { effort: "high" } });
    expect(resolved({}).agent.maxTurns).toBe(50);
  });

  it("reports the effort level that replaces an unsupported one", () => {
    const model = { provider: "p", model: "m", dialect: "anthropic", window: 9_000, maxOutputTokens: 900 } as const;
    const { agent, notices } = resolved({ effort: "max" }, { model: { ...model, efforts: ["low", "high"] } });
    expect(agent.head.effort).toBe("high");
    expect(notices).toEqual(['The model m does not support effort "max"; using "high" instead.']);
    expect(resolved({ effort: "max" }, { model: { ...model, efforts: [] } }).agent.head.effort).toBeUndefined();
  });

  it("puts the definition's prompt first, then the rules for every agent, skills and memory", () => {
    const { system } = resolved(
      {},
      { skills: [{ name: "review", text: "Review well." }], memory: { directory: "/m", index: "- likes tabs" } },
    ).agent.head;
    const places = ["Test things.", "a call is denied", "Review well.", "- likes tabs"].map((words) =>
      system.indexOf(words),
    );
    expect(places[0]).toBe(0);
    expect([...places].sort((left, right) => left - right)).toEqual(places);
  });

  it("leaves out the project context if the definition says so", () => {
    const projectContext = "Use tabs.";
    expect(resolved({}, { projectContext }).agent.head.userContext).toBe(projectContext);
    expect(resolved({ omitProjectContext: true }, { projectContext }).agent.head.userContext).toBe("");
  });

  it("does not start an agent that needs its own copy of the repository, and ignores acceptance checks", () => {
    expect(resolved({ timeoutMs: 5, acceptance: "npm test" }).notices).toEqual([]);
    expect(resolve({ isolation: "worktree" })).toMatchObject({ ok: false, message: expect.stringContaining("copy") });
  });
});

function layersOf({ policy: { layers = [] } }: ResolvedAgent): readonly (readonly string[])[] {
  return layers.map(({ rules }) => rules.map(({ text, effect }) => `${effect} ${text}`));
}
