import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAgentJson } from "../../definitions/index.ts";
import type { AgentDefinition } from "../../protocol/index.ts";
import type { AgentOptions } from "./agent-options.ts";
import { defineAgent, functionsFor, splitAgents, writePrompt } from "./define-agent.ts";

const environment = { cwd: "/work", platform: "linux", docsDirectory: "/docs", stateDirectory: "/state" };
const callback = () => undefined;

function read(agents: Readonly<Record<string, unknown>>) {
  const { agents: found, diagnostics } = readAgentJson(agents, { file: "--agents", source: "flag" });
  return {
    definitions: found.map(({ definition }) => definition),
    all: [diagnostics, found.map((a) => a.diagnostics)],
  };
}

describe("an agent defined by a program", () => {
  it.each([
    [{ instructions: "You check." }, 'defineAgent has no option "instructions"', "Use prompt."],
    [{ name: "checker" }, 'defineAgent has no option "name"', "The key in the agents option"],
    [{ tols: [] }, 'defineAgent has no option "tols"', "Did you mean tools?"],
    [{ tools: [{ name: "price" }] }, "The tools option of defineAgent", "your own tools belong in the tools option"],
    [{ model: 3 }, "The model option of defineAgent can't be 3", "Use a non-empty string."],
    [{ prompt: undefined }, "defineAgent needs the prompt option", "Use a non-empty string, or a function."],
    [{ permissionMode: "accept" }, "The permissionMode option", 'Did you mean "acceptEdits"?'],
  ])("is checked: %o", (options, message, fix) => {
    const define = () => defineAgent({ description: "Checks.", prompt: "You check.", ...options } as AgentOptions);
    expect(define).toThrowError(
      expect.objectContaining({ message: expect.stringContaining(message), fix: expect.stringContaining(fix) }),
    );
  });

  it("is read like the JSON form, with every field", () => {
    const everything = defineAgent({
      description: "Checks things.",
      prompt: ({ cwd }) => `You check ${cwd}.`,
      callback,
      tools: ["Read", "Bash(git diff *)"],
      disallowedTools: ["Write"],
      requiredTools: ["Read"],
      model: "small",
      effort: "low",
      permissionMode: "plan",
      permission: { bash: { "git *": "allow", "*": "ask" }, edit: "deny" },
      maxTurns: 7,
      timeout: "5m",
      contextTokens: 50_000,
      budget: { usd: 1 },
      acceptance: "npm test",
      color: "red",
      background: true,
      memory: "user",
      skills: ["review"],
      mcpServers: ["db", { web: { command: "server" } }],
      hooks: { PreToolUse: [{ matcher: "Bash", command: "./check.sh", timeout: 5 }] },
      isolation: "worktree",
      omitProjectContext: true,
      forkContext: true,
      criticalReminder: "Be careful.",
      initialPrompt: "Begin.",
      hidden: true,
    });
    const { definitions, all } = read(splitAgents({ checker: everything }).data);
    expect(all.flat(2)).toEqual([]);
    expect(definitions).toEqual([
      {
        ...Object.fromEntries(Object.entries(everything).filter(([, value]) => typeof value !== "function")),
        name: "checker",
        source: "flag",
        file: "--agents",
        timeout: undefined,
        timeoutMs: 300_000,
        permission: [
          { tool: "bash", pattern: "git *", effect: "allow" },
          { tool: "bash", pattern: "*", effect: "ask" },
          { tool: "edit", effect: "deny" },
        ],
        mcpServers: [{ name: "db" }, { name: "web", config: { command: "server" } }],
        hooks: [{ event: "PreToolUse", matcher: "Bash", command: "./check.sh", timeoutSeconds: 5 }],
      },
    ]);
  });

  it("keeps its functions under its key, whatever its name property says", () => {
    const prompt = () => "You.";
    const split = splitAgents({ " poet ": { name: "somebody", description: "Rhymes.", prompt, callback } });
    const [definition] = read(split.data).definitions;
    expect(definition?.name).toBe("poet");
    expect(functionsFor(definition, split)).toEqual({ prompt, callback });
  });

  it("does not pass its functions to another agent that takes its name", () => {
    const split = splitAgents({ poet: { description: "Rhymes.", prompt: () => "You.", callback } });
    const managed: AgentDefinition = { name: "poet", description: "Managed.", source: "policy" };
    expect(functionsFor(managed, split)).toEqual({});
    expect(functionsFor(undefined, split)).toEqual({});
    expect(functionsFor({ ...managed, name: "toString", source: "flag" }, split)).toEqual({});
  });

  it("loses only its two functions when it is converted to JSON", () => {
    const fields = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(fields, fc.jsonValue())), fc.boolean(), (agents, defined) => {
        const poet = { description: "Rhymes.", prompt: () => "You.", callback };
        const { data, functions } = splitAgents(defined ? { ...agents, poet } : agents);
        for (const [name, value] of Object.entries(agents)) {
          if (name !== "poet") expect(data[name]).toBe(value);
        }
        expect([...functions.keys()]).toEqual(defined ? ["poet"] : []);
        if (defined) expect(data["poet"]).toEqual({ name: "poet", description: "Rhymes.", prompt: "" });
      }),
    );
  });

  it("has a callback only if the value is a function, so text from a file is never run", () => {
    const agents = { poet: { description: "Rhymes.", prompt: "You.", callback: "rm -rf /" } };
    const { data, functions } = splitAgents(agents);
    expect(functions.size).toBe(0);
    expect(data).toEqual(agents);
    expect(read(data).all.flat(2)).toEqual([expect.objectContaining({ message: expect.stringContaining("callback") })]);
  });
});

describe("a prompt that is a function", () => {
  it("is called with the environment", () => {
    expect(writePrompt("poet", ({ cwd, platform }) => `${cwd} on ${platform}`, environment)).toBe("/work on linux");
  });

  it("must return text synchronously", () => {
    const late = (async () => "You.") as unknown as () => string;
    expect(() => writePrompt("poet", late, environment)).toThrow('The prompt of agent "poet" is not a string');
  });
});
