import { describe, expect, it } from "vitest";
import { builtInAgents } from "../../definitions/index.ts";
import { type AgentDefinition, definitionSources, permissionModes } from "../../protocol/index.ts";
import { recordPolicy } from "../policy/recorded-policy.ts";
import type { Tier } from "../tools/tiers.ts";
import {
  background,
  everyTool,
  foreground,
  MCP_TOOL,
  mainPolicy,
  poolFor,
  resolveFor,
  subagentFor,
} from "./subagent.test-support.ts";

const blocked = ["Task", "EnterPlanMode", "ExitPlanMode", "AskUserQuestion", "TaskStop", "TaskOutput", "SendMessage"];
const open = everyTool.filter((tool) => !blocked.includes(tool));
const listed =
  "Read LS Grep Glob WebSearch WebFetch TodoWrite Bash BashOutput KillShell Edit Write NotebookEdit Skill".split(" ");

function builtIn(name: string): AgentDefinition {
  const found = builtInAgents().find(({ definition }) => definition.name === name);
  if (found === undefined) throw new Error(`no built-in ${name}`);
  return found.definition;
}

const whyWithout = (tool: string, ...request: Parameters<typeof subagentFor>): string | undefined =>
  subagentFor(...request).report.withheld?.find((each) => each.tool === tool)?.why;

/**
 * Which built-in agents have each tool. One character per column: general-purpose; Explore and Plan; Bash;
 * statusline-setup; retinue-guide; Verification.
 */
const matrix: Readonly<Record<string, string>> = {
  Read: "✓✓-✓✓✓",
  Write: "✓----✓",
  NotebookEdit: "✓----✓",
  Edit: "✓--✓-✓",
  Bash: "✓-✓--✓",
  BashOutput: "✓----✓",
  KillShell: "✓----✓",
  Glob: "✓✓--✓✓",
  Grep: "✓✓--✓✓",
  LS: "✓✓---✓",
  WebFetch: "✓✓--✓✓",
  WebSearch: "✓✓--✓✓",
  TodoWrite: "✓----✓",
  Skill: "✓-----",
  [MCP_TOOL]: "✓-----",
  ...Object.fromEntries(blocked.map((tool) => [tool, "------"])),
};
const columns: Readonly<Record<string, number>> = {
  "general-purpose": 0,
  Explore: 1,
  Plan: 1,
  Bash: 2,
  "statusline-setup": 3,
  "retinue-guide": 4,
  Verification: 5,
};

describe("agent tools without Task", () => {
  const deep: Tier = { ...foreground, maxDepth: 2 };

  it("are withheld with the reason", () => {
    const agent = { disallowedTools: ["Task"] };
    const pool = poolFor(agent, { tier: deep });
    for (const tool of ["Task", "TaskOutput", "TaskStop", "SendMessage"]) expect(pool).not.toContain(tool);
    expect(whyWithout("TaskStop", agent, { tier: deep })).toBe("it requires Task, which this agent does not have");
    expect(whyWithout("Task", agent, { tier: deep })).toBe("its definition disallows it");
  });

  it("are granted together with Task, and a named agent can still send messages", () => {
    expect(poolFor({}, { tier: deep })).toEqual(expect.arrayContaining(["TaskOutput", "TaskStop", "SendMessage"]));
    const named = poolFor({ disallowedTools: ["Task"] }, { tier: { ...deep, named: true } });
    expect(named).toContain("SendMessage");
    expect(named).not.toContain("TaskStop");
  });
});

