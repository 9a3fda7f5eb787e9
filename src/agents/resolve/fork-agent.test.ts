import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backgroundTools, type Policy } from "../../protocol/index.ts";
import { call, effectOf, policy, severity } from "../policy/policies.test-support.ts";
import { recordPolicy } from "../policy/recorded-policy.ts";
import { type ForkRequest, forkAgent } from "./fork-agent.ts";
import type { ResolvedAgent } from "./resolution.ts";
import { everyTool, subagentFor } from "./subagent.test-support.ts";

const tier = { background: false, mcpTools: "always", allowQuestions: false, named: false } as const;
const [some] = [subagentFor({}, {}).agent];

function parentWith(under: Policy): ResolvedAgent {
  const tools = everyTool.map((name) => ({ name, description: "", inputSchema: {} }));
  return { ...some, head: { ...some.head, tools }, policy: under };
}

function fork(under: Policy, more: Partial<ForkRequest> = {}) {
  const parent = parentWith(under);
  return forkAgent({ parent, head: parent.head, tier, ...more });
}

const bounds = fc.record({
  tier: fc.record({
    background: fc.boolean(),
    mcpTools: fc.constantFrom("always" as const, "foreground" as const, "never" as const),
    allowQuestions: fc.boolean(),
    named: fc.boolean(),
  }),
  readOnly: fc.boolean(),
  allowedTools: fc.option(fc.subarray([...everyTool]), { nil: undefined }),
});

describe("a fork", () => {
  it("never gets permissions that its origin lacks or that it lacked before", () => {
    fc.assert(
      fc.property(policy, policy, bounds, call, (under, then, { allowedTools, ...wish }, made) => {
        const before = recordPolicy(then);
        const bounded = { ...wish, ...(allowedTools === undefined ? {} : { allowedTools }) };
        const { agent } = fork(under, bounded);
        expect(severity[effectOf(made, agent.policy)]).toBeGreaterThanOrEqual(severity[effectOf(made, under)]);
        const resumed = fork(under, { ...bounded, before }).agent.policy;
        expect(severity[effectOf(made, resumed)]).toBeGreaterThanOrEqual(severity[effectOf(made, agent.policy)]);
        expect(resumed.pool.every((tool) => then.pool.includes(tool))).toBe(true);
      }),
    );
  });

  it("keeps the same head, and runs no tool that controls other agents or the session", () => {
    const parent = parentWith({ ...some.policy, pool: everyTool });
    const { agent, report } = forkAgent({ parent, head: parent.head, tier });
    expect(agent.head).toBe(parent.head);
    expect(agent.agentType).toBe("fork");
    for (const tool of ["Task", "TaskOutput", "TaskStop", "SendMessage", "ExitPlanMode", "AskUserQuestion"])
      expect(agent.policy.pool).not.toContain(tool);
    expect(agent.policy.pool).toContain("Edit");
    expect(report.withheld).toContainEqual({ tool: "Task", why: "forks can't start agents" });
    expect(agent.policy.layers).toContainEqual({ rules: [{ text: "Task", effect: "deny", scope: "builtin" }] });
  });

  it("has only background tools and the program's own tools, whether it starts in the background or is moved there", () => {
    const under = { ...some.policy, pool: [...everyTool, "Odd"] };
    const left = (pool: readonly string[]) =>
      pool.filter((tool) => !tool.startsWith("mcp__") && !backgroundTools.has(tool));
    const parent = parentWith(under);
    const head = { ...parent.head, tools: [...parent.head.tools, { name: "Odd", description: "", inputSchema: {} }] };
    const waited = forkAgent({ parent, head, tier }).agent;
    expect(waited.policy.pool).toContain("Odd");
    expect(left(waited.backgroundPool ?? waited.policy.pool)).toEqual(["Odd"]);
    const behind = forkAgent({ parent, head, tier: { ...tier, background: true } }).agent;
    expect(left(behind.policy.pool)).toEqual(["Odd"]);
  });

  it("reports which of the requested tools it can't have", () => {
    const { agent, report } = fork({ ...some.policy, pool: ["Read", "Edit"] }, { allowedTools: ["read_file", "Bash"] });
    expect(agent.policy.pool).toEqual(["Read"]);
    expect(report).toMatchObject({ validTools: ["read_file"], invalidTools: ["Bash"], resolvedTools: ["Read"] });
  });
});
