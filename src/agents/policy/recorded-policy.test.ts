import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Policy, PolicyLayer, RecordedPolicy, Rule } from "../../protocol/index.ts";
import { call, effectOf, policy, pool, root, severity } from "./policies.test-support.ts";
import { narrowTo, recordPolicy } from "./recorded-policy.ts";

/** Returns the policy after a round trip through a transcript. */
const kept = (record: RecordedPolicy): RecordedPolicy => JSON.parse(JSON.stringify(record));

describe("resuming under a recorded policy", () => {
  it("changes nothing if nothing changed", () => {
    fc.assert(
      fc.property(policy, (one) => {
        expect(narrowTo(one, kept(recordPolicy(one)))).toEqual(one);
      }),
    );
  });

  it("allows a call only if both policies allow it, and keeps every denial from either", () => {
    fc.assert(
      fc.property(policy, policy, call, (then, now, made) => {
        const both = [effectOf(made, then), effectOf(made, now)] as const;
        const after = effectOf(made, narrowTo(now, kept(recordPolicy(then))));
        if (after === "allow") expect(both).toEqual(["allow", "allow"]);
        expect(severity[after]).toBeGreaterThanOrEqual(Math.max(...both.map((effect) => severity[effect])));
      }),
      { numRuns: 150 },
    );
  });

  it("keeps a compact line's denial from either policy, even if the other policy only asks", () => {
    const [example] = fc.sample(policy, 1);
    const withLine = (effect: "ask" | "deny"): Policy => ({
      ...(example as Policy),
      mode: "default",
      pool,
      rules: [{ text: "Bash", effect, scope: "user", form: "compact" }],
      layers: undefined,
    });
    const made = { name: "Bash", input: { command: "npm test" } };
    for (const [then, now] of [
      ["ask", "deny"],
      ["deny", "ask"],
    ] as const)
      expect(effectOf(made, narrowTo(withLine(now), kept(recordPolicy(withLine(then)))))).toBe("deny");
  });

  it("keeps the restrictions of both policies, only the permissions that both contain, and no extra tools", () => {
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

  it("never grants more after another resume", () => {
    fc.assert(
      fc.property(policy, policy, policy, call, (first, second, third, made) => {
        const twice = narrowTo(second, kept(recordPolicy(first)));
        const thrice = narrowTo(third, kept(recordPolicy(twice)));
        if (effectOf(made, thrice) === "allow") expect(effectOf(made, first)).toBe("allow");
        expect(narrowTo(thrice, kept(recordPolicy(twice)))).toEqual(thrice);
      }),
      { numRuns: 100 },
    );
  });

  it("keeps each layer that limited a tool, without duplicates", () => {
    const only = (text: string, file?: string): PolicyLayer => ({
      rules: [
        { text: "Bash", effect: "deny", scope: "project" },
        { text, effect: "allow", scope: "project", ...(file === undefined ? {} : { file }) },
      ],
    });
    const [git, log] = [only("Bash(git:*)", "/a.md"), only("Bash(git log:*)")];
    const bare: Policy = { mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [root], readableRoots: [] };
    const then = kept(recordPolicy({ ...bare, layers: [git] }));
    expect(narrowTo({ ...bare, layers: [git] }, then).layers).toEqual([git]);
    expect(narrowTo(bare, then).layers).toEqual([only("Bash(git:*)")]);
    expect(narrowTo({ ...bare, layers: [log] }, then).layers).toHaveLength(2);
    expect(narrowTo({ ...bare, layers: [log] }, kept(recordPolicy(bare))).layers).toEqual([log]);
  });

  it("lets a layer approve only what it approved before", () => {
    const mine: PolicyLayer = { rules: [{ text: "Bash", effect: "allow", scope: "user" }], settles: true };
    const bare: Policy = { mode: "default", pool, rules: [], workspaceRoots: [root], readableRoots: [] };
    const make = { name: "Bash", input: { command: "make" } };
    const now = { ...bare, layers: [mine] };
    expect(effectOf(make, now)).toBe("allow");
    expect(effectOf(make, narrowTo(now, kept(recordPolicy(bare))))).toBe("ask");
    expect(effectOf(make, narrowTo(now, kept(recordPolicy(now))))).toBe("allow");
  });

  it("respects the order of lines in both policies", () => {
    const line = (effect: "allow" | "deny"): Rule => ({ text: "Bash(make)", effect, scope: "user", form: "compact" });
    const bare: Policy = { mode: "default", pool, rules: [], workspaceRoots: [root], readableRoots: [] };
    const make = { name: "Bash", input: { command: "make" } };
    const [open, shut] = [
      [line("deny"), line("allow")],
      [line("allow"), line("deny")],
    ] as const;
    expect(effectOf(make, narrowTo({ ...bare, rules: open }, kept(recordPolicy({ ...bare, rules: open }))))).toBe(
      "allow",
    );
    expect(effectOf(make, narrowTo({ ...bare, rules: open }, kept(recordPolicy({ ...bare, rules: shut }))))).toBe(
      "deny",
    );
    expect(effectOf(make, narrowTo({ ...bare, rules: shut }, kept(recordPolicy({ ...bare, rules: open }))))).toBe(
      "deny",
    );
  });

  it("keeps an unattended agent unattended", () => {
    const bare: Policy = { mode: "plan", pool, rules: [], workspaceRoots: [root], readableRoots: [] };
    const then = kept(recordPolicy({ ...bare, mode: "dontAsk" }));
    const fetch = { name: "WebFetch", input: { url: "https://example.org/" } };
    expect(effectOf(fetch, bare)).toBe("ask");
    expect(effectOf(fetch, narrowTo(bare, then))).toBe("deny");
  });
});