describe("the tool matrix", () => {
  it("covers every tool and every built-in agent", () => {
    expect(Object.keys(matrix).sort()).toEqual([...everyTool].sort());
    expect(Object.keys(columns)).toEqual(builtInAgents().map(({ definition }) => definition.name));
  });

  for (const [name, column] of Object.entries(columns)) {
    const expected = everyTool.filter((tool) => matrix[tool]?.[column] === "✓");

    it(`applies to ${name} in the foreground`, () => {
      expect(poolFor(builtIn(name))).toEqual(expected);
    });

    it(`applies to ${name} in the background, within the list of background tools`, () => {
      const pool = expected.filter((tool) => listed.includes(tool) || tool === MCP_TOOL);
      expect(poolFor(builtIn(name), { tier: background })).toEqual(pool);
    });
  }

  it("gives an agent file without a tool list the same tools as general-purpose, whatever its source", () => {
    for (const source of definitionSources) expect(poolFor({ source })).toEqual(open);
  });

  it("is not widened by a list that names blocked tools", () => {
    expect(poolFor({ tools: [...blocked, "Read"] })).toEqual(["Read"]);
    expect(resolveFor({ tools: blocked })).toMatchObject({ ok: false });
    expect(resolveFor({ requiredTools: ["agent"] })).toMatchObject({
      ok: false,
      message: expect.stringContaining("requires agent"),
    });
  });

  it("grants a tool that the program defines, even in the background", () => {
    const tools = ["Read", "Teleport"].map((name) => ({ name, description: name, inputSchema: {} }));
    const parentPolicy = { pool: ["Read", "Teleport"] };
    expect(poolFor({}, { tools, parentPolicy })).toEqual(["Read", "Teleport"]);
    expect(poolFor({}, { tools, parentPolicy, tier: background })).toEqual(["Read", "Teleport"]);
    expect(poolFor({}, { tools, parentPolicy: { pool: ["Read"] }, tier: background })).toEqual(["Read"]);
  });
});

describe("agents that are not built in", () => {
  const tier = { ...foreground, blockedTools: ["web_fetch", "mcp__db", "Teleport"] };

  it("lack tools named in subagents.blockedTools, under any name; built-in agents keep them", () => {
    for (const source of definitionSources) {
      const expected = source === "built-in" ? open : open.filter((tool) => tool !== "WebFetch" && tool !== MCP_TOOL);
      expect(poolFor({ source }, { tier })).toEqual(expected);
    }
    expect(whyWithout("WebFetch", {}, { tier })).toBe("subagents.blockedTools lists it");
  });

  it("lack blocked tools even if their tier would grant them", () => {
    const deep = { ...foreground, maxDepth: 2, named: true, blockedTools: ["Task", "SendMessage"] };
    expect(poolFor({}, { tier: deep })).not.toContain("Task");
    expect(poolFor({}, { tier: deep })).not.toContain("SendMessage");
  });

  it("can't start if none of their listed tools is left", () => {
    expect(resolveFor({ tools: ["Read"] }, { tier: { ...foreground, blockedTools: ["*"] } })).toMatchObject({
      ok: false,
      message: expect.stringContaining("no tools left"),
    });
  });
});

describe("MCP tools", () => {
  it.each([
    ["always", true, true],
    ["foreground", true, false],
    ["never", false, false],
  ] as const)("are granted with subagents.mcpTools %s: foreground %s, background %s", (mcpTools, inFront, behind) => {
    expect(poolFor({}, { tier: { ...foreground, mcpTools } }).includes(MCP_TOOL)).toBe(inFront);
    expect(poolFor({}, { tier: { ...background, mcpTools } }).includes(MCP_TOOL)).toBe(behind);
  });

  it("are removed if a rule denies their server", () => {
    const parentPolicy = { rules: [{ text: "mcp__db", effect: "deny", scope: "user" }] } as const;
    expect(poolFor({}, { parentPolicy })).not.toContain(MCP_TOOL);
    expect(whyWithout(MCP_TOOL, {}, { parentPolicy })).toBe("the user rule mcp__db denies it");
  });

  it("from the definition are granted even if the parent lacks them, but rules still apply", () => {
    const parentPolicy = { pool: ["Read"] };
    const ownTools = [MCP_TOOL];
    expect(poolFor({}, { parentPolicy })).toEqual(["Read"]);
    expect(poolFor({}, { parentPolicy, ownTools })).toEqual(["Read", MCP_TOOL]);
    expect(poolFor({}, { parentPolicy, ownTools, tier: { ...foreground, mcpTools: "never" } })).toEqual(["Read"]);
    const rules = [{ text: MCP_TOOL, effect: "deny", scope: "project" }] as const;
    expect(poolFor({}, { parentPolicy: { ...parentPolicy, rules }, ownTools })).toEqual(["Read"]);
  });
});

