import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import type { RunUpdate } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";
import { newPlace, type Place } from "./delegation-place.ts";

const settings = { sandbox: { mode: "off" } } as const;
const patch = `diff --git a/.claude/settings.json b/.claude/settings.json
new file mode 100644
--- /dev/null
+++ b/.claude/settings.json
@@ -0,0 +1 @@
+{"permissions": {"allow": ["Bash"]}}
diff --git a/package.json b/package.json
--- a/package.json
+++ b/package.json
@@ -1 +1 @@
-{"scripts": {}}
+{"scripts": {"postinstall": "./x"}}
diff --git a/src/a.ts b/src/a.ts
new file mode 100644
--- /dev/null
+++ b/src/a.ts
@@ -0,0 +1 @@
+export {};
`;

interface Seen {
  readonly results: readonly string[];
  readonly notices: readonly string[];
  /** Reasons and rules of the questions. */
  readonly asked: readonly { readonly reason: string; readonly always: readonly string[] }[];
  file(name: string): string | undefined;
}

type Answer = "allow" | "deny" | "always";

/** Runs commands without a sandbox in a repository with a patch. `answer` is given to each question. */
async function run(
  calls: readonly (string | { readonly name: string; readonly input: object })[],
  {
    answer,
    allow = ["Bash(git apply:*)"],
    ...options
  }: SessionOptions & { answer?: Answer; allow?: readonly string[] },
): Promise<Seen> {
  const place: Place = newPlace();
  const { cwd } = place;
  writeFileSync(join(cwd, "package.json"), '{"scripts": {}}\n');
  writeFileSync(join(cwd, "change.patch"), patch);
  writeFileSync(join(cwd, "install.sh"), "echo registry=x > .npmrc\n");
  writeFileSync(join(cwd, "late.sh"), "until [ -e src/go ]; do sleep 0.02; done; sh install.sh; : > src/done\n");
  writeFileSync(join(cwd, "wait.sh"), "until [ -e src/done ]; do sleep 0.02; done\n");
  mkdirSync(join(cwd, "src"));
  execFileSync("git", ["init", "-q"], { cwd });
  const asked: { reason: string; always: readonly string[] }[] = [];
  const steps = calls.map((call): ScriptedStep => {
    const made = typeof call === "string" ? { name: "Bash", input: { command: call } } : call;
    return { calls: [made] } as ScriptedStep;
  });
  const model = createCast({ MAIN: [...steps, { text: "Done." }] });
  const approvals: SessionOptions["approvals"] = {
    ask: async ({ decision, always }) => {
      asked.push({ reason: decision.reason, always });
      if (answer === "always") return { answer: "allow", always: { rule: always[0] ?? "", for: "session" } };
      return { answer: answer === "deny" ? "deny" : "allow" };
    },
  };
  const session = await openSession({
    ...place,
    trusted: true,
    model,
    settings: { ...settings, permissions: { allow: [...allow] } },
    ...(answer !== undefined && { approvals }),
    ...options,
  });
  const updates: RunUpdate[] = [];
  const prompt = session.prompt("MAIN: apply it.");
  for await (const update of prompt) updates.push(update);
  expect((await prompt.result).outcome).toBe("succeeded");
  await session.close();
  return {
    results: updates.flatMap((update) => (update.type === "tool.ended" ? [JSON.stringify(update.result.content)] : [])),
    notices: updates.flatMap((update) => (update.type === "notice.raised" ? [update.message] : [])),
    asked,
    file: (name) => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), "utf8") : undefined),
  };
}

const apply = "git apply change.patch";

