import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { addPlugin, enablePlugin } from "../../src/app/index.ts";
import { type Performed, performTask, toolNames } from "../built-in/perform-task.ts";

const done = { text: "Done." };
const call = (skill: string, args?: string) => ({ name: "Skill", input: { skill, ...(args ? { args } : {}) } });
const read = (file_path: string) => ({ name: "Read", input: { file_path } });

function skill(description: string, { body = "Follow steps.md.\n", fields = "" } = {}): string {
  return `---\ndescription: ${description}\n${fields}---\n${body}`;
}

const deploy = ".claude/skills/deploy/SKILL.md";
/** The workspace's parent directory serves as the user's home directory. */
const mine = "../.agents/skills/mine/SKILL.md";
const base = { say: "Ship it.", trusted: true, files: { [deploy]: skill("Ships it.") } };

const declared = ({ head }: Performed) => head.tools.find(({ name }) => name === "Skill")?.description ?? "";

describe("the main agent", () => {
  it("loads a skill and reads its files", async () => {
    const { outcomes, results, cwd, notices } = await performTask({
      ...base,
      files: {
        [deploy]: skill("Ships it.", { body: "Ship $ARGUMENTS by steps.md. !`rm -rf .`\n" }),
        ".claude/skills/deploy/steps.md": "Push.",
      },
      steps: [{ calls: [call("/deploy", "web")] }, { calls: [read(".claude/skills/deploy/steps.md")] }, done],
    });
    expect(outcomes).toEqual(["ok", "ok"]);
    expect(results[0]).toContain(`relative to ${join(cwd, ".claude/skills/deploy")}`);
    expect(results[0]).toMatch(/\n\nShip web by steps\.md\. !`rm -rf \.`$/);
    expect(results[1]).toContain("Push.");
    expect(notices).toEqual([]);
  });

  it("can read the files of the user's own skills, and nothing else outside the workspace", async () => {
    const files = { [mine]: skill("Mine."), "../.agents/skills/mine/steps.md": "Push.", "../other.txt": "No." };
    const { outcomes, results } = await performTask({
      ...base,
      trusted: false,
      files: { ...files, [deploy]: skill("Not trusted.") },
      steps: [
        { calls: [call("mine"), read("../.agents/skills/mine/steps.md"), read("../other.txt"), call("deploy")] },
        done,
      ],
    });
    expect(outcomes).toEqual(["ok", "ok", "denied", "error"]);
    expect(results[3]).toBe('There is no skill "deploy". Similar names: mine.');
  });

  it("can't leave a skill's directory through a link", async () => {
    const files = { [mine]: skill("Mine."), "../secret.txt": "No." };
    const { cwd, home } = await performTask({ ...base, files, steps: [done] });
    symlinkSync(join(cwd, "../secret.txt"), join(cwd, "../.agents/skills/mine/link.md"));
    const { outcomes } = await performTask({
      ...base,
      files: {},
      at: { cwd, home },
      steps: [{ calls: [read("../.agents/skills/mine/link.md")] }, done],
    });
    expect(outcomes).toEqual(["denied"]);
  });

  it("sees which skills it can load; the same skills always produce the same bytes", async () => {
    const files = {
      ".agents/skills/b/SKILL.md": skill("Does b.", { fields: "when_to_use: At the end.\n" }),
      ".agents/skills/a/SKILL.md": skill("Does a."),
      ".agents/skills/secret/SKILL.md": skill("For people.", { fields: "disable-model-invocation: true\n" }),
    };
    const first = await performTask({ ...base, files, steps: [{ calls: [call("secret")] }, done] });
    expect(declared(first)).toMatch(/\n\n- a: Does a\.\n- b: Does b\. At the end\.$/);
    expect(first.outcomes).toEqual(["error"]);
    expect(first.results[0]).toContain("disable-model-invocation");
    const second = await performTask({ ...base, files, steps: [done] });
    expect(declared(second)).toBe(declared(first));
  });

  it("has no Skill tool, and sends the usual request, if there are no skills", async () => {
    const without = { say: "Hello.", steps: [done] };
    const plain = await performTask(without);
    const trusted = await performTask({ ...without, trusted: true });
    const off = await performTask({
      ...without,
      trusted: true,
      files: { [deploy]: skill("For people.", { fields: "disable-model-invocation: true\n" }) },
    });
    expect(toolNames(plain)).not.toContain("Skill");
    const { systemContext: _, ...head } = plain.head;
    for (const other of [trusted, off]) expect(other.head).toMatchObject(head);
    expect(off.head.tools).toEqual(plain.head.tools);
  });

  it("uses skills in plan mode, and a rule can remove or ask about them", async () => {
    const steps = [{ calls: [call("deploy")] }, done];
    const planned = await performTask({ ...base, permissionMode: "plan", steps });
    expect(planned.outcomes).toEqual(["ok"]);
    const denied = await performTask({ ...base, disallowedTools: ["Skill"], steps });
    expect(toolNames(denied)).not.toContain("Skill");
    expect(denied.outcomes).toEqual(["denied"]);
    const asked = await performTask({ ...base, settings: { permissions: { ask: ["Skill"] } }, steps });
    expect(asked.outcomes).toEqual(["denied"]);
  });

  it("can't use a skill that a rule denies, under any name", async () => {
    const files = { [deploy]: skill("Ships it."), [mine]: skill("Mine.") };
    const steps = [{ calls: [call("deploy"), call("/deploy"), call("mine")] }, done];
    const { outcomes, results } = await performTask({ ...base, files, disallowedTools: ["Skill(deploy)"], steps });
    expect(outcomes).toEqual(["denied", "denied", "ok"]);
    expect(results[0]).toContain("Skill(deploy)");
    const asked = await performTask({ ...base, files, settings: { permissions: { ask: ["Skill(mine)"] } }, steps });
    expect(asked.outcomes).toEqual(["ok", "ok", "denied"]);
  });

  it("is told at the start about a skill that does not load", async () => {
    const files = { ".agents/skills/broken/SKILL.md": "---\nname: broken\n---\nText.\n" };
    const { notices, toolReport } = await performTask({ ...base, files, steps: [done] });
    expect(notices.join()).toMatch(/broken\/SKILL\.md:2: .*no description/);
    expect(toolReport.resolvedTools).not.toContain("Skill");
  });
});

