import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import type { Effect, JsonObject, PermissionMode, Policy, Rule, RuleScope } from "../../protocol/index.ts";
import { accesses, checkRules, decide, explainDenial, pathsOf } from "../index.ts";

const root = "/w/proj";
const pool = [
  "Read",
  "Write",
  "Edit",
  "Grep",
  "Glob",
  "LS",
  "Bash",
  "BashOutput",
  "TodoWrite",
  "WebFetch",
  "WebSearch",
  "ExitPlanMode",
  "mcp__db__query",
];

interface Given {
  readonly mode?: PermissionMode;
  readonly rules?: readonly (readonly [Effect, string, RuleScope?])[];
  readonly real?: string;
  readonly kind?: "file" | "other";
  readonly hooks?: readonly string[];
  readonly sandboxed?: boolean;
}

function judge(toolName: string, input: JsonObject, given: Given = {}) {
  const { mode = "default", rules = [], real, kind = "file", hooks = [], sandboxed } = given;
  const policy: Policy = {
    mode,
    pool,
    rules: rules.map(([effect, text, scope = "user"]): Rule => ({ effect, text, scope })),
    workspaceRoots: [root],
    readableRoots: ["/docs"],
  };
  const list = accesses(toolName, input);
  const resolved = pathsOf(list).map((requested) => {
    const absolute = posix.resolve(root, requested.replace(/^~/, "/home/u"));
    return { requested, absolute, real: real ?? absolute, kind };
  });
  return decide({ toolName, accesses: list, resolved, policy, homes: ["/home/u"], changedHooks: hooks, sandboxed });
}

const read = (file_path: string, given?: Given) => judge("Read", { file_path }, given).effect;
const write = (file_path: string, given?: Given) => judge("Write", { file_path, content: "" }, given).effect;
const bash = (command: string, given?: Given) => judge("Bash", { command }, given).effect;

describe("built-in rules", () => {
  it("report every part of a line that needs approval", () => {
    const { reason } = judge("Bash", { command: "npm test -- cart && rm -rf ./build && ls" });
    expect(reason).toMatch(/^No rule allows this command, and [^.]*npm[^.]*; [^.]*rm[^;]*\.$/);
  });

  it("allow reading and searching in the workspace and the readable roots, and nowhere else", () => {
    expect(read("a.ts")).toBe("allow");
    expect(read("/docs/x")).toBe("allow");
    expect(read("/etc/hosts")).toBe("ask");
    expect(read("/w/proj-evil/x")).toBe("ask");
    expect(judge("Grep", { pattern: "x" }).effect).toBe("allow");
    expect(judge("Grep", { pattern: "x", path: "/" }).effect).toBe("ask");
    expect(judge("LS", { path: "src" }).effect).toBe("allow");
  });

  it("recognize glob patterns that leave their directory", () => {
    expect(judge("Glob", { pattern: "**/*.ts" }).effect).toBe("allow");
    for (const pattern of ["/etc/*", "../*", "src/../../*", "*/../../x", "~/*", "{a,../../b}/*"]) {
      expect(judge("Glob", { pattern }).effect).toBe("ask");
    }
  });

  it("apply to the real path", () => {
    expect(read("link", { real: "/etc/passwd" })).toBe("ask");
    expect(read("/alias/a.ts", { real: `${root}/a.ts` })).toBe("allow");
    expect(read("loop", { real: "" })).toBe("ask");
    expect(read("pipe", { kind: "other" })).toBe("ask");
  });

  it("allow calls that have no effect, and calls that use only the session itself", () => {
    expect(judge("TodoWrite", { todos: [] }).effect).toBe("allow");
    expect(judge("BashOutput", { bash_id: "1" }).effect).toBe("allow");
  });

  it("allow reading this session's stored text with Read and Grep, whatever path rules say", () => {
    const rules = [["deny", "Read(**)"] as const, ["deny", "Read(//**)"] as const];
    for (const address of ["retinue://result/c1", "retinue://output/a1"]) {
      expect(read(address, { rules })).toBe("allow");
      expect(judge("Grep", { pattern: "x", path: address }, { rules }).effect).toBe("allow");
      expect(read(address, { rules: [["deny", "Read"]] })).toBe("deny");
      expect(read(address, { rules: [["ask", "Read"]] })).toBe("ask");
      expect(judge("Grep", { pattern: "x", path: address }, { rules: [["deny", "Grep"]] }).effect).toBe("deny");
      expect(judge("LS", { path: address }, { mode: "bypassPermissions" }).effect).toBe("deny");
      expect(judge("Glob", { pattern: "*", path: address }, { mode: "bypassPermissions" }).effect).toBe("deny");
      expect(write(address, { mode: "bypassPermissions" })).toBe("deny");
    }
  });

  it("deny tools outside the pool, and input that lacks required fields", () => {
    expect(judge("Task", {})).toMatchObject({ effect: "deny", rule: "not in pool" });
    expect(judge("Read", { file_path: 3 }, { mode: "bypassPermissions" })).toMatchObject({
      effect: "deny",
      rule: "unusable input",
    });
    expect(judge("Bash", { command: ["rm"] }, { mode: "bypassPermissions" }).effect).toBe("deny");
  });
});

