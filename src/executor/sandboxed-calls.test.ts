import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Confinement, Workspace } from "../ports/index.ts";
import type { Decision, JsonObject, Policy, Rule } from "../protocol/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { judgeCall, type Place } from "./judge-call.ts";

let root = "";
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "sandboxed-")));
  mkdirSync(join(root, "sub"));
  for (const name of ["a.ts", ".env", "list"]) writeFileSync(join(root, name), "x");
  symlinkSync("/etc/hostname", join(root, "link"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Situation {
  readonly confinement?: Confinement;
  readonly allow?: string;
  readonly deny?: string;
  readonly mode?: Policy["mode"];
  readonly unattended?: true;
}

/** Creates a workspace whose sandbox has the given state. `asked` returns how often the state was queried. */
function placeWith(confinement: Confinement): Place & { readonly asked: () => number } {
  let asked = 0;
  const workspace: Workspace = {
    ...createLocalWorkspace({ root, environment: {} }),
    confinement: async () => {
      asked += 1;
      return confinement;
    },
  };
  return { workspace, homes: ["/home/u"], advised: { sandbox: false }, asked: () => asked };
}

function policyOf({ allow, deny, mode = "default", unattended }: Situation): Policy {
  const given = { allow, deny };
  const rules = Object.entries(given).flatMap(([effect, text]): Rule[] =>
    text === undefined ? [] : [{ text, effect: effect as Rule["effect"], scope: "user" }],
  );
  return { mode, pool: ["Bash", "Read"], rules, unattended, workspaceRoots: [root], readableRoots: [] };
}

async function bash(command: string, situation: Situation = {}): Promise<Decision> {
  const place = placeWith(situation.confinement ?? { kind: "on" });
  return (await judgeCall({ toolName: "Bash", input: { command }, policy: policyOf(situation) }, place)).decision;
}

it.each(['while read f; do cat "$f"; done < list', "cat $(git ls-files)", "grep -R x .", "find . | xargs cat"])(
  "%s is allowed only in a sandbox, where it runs read-only",
  async (command) => {
    expect((await bash(command, { confinement: { kind: "off" } })).effect).toBe("ask");
    expect(await bash(command)).toMatchObject({ effect: "allow", readsOnly: true });
    expect(await bash(command, { mode: "plan" })).toMatchObject({ effect: "allow", readsOnly: true });
    expect(await bash(command, { unattended: true })).toMatchObject({ effect: "allow", readsOnly: true });
  },
);

it.each(["npm test", "rm a.ts", "cat /etc/passwd", "cat link", "eval $x", "x() { cat a.ts; }; x", "cat a.ts > b"])(
  "%s needs approval even in a sandbox",
  async (command) => expect((await bash(command)).effect).toBe("ask"),
);

it("still applies deny rules to files that the command names", async () => {
  for (const command of ["cat .env", "cat .e*", "cat {a.ts,.env}", "cat missing/../.env"])
    expect((await bash(command, { deny: "Read(.env)" })).effect).toBe("deny");
  expect((await bash("cat .env")).effect).toBe("deny");
  expect((await bash("grep -r x .", { deny: "Read(.env)" })).effect).toBe("allow");
  expect((await bash("grep -r x .", { deny: "Read(.env)", confinement: { kind: "off" } })).effect).toBe("ask");
});

it("hides secrets from commands that may read any file, and from no others", async () => {
  const hides = async (command: string, confinement: Confinement) =>
    (await judgeCall({ toolName: "Bash", input: { command }, policy: policyOf({}) }, placeWith(confinement))).hides;
  for (const command of ["cat $(git ls-files)", "grep -r x .", "find . | xargs cat"])
    expect(await hides(command, { kind: "on" })).toBe(true);
  for (const command of ["ls", "cat a.ts", "git status"]) expect(await hides(command, { kind: "on" })).toBe(false);
  const off = { kind: "off" } as const;
  expect(await bash("grep -r x .", { confinement: off })).toMatchObject({ effect: "ask", rule: "secret file" });
  expect((await bash("grep -r x .", { confinement: off, allow: "Read(.env)" })).effect).toBe("allow");
  expect((await bash("grep -r x sub", { confinement: off })).effect).toBe("allow");
});

it("checks for the sandbox only if it matters", async () => {
  const place = placeWith({ kind: "on" });
  const policy = policyOf({});
  const calls: [string, JsonObject][] = [
    ["Read", { file_path: "a.ts" }],
    ["Read", { file_path: "/etc/passwd" }],
    ["Bash", { command: "cat a.ts" }],
    ["Bash", { command: "ls sub" }],
  ];
  for (const [toolName, input] of calls) await judgeCall({ toolName, input, policy }, place);
  expect(place.asked()).toBe(0);
  await judgeCall({ toolName: "Bash", input: { command: "make" }, policy }, place);
  expect(place.asked()).toBe(1);
});

it("says once that a sandbox would make the request unnecessary", async () => {
  const place = placeWith({ kind: "off", fix: "Install it." });
  const reason = async (command: string) =>
    (await judgeCall({ toolName: "Bash", input: { command }, policy: policyOf({}) }, place)).decision.reason;
  expect(await reason("make")).not.toContain("sandbox");
  expect(await reason("cat $(git ls-files)")).toContain(
    "With a sandbox, this command would run without approval. Install it.",
  );
  expect(await reason("cat $(git ls-files)")).not.toContain("sandbox");
});

it.each(["git log -p", "git diff", "git grep x HEAD"])(
  "%s needs approval in a sandbox if a rule denies a file that may be tracked",
  async (command) => {
    expect((await bash(command)).effect).toBe("allow");
    expect((await bash(command, { deny: "Read(.env)" })).effect).toBe("ask");
    expect((await bash(command, { deny: "Read(~/.ssh/**)" })).effect).toBe("allow");
  },
);

it.each([
  ["Bash(npm test)", "npm test; awk 'BEGIN{system(\"touch x\")}'"],
  ["Bash(npm test)", "npm test && cat $(echo ~/notes)"],
  ["Bash(mkdir:*)", "mkdir x; sed '1e touch y' a.ts"],
  ["Bash(mkdir:*)", "mkdir x; find . | xargs cat"],
])("with the rule %s, %s needs approval, because it can't run read-only", async (allow, command) => {
  expect((await bash(command, { allow })).effect).toBe("ask");
});

it.each([
  ["Bash(ls:*)", "ls; awk 'BEGIN{system(\"touch x\")}'"],
  ["Bash(echo:*)", "echo a | awk '{print > \"x\"}'"],
  ["Bash(ls:*)", "ls -a | xargs cat"],
  ["Bash(ls:*)", "ls; git diff"],
])("with the rule %s, %s runs read-only, because the rule covers only part of it", async (allow, command) => {
  expect(await bash(command, { allow })).toMatchObject({ effect: "allow", readsOnly: true });
});

it("keeps the read-only profile if the mode allows a redirection", async () => {
  expect((await bash("awk 'BEGIN{system(\"touch x\")}' > out", { mode: "acceptEdits" })).effect).toBe("ask");
  expect((await bash("cat a.ts > out", { mode: "acceptEdits" })).effect).toBe("allow");
});

it("hides denied files even from commands that a rule allows, or requires approval", async () => {
  const deny = "Read(.env)";
  for (const [allow, command] of [
    ["Bash(grep:*)", "grep -r x ."],
    ["Bash(cat:*)", "find . -type f -exec cat {} +"],
    ["Bash", "grep -r x ."],
  ] as const)
    expect(await bash(command, { allow, deny })).toMatchObject({ effect: "allow", readsOnly: true });
  expect((await bash("tar cf out.tar .", { allow: "Bash(tar:*)", deny })).effect).toBe("ask");
  expect((await bash("tar cf out.tar sub", { allow: "Bash(tar:*)", deny })).effect).toBe("allow");
});

it("lifts the read-only profile if a rule allows the whole command", async () => {
  const decision = await bash("wc -l a.ts", { allow: "Bash(wc:*)" });
  expect(decision).toMatchObject({ effect: "allow", rule: "Bash(wc:*)" });
  expect(decision.readsOnly).toBeUndefined();
});

it("requires approval if the workspace has too many files to hide the denied ones", async () => {
  const place = placeWith({ kind: "on" });
  const deny = "Read(.env)";
  const judge = async (policy: Policy) =>
    (await judgeCall({ toolName: "Bash", input: { command: "cat $(echo a.ts)" }, policy }, place)).decision.effect;
  expect(await judge(policyOf({ deny }))).toBe("allow");
  const large = { ...place, workspace: { ...place.workspace, isTooLargeToHide: () => true } };
  const decided = async (command: string, policy: Policy) =>
    (await judgeCall({ toolName: "Bash", input: { command }, policy }, large)).decision;
  for (const command of ["ls", "cat $(echo a.ts)"])
    expect((await decided(command, policyOf({ deny }))).effect).toBe("ask");
  // Without a rule, only secrets are hidden, and only commands that may read any file can reach them.
  expect((await decided("ls", policyOf({}))).effect).toBe("allow");
  for (const command of ["cat $(echo a.ts)", "grep -r x ."])
    expect((await decided(command, policyOf({}))).effect).toBe("ask");
  expect((await decided("ls", policyOf({ deny }))).rule).toBe("too many files");
  expect((await decided("ls", policyOf({ deny, unattended: true }))).effect).toBe("deny");
  expect(await decided("ls", policyOf({ deny, allow: "Bash(ls:*)" }))).toMatchObject({ rule: "Bash(ls:*)" });
});