describe("a named agent", () => {
  const agents = {
    caller: { description: "Calls.", prompt: "Call.", tools: ["Read", "Skill"] },
    reader: { description: "Reads.", prompt: "Read.", tools: ["Read"] },
    expert: { description: "Knows.", prompt: "Know.", tools: ["Read"], skills: ["/mine"] },
  };
  const files = { [mine]: skill("Mine.", { body: "Know this.\n" }), "../.agents/skills/mine/steps.md": "Push." };

  it("has the Skill tool if its tools include it", async () => {
    const caller = await performTask({ ...base, agent: "caller", agents, steps: [{ calls: [call("deploy")] }, done] });
    expect(toolNames(caller)).toEqual(["Read", "Skill"]);
    expect(caller.outcomes).toEqual(["ok"]);
    const reader = await performTask({ ...base, agent: "reader", agents, steps: [{ calls: [call("deploy")] }, done] });
    expect(toolNames(reader)).toEqual(["Read"]);
    expect(reader.outcomes).toEqual(["denied"]);
  });

  it("has the Skill tool only for the skills that its tools name", async () => {
    const only = { caller: { ...agents.caller, tools: ["Read", "Skill(mine)"] } };
    const { outcomes, results } = await performTask({
      ...base,
      files: { ...base.files, ...files },
      agent: "caller",
      agents: only,
      steps: [{ calls: [call("mine"), call("deploy")] }, done],
    });
    expect(outcomes).toEqual(["ok", "denied"]);
    expect(results[1]).toContain("Skill(mine)");
  });

  it("gets a notice if it lists the Skill tool and there are no skills", async () => {
    const { notices } = await performTask({ ...base, files: {}, agent: "caller", agents, steps: [done] });
    expect(notices.join()).toContain("lists Skill, which is not available: there are no skills");
  });

  it("has the skills in its definition in its prompt, and can read their files", async () => {
    const { head, outcomes, cwd } = await performTask({
      ...base,
      files,
      agent: "expert",
      agents,
      steps: [{ calls: [read("../.agents/skills/mine/steps.md")] }, done],
    });
    expect(head.system).toContain("Know this.");
    expect(head.system).toContain(join(cwd, "../.agents/skills/mine"));
    expect(outcomes).toEqual(["ok"]);
  });
});

it("a plugin's skill is named plugin:name, and has access to all of the plugin's files", async () => {
  const { cwd, home } = await performTask({ ...base, files: {}, steps: [done] });
  const source = join(cwd, "../kit");
  for (const [path, text] of Object.entries({
    ".retinue-plugin/plugin.json": '{ "name": "kit" }',
    "skills/pack/SKILL.md": skill("Packs."),
    "shared/steps.md": "Push.",
  })) {
    mkdirSync(join(source, path, ".."), { recursive: true });
    writeFileSync(join(source, path), text);
  }
  const { plugin } = await addPlugin(source, { home, environment: {} });
  await enablePlugin(home, plugin);
  const { outcomes, results } = await performTask({
    ...base,
    files: {},
    at: { cwd, home },
    trusted: false,
    steps: [{ calls: [call("kit:pack"), read(join(home, "plugins/kit/shared/steps.md"))] }, done],
  });
  expect(outcomes).toEqual(["ok", "ok"]);
  expect(results[0]).toContain("Skill kit:pack.");
  const denied = await performTask({
    ...base,
    files: {},
    at: { cwd, home },
    trusted: false,
    disallowedTools: ["Skill(kit:*)"],
    steps: [{ calls: [call("kit:pack"), call("pack")] }, done],
  });
  expect(denied.outcomes).toEqual(["denied", "error"]);
  expect(denied.results[1]).toMatch(/^The skill kit:pack was not loaded\. .*Skill\(kit:\*\)/);
});