describe("rule lists", () => {
  it("apply deny before ask before allow, in any order and scope", () => {
    expect(write("a", { rules: [["allow", "Write"]] })).toBe("allow");
    expect(
      write("a", {
        rules: [
          ["allow", "Write", "managed"],
          ["ask", "Edit(a)", "project"],
        ],
      }),
    ).toBe("ask");
    expect(
      write("a", {
        rules: [
          ["deny", "Write(a)", "project"],
          ["allow", "Write", "managed"],
          ["ask", "Write"],
        ],
      }),
    ).toBe("deny");
  });

  it("let only an approval from this session override an ask rule", () => {
    const rules = (scope: RuleScope) => [
      ["ask", "Bash(git push:*)", "user"] as const,
      ["allow", "Bash(git push)", scope] as const,
    ];
    for (const scope of ["local", "project", "user", "flag", "managed"] as const)
      expect(bash("git push", { rules: rules(scope) })).toBe("ask");
    expect(bash("git push", { rules: rules("session") })).toBe("allow");
  });

  it("allow a link only if both its path and its target match, and deny it if either does", () => {
    const given = { real: "/etc/hosts" };
    expect(write("gen/l", { ...given, rules: [["allow", "Edit(gen/**)"]] })).toBe("ask");
    expect(
      write("gen/l", {
        ...given,
        rules: [
          ["allow", "Edit(gen/**)"],
          ["allow", "Edit(//etc/**)"],
        ],
      }),
    ).toBe("ask");
    expect(read("l", { ...given, rules: [["deny", "Read(//etc/**)"]] })).toBe("deny");
    expect(read("l", { real: `${root}/x`, rules: [["deny", "Read(l)"]] })).toBe("deny");
  });

  it("apply deny rules for reading to writing too, but not the reverse", () => {
    expect(write("a", { mode: "acceptEdits", rules: [["deny", "Read(a)"]] })).toBe("deny");
    expect(read("a", { rules: [["deny", "Edit(a)"]] })).toBe("allow");
  });

  it("deny the whole tool if a deny rule can't be parsed", () => {
    const rules = [["deny", "Bash(", "user"]] as const;
    expect(bash("git status", { rules })).toBe("deny");
    expect(read("a", { rules })).toBe("allow");
    expect(checkRules([{ text: "Bash(", effect: "deny", scope: "user" }])).toHaveLength(1);
  });

  it("support MCP servers and their tools", () => {
    const query = (...rules: NonNullable<Given["rules"]>) => judge("mcp__db__query", {}, { rules }).effect;
    expect(query()).toBe("ask");
    expect(query(["allow", "mcp__db"])).toBe("allow");
    expect(query(["allow", "mcp__db__*"])).toBe("allow");
    expect(query(["allow", "mcp__*"])).toBe("ask");
    expect(query(["allow", "mcp__d"])).toBe("ask");
    expect(query(["allow", "mcp__db"], ["deny", "mcp__*"])).toBe("deny");
  });

  it("compare host names label by label", () => {
    const fetch = (url: string, ...rules: NonNullable<Given["rules"]>) => judge("WebFetch", { url }, { rules }).effect;
    expect(fetch("https://example.com/")).toBe("ask");
    expect(fetch("https://EXAMPLE.com./x", ["allow", "WebFetch(domain:example.com)"])).toBe("allow");
    expect(fetch("https://a.example.com/", ["allow", "WebFetch(domain:example.com)"])).toBe("ask");
    expect(fetch("https://a.example.com/", ["allow", "WebFetch(domain:*.example.com)"])).toBe("allow");
    expect(fetch("https://badexample.com/", ["allow", "WebFetch(domain:*.example.com)"])).toBe("ask");
    expect(fetch("https://example.com@evil.test/", ["allow", "WebFetch(domain:example.com)"])).toBe("deny");
    expect(fetch("https://evil.test/", ["allow", "WebFetch"], ["deny", "WebFetch(domain:evil.test)"])).toBe("deny");
    expect(fetch("file:///etc/passwd", ["allow", "WebFetch"])).toBe("deny");
  });
});

