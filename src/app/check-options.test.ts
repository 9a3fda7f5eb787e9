import { describe, expect, it, onTestFinished } from "vitest";
import { createScriptedModel } from "../testing/index.ts";
import { openSession } from "./opening/open-session.ts";
import type { SessionOptions } from "./opening/session-options.ts";
import { loadProjectSettings } from "./settings/project-settings.ts";

/** Opens a session with options that a program without type checking could pass. */
function open(options: Readonly<Record<string, unknown>>): Promise<unknown> {
  const model = createScriptedModel([]);
  return openSession({ home: false, environment: {}, model, ...options } as SessionOptions).then((s) => s.close());
}

describe("options of openSession", () => {
  it.each([
    [
      { permissionMode: "yolo" },
      'The permissionMode option of openSession can\'t be "yolo"',
      'Use "default", "acceptEdits", "dontAsk", "bypassPermissions" or "plan".',
    ],
    [{ permissionMode: "accept" }, 'can\'t be "accept"', 'Did you mean "acceptEdits"? Use "default", "acceptEdits"'],
    [{ systemPrompt: { prepend: "x" } }, "systemPrompt", "an object with append"],
    [{ mcpServers: { db: "psql" } }, "mcpServers", "command, url or server"],
    [{ mcpServers: { db: { commnd: "psql" } } }, 'MCP server "db"', "Did you mean command?"],
    [{ mcpServers: { db: {} } }, 'has neither "command" nor "url"', "{ command, args }"],
    [{ mcpServers: { db: { server: {} } } }, 'has a "server" without a "connect" method', "server: new McpServer"],
    [{ disallowedTools: ["Raed"] }, 'The disallowedTools option of openSession names the unknown tool "Raed"', "Read"],
    [{ allowedTools: ["Raed(x)"] }, 'names the unknown tool "Raed"', "Did you mean Read?"],
    [{ tools: ["Read"] }, 'tools option of openSession contains the name "Read"', "disallowedTools"],
    [
      { tools: [{ name: "a", description: "A.", parameters: {} }] },
      'The tool "a" has no option "parameters"',
      "Use input.",
    ],
    [{ tools: [{ name: "a", description: "A.", execute: () => 1 }] }, 'has no option "execute"', "Use run."],
    [
      { model: { describe: () => ({}), call: (): unknown => undefined } },
      "returned an invalid description",
      "maxOutputTokens",
    ],
    [{ appendSystemPrompt: "x" }, 'openSession has no option "appendSystemPrompt"', "systemPrompt: { append: text }"],
    [{ canUseTool: () => true }, 'no option "canUseTool"', "approvals: { ask }"],
    [{ abortController: {} }, 'no option "abortController"', "signal"],
    [{ instructions: "x" }, 'no option "instructions"', "Use systemPrompt."],
    [{ maxSteps: 3 }, 'no option "maxSteps"', "Use maxTurns."],
    [{ apiKey: "x" }, 'no option "apiKey"', "environment"],
    [{ output: {} }, 'no option "output"', "session.prompt(text, { output })"],
    [{ tools: {} }, "tools option of openSession can't be an object", "Use an array."],
    [{ effort: "huge" }, "effort", '"xhigh" or "max"'],
    [{ onAsk: "ask" }, 'onAsk option of openSession can\'t be "ask"', 'Use "deny", "wait" or "hook".'],
    [{ agentUpdates: true }, "agentUpdates option of openSession can't be true", '"milestones"'],
    [{ maxTurns: 0 }, "maxTurns option of openSession can't be 0", "Use a whole number above 0."],
    [{ maxTurns: "7" }, 'maxTurns option of openSession can\'t be "7"', "whole number"],
    [{ home: true }, "home option of openSession can't be true", "Use a string or false."],
    [{ cwd: "" }, 'cwd option of openSession can\'t be ""', "Use a non-empty string."],
    [{ model: 3 }, "model option of openSession can't be 3", "an object with describe and call"],
    [
      { model: { call: (): unknown => undefined } },
      "model option of openSession can't be an object",
      "describe and call",
    ],
    [{ allowedTools: "Read" }, 'allowedTools option of openSession can\'t be "Read"', "Use an array of strings."],
    [{ acceptance: [1] }, "acceptance option of openSession can't be an array", "Use an array of commands."],
    [{ trusted: "yes" }, "trusted", "Use true or false."],
    [{ approvals: () => "allow" }, "approvals option of openSession can't be a function", "an object with ask"],
    [{ onTrouble: {} }, "onTrouble", "Use a function."],
    [{ resume: null }, "resume option of openSession can't be null", "string"],
    [{ signal: {} }, "signal", "AbortSignal"],
    [
      { hooks: { PreToolUs: [] } },
      'hooks option of openSession has an unknown event "PreToolUs"',
      "Did you mean PreToolUse?",
    ],
    [{ hooks: { Stop: {} } }, "hooks option of openSession has an invalid value for Stop", "array"],
    [{ hooks: { Stop: [{ command: "true" }] } }, "hooks option of openSession has an invalid value for Stop", "run"],
    [
      { hooks: { Stop: [{ run: () => ({}), matchr: "x" }] } },
      'has the unknown field "matchr" for Stop',
      "mean matcher?",
    ],
    [
      { settings: { permissions: { defaultMode: "yolo" } } },
      "The settings option of openSession is invalid: permissions.defaultMode",
      "docs/settings.md",
    ],
    [
      { settings: { bugdet: { turns: 1 } } },
      "The settings option of openSession is invalid: the key bugdet is unknown (did you mean budget?)",
      "docs/settings.md",
    ],
    [
      { settings: { bugdet: { turns: 1 }, subagents: { maxSpawn: 1 } } },
      "the key bugdet is unknown",
      "Also: the key subagents.maxSpawn is unknown (did you mean subagents.maxSpawns?).",
    ],
    [{ permisionMode: "plan" }, 'openSession has no option "permisionMode"', "Did you mean permissionMode?"],
    [{ zzz: 1 }, 'openSession has no option "zzz"', "docs/library.md"],
    [{ systemPrompt: { preset: "claude_code", append: "x" } }, "systemPrompt", "append and nothing else"],
    [{ entryPoint: "web" }, "entryPoint option of openSession", '"cli", "server", "sdk" or a name such as "sdk-ts"'],
    [{ prompt: "x" }, 'openSession has no option "prompt"', "session.prompt(prompt)"],
    [{ settingSources: [] }, 'openSession has no option "settingSources"', "loadProjectSettings"],
    [{ outputType: {} }, 'openSession has no option "outputType"', "{ output }"],
    [{ maxTokens: 1 }, 'openSession has no option "maxTokens"', "settings: { providers }"],
    [{ stream: true }, 'openSession has no option "stream"', "textStream"],
  ])("are checked at run time: %o", async (options, message, fix) => {
    await expect(open(options)).rejects.toMatchObject({
      name: "UserError",
      message: expect.stringContaining(message),
      fix: expect.stringContaining(fix),
      code: "options",
      exitCode: 2,
    });
  });

  it("suggest the main agent if its name is misspelled", async () => {
    await expect(open({ agent: "mian" })).rejects.toMatchObject({
      message: 'There is no agent "mian"',
      fix: expect.stringContaining('Did you mean "main"?'),
    });
  });

  it("can't resume a session if no sessions are stored", async () => {
    await expect(open({ resume: "01j0000000000000000000000a" })).rejects.toMatchObject({
      message: "A session can't be resumed with home: false, which keeps nothing on disk",
      fix: "Remove resume to start a new session, or set home to the session's state directory.",
      code: "options",
    });
  });

  it("may all be undefined", async () => {
    await open({ permissionMode: undefined, resume: undefined, hooks: undefined, settings: undefined });
  });
});

describe("a prompt", () => {
  it("must be text or blocks", async () => {
    const session = await openSession({ home: false, environment: {}, model: createScriptedModel([]) });
    onTestFinished(() => session.close());
    expect(() => session.prompt(undefined as unknown as string)).toThrowError(
      "must be a string or an array of text and image blocks",
    );
  });
});

describe("options of loadProjectSettings", () => {
  const options = { home: "/nowhere", cwd: "/nowhere", environment: {}, trust: false };

  it.each([
    [{ ...options, trusted: true }, 'loadProjectSettings has no option "trusted"', "Did you mean trust?"],
    [{ ...options, trust: "yes" }, 'The trust option of loadProjectSettings can\'t be "yes"', "Use true or false."],
    [{ ...options, home: undefined }, "loadProjectSettings needs the home option", "Use a non-empty string"],
  ])("are checked too: %o", (given, message, fix) => {
    const load = () => loadProjectSettings(given as typeof options);
    expect(load).toThrowError(expect.objectContaining({ message: expect.stringContaining(message) }));
    expect(load).toThrowError(expect.objectContaining({ fix: expect.stringContaining(fix), code: "options" }));
  });
});
