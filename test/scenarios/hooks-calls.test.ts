import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { addTrust, loadProjectSettings, type SessionOptions } from "../../src/app/index.ts";
import type { Approvals } from "../../src/ports/index.ts";
import type { HookRecord, JsonObject, Line, RunUpdate, Settings } from "../../src/protocol/index.ts";
import { mergeSettings } from "../../src/settings/merge-settings.ts";
import { lastWords, newPlace, open, type Place, read, resultsIn, task, type Walk, walk } from "./delegation-place.ts";

const write = (content = "made") => ({ name: "Write", input: { file_path: "made.txt", content } });
const once = (call: { name: string; input: unknown }) => ({ MAIN: [{ calls: [call] }, { text: "Done." }] });

/** Returns settings with one hook for each shell command. */
const hooks = (event: string, ...commands: string[]): Settings => ({
  hooks: { [event]: commands.map((command) => ({ command })) } as JsonObject,
});
const says = (answer: JsonObject): string => `echo '${JSON.stringify(answer)}'`;

const told = ({ model }: Walk): string => resultsIn(model.requests("MAIN")[1])[0] ?? "";
const recorded = (updates: readonly RunUpdate[]): HookRecord[] =>
  updates.flatMap((update) => (update.type === "hooks.ran" ? [update as HookRecord & Line] : []));
const made = ({ cwd }: Place): string | undefined =>
  existsSync(join(cwd, "made.txt")) ? readFileSync(join(cwd, "made.txt"), "utf8") : undefined;