describe("modes", () => {
  it("acceptEdits allows writing unprotected files in the workspace", () => {
    const mode = "acceptEdits" as const;
    expect(write("src/a.ts", { mode })).toBe("allow");
    expect(write("/etc/x", { mode })).toBe("ask");
    expect(write(".git/config", { mode })).toBe("ask");
    expect(write("sub/.CLAUDE/x", { mode })).toBe("ask");
    expect(write("state/retinue-code-cache/x", { mode })).toBe("ask");
    expect(write("notes", { mode, real: `${root}/.git/config` })).toBe("ask");
    expect(bash("touch x", { mode })).toBe("ask");
  });

  it("protected files need a rule that names them and is not from the project", () => {
    for (const mode of ["default", "acceptEdits", "bypassPermissions"] as const) {
      expect(
        write(".vscode/x", {
          mode,
          rules: [
            ["allow", "Write"],
            ["allow", "Edit(**)"],
          ],
        }),
      ).toBe("ask");
      expect(write(".vscode/x", { mode, rules: [["allow", "Edit(.vscode/**)", "project"]] })).toBe("ask");
      expect(
        write(".vscode/x", {
          mode,
          rules: [
            ["allow", "Write"],
            ["allow", "Edit(.vscode/**)"],
          ],
        }),
      ).toBe("allow");
    }
  });

  it("plan mode allows no changes, whatever the rules allow", () => {
    const mode = "plan" as const;
    expect(write("a", { mode, rules: [["allow", "Write", "session"]] })).toBe("deny");
    expect(bash("npm test", { mode, rules: [["allow", "Bash"]] })).toBe("deny");
    expect(bash("git status", { mode })).toBe("allow");
    expect(read("a", { mode })).toBe("allow");
    expect(judge("mcp__db__query", {}, { mode }).effect).toBe("deny");
    expect(judge("mcp__db__query", {}, { mode, rules: [["ask", "mcp__db"]] }).effect).toBe("deny");
    expect(judge("mcp__db__query", {}, { mode, rules: [["allow", "mcp__db__query"]] }).effect).toBe("allow");
  });

  it("the reason is about the write if a read-only command redirects its output", () => {
    const reasonOf = (given: Given) => judge("Bash", { command: "echo x > out.txt" }, given).rule;
    expect(reasonOf({ mode: "bypassPermissions" })).toBe("bypassPermissions");
    expect(reasonOf({ mode: "acceptEdits" })).toBe("acceptEdits");
    expect(reasonOf({ rules: [["allow", "Edit(out.txt)"]] })).toBe("Edit(out.txt)");
    expect(judge("Bash", { command: "cat out.txt" }).rule).toBe("read-only command");
  });

  it("dontAsk denies calls that need approval; bypassPermissions allows calls that nothing restricts", () => {
    expect(write("a", { mode: "dontAsk" })).toBe("deny");
    expect(write("a", { mode: "dontAsk", rules: [["allow", "Write"]] })).toBe("allow");
    expect(write("a", { mode: "dontAsk", rules: [["ask", "Write"]] })).toBe("deny");
    expect(write("/etc/x", { mode: "bypassPermissions" })).toBe("allow");
    expect(bash("a && b", { mode: "bypassPermissions" })).toBe("allow");
    expect(bash("a && b", { mode: "bypassPermissions", rules: [["ask", "Bash(b:*)"]] })).toBe("ask");
    expect(bash("a && b", { mode: "bypassPermissions", rules: [["deny", "Bash(b:*)"]] })).toBe("deny");
  });

  it("a workspace inside a protected directory is treated like any other", () => {
    const policy: Policy = {
      mode: "acceptEdits",
      pool,
      rules: [],
      workspaceRoots: ["/home/u/.retinue/worktrees/p/a"],
      readableRoots: [],
    };
    const path = "/home/u/.retinue/worktrees/p/a/src/x";
    const resolved = [{ requested: path, absolute: path, real: path, kind: "file" }] as const;
    expect(decide({ toolName: "Write", accesses: [{ kind: "write", path }], resolved, policy }).effect).toBe("allow");
  });
});

