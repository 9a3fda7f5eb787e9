import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Policy, RecordedPolicy, Rule } from "../protocol/index.ts";
import { areMixed, call, effectOf, policy, root, severity } from "./policies.test-support.ts";
import { narrowLimits, narrowTo, recordPolicy } from "./recorded-policy.ts";

/** As it is after a transcript was written and read. */
const kept = (record: RecordedPolicy): RecordedPolicy => JSON.parse(JSON.stringify(record));

describe("going on under a recorded policy", () => {
  it("changes nothing where nothing changed", () => {
    fc.assert(
      fc.property(policy, (one) => {
        expect(narrowTo(one, kept(recordPolicy(one)))).toEqual(one);
      }),
    );
  });

  it("allows a call only where then and now both do, and keeps every denial of either", () => {
    fc.assert(
      fc.property(policy, policy, call, (then, now, made) => {
        const both = [effectOf(made, then), effectOf(made, now)] as const;
        const after = effectOf(made, narrowTo(now, kept(recordPolicy(then))));
        if (after === "allow") expect(both).toEqual(["allow", "allow"]);
        if (!areMixed(then.mode, now.mode)) {
          expect(severity[after]).toBeGreaterThanOrEqual(Math.max(...both.map((effect) => severity[effect])));
        }
      }),
      { numRuns: 800 },
    );
  });

  it("keeps all restrictions of both, no permission of one alone, and no more tools than either", () => {
    fc.assert(
      fc.property(policy, policy, (then, now) => {
        const after = narrowTo(now, kept(recordPolicy(then)));
        const texts = (rules: readonly Rule[]) => rules.map(({ text, effect, scope }) => `${effect} ${scope} ${text}`);
        const restricting = [...then.rules, ...now.rules].filter(({ effect }) => effect !== "allow");
        expect(texts(after.rules)).toEqual(expect.arrayContaining(texts(restricting)));
        for (const allowed of texts(after.rules.filter(({ effect }) => effect === "allow"))) {
          expect(texts(then.rules)).toContain(allowed);
          expect(texts(now.rules)).toContain(allowed);
        }
        expect(after.pool).toEqual(now.pool.filter((tool) => then.pool.includes(tool)));
        expect(after.workspaceRoots[0]).toBe(root);
        for (const each of after.workspaceRoots) {
          expect(then.workspaceRoots).toContain(each);
          expect(now.workspaceRoots).toContain(each);
        }
      }),
    );
  });

  it("never becomes wider by one more resume", () => {
    fc.assert(
      fc.property(policy, policy, policy, call, (first, second, third, made) => {
        const twice = narrowTo(second, kept(recordPolicy(first)));
        const thrice = narrowTo(third, kept(recordPolicy(twice)));
        if (effectOf(made, thrice) === "allow") expect(effectOf(made, first)).toBe("allow");
        expect(narrowTo(thrice, kept(recordPolicy(twice)))).toEqual(thrice);
      }),
      { numRuns: 300 },
    );
  });

  it("keeps the layers that limited a tool, each once", () => {
    const git = [{ text: "Bash(git:*)", effect: "allow", scope: "project", file: "/a.md" }] as const;
    const log = [{ text: "Bash(git log:*)", effect: "allow", scope: "project" }] as const;
    const bare: Policy = { mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [root], readableRoots: [] };
    const then = kept(recordPolicy(bare, [git]));
    expect(narrowLimits([git], then)).toEqual([git]);
    expect(narrowLimits([], then)).toEqual([[{ text: "Bash(git:*)", effect: "allow", scope: "project" }]]);
    expect(narrowLimits([log], then)).toHaveLength(2);
    expect(narrowLimits([log], kept(recordPolicy(bare)))).toEqual([log]);
  });
});