describe("a hook before a call", () => {
  it("blocks the call with exit code 2, and the model, the report and the transcript get the reason", async () => {
    const settings = hooks("PreToolUse", "echo 'not on Fridays' >&2; exit 2");
    const walked = await walk(once(write()), { settings, permissionMode: "acceptEdits" });
    expect(made(walked)).toBeUndefined();
    expect(told(walked)).toContain("not on Fridays");
    expect(walked.result.facts.denied).toMatchObject([{ tool: "Write" }]);
    expect(recorded(walked.updates)).toMatchObject([
      { event: "PreToolUse", decision: "deny", reason: "not on Fridays" },
    ]);
  });

  it("blocks the call with a clear error if the hook can't be run", async () => {
    const walked = await walk(once(read), { settings: hooks("PreToolUse", "./no-such-hook.sh") });
    expect(told(walked)).toMatch(/no-such-hook\.sh.*127.*not made/s);
    expect(walked.updates).toContainEqual(expect.objectContaining({ type: "notice.raised", code: "hook" }));
  });

  it.each([
    ["comes after other text", `echo checking...; ${says({ decision: "deny" })}`, /looks like JSON/],
    ["is cut off", `echo '{"decision":"deny", oops'`, /looks like JSON/],
    ["has a misspelled key", says({ Decision: "deny" }), /unknown key "Decision" instead of "decision"/],
  ])("blocks the call and tells everyone if its output %s", async (_, command, why) => {
    const walked = await walk(once(read), { settings: hooks("PreToolUse", command) });
    expect(told(walked)).toMatch(why);
    expect(walked.result.facts.denied).toMatchObject([{ tool: "Read" }]);
    const said = expect.objectContaining({ type: "notice.raised", code: "hook", message: expect.stringMatching(why) });
    expect(walked.updates).toContainEqual(said);
  });

  it("allows calls that no rule decides", async () => {
    const walked = await walk(once(write()), { settings: hooks("PreToolUse", says({ decision: "allow" })) });
    expect(made(walked)).toBe("made");
  });

  it("makes a call wait for an answer from elsewhere, or denies it, with the decision defer", async () => {
    const settings = hooks("PreToolUse", says({ hookSpecificOutput: { permissionDecision: "defer" } }));
    const denied = await walk(once(read), { settings });
    expect(denied.result.facts.denied).toMatchObject([{ tool: "Read" }]);
    const approvals: Approvals = { ask: async () => ({ answer: "allow", by: "a person" }) };
    expect(told(await walk(once(read), { settings, approvals }))).toContain("alpha");
  });

  it("does not allow a call that a rule denies, and is not even called", async () => {
    const settings = hooks("PreToolUse", `touch asked; ${says({ decision: "allow" })}`);
    const walked = await walk(once(write()), { settings, disallowedTools: ["Write(made.txt)"] });
    expect(made(walked)).toBeUndefined();
    expect(existsSync(join(walked.cwd, "asked"))).toBe(false);
  });

  it.each([
    ["Write", { name: "Write", input: { file_path: ".git/config", content: "x" } }],
    ["a command", { name: "Bash", input: { command: "some-program > .git/config" } }],
  ])(
    "does not allow %s to write a protected file if it comes from a project, but a user's hook does",
    async (_, call) => {
      const settings = hooks("PreToolUse", says({ decision: "allow" }));
      const [value = null] = (settings.hooks?.["PreToolUse"] ?? []) as readonly JsonObject[];
      const projects: SessionOptions = { settingsOrigins: [{ path: "hooks.PreToolUse[0]", value, scope: "project" }] };
      const refused = await walk(once(call), { settings, ...projects });
      expect(refused.result.facts.denied).toMatchObject([{ tool: call.name }]);
      expect(told(refused)).toContain("is protected");
      expect((await walk(once(call), { settings })).result.facts.denied).toEqual([]);
    },
  );

  it("does not allow calls that the user wants to be asked about if it comes from a project", async () => {
    const settings = hooks("PreToolUse", says({ decision: "allow" }));
    const [value = null] = (settings.hooks?.["PreToolUse"] ?? []) as readonly JsonObject[];
    const projects: SessionOptions = { settingsOrigins: [{ path: "hooks.PreToolUse[0]", value, scope: "project" }] };
    const asks: SessionOptions = { rules: [{ text: "Write", effect: "ask", scope: "user" }] };
    expect(made(await walk(once(write()), { settings, ...projects, ...asks }))).toBeUndefined();
    expect(made(await walk(once(write()), { settings, ...asks }))).toBe("made");
    expect(made(await walk(once(write()), { settings, ...projects }))).toBe("made");
  });

  const allowAll = { command: says({ decision: "allow" }) };
  const shell = (command: string) => ({ name: "Bash", input: { command } });
  const askRule = (text: string, scope: "user" | "project"): SessionOptions => ({
    rules: [{ text, effect: "ask", scope }],
  });
  const denyEnv: SessionOptions = { rules: [{ text: "Read(.env)", effect: "deny", scope: "project" }] };

  // Each of these calls needs a person's approval even if the project has the rules `Bash`, `Write` and `WebFetch`.
  it.each<[string, { name: string; input: unknown }, SessionOptions]>([
    ["a URL with a key", { name: "WebFetch", input: { url: `https://x.example/?q=sk-${"a".repeat(20)}` } }, {}],
    ["a command that mentions a denied file", shell("touch made.txt; cp .env made.txt"), denyEnv],
    ["a command that hides what it runs", shell("x=touch; $x made.txt"), askRule("Bash(rm:*)", "user")],
    ["a call that the project wants to be asked about", write(), askRule("Write", "project")],
    ["a call that the user wants to be asked about", shell("touch made.txt"), askRule("Bash(touch:*)", "user")],
    [
      "a line with one command that the project wants to be asked about, and one that the user does",
      shell("touch made.txt; mkdir x"),
      {
        rules: [
          { text: "Bash(touch:*)", effect: "ask", scope: "project" },
          { text: "Bash(mkdir:*)", effect: "ask", scope: "user" },
        ],
      },
    ],
    ["a plan", { name: "ExitPlanMode", input: { plan: "x" } }, { permissionMode: "plan", onAsk: "hook" }],
  ])("does not allow %s if it comes from a project", async (_, call, options) => {
    for (const event of ["PreToolUse", "PermissionRequest"]) {
      const ofProject = mergeSettings([{ scope: "project", values: { hooks: { [event]: [allowAll] } } }]);
      const walked = await walk(once(call), {
        ...options,
        settings: ofProject.settings,
        settingsOrigins: ofProject.origins,
      });
      expect(walked.result.facts.denied).toMatchObject([{ tool: call.name }]);
      expect(made(walked)).toBeUndefined();
    }
  });

  it("does not allow calls that the user wants to be asked about if it comes from a project's agent, but allows others", async () => {
    const at = newPlace();
    mkdirSync(join(at.cwd, ".agents/agents"), { recursive: true });
    const hook = `hooks:\n  PreToolUse:\n    - command: ${JSON.stringify(allowAll.command)}\n`;
    const agent = `---\nname: guard\ndescription: Guards.\n${hook}---\nWork.\n`;
    writeFileSync(join(at.cwd, ".agents/agents/guard.md"), agent);
    const environment = { HOME: at.home, PATH: process.env["PATH"] ?? "" };
    await addTrust({ ...at, environment });
    const loaded = loadProjectSettings({ ...at, environment, trust: false });
    const work = { MAIN: [{ calls: [task("CHILD: go", { subagent_type: "guard" })] }, { text: "Done." }] };
    const parts = { ...work, CHILD: [{ calls: [write(), shell("touch other.txt")] }, { text: "Seen." }] };
    const options = { ...askRule("Write", "user"), at, environment, trusted: true, catalogSettings: loaded };
    const walked = await walk(parts, options);
    expect(existsSync(join(at.cwd, "other.txt"))).toBe(true);
    expect(made(walked)).toBeUndefined();
  });

  it.each<[string, JsonObject | readonly JsonObject[], JsonObject]>([
    ["an object", allowAll, {}],
    ["a list", [allowAll], {}],
    ["an object that is merged with the user's", allowAll, { matcher: "*" }],
  ])("is treated as the project's if the project's settings contain it as %s", async (_, hook, ofUser) => {
    const { settings, origins } = mergeSettings([
      { scope: "user", values: { hooks: { PreToolUse: ofUser } } },
      { scope: "project", values: { hooks: { PreToolUse: hook } } },
    ]);
    const walked = await walk(once(write()), { settings, settingsOrigins: origins, ...askRule("Write", "user") });
    expect(made(walked)).toBeUndefined();
  });

  it("can change the call's input, and the changed input is used", async () => {
    const input = { file_path: "made.txt", content: "by the hook" };
    const settings = hooks("PreToolUse", says({ hookSpecificOutput: { updatedInput: input } }));
    const walked = await walk(once(write("by the model")), { settings, permissionMode: "acceptEdits" });
    expect(made(walked)).toBe("by the hook");
    expect(recorded(walked.updates)[0]).toMatchObject({ inputJson: JSON.stringify(input) });
  });

  it("can change the call's input, and rules and hooks then decide on the call again", async () => {
    const change = says({
      decision: "allow",
      hookSpecificOutput: { updatedInput: { file_path: "made.txt", content: "x" } },
    });
    const elsewhere = { name: "Write", input: { file_path: "other.txt", content: "x" } };
    const byRule = await walk(once(elsewhere), {
      settings: hooks("PreToolUse", change),
      disallowedTools: ["Write(made.txt)"],
    });
    expect(made(byRule)).toBeUndefined();
    const guard = "grep -q made.txt && { echo 'not this file' >&2; exit 2; }; exit 0";
    const byHook = await walk(once(elsewhere), { settings: hooks("PreToolUse", change, guard) });
    expect(made(byHook)).toBeUndefined();
    expect(told(byHook)).toContain("not this file");
  });

  it("causes a denial if it changes the input again and again", async () => {
    const change = `node -e 'const i = JSON.parse(require("fs").readFileSync(0)).tool_input; console.log(JSON.stringify({updatedInput: {...i, content: i.content + "!"}}))'`;
    const walked = await walk(once(write()), { settings: hooks("PreToolUse", change), permissionMode: "acceptEdits" });
    expect(made(walked)).toBeUndefined();
    expect(told(walked)).toContain("changed the input");
  });

  it("adds text for the model", async () => {
    const settings = hooks("PreToolUse", says({ hookSpecificOutput: { additionalContext: "mind the gap" } }));
    const walked = await walk(once(read), { settings });
    expect(lastWords(walked.model.requests("MAIN")[1])).toContain("mind the gap");
  });

  it("can require approval for allowed calls, which are denied if no one can approve them", async () => {
    const asked: string[] = [];
    const approvals: Approvals = {
      ask: async ({ decision }) => {
        asked.push(decision.reason);
        return { answer: "allow", by: "a person" };
      },
    };
    const settings = hooks("PreToolUse", says({ decision: "ask", reason: "sure?" }));
    const walked = await walk(once(write()), { settings, approvals, permissionMode: "acceptEdits" });
    expect(asked).toEqual(["sure?"]);
    expect(made(walked)).toBe("made");
    const strict = await walk(once(write()), {
      settings,
      approvals,
      permissionMode: "dontAsk",
      allowedTools: ["Write"],
    });
    expect(asked).toHaveLength(1);
    expect(made(strict)).toBeUndefined();
  });

  it("can be a function from the program", async () => {
    const seen: unknown[] = [];
    const walked = await walk(once(write()), {
      hooks: {
        PreToolUse: [
          {
            matcher: "Write",
            run: ({ tool_name, tool_input, agent_type, depth }) => {
              seen.push([tool_name, tool_input, agent_type, depth]);
              return { decision: "allow" };
            },
          },
        ],
      },
    });
    const input = { file_path: join(walked.cwd, "made.txt"), content: "made" };
    expect(seen).toEqual([["Write", input, "main", 0]]);
    expect(made(walked)).toBe("made");
  });

  it.each([
    ["edit_file", "Edit"],
    ["shell", "Bash"],
    ["replace", "Edit"],
    ["no_such_tool", undefined],
  ])("sees a call to %s as a call to %s", async (name, tool) => {
    const seen: unknown[] = [];
    const input = tool === "Bash" ? { command: "pwd" } : { file_path: "new.txt", old_string: "", new_string: "x" };
    const see = ({ tool_name, tool: also }: { tool_name: string; tool?: string }) => void seen.push(tool_name, also);
    const hooks = { PreToolUse: [{ run: see }], PostToolUse: [{ run: see }] };
    await walk(once({ name, input }), { hooks, permissionMode: "bypassPermissions" });
    expect(seen).toEqual(tool === undefined ? [] : [tool, tool, tool, tool]);
  });

  it("does not run for other tools, or if all hooks are disabled", async () => {
    const settings: Settings = { hooks: { PreToolUse: [{ matcher: "Write", command: "exit 2" }] } };
    expect(told(await walk(once(read), { settings }))).toContain("alpha");
    const off = { ...settings, disableAllHooks: true };
    expect(made(await walk(once(write()), { settings: off, permissionMode: "acceptEdits" }))).toBe("made");
    const [value = null] = (settings.hooks?.["PreToolUse"] ?? []) as readonly JsonObject[];
    const managed = { path: "hooks.PreToolUse[0]", value, scope: "managed" } as const;
    const kept = await walk(once(write()), {
      settings: off,
      settingsOrigins: [managed],
      permissionMode: "acceptEdits",
    });
    expect(made(kept)).toBeUndefined();
    const switched = { path: "disableAllHooks", value: true, scope: "managed" } as const;
    const none = { settings: off, settingsOrigins: [managed, switched], permissionMode: "acceptEdits" } as const;
    expect(made(await walk(once(write()), none))).toBe("made");
  });

  it("is not recorded as a denial if it was aborted with the run", async () => {
    const { session, model } = await open(once(write()), { settings: hooks("PreToolUse", "touch begun; sleep 60") });
    const run = session.prompt("MAIN: do it.");
    while (!existsSync(join(session.cwd, "begun"))) await new Promise((resolve) => setTimeout(resolve, 5));
    run.stop("interrupted");
    const result = await run.result;
    await session.close();
    expect(result).toMatchObject({ outcome: "stopped", facts: { denied: [] } });
    expect(model.requests("MAIN")).toHaveLength(1);
  });
});

