import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lastWords, performTask, toolNames } from "./perform-task.ts";

const reviewer = `---
name: reviewer
description: Reviews changes. Use when a change is done.
tools: Read, Bash(echo:*), Grpe
skills: house-style
memory: user
maxTurns: 4
initialPrompt: Begin with the newest change.
---
You review changes.
`;
const skill = "---\nname: house-style\ndescription: How code looks here.\n---\nTwo spaces, no semicolons.\n";
const inProject = {
  ".agents/agents/reviewer.md": reviewer,
  ".agents/skills/house-style/SKILL.md": skill,
  "AGENTS.md": "Answer in English.\n",
};
const memory = { "../home/agent-memory/reviewer/MEMORY.md": "- The author likes short names.\n" };
const hello = [{ text: "Hello." }];

describe("a project's agent", () => {
  it("works with its own prompt, tools, skills, memory and the project's instructions", async () => {
    const done = await performTask({
      agent: "reviewer",
      say: "Review.",
      trusted: true,
      files: { ...inProject, ...memory },
      steps: hello,
    });
    // The agent may use Edit and Write only in its memory.
    expect(toolNames(done)).toEqual(["Read", "Edit", "Write", "Bash"]);
    expect(done.head.system.startsWith("You review changes.")).toBe(true);
    expect(done.head.system).toContain("Two spaces, no semicolons.");
    expect(done.head.system).toContain("likes short names");
    expect(done.head.userContext).toContain("Answer in English.");
    expect(done.started).toMatchObject({ agentType: "reviewer", maxTurns: 4 });
    expect(lastWords(done.requests[0])).toMatch(/<\/from_retinue>\s*Begin with the newest change\.\s*Review\.$/);
    expect(done.notices.join("\n")).toContain('Did you mean "Grep"?');
    expect(done.toolReport).toEqual({
      hasWildcard: false,
      validTools: ["Read", "Bash(echo:*)"],
      invalidTools: ["Grpe"],
      resolvedTools: ["Read", "Edit", "Write", "Bash"],
    });
  });

  it("is not read if the directory is not trusted, and the error says so", async () => {
    const task = { agent: "reviewer", say: "Review.", files: inProject, steps: [] };
    const failed = await performTask({ ...task, trusted: false }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ message: 'There is no agent "reviewer"', exitCode: 2 });
    expect((failed as { fix: string }).fix).toContain("not trusted");
  });

  it("uses a tool only as its list allows, even if everything is permitted", async () => {
    const { outcomes, results, cwd } = await performTask({
      agent: "reviewer",
      say: "Review.",
      trusted: true,
      files: inProject,
      permissionMode: "bypassPermissions",
      steps: [
        {
          calls: [
            { name: "Bash", input: { command: "echo hello" } },
            { name: "Bash", input: { command: "touch ran.txt" } },
          ],
        },
        { text: "Reviewed." },
      ],
    });
    expect(outcomes).toEqual(["ok", "denied"]);
    expect(results[1]).toContain("Bash(echo:*)");
    expect(existsSync(join(cwd, "ran.txt"))).toBe(false);
  });

  it("is reported with its file, line and a suggested fix if it does not load", async () => {
    const files = { ".agents/agents/mute.md": "---\nname: mute\n---\nSay nothing.\n" };
    const failed = await performTask({ agent: "mute", say: "?", trusted: true, files, steps: [] }).catch(
      (error: unknown) => error,
    );
    expect((failed as { fix: string }).fix).toMatch(/mute\.md:\d+: .*description/);
  });

  it("replaces a built-in agent with the same name", async () => {
    const files = {
      ".claude/agents/plan.md": "---\nname: Plan\ndescription: Plans.\ntools: Read\n---\nPlan briefly.\n",
    };
    const done = await performTask({ agent: "Plan", say: "Plan.", trusted: true, files, steps: hello });
    expect(toolNames(done)).toEqual(["Read"]);
    expect(done.head.system.startsWith("Plan briefly.")).toBe(true);
  });
});

