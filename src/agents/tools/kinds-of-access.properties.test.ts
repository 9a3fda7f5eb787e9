import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accesses, decide, pathsOf } from "../../permissions/index.ts";
import type { Access, AgentDefinition, CompactRule, Effect, Policy, Rule } from "../../protocol/index.ts";
import { compactRules, ruleOfLine } from "../../settings/file-rules.ts";
import { resolveAgent } from "../resolve/resolve-agent.ts";

const root = "/w/proj";
const memory = "/home/u/memory";
const toolNames = ["Read", "Grep", "Edit", "Write", "NotebookEdit", "Bash", "WebFetch", "own_writer", "own_fetcher"];

interface Use {
  readonly tool: string;
  readonly accesses: readonly Access[];
}

/** Every way to write a file: the built-in tools, a redirection of a read-only command, and a program's own tool. */
const writing: Readonly<Record<string, (path: string) => Use>> = {
  Edit: (path) => using("Edit", { file_path: path }),
  Write: (path) => using("Write", { file_path: path, content: "" }),
  NotebookEdit: (path) => using("NotebookEdit", { notebook_path: path }),
  redirection: (path) => using("Bash", { command: `echo x > ${path}` }),
  appending: (path) => using("Bash", { command: `git log -3 >> ${path}` }),
  ownTool: (path) => ({ tool: "own_writer", accesses: [{ kind: "write", path }] }),
};

const fetching: Readonly<Record<string, (url: string) => Use>> = {
  WebFetch: (url) => using("WebFetch", { url }),
  ownTool: (url) => ({ tool: "own_fetcher", accesses: [{ kind: "network", url }] }),
};

function using(tool: string, input: Readonly<Record<string, string>>): Use {
  return { tool, accesses: accesses(tool, input) };
}

function effectOf({ tool, accesses: list }: Use, policy: Policy): Effect {
  const resolved = pathsOf(list).map((requested) => {
    const absolute = posix.resolve(root, requested);
    return { requested, absolute, real: absolute, kind: "file" as const };
  });
  return decide({ toolName: tool, accesses: list, resolved, policy }).effect;
}

const open: Policy = { mode: "default", pool: toolNames, rules: [], workspaceRoots: [root], readableRoots: [] };

/** Returns the policy of an agent that runs under these rules of the settings. */
function policyOf(definition: Partial<AgentDefinition>, rules: readonly Rule[] = [], mode = open.mode): Policy {
  const resolution = resolveAgent({
    definition: { name: "tester", description: "Tests.", source: "user", ...definition },
    prompt: "Test things.",
    model: { provider: "p", model: "m", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 },
    requestedModel: null,
    modelReason: "test",
    tools: toolNames.map((name) => ({ name, description: name, inputSchema: { type: "object" } })),
    absentTools: [],
    rules,
    asked: {},
    settings: { mode },
    workspaceRoot: root,
    additionalDirectories: [],
    readableRoots: [],
    memory: definition.memory && { directory: memory },
  });
  if (resolution.ok) return resolution.agent.policy;
  expect(resolution.message).toContain("has no tools left");
  return { ...open, pool: [] };
}

const compactFile = (value: object): readonly Rule[] =>
  compactRules(value).rules.flatMap((line) => ruleOfLine({ ...line, scope: "user", file: "/p/permissions.jsonc" }));
const lines = (value: object): readonly CompactRule[] => compactRules(value).rules;

const effect = fc.constantFrom<Effect>("allow", "ask", "deny");
const pattern = fc.constantFrom("*", "**", "src/**", "*.txt", "src/*.{ts,txt}", "docs/a.txt");
const path = fc.constantFrom("src/a.ts", "src/b.txt", "docs/a.txt", "c.txt", "d.md", "src/deep/e.ts");
/** Names of other products and older names mean the same. */
const editName = fc.constantFrom("edit", "Edit", "MultiEdit", "multiedit", "patch", "apply_patch", "edit_file");
const writingName = fc.oneof(editName, fc.constantFrom("write", "Write", "NotebookEdit"));
const mode = fc.constantFrom("default" as const, "acceptEdits" as const, "dontAsk" as const);

