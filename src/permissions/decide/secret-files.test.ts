import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonObject, type Policy, permissionModes, type Rule } from "../../protocol/index.ts";
import { accesses, decide, explainDenial, hiddenPredicate, pathsOf } from "../index.ts";

const root = "/w";

interface Given extends Partial<Pick<Policy, "mode" | "layers">> {
  readonly rules?: readonly Rule[];
  readonly real?: string;
  readonly kind?: "file" | "directory";
}

const policyOf = ({ mode = "default", rules = [], layers }: Given): Policy => ({
  mode,
  pool: ["Read", "Write", "Bash", "Grep"],
  rules,
  layers,
  workspaceRoots: [root],
  readableRoots: ["/docs"],
});

function judge(toolName: string, input: JsonObject, given: Given = {}) {
  const { real, kind = "file" } = given;
  const list = accesses(toolName, input);
  const resolved = pathsOf(list).map((requested) => {
    const absolute = posix.resolve(root, requested);
    return { requested, absolute, real: real ?? absolute, kind };
  });
  return decide({ toolName, accesses: list, resolved, policy: policyOf(given) });
}

const read = (file_path: string, given?: Given) => judge("Read", { file_path }, given).effect;
const bash = (command: string, given?: Given) => judge("Bash", { command }, given).effect;
const allow = (text: string, more: Partial<Rule> = {}): Rule => ({ text, effect: "allow", scope: "user", ...more });

const names = fc.constantFrom(".env", ".env.local", ".env.production", ".ENV", "prod.env", "sub/.env", "/docs/.env");

describe("without a rule", () => {
  it(".env files are not read, in any mode and in any directory", () => {
    fc.assert(
      fc.property(names, fc.constantFrom(...permissionModes), (name, mode) => {
        expect(read(name, { mode })).toBe("deny");
        expect(judge("Grep", { pattern: "x", path: name }, { mode }).effect).toBe("deny");
        for (const command of [`cat ${name}`, `wc -l < ${name}`, `head -3 a.ts ${name}`])
          expect(bash(command, { mode })).toBe("deny");
        expect(hiddenPredicate(policyOf({ mode }))(posix.resolve(root, name))).toBe(true);
      }),
    );
  });

  it("a symlink to such a file, or with such a name, is not read", () => {
    expect(read("notes", { real: "/w/.env" })).toBe("deny");
    expect(read(".env", { real: "/w/notes" })).toBe("deny");
  });

  it.each([
    ".env.example",
    ".env.sample",
    ".env.template",
    "prod.env.dist",
    ".environment",
    "env",
    "my.envs",
    ".envrc",
  ])("%s can be read", (name) => {
    expect(read(name)).toBe("allow");
    expect(bash(`cat ${name}`)).toBe("allow");
    expect(hiddenPredicate(policyOf({}))(`/w/${name}`)).toBe(false);
  });

  it("a directory with this name can be searched", () => {
    expect(judge("Grep", { pattern: "x", path: ".env" }, { kind: "directory" }).effect).toBe("allow");
    expect(read(".env/bin/activate")).toBe("allow");
  });

  it("writing such a file needs approval like any other write", () => {
    expect(judge("Write", { file_path: ".env", content: "" }).effect).toBe("ask");
    expect(judge("Write", { file_path: ".env", content: "" }, { mode: "acceptEdits" }).effect).toBe("allow");
  });

  it("the model learns which rule would allow the call, and not to work around it", () => {
    const decision = judge("Bash", { command: "cat .env" });
    const text = explainDenial(decision, { callId: "1", name: "Bash", inputJson: '{"command":"cat .env"}' });
    expect(decision).toMatchObject({ rule: "secret file", scope: "builtin" });
    expect(text).toContain("`Read(.env)`");
    expect(text).toContain("Do not try to do the same in another way");
  });
});

describe("a rule that names the file", () => {
  const line = (text: string): Rule => allow(text, { form: "compact" });

  it.each([
    ["in a list", { rules: [allow("Read(.env)")] }],
    ["with a wildcard", { rules: [allow("Read(**)")] }],
    ["before a rule for the whole tool", { rules: [allow("Read(.env)"), allow("Read")] }],
    ["of a trusted project", { rules: [allow("Read(.env)", { scope: "project" })] }],
    ["in permissions.jsonc", { rules: [line("Read(*.env)")] }],
    ["in the user's own definition", { layers: [{ rules: [line("Read(*.env)")], settles: true as const }] }],
  ])("allows reading it: %s", (_, given) => {
    expect(read(".env", given)).toBe("allow");
    expect(bash("cat .env", given)).toBe("allow");
    expect(hiddenPredicate(policyOf(given))("/w/.env")).toBe(false);
  });

  it.each([
    ["a rule for the whole tool", { rules: [allow("Read"), allow("Bash")] }],
    ["a rule for a command", { rules: [allow("Bash(cat:*)"), allow("Bash(cat .env)")] }],
    ["a rule for writing", { rules: [allow("Edit(.env)")] }],
    ["a rule for another file", { rules: [allow("Read(.env.local)")] }],
    ["a project's definition", { layers: [{ rules: [line("Read(*.env)")] }] }],
  ])("%s does not name it", (_, given) => {
    expect(read(".env", given)).toBe("deny");
    expect(bash("cat .env", given)).toBe("deny");
    expect(hiddenPredicate(policyOf(given))("/w/.env")).toBe(true);
  });

  it("leaves commands that may change something to the rules for commands", () => {
    expect(bash("cp .env .env.old")).toBe("ask");
    expect(bash("cp .env .env.old", { rules: [allow("Bash(cp:*)")] })).toBe("allow");
    expect(bash("node --env-file=.env app.js", { rules: [allow("Bash(node:*)")] })).toBe("allow");
  });
});
