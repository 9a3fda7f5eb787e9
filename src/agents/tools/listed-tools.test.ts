import { describe, expect, it } from "vitest";
import { builtInAgents } from "../../definitions/index.ts";
import { type AgentDefinition, toolNames } from "../../protocol/index.ts";
import { listedTools, toolsText } from "./listed-tools.ts";

const text = (more: Partial<AgentDefinition>): string =>
  toolsText(listedTools({ name: "a", description: "Does it.", source: "user", ...more }));
const allow = (tool: string, pattern?: string) => ({ tool, pattern, effect: "allow" }) as const;
const deny = (tool: string, pattern?: string) => ({ tool, pattern, effect: "deny" }) as const;

describe("the tools in the list that a model chooses an agent from", () => {
  it.each<[Partial<AgentDefinition>, string]>([
    [{}, "All tools"],
    [{ tools: ["*"] }, "All tools"],
    [{ tools: ["read_file", "Bash(git:*)"] }, "Read, Bash(git:*)"],
    [{ tools: ["Bash(git:*)", "Bash(npm test)", "mcp__db"] }, "Bash(git:*), Bash(npm test), mcp__db"],
    [{ tools: [] }, "None"],
    [{ tools: ["Read", "Write"], disallowedTools: ["write_file"] }, "Read"],
    [{ disallowedTools: ["Write", "Bash(rm:*)"] }, "All tools except Write"],
    [{ disallowedTools: ["mcp__db", "edit"] }, "All tools except mcp__db, Edit, Write, NotebookEdit"],
    [{ permission: [deny("*"), allow("grep"), allow("read_file")] }, "Read, Grep"],
    [{ permission: [deny("*"), allow("read"), allow("bash", "git *")] }, "Read, Bash(git *)"],
    [{ permission: [deny("edit")] }, "All tools except Write, Edit, NotebookEdit"],
    [{ permission: [deny("bash"), allow("bash", "git *")] }, "All tools, but only Bash(git *)"],
    [{ permission: [deny("edit", "*"), allow("edit", "src/**")], tools: ["Read", "Edit"] }, "Read, Edit(src/**)"],
    [{ permission: [deny("*")], tools: ["Read"] }, "None"],
    [{ permission: [deny("bash", "rm *")] }, "All tools"],
    [{ permission: [allow("*")] }, "All tools"],
  ])("are those that its definition leaves it: %j", (more, expected) => {
    expect(text(more)).toBe(expected);
  });

  it("are those of the compact explore agent", () => {
    const explore = builtInAgents({ profile: "compact" }).find(({ definition }) => definition.name === "explore");
    const { every, names } = listedTools(explore!.definition);
    expect(every).toBe(false);
    expect([...names].sort()).toEqual(["Glob", "Grep", "LS", "Read", "WebFetch", "WebSearch"]);
    expect(toolNames).toEqual(expect.arrayContaining([...names]));
  });
});
