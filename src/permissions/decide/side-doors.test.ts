import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import type { Effect, JsonObject, PermissionMode, Policy, ResolvedPath } from "../../protocol/index.ts";
import { accesses, decide, pathsOf } from "../index.ts";

const root = "/w/proj";

interface Given {
  readonly mode?: PermissionMode;
  readonly rules?: readonly (readonly [Effect, string])[];
  readonly sandboxed?: boolean | undefined;
  readonly hardLink?: string;
}

function judge(toolName: string, input: JsonObject, { mode = "default", rules = [], sandboxed, hardLink }: Given) {
  const list = accesses(toolName, input);
  const resolved = pathsOf(list).map((requested): ResolvedPath => {
    const absolute = posix.resolve(root, requested);
    return { requested, absolute, real: absolute, kind: /\.\w+$/.test(absolute) ? "file" : "directory", hardLink };
  });
  const policy: Policy = {
    mode,
    pool: ["Bash", "Read", "Write", "Edit"],
    rules: rules.map(([effect, text]) => ({ effect, text, scope: "user" })),
    workspaceRoots: [root],
    readableRoots: [],
  };
  return decide({ toolName, accesses: list, resolved, policy, sandboxed, names: new Map() });
}

const bash = (command: string, given: Given = {}) => judge("Bash", { command }, given);
const write = (file_path: string, given: Given = {}) => judge("Write", { file_path, content: "" }, given).effect;

describe("a rule without a wildcard", () => {
  const rules = [
    ["allow", "Bash(npm test)"],
    ["allow", "Bash(make build)"],
  ] as const;

  it.each([
    "npm test",
    "time npm test",
    "cd /w/proj && npm test",
    "cd . && npm test",
    "npm test && make build",
    "npm test && cd vendor",
    "(cd vendor && ls) && npm test",
  ])("allows the command in the workspace's own directory: %s", (command) => {
    expect(bash(command, { rules }).effect).toBe("allow");
  });

  it.each([
    "cd vendor/e && npm test",
    "cd vendor/e; npm test",
    "(cd vendor; npm test)",
    "if cd vendor; then npm test; fi",
    "cd vendor || cd other; npm test",
    "sh -c 'cd vendor && npm test'",
    "for d in a b; do cd $d && npm test; done",
    "cd ../proj2 && npm test",
    "cd $X && npm test",
    "pushd vendor && make build",
    "npm test && cd vendor && make build",
    "env -C vendor npm test",
  ])("does not allow it in another directory: %s", (command) => {
    for (const sandboxed of [undefined, true]) expect(bash(command, { rules, sandboxed }).effect).toBe("ask");
    const line = [...rules, ["allow", `Bash(${command})`]] as const;
    if (!command.includes("$")) expect(bash(command, { rules: line }).effect).toBe("allow");
  });

  it("differs from a rule with a wildcard", () => {
    expect(bash("cd vendor/e && npm test", { rules: [["allow", "Bash(npm test:*)"]] }).effect).toBe("allow");
  });
});

