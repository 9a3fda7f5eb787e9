import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Access,
  type Effect,
  type Policy,
  type PolicyLayer,
  permissionModes,
  type ResolvedPath,
  type Rule,
  type RuleScope,
} from "../../protocol/index.ts";
import { accesses, decide, hiddenPredicate, parseRule, pathsOf, suggestRule } from "../index.ts";

const root = "/w/proj";
const severity: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };
const toolNames = ["Read", "Write", "Edit", "Grep", "Bash", "WebFetch", "TodoWrite", "WebSearch", "mcp__db__query"];

const name = fc.constantFrom("a.ts", "src", "lib", ".env", ".git", "Secrets", "key.pem", "*.pem", "**", "é");
const path = fc
  .tuple(
    fc.constantFrom(`${root}/`, "/etc/", "/home/u/", "", "./", "../"),
    fc.array(name, { minLength: 1, maxLength: 3 }),
  )
  .map(([base, names]) => base + names.join("/"));
const command = fc.oneof(
  fc.constantFrom("git status", "git log -3", "npm test", "rm -rf src", "echo 'a b'", "git push", "cat .env"),
  fc
    .array(fc.constantFrom("git", "push", "rm", "-rf", "&&", ";", "$X", "'q'", '"', "\\", "\n", "npm", "test"), {
      maxLength: 6,
    })
    .map((words) => words.join(" ")),
  fc.string(),
);
const access: fc.Arbitrary<Access> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("read", "write", "search"),
    path: fc.oneof(path, fc.string()),
  }) as fc.Arbitrary<Access>,
  fc.record({ kind: fc.constant("command" as const), command }),
  fc.record({ kind: fc.constant("network" as const), url: fc.oneof(fc.webUrl(), fc.string()) }),
  fc.constant({ kind: "internal" } as const),
);
const ruleText = fc.oneof(
  fc.constantFrom(
    ...toolNames,
    "mcp__db",
    "*",
    "Bash(git:*)",
    "Bash(npm test)",
    "Bash(rm:*)",
    "Bash(git push *)",
    "Task(x)",
    "WebFetch(domain:*)",
  ),
  fc.tuple(fc.constantFrom("Read", "Edit", "Write", "read_file"), path).map(([tool, pattern]) => `${tool}(${pattern})`),
  fc.string(),
);
const scope = fc.constantFrom<RuleScope>("builtin", "managed", "flag", "local", "project", "user", "session");
const rule = (effect: fc.Arbitrary<Effect>): fc.Arbitrary<Rule> => fc.record({ text: ruleText, effect, scope });
const anyEffect = fc.constantFrom<Effect>("allow", "ask", "deny");
const line: fc.Arbitrary<Rule> = rule(anyEffect).map((one) => ({ ...one, form: "compact" }));
const entryOrLine = fc.oneof(rule(anyEffect), line);
const layer: fc.Arbitrary<PolicyLayer> = fc
  .array(entryOrLine, { minLength: 1, maxLength: 4 })
  .map((rules) => ({ rules }));
const settling: fc.Arbitrary<PolicyLayer> = layer.map((one) => ({ ...one, settles: true }));
const policy: fc.Arbitrary<Policy> = fc.record(
  {
    mode: fc.constantFrom(...permissionModes),
    pool: fc.oneof(fc.constant(toolNames), fc.subarray(toolNames)),
    rules: fc.array(entryOrLine, { maxLength: 6 }),
    layers: fc.array(fc.oneof(layer, settling), { maxLength: 3 }),
    unattended: fc.constant(true),
    workspaceRoots: fc.constant([root]),
    readableRoots: fc.subarray(["/home/u/docs"]),
  },
  { requiredKeys: ["mode", "pool", "rules", "workspaceRoots", "readableRoots"] },
);

