import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import type { Decision, Effect, JsonObject, Policy, PolicyLayer, Rule, RuleScope } from "../../protocol/index.ts";
import { accesses, decide, hiddenPredicate, pathsOf } from "../index.ts";

const root = "/w/proj";
const pool = ["Read", "Write", "Edit", "Grep", "Bash", "Task", "WebFetch", "mcp__db__query"];
const base: Policy = { mode: "default", pool, rules: [], workspaceRoots: [root], readableRoots: [] };

type Line = readonly [tool: string, pattern: string | undefined, effect: Effect];

function compact(scope: RuleScope, ...lines: readonly Line[]): readonly Rule[] {
  return lines.map(([tool, pattern, effect]) => {
    return { text: pattern === undefined ? tool : `${tool}(${pattern})`, effect, scope, form: "compact" };
  });
}

function list(effect: Effect, text: string, scope: RuleScope = "user"): Rule {
  return { text, effect, scope };
}

function layer(scope: RuleScope, ...lines: readonly Line[]): PolicyLayer {
  return { rules: compact(scope, ...lines), ...(scope === "user" ? { settles: true } : {}) };
}

function judge(toolName: string, input: JsonObject, policy: Partial<Policy>): Decision {
  const touched = accesses(toolName, input);
  const resolved = pathsOf(touched).map((requested) => {
    const absolute = posix.resolve(root, requested);
    return { requested, absolute, real: absolute, kind: "file" as const };
  });
  return decide({ toolName, accesses: touched, resolved, policy: { ...base, ...policy }, homes: ["/home/u"] });
}

const bash = (command: string, policy: Partial<Policy>) => judge("Bash", { command }, policy).effect;
const read = (file_path: string, policy: Partial<Policy>) => judge("Read", { file_path }, policy).effect;