/** A mapping about writing: `edit: deny`, or globs for one of the names. */
const editMap = fc.oneof(
  fc.tuple(editName, effect).map(([name, one]): [string, unknown] => [name, one]),
  fc
    .tuple(
      writingName,
      fc.uniqueArray(fc.tuple(pattern, effect), { minLength: 1, maxLength: 3, selector: ([glob]) => glob }),
    )
    .map(([name, globs]): [string, unknown] => [name, Object.fromEntries(globs)]),
);
const mapping = fc
  .tuple(fc.option(effect, { nil: undefined }), fc.array(editMap, { minLength: 1, maxLength: 3 }))
  .map(([every, entries]) => Object.fromEntries([...(every === undefined ? [] : [["*", every] as const]), ...entries]));

/** Checks that every way to write is judged alike. Redirections are compared if a command may name the file at all. */
function expectAlike(policy: Policy, target: string): void {
  const effects = new Map(Object.entries(writing).map(([way, use]) => [way, effectOf(use(target), policy)]));
  const commands = effectOf(using("Bash", { command: `echo ${target}` }), policy);
  const own = effectOf({ tool: "own_writer", accesses: [{ kind: "read", path: target }] }, policy);
  if (commands !== "allow") for (const way of ["redirection", "appending"]) effects.delete(way);
  if (own !== "allow") effects.delete("ownTool");
  expect([...new Set(effects.values())], JSON.stringify([...effects])).toHaveLength(1);
}