/** Resolves each path arbitrarily: to itself, to another path, or not at all. */
function resolve(list: readonly Access[], ends: readonly string[]): ResolvedPath[] {
  return pathsOf(list).map((requested, index) => {
    const plain = posix.resolve(root, requested);
    const end = ends[index % Math.max(1, ends.length)] ?? "same";
    return { requested, absolute: plain, real: end === "same" ? plain : end, kind: "file" };
  });
}

const situation = fc
  .record({
    toolName: fc.constantFrom(...toolNames),
    accesses: fc.array(access, { maxLength: 3 }),
    ends: fc.array(fc.constantFrom("same", "same", "/etc/passwd", `${root}/src/a.ts`, `${root}/.git/config`, ""), {
      maxLength: 3,
    }),
    policy,
  })
  .map(({ ends, ...rest }) => ({ ...rest, resolved: resolve(rest.accesses, ends) }));

describe("decide, for any call and policy,", () => {
  it("returns a deterministic result for every input", () => {
    fc.assert(
      fc.property(situation, (given) => {
        const decision = decide(given);
        expect(["allow", "ask", "deny"]).toContain(decision.effect);
        expect(decision.reason).not.toBe("");
        expect(decision.rule).not.toBe(undefined);
        expect(decide({ ...given, policy: structuredClone(given.policy) })).toEqual(decision);
      }),
      { numRuns: 80 },
    );
  });

  it("never allows more after adding a deny or ask rule", () => {
    fc.assert(
      fc.property(situation, rule(fc.constantFrom<Effect>("deny", "ask")), fc.nat(6), (given, extra, at) => {
        const rules = given.policy.rules.toSpliced(at, 0, extra);
        const after = decide({ ...given, policy: { ...given.policy, rules } });
        expect(severity[after.effect]).toBeGreaterThanOrEqual(severity[decide(given).effect]);
      }),
      { numRuns: 80 },
    );
  });

  it("never allows more after adding a layer, except the user's own, and no layer overrides another layer's denial", () => {
    fc.assert(
      fc.property(situation, fc.oneof(layer, settling), fc.nat(3), (given, extra, at) => {
        const layers = (given.policy.layers ?? []).toSpliced(at, 0, extra);
        const before = decide(given).effect;
        const after = decide({ ...given, policy: { ...given.policy, layers } }).effect;
        if (extra.settles === undefined) expect(severity[after]).toBeGreaterThanOrEqual(severity[before]);
        // A user's layer may allow a call that is denied only because there is no approver.
        const forbids = ({ unattended: _, ...policy }: Policy) =>
          decide({ ...given, policy: { ...policy, mode: "bypassPermissions" } }).effect === "deny";
        if (forbids(given.policy) || forbids({ ...given.policy, layers: [extra] })) {
          expect(forbids({ ...given.policy, layers })).toBe(true);
        }
      }),
      { numRuns: 80 },
    );
  });

  it("never lets a project's allow rule override the user's ask rule", () => {
    const theirs = fc.constantFrom<RuleScope>("project", "local");
    const grant: fc.Arbitrary<Rule> = fc
      .tuple(entryOrLine, theirs)
      .map(([one, from]) => ({ ...one, effect: "allow", scope: from }));
    fc.assert(
      fc.property(
        situation,
        ruleText,
        fc.boolean(),
        fc.array(grant, { maxLength: 4 }),
        (given, text, isLine, grants) => {
          const asks: Rule = { text, effect: "ask", scope: "user", ...(isLine ? { form: "compact" } : {}) };
          const asked: Policy = { ...given.policy, mode: "bypassPermissions", rules: [asks], layers: [] };
          const before = decide({ ...given, policy: asked }).effect;
          const after = decide({ ...given, policy: { ...asked, rules: [asks, ...grants] } }).effect;
          if (before !== "allow") expect(after).toBe(before);
        },
      ),
      { numRuns: 80 },
    );
  });

  it("denies calls that match a deny rule, whatever else is allowed", () => {
    fc.assert(
      fc.property(situation, ruleText, (given, text) => {
        const denied = { ...given.policy, rules: [{ text, effect: "deny", scope: "project" } as const] };
        // With an approver, only rules deny. Without an approver, an ask becomes a denial, which an allow rule can
        // change.
        const { unattended: _, ...attended } = denied;
        if (decide({ ...given, policy: { ...attended, mode: "bypassPermissions" } }).effect !== "deny") return;
        const allowed = (["session", "managed", "user"] as const).map(
          (from) => ({ text, effect: "allow", scope: from }) as const,
        );
        const rules = [...allowed, ...given.policy.rules, ...denied.rules, ...allowed];
        expect(decide({ ...given, policy: { ...given.policy, rules } }).effect).toBe("deny");
      }),
      { numRuns: 80 },
    );
  });

  it("never asks in dontAsk mode", () => {
    fc.assert(
      fc.property(situation, (given) => {
        expect(decide({ ...given, policy: { ...given.policy, mode: "dontAsk" } }).effect).not.toBe("ask");
      }),
      { numRuns: 80 },
    );
  });

  it("never allows a write in plan mode", () => {
    fc.assert(
      fc.property(situation, (given) => {
        if (!given.accesses.some(({ kind }) => kind === "write")) return;
        expect(decide({ ...given, policy: { ...given.policy, mode: "plan" } }).effect).toBe("deny");
      }),
      { numRuns: 80 },
    );
  });

  it("denies every call to a tool outside the pool", () => {
    fc.assert(
      fc.property(situation, (given) => {
        const pool = given.policy.pool.filter((tool) => tool !== given.toolName);
        expect(decide({ ...given, policy: { ...given.policy, pool } }).effect).toBe("deny");
      }),
    );
  });

  it("is at least as strict if a call has more accesses", () => {
    fc.assert(
      fc.property(situation, (given) => {
        fc.pre(given.accesses.length > 1);
        const first = given.accesses.slice(0, 1);
        const alone = decide({ ...given, accesses: first, resolved: given.resolved.slice(0, pathsOf(first).length) });
        expect(severity[decide(given).effect]).toBeGreaterThanOrEqual(severity[alone.effect]);
      }),
    );
  });
});