describe("compact files", () => {
  it("let the last matching line win", () => {
    const rules = compact(
      "user",
      ["Bash", undefined, "ask"],
      ["Bash", "npm *", "allow"],
      ["Bash", "npm publish *", "deny"],
    );
    expect(bash("npm test", { rules })).toBe("allow");
    expect(bash("npm publish", { rules })).toBe("deny");
    expect(bash("make", { rules })).toBe("ask");
    expect(bash("npm publish", { rules: rules.toReversed() })).toBe("ask");
  });

  it("take precedence over allow rules in lists, but not over ask rules in lists", () => {
    expect(
      bash("make", { rules: [...compact("user", ["Bash", "make *", "ask"]), list("allow", "Bash(make:*)")] }),
    ).toBe("ask");
    expect(
      bash("make", { rules: [list("ask", "Bash(make:*)"), ...compact("user", ["Bash", "make *", "allow"])] }),
    ).toBe("ask");
    expect(
      bash("make", { rules: [list("deny", "Bash(make:*)"), ...compact("managed", ["Bash", "make *", "allow"])] }),
    ).toBe("deny");
  });

  it("are not loosened by an ask rule in a list", () => {
    expect(bash("make", { rules: [...compact("user", ["Bash", "make *", "deny"]), list("ask", "Bash(make:*)")] })).toBe(
      "deny",
    );
  });

  it("from a project allow nothing that the user's or the machine's files restrict", () => {
    for (const effect of ["ask", "deny"] as const) {
      const user = compact("user", ["Bash", "make *", effect]);
      for (const scope of ["project", "local"] as const)
        expect(bash("make", { rules: [...user, ...compact(scope, ["Bash", "make *", "allow"])] })).toBe(effect);
      expect(bash("make", { rules: [...user, ...compact("managed", ["Bash", "make *", "allow"])] })).toBe("allow");
    }
    const denied = compact("user", ["Bash", "make *", "deny"]);
    expect(bash("make", { rules: [...denied, ...compact("project", ["Bash", "make *", "ask"])] })).toBe("deny");
    const taken = compact("user", ["Bash", undefined, "ask"], ["Bash", "make *", "allow"]);
    expect(bash("make", { rules: [...taken, ...compact("project", ["Bash", "make *", "allow"])] })).toBe("allow");
    const own = compact("project", ["Bash", undefined, "ask"], ["Bash", "make *", "allow"]);
    expect(bash("make", { rules: own })).toBe("allow");
  });

  it("support globs: base names at any depth, dotfiles, braces, paths from the workspace", () => {
    const rules = compact(
      "user",
      ["Read", "*.env", "deny"],
      ["Read", "conf/*.{key,pem}", "deny"],
      ["Read", "*.md", "allow"],
    );
    expect(read("sub/.env", { rules })).toBe("deny");
    expect(read("/elsewhere/x.ENV", { rules })).toBe("deny");
    expect(read("conf/a.pem", { rules })).toBe("deny");
    expect(read("sub/conf/a.pem", { rules })).toBe("allow");
    expect(read("/elsewhere/x.md", { rules })).toBe("ask");
    expect(read("x.ts", { rules: compact("user", ["Read", "!(a)", "deny"]) })).toBe("deny");
    const hidden = hiddenPredicate({ ...base, rules: [...rules, ...compact("user", ["Read", "open.env", "allow"])] });
    expect([hidden(`${root}/a/.env`), hidden(`${root}/open.env`), hidden(`${root}/a.ts`)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("support hosts and agents", () => {
    const rules = compact(
      "user",
      ["WebFetch", "*", "ask"],
      ["WebFetch", "example.com", "allow"],
      ["Task", "team-*", "deny"],
    );
    expect(judge("WebFetch", { url: "https://example.com/" }, { rules }).effect).toBe("allow");
    expect(judge("WebFetch", { url: "https://example.org/" }, { rules }).effect).toBe("ask");
    expect(judge("Task", { prompt: "x", subagent_type: "Team-A" }, { rules }).effect).toBe("deny");
    expect(judge("Task", { prompt: "x", subagent_type: "Explore" }, { rules }).effect).toBe("allow");
  });
});

describe("definition layers", () => {
  const onlyGit = layer("project", ["Bash", undefined, "deny"], ["Bash", "git *", "allow"]);

  it("can deny a call, whatever files, modes and people allow", () => {
    const rules = [
      list("allow", "Bash", "managed"),
      list("allow", "Bash", "session"),
      ...compact("managed", ["Bash", undefined, "allow"]),
    ];
    expect(bash("make", { rules, layers: [onlyGit], mode: "bypassPermissions" })).toBe("deny");
    expect(bash("git push", { rules, layers: [onlyGit] })).toBe("allow");
    expect(bash("git push", { layers: [onlyGit] })).toBe("ask");
    expect(judge("Bash", { command: "make" }, { layers: [onlyGit] })).toMatchObject({
      rule: "Bash(git *)",
      reason: expect.stringContaining("only for"),
    });
  });

  it("apply at every depth, so that a call denied by any ancestor stays denied", () => {
    const mine = layer("user", ["Bash", undefined, "allow"]);
    expect(bash("make", { layers: [onlyGit, mine] })).toBe("deny");
    expect(bash("make", { layers: [mine, onlyGit] })).toBe("deny");
    expect(bash("make", { layers: [mine] })).toBe("allow");
  });

  it("can approve a call only if they are from the user's own file", () => {
    expect(bash("make", { layers: [layer("project", ["Bash", undefined, "allow"])] })).toBe("ask");
    const layers = [layer("user", ["Bash", "make *", "allow"])];
    expect(bash("make", { layers })).toBe("allow");
    expect(bash("make", { layers, rules: [list("ask", "Bash", "project")] })).toBe("ask");
    expect(bash("make", { layers: [layer("project", ["Bash", undefined, "ask"]), ...layers] })).toBe("ask");
  });

  it("ask for approval, unless a rule outside the layer allows the call", () => {
    const asks = (scope: RuleScope) => [layer(scope, ["Bash", undefined, "ask"])];
    expect(bash("make", { layers: asks("project"), mode: "bypassPermissions" })).toBe("ask");
    expect(bash("make", { layers: asks("project"), rules: [list("allow", "Bash(make)")] })).toBe("allow");
    expect(bash("make", { layers: asks("project"), rules: [list("allow", "Bash(make)", "project")] })).toBe("allow");
    expect(bash("make", { layers: asks("user"), rules: [list("allow", "Bash(make)", "project")] })).toBe("ask");
    expect(bash("make", { layers: asks("user"), rules: [list("allow", "Bash(make)", "session")] })).toBe("allow");
  });

  it("hide files that they deny reading", () => {
    const hidden = hiddenPredicate({ ...base, layers: [layer("project", ["Read", "*.key", "deny"])] });
    expect([hidden(`${root}/a.key`), hidden(`${root}/a.ts`)]).toEqual([true, false]);
  });
});

describe("the decision", () => {
  it("resolves a path with one leading slash against the directory of the rule's file", () => {
    const edit = (file: string) =>
      judge("Write", { file_path: "src/a", content: "" }, { rules: [{ ...list("allow", "Edit(/src/**)"), file }] });
    expect(edit(`${root}/.retinue/settings.json`).effect).toBe("allow");
    expect(edit("/home/u/.retinue/settings.json").effect).toBe("ask");
    expect(edit("/w/settings.json").effect).toBe("ask");
  });

  it("names the rule, its source and the reason", () => {
    const rules: readonly Rule[] = [{ ...list("deny", "Bash(make:*)"), file: "/home/u/.retinue/settings.json" }];
    expect(judge("Bash", { command: "make" }, { rules })).toEqual({
      effect: "deny",
      rule: "Bash(make:*)",
      scope: "user",
      file: "/home/u/.retinue/settings.json",
      reason: expect.stringContaining("denies this command"),
    });
  });

  it("is a denial if no one can answer", () => {
    expect(bash("make", { unattended: true })).toBe("deny");
    expect(judge("Bash", { command: "make" }, { unattended: true }).reason).toContain(
      "no one can approve it in this run",
    );
    expect(bash("make", { unattended: true, mode: "bypassPermissions", rules: [list("ask", "Bash")] })).toBe("deny");
    expect(bash("make", { unattended: true, rules: [list("allow", "Bash(make)")] })).toBe("allow");
    expect(
      judge("Edit", { file_path: "a", old_string: "", new_string: "" }, { unattended: true, mode: "acceptEdits" })
        .effect,
    ).toBe("allow");
  });

  it("takes the additional parameters of a call into account", () => {
    const rules = [
      list("deny", "Agent(model:*opus*)"),
      list("ask", "Task(run_in_background:true)"),
      list("allow", "Agent(model:haiku)"),
    ];
    const task = (more: JsonObject) =>
      judge("Task", { prompt: "x", subagent_type: "Explore", ...more }, { rules }).effect;
    expect(task({ model: "claude-Opus-4" })).toBe("deny");
    expect(task({ run_in_background: true })).toBe("ask");
    expect(task({ model: "sonnet", run_in_background: false })).toBe("allow");
    expect(task({})).toBe("allow");
  });
});