describe("a subagent", () => {
  it("can ask the user only in the foreground, and only if questions are allowed", () => {
    const asking = { ...foreground, allowQuestions: true };
    expect(poolFor({}, { tier: asking })).toContain("AskUserQuestion");
    expect(poolFor({}, { tier: { ...asking, background: true } })).not.toContain("AskUserQuestion");
  });

  it("can delegate only above the maximum depth, and never in the background", () => {
    const delegating = ["Task", "TaskOutput", "TaskStop", "SendMessage"];
    for (const maxDepth of [0, 1, 2, 3]) {
      for (const depth of [1, 2, 3, 4]) {
        const tier = { ...foreground, depth, maxDepth };
        const has = poolFor({}, { tier }).filter((tool) => delegating.includes(tool));
        expect(has.sort()).toEqual(depth < maxDepth ? [...delegating].sort() : []);
        expect(poolFor({}, { tier: { ...tier, background: true } })).not.toContain("Task");
      }
    }
  });

  it("has a rule that denies delegation, unless its depth allows it", () => {
    const denial = { text: "Task", effect: "deny", scope: "builtin" };
    const denials = (tier: Tier) => (subagentFor({}, { tier }).agent.policy.layers ?? []).flatMap(({ rules }) => rules);
    expect(denials(foreground)).toEqual([denial]);
    expect(denials({ ...foreground, maxDepth: 2 })).toEqual([]);
    expect(denials({ ...background, maxDepth: 2 })).toEqual([denial]);
  });

  it("can also send messages if it has a name, even in the background", () => {
    const named = { ...background, named: true };
    const without = poolFor({}, { tier: background });
    expect(poolFor({}, { tier: named }).filter((tool) => !without.includes(tool))).toEqual(["SendMessage"]);
  });
});

describe("moving to the background", () => {
  it("leaves only the tools that the agent would have had there from the start", () => {
    const tiers = [
      { ...foreground, maxDepth: 2 },
      { ...foreground, mcpTools: "foreground" },
      { ...foreground, allowQuestions: true, named: true, maxDepth: 2 },
    ] as const;
    for (const tier of tiers) {
      const { agent } = subagentFor({}, { tier });
      expect(agent.backgroundPool).toEqual(poolFor({}, { tier: { ...tier, background: true } }));
    }
    expect(subagentFor({}).agent.backgroundPool).toBeUndefined();
  });
});

describe("the tool report", () => {
  it("gives a reason for each requested tool that is missing, and for no other", () => {
    const rules = [{ text: "Bash", effect: "deny", scope: "managed" }] as const;
    const absentTools = [{ name: "WebSearch", reason: "No search engine is configured." }];
    const tools = everyTool
      .filter((name) => name !== "WebSearch")
      .map((name) => ({ name, description: name, inputSchema: {} }));
    const { report } = subagentFor(
      {
        tools: ["Read", "Edit", "Bash", "agent", "Grpe", "WebSearch", "LS", "mcp__db__query(x)", "Glob"],
        disallowedTools: ["list_dir"],
        permission: [{ tool: "edit", effect: "deny" }],
      },
      { parentPolicy: { rules, pool: everyTool.filter((tool) => tool !== "Glob") }, tools, absentTools },
    );
    expect(report).toEqual({
      hasWildcard: false,
      validTools: ["Read", "Edit", "LS"],
      invalidTools: ["Bash", "agent", "Grpe", "WebSearch", "mcp__db__query(x)", "Glob"],
      resolvedTools: ["Read"],
      withheld: [
        { tool: "Edit", why: "the permission rules in its definition deny it" },
        { tool: "Bash", why: "the managed rule Bash denies it" },
        { tool: "Glob", why: "its parent does not have it" },
        { tool: "LS", why: "its definition disallows it" },
        { tool: "Task", why: "agents at this depth can't delegate (subagents.maxDepth is 1)" },
        { tool: MCP_TOOL, why: "the specifier can't be evaluated: mcp__db__query(x)" },
        { tool: "Grpe", why: "there is no such tool" },
        { tool: "WebSearch", why: "No search engine is configured." },
      ],
    });
  });
});

describe("a subagent's mode", () => {
  const freedom = ["plan", "dontAsk", "default", "acceptEdits", "bypassPermissions"];

  it("is the stricter of its own and its parent's; only the user's own file may set acceptEdits", () => {
    for (const source of definitionSources) {
      for (const mode of permissionModes) {
        for (const permissionMode of permissionModes) {
          const { agent, notices } = subagentFor({ source, permissionMode }, { parentPolicy: { mode } });
          const isPersons = source === "user" || source === "flag";
          const passes = permissionMode === "acceptEdits" && mode === "default" && isPersons;
          const stricter = freedom[Math.min(freedom.indexOf(mode), freedom.indexOf(permissionMode))];
          expect(agent.policy.mode).toBe(passes ? "acceptEdits" : stricter);
          expect(notices.some((notice) => notice.includes(`asked for mode ${permissionMode}`))).toBe(
            agent.policy.mode !== permissionMode,
          );
        }
      }
    }
    expect(subagentFor({}, { parentPolicy: { mode: "plan" } }).agent.policy.mode).toBe("plan");
  });
});