describe("rules", () => {
  it("never make the rule parser or the search for hidden paths throw", () => {
    // Like fast-check's `binary` unit, which first builds a table that takes a second and 120 MB.
    const anyCharacter = fc
      .nat({ max: 0x10_f7ff })
      .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string(), (text, at) => {
        parseRule(text);
        const rules = [{ text: `Read(${text})`, effect: "deny", scope: "user" } as const];
        hiddenPredicate({ mode: "default", pool: [], rules, workspaceRoots: [root], readableRoots: [] })(
          `${root}/${at}`,
        );
      }),
    );
  });

  it("allow the calls that they were suggested for", () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9_.:-]{0,8}$/);
    const simple = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => `x-${words.join(" ")}`);
    const file = fc.stringMatching(/^[a-z][a-z0-9 *?[\\()~-]{0,8}[a-z]$/).map((base) => `/data/${base}`);
    const call = fc.oneof(
      simple.map((text) => ({ toolName: "Bash", input: { command: text } })),
      file.map((text) => ({ toolName: "Read", input: { file_path: text } })),
      file.map((text) => ({ toolName: "Write", input: { file_path: text } })),
      fc.domain().map((text) => ({ toolName: "WebFetch", input: { url: `https://${text}.example.org/` } })),
    );
    fc.assert(
      fc.property(call, ({ toolName, input }) => {
        const list = accesses(toolName, input);
        const resolved = pathsOf(list).map(
          (requested) => ({ requested, absolute: requested, real: requested, kind: "file" }) as const,
        );
        const base: Policy = { mode: "default", pool: toolNames, rules: [], workspaceRoots: [root], readableRoots: [] };
        const rules = [{ text: suggestRule(toolName, input) ?? "", effect: "allow", scope: "flag" } as const];
        expect(decide({ toolName, accesses: list, resolved, policy: { ...base, rules } }).effect).toBe("allow");
      }),
      { numRuns: 80 },
    );
  });
});