describe("an agent defined by the program", () => {
  const agents = { poet: { description: "Writes verse.", prompt: "You rhyme.", tools: ["Read"] } };

  it("works without any file", async () => {
    const done = await performTask({ agent: "poet", agents, say: "Rhyme.", steps: hello });
    expect(toolNames(done)).toEqual(["Read"]);
    expect(done.head.system.startsWith("You rhyme.")).toBe(true);
  });

  it("can't give itself bypassPermissions", async () => {
    const bold = { bold: { ...agents.poet, permissionMode: "bypassPermissions" } };
    const done = await performTask({ agent: "bold", agents: bold, say: "Do.", steps: hello });
    expect(done.started.permissionMode).toBe("default");
    expect(done.notices.join()).toContain("bypassPermissions");
  });

  it("prevents the session from starting if it is invalid", async () => {
    const broken = { poet: "You rhyme." as never };
    await expect(performTask({ agent: "poet", agents: broken, say: "?", steps: [] })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining("poet"),
    });
  });
});

describe("a resumed session", () => {
  const poet = { poet: { description: "Writes verse.", prompt: "You rhyme.", tools: ["Read"] } };

  it("continues as the same agent, and has only that agent's tools", async () => {
    const first = await performTask({ agent: "Explore", say: "Look.", steps: hello });
    const second = await performTask({ resume: first.sessionId, at: first, say: "And?", steps: hello });
    expect(second.started).toMatchObject({ agentType: "Explore", kind: "resume" });
    expect(toolNames(second)).toEqual(toolNames(first));
    const third = await performTask({ resume: first.sessionId, at: first, say: "And?", steps: hello });
    expect(third.started.agentType).toBe("Explore");
  });

  it("continues as another agent if one is named, even the main agent", async () => {
    const first = await performTask({ agent: "Explore", say: "Look.", steps: hello });
    const second = await performTask({ resume: first.sessionId, at: first, agent: "main", say: "Do.", steps: hello });
    expect(second.started.agentType).toBe("main");
    expect(toolNames(second)).toContain("Bash");
  });

  it("does not fall back to more rights if its agent is missing", async () => {
    const first = await performTask({ agent: "poet", agents: poet, say: "Rhyme.", steps: hello });
    const resume = { resume: first.sessionId, at: first, say: "More.", steps: [] };
    await expect(performTask(resume)).rejects.toMatchObject({
      message: 'This session ran as the agent "poet", which no longer exists',
      fix: expect.stringContaining("the `agent: NAME` option"),
    });
    const again = await performTask({ ...resume, agents: poet, steps: hello });
    expect(again.started.agentType).toBe("poet");
  });
});

describe("a session", () => {
  it("without a named agent has the project's instructions only if the project is trusted", async () => {
    const files = { "AGENTS.md": "Answer in English.\n" };
    const trusted = await performTask({ say: "Hello?", trusted: true, files, steps: hello });
    expect(trusted.head.userContext).toContain("Answer in English.");
    expect(trusted.started.agentType).toBe("main");
    const untrusted = await performTask({ say: "Hello?", trusted: false, files, steps: hello });
    expect(untrusted.head.userContext).toBe("");
  });

  it("has the user's own instructions everywhere", async () => {
    const files = { "../home/AGENTS.md": "Be brief.\n" };
    const done = await performTask({ say: "Hello?", trusted: false, files, steps: hello });
    expect(done.head.userContext).toContain("Be brief.");
  });

  it("does not have a built-in agent that settings disable", async () => {
    const settings = { agents: { Explore: false } };
    await expect(performTask({ agent: "Explore", settings, say: "?", steps: [] })).rejects.toThrow("no agent");
  });

  it("refuses a definition's mode that settings forbid", async () => {
    const settings = { permissions: { disableBypassPermissionsMode: "disable" as const } };
    const files = {
      "../.claude/agents/bold.md":
        "---\nname: bold\ndescription: Acts.\npermissionMode: bypassPermissions\n---\nAct.\n",
    };
    await expect(performTask({ agent: "bold", settings, files, say: "?", steps: [] })).rejects.toThrow("switched off");
  });
});
