import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AgentDefinition,
  backgroundTools,
  type CompactRule,
  definitionSources,
  type Policy,
  permissionModes,
  type Rule,
} from "../../protocol/index.ts";
import { call, effectOf, policy, rule, severity } from "../policy/policies.test-support.ts";
import { recordPolicy } from "../policy/recorded-policy.ts";
import type { Tier } from "../tools/tiers.ts";
import { readToolEntry } from "../tools/tool-entry.ts";
import { type Change, everyTool, resolveFor } from "./subagent.test-support.ts";

const freedom = ["plan", "dontAsk", "default", "acceptEdits", "bypassPermissions"];

const entry = fc.constantFrom(
  ...everyTool,
  "*",
  "mcp__db",
  "read_file",
  "agent",
  "Grpe",
  "Bash(git:*)",
  "Bash(rm:*)",
  "Edit(src/**)",
  "Bash(",
  "mcp__db__query(x)",
);
const compact: fc.Arbitrary<CompactRule> = fc.record(
  {
    tool: fc.constantFrom("*", "bash", "edit", "Read", "Write", "task", "mcp__db__query"),
    pattern: fc.constantFrom("*", "git *", "*.env", "src/**"),
    effect: fc.constantFrom("allow", "ask", "deny"),
  },
  { requiredKeys: ["tool", "effect"] },
);
const definition: fc.Arbitrary<Partial<AgentDefinition>> = fc.record(
  {
    source: fc.constantFrom(...definitionSources),
    tools: fc.array(entry, { minLength: 1, maxLength: 8 }),
    disallowedTools: fc.array(entry, { maxLength: 3 }),
    requiredTools: fc.subarray(["Read"]),
    permission: fc.array(compact, { maxLength: 4 }),
    permissionMode: fc.constantFrom(...permissionModes),
  },
  { requiredKeys: ["source"] },
);
const tier: fc.Arbitrary<Tier> = fc.record({
  background: fc.boolean(),
  depth: fc.integer({ min: 1, max: 3 }),
  maxDepth: fc.integer({ min: 0, max: 3 }),
  mcpTools: fc.constantFrom("always", "foreground", "never"),
  allowQuestions: fc.boolean(),
  named: fc.boolean(),
  blockedTools: fc.array(entry, { maxLength: 2 }),
});
const parentPolicy: fc.Arbitrary<Policy> = fc
  .tuple(policy, fc.oneof(fc.constant([...everyTool]), fc.subarray([...everyTool])))
  .map(([one, pool]) => ({ ...one, pool, workspaceRoots: ["/work"] }));
const memory = fc.option(fc.constant({ directory: "/memory" }), { nil: undefined });
const situation: fc.Arbitrary<{ definition: Partial<AgentDefinition>; change: Change & { parentPolicy: Policy } }> = fc
  .record({ definition, tier, parentPolicy, memory, before: fc.option(parentPolicy, { nil: undefined }) })
  .map(({ definition: defined, memory: notes, before, ...change }) => ({
    definition: defined,
    change: { ...change, ...(notes ? { memory: notes } : {}), ...(before ? { before: recordPolicy(before) } : {}) },
  }));

const runs = { numRuns: 40 };