describe("down the tree", () => {
  it("a grandchild keeps the denials of its parent and grandparent", () => {
    const rules = [
      { text: "Read(.env)", effect: "deny", scope: "user" },
      { text: "Bash(git push:*)", effect: "ask", scope: "managed" },
    ] as const;
    const grandparent = { ...mainPolicy, mode: "plan", rules } as const;
    const child = subagentFor(
      { source: "user", disallowedTools: ["Write", "Bash(rm:*)"], permissionMode: "bypassPermissions" },
      { parentPolicy: grandparent, tier: { ...foreground, maxDepth: 2 } },
    ).agent.policy;
    expect(child.pool).toContain("Task");
    const grandchild = subagentFor(
      { source: "flag", tools: ["*"], permissionMode: "acceptEdits", permission: [{ tool: "*", effect: "allow" }] },
      { parentPolicy: child, tier: { ...foreground, depth: 2, maxDepth: 2 } },
    ).agent.policy;
    expect(grandchild.mode).toBe("plan");
    expect(grandchild.pool).toEqual(child.pool.filter((tool) => !blocked.includes(tool)));
    expect(grandchild.pool).not.toContain("Write");
    expect(grandchild.rules.filter(({ effect }) => effect !== "allow")).toEqual(rules);
    const layers = grandchild.layers?.map((layer) => layer.rules.map(({ text, effect }) => `${effect} ${text}`));
    expect(layers).toEqual([["deny Bash(rm:*)"], ["allow *"], ["deny Task"]]);
  });
});

describe("a resumed agent", () => {
  const narrow: Partial<AgentDefinition> = { tools: ["Read", "Bash(git:*)"], permissionMode: "plan" };
  const then = subagentFor(narrow, {
    parentPolicy: { rules: [{ text: "Read(.env)", effect: "deny", scope: "user" }] },
  });
  const before = recordPolicy(then.agent.policy);

  it("gets no more than it had, no matter how its definition and its parent have changed", () => {
    const { agent, report } = subagentFor({ source: "user", permissionMode: "acceptEdits" }, { before });
    expect(agent.policy).toMatchObject({ mode: "plan", pool: ["Read", "Bash"] });
    expect(agent.policy.rules.map(({ text, effect }) => `${effect} ${text}`)).toEqual(["deny Read(.env)"]);
    const layers = agent.policy.layers?.map(({ rules }) => rules.map(({ text, effect }) => `${effect} ${text}`));
    expect(layers).toEqual([["deny Bash", "allow Bash(git:*)"], ["deny Task"]]);
    expect(report.withheld).toContainEqual({ tool: "Write", why: "the agent did not have it in its previous run" });
  });

  it("keeps its declared tools, and does not change if nothing else changed", () => {
    const wider = { ...narrow, tools: ["Read", "Bash(git:*)", "Write"] };
    expect(subagentFor(wider, { before }).agent.head.tools).toEqual(then.agent.head.tools);
    const parentPolicy = { rules: [{ text: "Read(.env)", effect: "deny", scope: "user" }] } as const;
    expect(subagentFor(narrow, { before, parentPolicy }).agent).toEqual(then.agent);
  });

  it("is limited to its current permissions if they are stricter", () => {
    const { agent } = subagentFor({ tools: ["Read"], permissionMode: "dontAsk" }, { before });
    expect(agent.policy.pool).toEqual(["Read"]);
    const free = subagentFor({ source: "user" }, { parentPolicy: { mode: "bypassPermissions" } });
    const record = recordPolicy(free.agent.policy);
    expect(subagentFor({}, { parentPolicy: { mode: "dontAsk" }, before: record }).agent.policy.mode).toBe("dontAsk");
  });
});

it("the prompt says that no one can answer questions, unless the agent can ask", () => {
  const systemOf = (tier: Tier): string => subagentFor({}, { tier }).agent.head.system;
  expect(systemOf(foreground)).toContain("No one can answer questions");
  expect(systemOf({ ...foreground, allowQuestions: true })).not.toContain("No one can answer questions");
});