describe("commands", () => {
  const allow = (spec: string) => ({ rules: [["allow", `Bash(${spec})`]] as const });

  it.each([
    ["npm test", "npm test"],
    ["npm test", "npm  test"],
    ["npm run test:*", "npm run test -- --watch=false"],
    ["npm run test *", "npm run test"],
    ["git commit:*", 'git commit -m "fix: a; b"'],
    ["sed:*", "sed -n '1,5p' f.txt"],
    ["sed:*", "sed 's/a/b/g' f.txt"],
    ["cat:*", "cat package.json"],
    ["find:*", "find . -name '*.ts'"],
    ["grep:*", 'grep -rn "rm -rf" src'],
    ["make:*", "make test"],
    ["cat ./public/*", "cat ./public/a"],
  ])("%s allows %s", (spec, command) => expect(bash(command, allow(spec))).toBe("allow"));

  it.each([
    ["npm test", "npm test x"],
    ["npm test", "npm test; touch x"],
    ["npm test", "npm test\ntouch x"],
    ["npm test", "X=1 npm test"],
    ["npm", "npm test"],
    ["git log:*", "git logs"],
    ["git:*", "git -c a=b status"],
    ["git:*", "git submodule foreach x"],
    ["git rebase:*", "git rebase --exec x"],
    ["sed:*", "sed '1e touch x' f"],
    ["sed:*", "sed 's/a/b/e' f"],
    ["sed:*", "sed 's/a/b/w x' f"],
    ["sed:*", "sed -f x f"],
    ["awk:*", "awk 'BEGIN{system(\"x\")}'"],
    ["find:*", "find . -delete"],
    ["xargs:*", "xargs touch"],
    ["env:*", "env touch x"],
    ["curl:*", "curl file:///etc/passwd"],
    ["rm:*", "rm -rf ."],
    ["rm:*", "rm -rf /etc"],
    ["rm:*", "rm -rf src/.."],
    ["cp:*", "cp x .git/hooks/pre-commit"],
    ["cp:*", "cp x --target-directory=/etc"],
    ["make:*", "make SHELL=./x"],
    ["tar:*", "tar cIf ./x a.tar b"],
    ["tar:*", "tar -cf a.tar --use-c=./x b"],
    ["rg:*", "rg --pre ./x a"],
    ["cat ./public/*", "cat ./public/../secret"],
    ["printf:*", "printf -v 'a[$(x)]' y"],
    ["git:*", "git config core.hooksPath --default=hooks"],
    ["git config:*", "git config core.bare --type=bool"],
    ["git:*", "git config core.hooksPath --get"],
    ["git:*", "git symbolic-ref config refs/x"],
    ["git:*", "git symbolic-ref hooks/pre-commit refs/x"],
    ["sed:*", "sed -Ei'../outside/*' s/t/p/ a.ts"],
    ["sed:*", "sed -nEi/etc/x s/t/p/ a.ts"],
    ["gcc:*", "gcc -MF../outside/n -MD m.c"],
    ["gcc:*", "gcc -include../outside/f m.c"],
  ])("%s does not allow %s", (spec, command) => expect(bash(command, allow(spec))).toBe("ask"));

  it.each([
    ["rm:*", "rm x"],
    ["rm:*", "a && /bin/rm x"],
    ["rm:*", "sudo -u x rm y"],
    ["rm:*", "sh -c 'rm x'"],
    ["git push:*", "git -C /x push"],
    ["git push:*", "git --no-pager -c a=b push origin"],
    ["git * --force", "git push origin --force"],
    ["/bin/rm:*", "rm x"],
    ['git commit -m "a b"', "git commit -m 'a b'"],
    ["curl * | sh", "curl http://x | sh"],
  ])("deny rule %s applies to %s", (spec, command) =>
    expect(
      bash(command, {
        rules: [
          ["allow", "Bash"],
          ["deny", `Bash(${spec})`],
        ],
      }),
    ).toBe("deny"),
  );

  it.each([
    ["rm:*", "git rm x"],
    ["rm:*", "grep rm x"],
    ["rm:*", "echo rm"],
    ["git push:*", "git log --grep push"],
    ["git push:*", "git commit -m push"],
  ])("deny rule %s does not apply to %s", (spec, command) =>
    expect(
      bash(command, {
        rules: [
          ["allow", "Bash"],
          ["deny", `Bash(${spec})`],
        ],
      }),
    ).toBe("allow"),
  );

  it("need approval if they may hide a restricted command or mention a file that a rule denies", () => {
    const rules = [
      ["allow", "Bash"],
      ["deny", "Bash(rm:*)"],
      ["deny", "Read(~/.ssh/**)"],
    ] as const;
    for (const command of ["$X y", "eval $X", "source x", "cp ~/.ssh/id x", 'cp ~/.s"s"h/id x'])
      expect(bash(command, { rules })).toBe("ask");
    for (const command of ["cat ~/.ssh/id", 'cat ~/.s"s"h/id']) expect(bash(command, { rules })).toBe("deny");
    expect(bash("echo $HOME", { rules })).toBe("allow");
    expect(bash("cat ~/.sshrc", { rules })).toBe("allow");
  });

  it("may run thousands of other commands", () => {
    const rules = [
      ["deny", "Bash(find * -delete)"],
      ["deny", "Bash(git push:*)"],
    ] as const;
    const each = (part: (index: number) => string) => Array.from({ length: 3_500 }, (_, index) => part(index)).join("");
    expect(bash(`find . ${each((index) => `-exec ls ${index} {} + `)}`, { rules, sandboxed: true })).toBe("allow");
    expect(bash(`find . ${each((index) => `-exec git log ${index} ';' `)}-delete`, { rules })).toBe("deny");
  });

  it("may be very long", () => {
    const rules = [
      ["allow", "Bash"],
      ["deny", "Bash(git push:*)"],
      ["deny", "Bash(git * --force)"],
    ] as const;
    expect(bash("git -x ".repeat(150_000), { rules })).toBe("deny");
    expect(bash(`${"true; ".repeat(5_000)}git push`, { rules })).toBe("deny");
    expect(bash("true; ".repeat(20_000), { rules })).toBe("allow");
    // This line is longer than the Bash tool accepts, so it is not analyzed.
    expect(bash("true; ".repeat(150_000), { rules })).toBe("ask");
  });
});