describe("for any definition, parent and tier", () => {
  it("the pool stays within the parent's pool and, in the background, within the list of background tools", () => {
    fc.assert(
      fc.property(situation, ({ definition: defined, change }) => {
        const resolution = resolveFor(defined, change);
        if (!resolution.ok) return;
        const { policy: own, backgroundPool = own.pool, head } = resolution.agent;
        const { named, background } = change.tier as Tier;
        const allowedBehind = (tool: string): boolean =>
          backgroundTools.has(tool) || tool.startsWith("mcp__") || (named && tool === "SendMessage");
        expect(change.parentPolicy.pool).toEqual(expect.arrayContaining([...own.pool]));
        expect(own.pool).toEqual(expect.arrayContaining([...backgroundPool]));
        expect((background ? own.pool : backgroundPool).every(allowedBehind)).toBe(true);
        expect(head.tools.map(({ name }) => name)).toEqual(own.pool);
        for (const tool of ["EnterPlanMode", "ExitPlanMode"]) expect(own.pool).not.toContain(tool);
        if (change.before) expect(change.before.pool).toEqual(expect.arrayContaining([...own.pool]));
      }),
      runs,
    );
  });

  it("the mode is never looser than the parent's, except for the user's acceptEdits under default", () => {
    fc.assert(
      fc.property(situation, ({ definition: defined, change }) => {
        const resolution = resolveFor(defined, change);
        if (!resolution.ok) return;
        const { mode } = resolution.agent.policy;
        const isPersons = defined.source === "user" || defined.source === "flag";
        if (mode === "acceptEdits" && change.parentPolicy.mode === "default") expect(isPersons).toBe(true);
        else expect(freedom.indexOf(mode)).toBeLessThanOrEqual(freedom.indexOf(change.parentPolicy.mode));
        if (change.before) expect(freedom.indexOf(mode)).toBeLessThanOrEqual(freedom.indexOf(change.before.mode));
      }),
      runs,
    );
  });

  it("all of the parent's rules still apply, and only new permissions are dropped", () => {
    fc.assert(
      fc.property(situation, ({ definition: defined, change }) => {
        const resolution = resolveFor(defined, change);
        if (!resolution.ok) return;
        const kept = change.parentPolicy.rules.filter(
          ({ effect }) => effect !== "allow" || change.before === undefined,
        );
        for (const each of kept) expect(resolution.agent.policy.rules).toContainEqual(each);
      }),
      runs,
    );
  });

  it("adding a disallowed tool, a deny rule or a deny line never grants more", () => {
    fc.assert(
      fc.property(situation, entry, rule, compact, call, (given, more, extra, line, made) => {
        const { definition: defined, change } = given;
        const before = resolveFor(defined, change);
        const denial: Rule = { ...extra, effect: "deny" };
        const narrower = [
          resolveFor({ ...defined, disallowedTools: [...(defined.disallowedTools ?? []), more] }, change),
          resolveFor(defined, {
            ...change,
            parentPolicy: { ...change.parentPolicy, rules: [...change.parentPolicy.rules, denial] },
          }),
          resolveFor({ ...defined, permission: [...(defined.permission ?? []), { ...line, effect: "deny" }] }, change),
        ];
        for (const after of narrower) {
          if (!after.ok) continue;
          // If the agent could not be started with the wider request, because it had no tools left, it may start
          // with a narrower one, but still without tools, so it gains no permissions.
          if (!before.ok) {
            expect(after.agent.policy.pool).toEqual([]);
            continue;
          }
          expectNarrower(after, before);
          const [now, then] = [after, before].map(({ agent }) => severity[effectOf(made, agent.policy)]);
          expect(now).toBeGreaterThanOrEqual(then ?? 0);
        }
      }),
      runs,
    );
  });

  it("each missing requested tool has exactly one reason, and no other tool has one", () => {
    fc.assert(
      fc.property(situation, ({ definition: defined, change }) => {
        const resolution = resolveFor(defined, change);
        if (!resolution.ok) return;
        const { withheld = [], resolvedTools, invalidTools } = resolution.report;
        const listed = (defined.tools ?? ["*"]).map(readToolEntry);
        const missing = everyTool.filter(
          (tool) => !resolvedTools.includes(tool) && listed.some(({ covers }) => covers(tool)),
        );
        const told = withheld.map(({ tool }) => tool);
        expect(told.filter((tool) => everyTool.includes(tool))).toEqual(missing);
        for (const tool of told) if (!everyTool.includes(tool)) expect(invalidTools).toContain(tool);
        for (const { why } of withheld) expect(why).not.toBe("");
      }),
      runs,
    );
  });
});

describe("for any call, down a tree of agents", () => {
  const deep: Tier = {
    background: false,
    depth: 1,
    maxDepth: 3,
    mcpTools: "always",
    allowQuestions: false,
    named: false,
  };
  const chain = fc.array(definition, { minLength: 1, maxLength: 3 });

  function descend(top: Policy, definitions: readonly Partial<AgentDefinition>[]): readonly Policy[] {
    const line = [top];
    for (const each of definitions) {
      const resolution = resolveFor(each, { parentPolicy: line.at(-1) ?? top, tier: { ...deep, depth: line.length } });
      if (!resolution.ok) break;
      line.push(resolution.agent.policy);
    }
    return line;
  }

  it("descendants are denied what a rule, the pool or plan mode denies an ancestor", () => {
    fc.assert(
      fc.property(parentPolicy, chain, call, (top, definitions, made) => {
        const line = descend(top, definitions);
        // In dontAsk mode, every call that no rule allows is denied. A subagent's rules in the user's own files may
        // allow such a call, so these chains are not checked.
        if (line.some(({ mode, unattended }) => mode === "dontAsk" || unattended)) return;
        const denied = line.findIndex((each) => effectOf(made, each) === "deny");
        if (denied === -1) return;
        for (const each of line.slice(denied)) expect(effectOf(made, each)).toBe("deny");
      }),
      { numRuns: 40 },
    );
  });

  it("project agents are never allowed calls that their parent would need approval for or be denied", () => {
    const theirs = definition.map((one): Partial<AgentDefinition> => ({ ...one, source: "project" }));
    fc.assert(
      fc.property(parentPolicy, fc.array(theirs, { minLength: 1, maxLength: 3 }), call, (top, definitions, made) => {
        const line = descend(top, definitions);
        for (const [index, each] of line.entries()) {
          const above = line[index - 1];
          if (above === undefined) continue;
          expect(severity[effectOf(made, each)]).toBeGreaterThanOrEqual(severity[effectOf(made, above)]);
        }
      }),
      { numRuns: 40 },
    );
  });
});

type Resolved = Extract<ReturnType<typeof resolveFor>, { ok: true }>;

function expectNarrower(after: Resolved, before: Resolved): void {
  const [now, then] = [after.agent.policy, before.agent.policy];
  expect(now.mode).toBe(then.mode);
  expect(then.pool).toEqual(expect.arrayContaining([...now.pool]));
  const text = ({ text: words, effect, scope }: Rule): string => `${effect} ${scope} ${words}`;
  const allows = (rules: readonly Rule[]) => rules.filter(({ effect }) => effect === "allow").map(text);
  for (const each of allows(now.rules)) expect(allows(then.rules)).toContain(each);
}