describe("git commands that search tracked files which a rule denies", () => {
  const rules = [["deny", "Read(secret.txt)"]] as const;

  it.each([
    "git grep sk-",
    "git grep -q sk-",
    "git grep --quiet -e sk- HEAD",
    "git grep -c sk-",
    "git grep --count sk- -- src",
    "git grep -l sk-",
    "git grep --files-with-matches sk-",
    "git grep --name-only sk-",
    "git grep -L sk-",
    "git grep --files-without-match sk- && echo yes",
    "git -C src grep -q sk-",
    "if git grep -q sk-; then echo yes; fi",
    "git diff --quiet -I sk- HEAD~1",
    "git diff --stat -Isk- HEAD~1",
    "git diff --numstat --ignore-matching-lines=sk- HEAD~1",
    "git show --stat -I sk-",
    "git log --stat -Isk-",
    "git log --oneline -Ssk-",
    "git log --oneline -Gsk-",
    "git log -p",
    "git show",
    "git diff HEAD~1",
  ])("need approval, also if they only answer yes or no: %s", (command) => {
    for (const sandboxed of [undefined, true]) {
      expect(bash(command, { rules, sandboxed }).effect).toBe("ask");
      const allowed = [...rules, ["allow", "Bash(git:*)"]] as const;
      expect(bash(command, { rules: allowed, sandboxed }).effect).toBe("ask");
      expect(bash(command, { rules, sandboxed, mode: "bypassPermissions" }).effect).toBe("ask");
    }
  });

  it.each(["git grep -q TODO -- src/a.ts", "git grep -n TODO -- src/a.ts src/b.ts"])(
    "need none if they name the files: %s",
    (command) => {
      expect(bash(command, { rules, sandboxed: true }).effect).toBe("allow");
    },
  );

  it.each(["git grep -q TODO", "git diff --stat -I TODO"])("need none if no rule denies a file: %s", (command) => {
    expect(bash(command, { sandboxed: true }).effect).toBe("allow");
  });
});

describe("a redirection to a file with several names", () => {
  const everything: readonly (readonly [Effect, string])[] = [
    ["allow", "Edit"],
    ["allow", "Edit(a.txt)"],
    ["allow", "Bash"],
  ];

  it.each([
    "echo x > a.txt",
    "echo x >> a.txt",
    "git log -3 >| a.txt",
    "ls 2> a.txt",
    "cat <> a.txt",
    "ls &> a.txt",
    "ls >& a.txt",
    "ls &>> a.txt",
    "ls 3> a.txt",
    "(ls) > a.txt",
    "cat <<E > a.txt\nx\nE",
    "{ ls; } > a.txt",
  ])("needs approval, whatever rules and modes allow, because it would change all of them: %s", (command) => {
    for (const mode of ["default", "acceptEdits", "bypassPermissions"] as const) {
      const found = bash(command, { mode, rules: everything, hardLink: "1:2" });
      expect(found).toMatchObject({ effect: "ask", rule: "hard link" });
      expect(bash(command, { mode, rules: everything }).effect).toBe("allow");
    }
    expect(bash(command, { mode: "dontAsk", rules: everything, hardLink: "1:2" }).effect).toBe("deny");
  });

  it("is not needed to write the file: tools replace it, so that only this name gets the new content", () => {
    expect(write("a.txt", { mode: "acceptEdits", hardLink: "1:2" })).toBe("allow");
    expect(bash("cat < a.txt", { hardLink: "1:2" }).effect).toBe("allow");
  });
});

describe("files with instructions for agents", () => {
  const files = [
    ...["AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "agents.MD", "sub/AGENTS.md", ".cursorrules"],
    ...[".windsurfrules", ".github/copilot-instructions.md", ".github/instructions/a.md", ".goosehints", ".rules"],
  ];

  it.each(files)("need approval in acceptEdits: %s", (file) => {
    expect(write(file, { mode: "acceptEdits" })).toBe("ask");
    expect(bash(`echo x > ${file}`, { mode: "acceptEdits" }).effect).toBe("ask");
  });

  it.each(files)("can be allowed by any rule, and by bypassPermissions: %s", (file) => {
    expect(write(file, { rules: [["allow", "Edit(**)"]] })).toBe("allow");
    expect(write(file, { rules: [["allow", "Edit"]] })).toBe("allow");
    expect(write(file, { mode: "bypassPermissions" })).toBe("allow");
  });

  it.each([".pnp.cjs", ".pnp.loader.mjs", ".pnp.js"])("code that package managers load is protected: %s", (file) => {
    for (const mode of ["acceptEdits", "bypassPermissions"] as const) expect(write(file, { mode })).toBe("ask");
  });

  it.each(["docs/agents.txt", "README.md", "src/claude.ts", ".github/ISSUE_TEMPLATE.md"])(
    "other files do not: %s",
    (file) => {
      expect(write(file, { mode: "acceptEdits" })).toBe("allow");
    },
  );
});