describe("a command line that a rule allows literally", () => {
  const line = "echo x > out.txt";
  const rules = [["allow", `Bash(${line})`, "session"]] as const;

  it("may write the workspace files that it names, but no other line may", () => {
    expect(bash(line)).toBe("ask");
    expect(bash(line, { rules })).toBe("allow");
    for (const other of ["echo x > other.txt", "echo y > out.txt", "echo x >> out.txt", "echo x > out.txt; touch a"])
      expect(bash(other, { rules })).toBe("ask");
    expect(bash(line, { rules, mode: "plan" })).toBe("deny");
    expect(bash("npm test > out.txt", { rules: [["allow", "Bash(npm test:*)"]] })).toBe("ask");
  });

  it("may not write protected or denied files, or files outside the workspace", () => {
    const both = (more: readonly [Effect, string], command = line) =>
      bash(command, { rules: [["allow", `Bash(${command})`, "session"], more] });
    expect(both(["deny", "Edit(out.txt)"])).toBe("deny");
    expect(both(["ask", "Edit(out.txt)"])).toBe("ask");
    for (const file of [".git/hooks/pre-commit", "package.json", "/etc/hosts", "../x"])
      expect(both(["allow", "Bash(ls)"], `echo x > ${file}`)).toBe("ask");
    expect(bash(line, { rules, real: "/home/u/.bashrc" })).toBe("ask");
  });
});

