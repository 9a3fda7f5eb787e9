import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession } from "../../src/app/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";

/** Makes one call in a workspace that contains the state directory, with the most permissive rules. */
async function perform(call: { readonly name: string; readonly input: object }) {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "retinue-state-")));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 5 }));
  const home = join(cwd, "state");
  mkdirSync(home);
  writeFileSync(join(home, "settings.json"), "{}");
  writeFileSync(join(cwd, "x"), "planted");
  const session = await openSession({
    cwd,
    home,
    environment: { HOME: tmpdir(), PATH: process.env["PATH"] },
    model: createScriptedModel([{ calls: [call] }, { text: "Done." }]),
    permissionMode: "acceptEdits",
    allowedTools: ["Bash(cp:*)", "Bash(rm:*)", "Bash(mv:*)", "Bash(tee:*)", "Write", "Edit"],
    settings: { sandbox: "off" },
  });
  onTestFinished(() => session.close());
  const { facts } = await session.prompt("Go.").result;
  const settings = join(home, "settings.json");
  return { denied: facts.denied.length, settings: existsSync(settings) ? readFileSync(settings, "utf8") : undefined };
}

const bash = (command: string) => ({ name: "Bash", input: { command } });

describe("a state directory of any name in the workspace", () => {
  it.each([
    [{ name: "Write", input: { file_path: "state/permissions.jsonc", content: "planted" } }],
    [{ name: "Write", input: { file_path: "state/trust.json", content: "planted" } }],
    [{ name: "Write", input: { file_path: "state/plugins/kit/hooks/hooks.json", content: "planted" } }],
    [{ name: "Write", input: { file_path: "state/projects/p/s/inbox.jsonl", content: "planted" } }],
    [bash("echo planted > state/settings.json")],
    [bash("cp x state/settings.json")],
    [bash("mv x state/settings.json")],
    [bash("tee state/settings.json < x")],
    [bash("cd state && cp ../x settings.json")],
    [bash("rm -r state/projects")],
  ])("is protected against %j", async (call) => {
    expect(await perform(call)).toEqual({ denied: 1, settings: "{}" });
  });

  it.each([
    [{ name: "Write", input: { file_path: "state/agent-memory/a/notes.md", content: "mine" } }],
    [{ name: "Write", input: { file_path: "settings.json", content: "mine" } }],
    [bash("cp x y")],
  ])("does not affect the decisions on other files: %j", async (call) => {
    expect(await perform(call)).toEqual({ denied: 0, settings: "{}" });
  });
});