describe("when a call needs approval", () => {
  it("a hook can answer in place of the user", async () => {
    const allow = hooks("PermissionRequest", says({ hookSpecificOutput: { decision: { behavior: "allow" } } }));
    expect(made(await walk(once(write()), { settings: allow }))).toBe("made");
    const deny = hooks(
      "PermissionRequest",
      says({ hookSpecificOutput: { decision: { behavior: "deny", message: "no" } } }),
    );
    const walked = await walk(once(write()), { settings: deny });
    expect(told(walked)).toContain("no");
    expect(made(walked)).toBeUndefined();
  });

  it("a new decision is made on input that a hook has changed", async () => {
    const change = hooks(
      "PermissionRequest",
      says({ hookSpecificOutput: { decision: { behavior: "allow", updatedInput: { command: "touch made.txt" } } } }),
    );
    const call = { name: "Bash", input: { command: "mkdir other" } };
    const denied = await walk(once(call), { settings: change, disallowedTools: ["Bash(touch:*)"] });
    expect(made(denied)).toBeUndefined();
    expect(denied.updates).toContainEqual(
      expect.objectContaining({ type: "tool.ended", result: expect.objectContaining({ outcome: "denied" }) }),
    );
  });

  it("a hook is notified that Retinue is waiting for the user", async () => {
    const approvals: Approvals = { ask: async () => ({ answer: "allow", by: "a person" }) };
    const walked = await walk(once(write()), { settings: hooks("Notification", "cat > told.json"), approvals });
    expect(JSON.parse(readFileSync(join(walked.cwd, "told.json"), "utf8"))).toMatchObject({
      hook_event_name: "Notification",
      notification_type: "permission_prompt",
      message: expect.stringContaining("Write"),
    });
  });
});