describe("new git hooks", () => {
  const hooks = ["/w/proj/.git/hooks/pre-commit"];
  const rules = [["allow", "Bash(git commit:*)"]] as const;

  it.each(["git commit -m x", "cd src && git commit -m x", "timeout 5 git commit -m x"])(
    "require approval for %s",
    (command) => {
      expect(bash(command, { rules: [...rules, ["allow", "Bash(timeout 5 git commit:*)"]] })).toBe("allow");
      expect(bash(command, { rules: [...rules, ["allow", "Bash(timeout 5 git commit:*)"]], hooks })).toBe("ask");
    },
  );

  it("do not affect read-only commands, or a policy that allows every command", () => {
    expect(bash("git log -1", { hooks })).toBe("allow");
    expect(bash("npm test", { hooks, rules: [["allow", "Bash(npm test)"]] })).toBe("allow");
    expect(bash("git commit -m x", { hooks, rules: [["allow", "Bash"]] })).toBe("allow");
    expect(bash("git commit -m x", { hooks, rules, mode: "dontAsk" })).toBe("deny");
  });
});

describe("leaving plan mode", () => {
  const leave = (given: Given) => judge("ExitPlanMode", { plan: "x" }, given).effect;

  it("needs a person's approval, whatever the rules allow", () => {
    expect(leave({ mode: "plan" })).toBe("ask");
    expect(leave({ mode: "plan", rules: [["allow", "ExitPlanMode"]] })).toBe("ask");
    expect(leave({ mode: "plan", rules: [["deny", "ExitPlanMode"]] })).toBe("deny");
    expect(leave({ mode: "default" })).toBe("allow");
  });
});

describe("explainDenial", () => {
  const explain = (name: string, input: JsonObject, given?: Given) =>
    explainDenial(judge(name, input, given), { callId: "c", name, inputJson: JSON.stringify(input) });

  it("names the rule that would allow the call", () => {
    expect(explain("Bash", { command: "npm test" })).toContain(
      "the rule `Bash(npm test)` in the `allowedTools` option",
    );
    expect(explain("Write", { file_path: "a.ts", content: "" })).toContain("the permission mode acceptEdits");
    expect(explain("Read", { file_path: "/etc/hosts" })).toContain("the rule `Read(//etc/hosts)`");
    expect(explain("WebFetch", { url: "https://example.com/x" })).toContain("WebFetch(domain:example.com)");
    expect(explain("WebSearch", { query: "x" })).toContain("the rule `WebSearch`");
  });

  it("suggests no way around a deny rule, and never a rule for all commands", () => {
    expect(explain("Bash", { command: "rm x" }, { rules: [["deny", "Bash(rm:*)"]] })).not.toContain("allowedTools");
    expect(explain("Bash", { command: "a && b" })).not.toContain("allowedTools");
    expect(explain("Bash", { command: "a && b" })).toContain("one simple command at a time");
  });
});
