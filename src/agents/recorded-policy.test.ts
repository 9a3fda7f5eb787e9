import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accesses, decide, pathsOf } from "../permissions/index.ts";
import {
  type Effect,
  type PermissionMode,
  type Policy,
  permissionModes,
  type RecordedPolicy,
  type Rule,
  type RuleScope,
} from "../protocol/index.ts";
import { narrowLimits, narrowTo, recordPolicy } from "./recorded-policy.ts";

const root = "/work";
const pool = ["Read", "Write", "Edit", "Bash", "WebFetch", "TodoWrite", "mcp__db__query"];
const severity: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

const rule: fc.Arbitrary<Rule> = fc.record(
  {
    text: fc.constantFrom(
      ...pool,
      "mcp__db",
      "Bash(git:*)",
      "Bash(rm:*)",
      "Read(src/**)",
      "Edit(.env)",
      "Edit(//extra/**)",
      "WebFetch(domain:example.org)",
    ),
    effect: fc.constantFrom<Effect>("allow", "ask", "deny"),
    scope: fc.constantFrom<RuleScope>("builtin", "managed", "user", "project", "session"),
    file: fc.constantFrom("/work/.retinue/settings.json"),
  },
  { requiredKeys: ["text", "effect", "scope"] },
);
const policy: fc.Arbitrary<Policy> = fc.record({
  mode: fc.constantFrom(...permissionModes),
  pool: fc.oneof(fc.constant(pool), fc.subarray(pool)),
  rules: fc.uniqueArray(rule, { maxLength: 8, selector: ({ text, effect, scope }) => `${effect} ${scope} ${text}` }),
  workspaceRoots: fc.subarray(["/extra", "/more"]).map((more) => [root, ...more]),
  readableRoots: fc.constant(["/docs"]),
});
const call = fc.constantFrom(
  ...["a.ts", ".env", "src/a.ts", "/etc/passwd", "/extra/b.ts", "/more/c.ts"].flatMap((file_path) => [
    { name: "Read", input: { file_path } },
    { name: "Write", input: { file_path, content: "" } },
    { name: "Edit", input: { file_path, old_string: "a", new_string: "b" } },
  ]),
  ...["git status", "git push", "rm -rf src", "npm test"].map((command) => ({ name: "Bash", input: { command } })),
  ...["https://example.org/", "https://other.org/"].map((url) => ({ name: "WebFetch", input: { url } })),
  { name: "TodoWrite", input: { todos: [] } },
  { name: "mcp__db__query", input: {} },
);

function effectOf({ name, input }: { name: string; input: object }, under: Policy): Effect {
  const touched = accesses(name, { ...input });
  const resolved = pathsOf(touched).map((requested) => {
    const absolute = posix.resolve(root, requested);
    return { requested, absolute, real: absolute, kind: "file" as const };
  });
  return decide({ toolName: name, accesses: touched, resolved, policy: under }).effect;
}

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
      { numRuns: 3_000 },
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
      { numRuns: 1_000 },
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

/** No mode has both: of plan and dontAsk plan holds, and a question may be asked that the other would have denied. */
function areMixed(left: PermissionMode, right: PermissionMode): boolean {
  return left !== right && [left, right].every((mode) => mode === "plan" || mode === "dontAsk");
}