describe("a rule about writing", () => {
  it("in permissions.jsonc decides alike on every way to write", () => {
    fc.assert(
      fc.property(mapping, path, mode, (map, target, one) => {
        expectAlike(policyOf({}, compactFile(map), one), target);
      }),
      { numRuns: 150 },
    );
  });

  it("in an agent's `permission` field decides alike on every way to write", () => {
    fc.assert(
      fc.property(mapping, path, mode, fc.constantFrom("user", "project"), (map, target, one, source) => {
        expectAlike(policyOf({ permission: lines(map), source }, [], one), target);
      }),
      { numRuns: 150 },
    );
  });

  it("in a list decides alike on every way to write", () => {
    const text = fc.oneof(
      editName,
      fc.tuple(writingName, pattern).map(([name, glob]) => `${name}(${glob.replace(/\{.*\}/, "txt")})`),
    );
    const rule = fc.record({ text, effect, scope: fc.constantFrom("user", "project", "session") });
    fc.assert(
      fc.property(
        fc.array(rule as fc.Arbitrary<Rule>, { minLength: 1, maxLength: 3 }),
        path,
        mode,
        (rules, target, one) => {
          expectAlike(policyOf({}, rules, one), target);
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each<[string, Policy, string]>([
    ["permission: {edit: deny}", policyOf({ permission: lines({ edit: "deny" }) }, [], "acceptEdits"), "new.txt"],
    [
      "permission: {edit: {*: deny, src/**: allow}}",
      policyOf({ permission: lines({ edit: { "*": "deny", "src/**": "allow" } }) }, [], "acceptEdits"),
      "new.txt",
    ],
    ["permissions.jsonc: edit: deny", policyOf({}, compactFile({ edit: "deny" }), "acceptEdits"), "new.txt"],
    ["deny: Edit", policyOf({}, [{ text: "Edit", effect: "deny", scope: "user" }], "acceptEdits"), "src/a.ts"],
    ["tools: {edit: false}", policyOf({ disallowedTools: ["edit"] }, [], "acceptEdits"), "src/a.ts"],
    ["tools: {patch: false}", policyOf({ disallowedTools: ["patch"] }, [], "acceptEdits"), "src/a.ts"],
    ["tools: Edit(src/**), Bash", policyOf({ tools: ["Edit(src/**)", "Bash"] }, [], "acceptEdits"), "new.txt"],
    ["tools: Write(src/**), Bash", policyOf({ tools: ["Write(src/**)", "Bash"] }, [], "acceptEdits"), "new.txt"],
  ])("denies every way to write: %s", (_, policy, target) => {
    for (const [way, use] of Object.entries(writing)) expect(effectOf(use(target), policy), way).toBe("deny");
  });

  it("also allows every way to write", () => {
    const allowing = policyOf({ permission: lines({ edit: { "*": "deny", "src/**": "allow" } }) });
    for (const [way, use] of Object.entries(writing)) expect(effectOf(use("src/a.ts"), allowing), way).toBe("allow");
  });

  it("leaves tools that another line or list names", () => {
    const pool = (definition: Partial<AgentDefinition>, rules?: readonly Rule[]) =>
      policyOf(definition, rules).pool.filter((name) => ["Edit", "Write", "NotebookEdit"].includes(name));
    expect(pool({ permission: lines({ edit: "deny", write: "allow" }) })).toEqual(["Write"]);
    expect(pool({ permission: lines({ write: "deny", edit: "allow" }) })).toEqual(["Edit", "NotebookEdit"]);
    expect(pool({}, compactFile({ write: "deny", edit: "allow" }))).toEqual(["Edit", "NotebookEdit"]);
    expect(pool({ permission: lines({ "*": "deny", edit: "allow" }) })).toEqual(["Edit", "Write", "NotebookEdit"]);
    expect(pool({ permission: lines({ edit: "deny" }) })).toEqual([]);
    expect(pool({ tools: ["Read", "Edit"] })).toEqual(["Edit"]);
    expect(pool({ disallowedTools: ["Write"] })).toEqual(["Edit", "NotebookEdit"]);
    const written = policyOf({ tools: ["Read", "Write", "Bash"], disallowedTools: ["Edit"] }, [], "acceptEdits");
    expect(written.pool).toEqual(["Read", "Write", "Bash"]);
    expect(effectOf(using("Write", { file_path: "a.txt", content: "" }), written)).toBe("allow");
    expect(effectOf(using("Bash", { command: "echo x > a.txt" }), written)).toBe("deny");
    const remembering = policyOf({ tools: ["Read", "Bash"], memory: "user" }, [], "acceptEdits");
    expect(remembering.pool).toEqual(["Read", "Edit", "Write", "Bash"]);
    for (const [way, kept] of [
      ["Write", "deny"],
      ["redirection", "allow"],
    ] as const) {
      expect(effectOf(writing[way]!("a.txt"), remembering), way).toBe(kept);
      expect(effectOf(writing[way]!(`${memory}/a.md`), remembering), way).toBe("allow");
    }
    const limited = policyOf({ tools: ["Edit(src/**)", "Write"] }, [], "acceptEdits");
    expect(effectOf(using("Write", { file_path: "a.txt", content: "" }), limited)).toBe("allow");
    expect(effectOf(using("Edit", { file_path: "a.txt" }), limited)).toBe("deny");
  });
});

describe("a rule about the web", () => {
  const url = fc.constantFrom("https://example.com/", "https://other.org/a");
  const alike = (policy: Policy, target: string): void => {
    expect([...new Set(Object.values(fetching).map((use) => effectOf(use(target), policy)))]).toHaveLength(1);
  };

  it("with a host decides alike on every tool that uses the network", () => {
    const text = fc.constantFrom(
      "WebFetch(domain:*)",
      "webfetch(domain:example.com)",
      "WebFetch(domain:*.example.com)",
    );
    const rule = fc.record({ text, effect, scope: fc.constant("user" as const) });
    fc.assert(fc.property(fc.array(rule, { maxLength: 3 }), url, (rules, target) => alike({ ...open, rules }, target)));
    const hosts = fc.uniqueArray(fc.tuple(fc.constantFrom("*", "example.com", "other.org"), effect), {
      selector: ([host]) => host,
    });
    fc.assert(
      fc.property(hosts, url, (list, target) => {
        const policy = policyOf({}, compactFile({ webfetch: Object.fromEntries(list) }));
        if (policy.pool.includes("WebFetch")) alike(policy, target);
      }),
    );
  });

  it("without a host is about the tool WebFetch alone", () => {
    const policy = { ...open, rules: [{ text: "WebFetch", effect: "deny", scope: "user" }] } as const;
    expect(Object.values(fetching).map((use) => effectOf(use("https://example.com/"), policy))).toEqual([
      "deny",
      "ask",
    ]);
  });
});

describe("globs about reading", () => {
  it("apply to every tool that reads, also the glob `*`", () => {
    const map = { read: { "*": "deny", "docs/**": "allow" } };
    for (const policy of [policyOf({}, compactFile(map)), policyOf({ permission: lines(map) })]) {
      const uses = (target: string) => [
        effectOf(using("Read", { file_path: target }), policy),
        effectOf(using("Grep", { pattern: "x", path: target }), policy),
        effectOf(using("Bash", { command: `cat ${target}` }), policy),
        effectOf({ tool: "own_writer", accesses: [{ kind: "read", path: target }] }, policy),
      ];
      expect(uses("secret.txt")).toEqual(["deny", "deny", "deny", "deny"]);
      expect(uses("docs/a.txt")).toEqual(["allow", "allow", "allow", "allow"]);
    }
  });
});