describe("a hook after a call", () => {
  it.each([2, 1])("leaves the result unchanged and tells the model if its exit code is %d", async (code) => {
    const settings = hooks("PostToolUse", `echo '3 lint errors' >&2; exit ${code}`);
    const walked = await walk(once(write()), { settings, permissionMode: "acceptEdits" });
    expect(made(walked)).toBe("made");
    const [, second] = walked.model.requests("MAIN");
    expect(lastWords(second)).toContain("3 lint errors");
    expect(walked.updates).toContainEqual(
      expect.objectContaining({ type: "tool.ended", result: expect.objectContaining({ outcome: "ok" }) }),
    );
  });

  it("receives the result", async () => {
    const walked = await walk(once(read), { settings: hooks("PostToolUse", "cat > told.json") });
    expect(JSON.parse(readFileSync(join(walked.cwd, "told.json"), "utf8"))).toMatchObject({
      tool: "Read",
      tool_name: "Read",
      tool_input: { file_path: join(walked.cwd, "notes.txt") },
      tool_response: { outcome: "ok", content: [{ type: "text", text: expect.stringContaining("alpha") }] },
      duration_ms: expect.any(Number),
    });
  });

  it("can replace the result for the model, also when the session is resumed", async () => {
    const at = newPlace();
    const settings = hooks("PostToolUse", says({ hookSpecificOutput: { updatedToolOutput: "masked" } }));
    const first = await walk(once(read), { at, settings });
    expect(told(first)).toBe("masked");
    expect(JSON.stringify(first.model.requests("MAIN"))).not.toContain("alpha");
    const { session, model } = await open({ MAIN: [{ text: "More." }] }, { at, settings, resume: first.sessionId });
    await session.prompt("And now?").result;
    await session.close();
    expect(JSON.stringify(model.requests("MAIN"))).toMatch(/masked/);
    expect(JSON.stringify(model.requests("MAIN"))).not.toContain("alpha");
  });

  it("can be a function that replaces the result", async () => {
    const run = () => ({ output: "masked" });
    expect(told(await walk(once(read), { hooks: { PostToolUse: [{ run }] } }))).toBe("masked");
    const wrong = () => ({ output: 5 }) as unknown as { output: string };
    const walked = await walk(once(read), { hooks: { PostToolUse: [{ run: wrong }] } });
    expect(lastWords(walked.model.requests("MAIN")[1])).toContain("output must be a string");
  });

  it("does not run for a call that was not made", async () => {
    const settings: Settings = {
      hooks: { PreToolUse: [{ command: "exit 2" }], PostToolUse: [{ command: "touch heard" }] },
    };
    const walked = await walk(once(write()), { settings });
    expect(existsSync(join(walked.cwd, "heard"))).toBe(false);
  });
});

it("hooks do not run again for a call that had ended when the session is resumed", async () => {
  const at = newPlace();
  const settings = hooks("PreToolUse", "echo x >> log");
  const first = await walk(once(read), { at, settings });
  const { session } = await open({ MAIN: [{ text: "More." }] }, { at, settings, resume: first.sessionId as never });
  await session.prompt("go on").result;
  await session.close();
  expect(readFileSync(join(at.cwd, "log"), "utf8")).toBe("x\n");
});
