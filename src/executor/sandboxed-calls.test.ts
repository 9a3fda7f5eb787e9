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
  readonly deny?: string;
  readonly mode?: Policy["mode"];
  readonly unattended?: true;
}

/** A place whose sandbox is in the given state, and how often it was asked for. */
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

function policyOf({ deny, mode = "default", unattended }: Situation): Policy {
  const rules: Rule[] = deny === undefined ? [] : [{ text: deny, effect: "deny", scope: "user" }];
  return { mode, pool: ["Bash", "Read"], rules, unattended, workspaceRoots: [root], readableRoots: [] };
}

async function bash(command: string, situation: Situation = {}): Promise<Decision> {
  const place = placeWith(situation.confinement ?? { kind: "on" });
  return (await judgeCall({ toolName: "Bash", input: { command }, policy: policyOf(situation) }, place)).decision;
}

it.each(['while read f; do cat "$f"; done < list', "cat $(git ls-files)", "grep -R x .", "find . | xargs cat"])(
  "%s needs a sandbox, and runs read-only in it",
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
  expect((await bash("grep -r x .", { deny: "Read(.env)" })).effect).toBe("allow");
  expect((await bash("grep -r x .", { deny: "Read(.env)", confinement: { kind: "off" } })).effect).toBe("ask");
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
  const place = placeWith({ kind: "off", cure: "Install it." });
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