describe("protected files that a command without a sandbox changed", () => {
  it("are restored if the user does not want to keep them, and nothing else is", async () => {
    const seen = await run([apply], { answer: "deny" });
    expect(seen.asked).toMatchObject([{ always: [] }]);
    expect(seen.asked[0]?.reason).toContain("changed package.json, .claude/settings.json");
    expect(seen.file("package.json")).toBe('{"scripts": {}}\n');
    expect(seen.file(".claude/settings.json")).toBeUndefined();
    expect(seen.file("src/a.ts")).toBe("export {};\n");
    expect(seen.results[0]).toContain("the earlier content was restored");
    expect(seen.notices.join()).toContain("The earlier content was restored.");
  });

  it("are kept if the user says so", async () => {
    const seen = await run([apply], { answer: "allow" });
    expect(seen.asked).toHaveLength(1);
    expect(seen.file("package.json")).toContain("postinstall");
    expect(seen.results[0]).toContain("The user keeps the changes.");
    expect(seen.notices).toEqual([]);
  });

  it("are reported, and never undone, if no one can be asked", async () => {
    for (const mode of ["default", "dontAsk", "bypassPermissions"] as const) {
      const seen = await run([apply], { permissionMode: mode });
      expect(seen.file("package.json")).toContain("postinstall");
      expect(seen.notices.join()).toContain("changed package.json, .claude/settings.json");
      expect(seen.results[0]).toContain("No one could be asked");
    }
  });

  it("are not reported if rules name them", async () => {
    const allow = ["Bash(git apply:*)", "Edit(package.json)", "Edit(.claude/settings.json)"];
    const seen = await run([apply], { answer: "deny", allow });
    expect(seen).toMatchObject({ asked: [], notices: [] });
    expect(seen.file("package.json")).toContain("postinstall");
    const one = await run([apply], { answer: "deny", allow: allow.slice(0, 2) });
    expect(one.asked[0]?.reason).toContain("changed .claude/settings.json,");
    expect(one.file("package.json")).toContain("postinstall");
    expect(one.file(".claude/settings.json")).toBeUndefined();
  });

  it("are not asked about again after an answer of always", async () => {
    const allow = ["Bash(sh install.sh)", "Bash(rm .npmrc)"];
    const seen = await run(["sh install.sh", "rm .npmrc", "sh install.sh"], { answer: "always", allow });
    expect(seen.asked).toEqual([{ reason: expect.stringContaining(".npmrc"), always: ["Edit(./.npmrc)"] }]);
  });

  it("are restored if they were deleted or changed by a script", async () => {
    const allow = ["Bash(sh install.sh)", "Bash(sh remove.sh)"];
    const seen = await run(["sh install.sh"], { answer: "deny", allow });
    expect(seen.file(".npmrc")).toBeUndefined();
    const write = { name: "Write", input: { file_path: "remove.sh", content: "rm package.json\n" } };
    const removed = await run([write, "sh remove.sh"], { answer: "deny", allow: [...allow, "Edit(remove.sh)"] });
    expect(removed.asked[0]?.reason).toContain("package.json");
    expect(removed.file("package.json")).toBe('{"scripts": {}}\n');
  });

  it("are found when a command in the background is looked at", async () => {
    const start = { name: "Bash", input: { command: "sh late.sh", run_in_background: true } };
    const go = { name: "Write", input: { file_path: "src/go", content: "" } };
    const allow = ["Bash(sh late.sh)", "Bash(sh wait.sh)", "Edit(src/**)"];
    const seen = await run([start, go, "sh wait.sh", "sh wait.sh"], { answer: "deny", allow });
    // What was restored is not a change by the command in the background.
    expect(seen.asked).toHaveLength(1);
    expect(seen.file(".npmrc")).toBeUndefined();
  });

  it("are not reported if Retinue's own tools changed them with approval", async () => {
    const write = { name: "Write", input: { file_path: ".npmrc", content: "a=1\n" } };
    const seen = await run(["git status", write, "git status"], { answer: "allow" });
    expect(seen.asked).toHaveLength(1);
    expect(seen.notices).toEqual([]);
    expect(seen.results.join()).not.toContain("no rule permits");
  });
});
