import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  asAfterKill,
  firstPrompt,
  mainLines,
  newPlace,
  type Options,
  open,
  type Parts,
  promised,
  resultsIn,
  task,
  transcriptsIn,
  walk,
} from "./delegation-place.ts";

const done = { text: "Done." };
const call = (skill: string, args?: string) => ({ name: "Skill", input: { skill, args } });
const read = (file_path: string) => ({ name: "Read", input: { file_path } });

function skilledPlace(fields = "context: fork\n") {
  const at = newPlace();
  const files = {
    "audit/SKILL.md": `---\ndescription: Audits.\n${fields}---\nAUDIT: look at $ARGUMENTS by steps.md.\n`,
    "audit/steps.md": "Look twice.",
  };
  for (const [path, text] of Object.entries(files)) {
    const file = join(at.cwd, ".claude/skills", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return at;
}

const use = (parts: Parts, { fields, ...options }: Options & { readonly fields?: string } = {}) =>
  walk(parts, { at: skilledPlace(fields), trusted: true, ...options });

const inMain = [{ calls: [call("audit", "the cart")] }, done];

describe("a skill with context: fork", () => {
  it("runs as a subagent, with its arguments, and returns the report", async () => {
    const steps = join(".claude/skills/audit/steps.md");
    const { model, result, sessionId, ...place } = await use({
      MAIN: inMain,
      "Skill audit": [{ calls: [read(steps)] }, { text: "The cart is sound." }],
    });
    expect(result.outcome).toBe("succeeded");
    const [report] = resultsIn(model.requests("MAIN")[1]);
    expect(report).toMatch(/^<task_result agent="general-purpose" id="a\w+".*>\nThe cart is sound\./);
    expect(report).not.toContain("AUDIT");
    const [first, second] = model.requests("Skill audit");
    expect(firstPrompt(first ?? [])).toMatch(
      /^Skill audit\. Paths in it are relative to .*\/audit.*\n\nAUDIT: look at the cart by steps\.md\.$/,
    );
    expect(resultsIn(second)[0]).toContain("Look twice.");
    const [[, lines = []] = []] = transcriptsIn(place, sessionId);
    expect(lines[0]).toMatchObject({ type: "agent.created", description: "Skill audit", parent: { agentId: "main" } });
    expect(mainLines(place, sessionId)).toContainEqual(
      expect.objectContaining({ type: "agent.spawned", agentType: "general-purpose" }),
    );
  });

  it("runs as the agent that it names, with that agent's tools and the specified model", async () => {
    const { model, updates, sessionId, ...place } = await use(
      { MAIN: inMain, "Skill audit": [{ calls: [{ name: "Bash", input: { command: "ls" } }] }, done] },
      { fields: "context: fork\nagent: explore\nmodel: haiku\n" },
    );
    expect(updates).toContainEqual(expect.objectContaining({ type: "agent.spawned", agentType: "Explore" }));
    expect(resultsIn(model.requests("Skill audit")[1])[0]).toContain("does not have the tool Bash");
    const [[, lines = []] = []] = transcriptsIn(place, sessionId);
    expect(lines).toContainEqual(expect.objectContaining({ type: "run.started", requestedModel: "haiku" }));
  });

  it("works in the background if it says so, unless background work is off", async () => {
    const fields = "context: fork\nbackground: true\n";
    const parts = { MAIN: [...inMain, done], "Skill audit": [{ text: "The cart is sound." }] };
    const { model, updates } = await use(parts, { fields });
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(/^Agent a\w+ is running in the background/);
    expect(updates).toContainEqual(expect.objectContaining({ type: "notices.delivered" }));
    expect(JSON.stringify(model.requests("MAIN").at(-1))).toContain("The cart is sound.");
    const settings = { subagents: { background: false } };
    const waited = await use({ ...parts, MAIN: inMain }, { fields, settings });
    expect(resultsIn(waited.model.requests("MAIN")[1])[0]).toContain("The cart is sound.");
  });

  it("reports the nearest agent names if its own agent does not exist", async () => {
    const { model } = await use({ MAIN: inMain }, { fields: "context: fork\nagent: Explor\n" });
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain('There is no agent "Explor". Did you mean Explore?');
  });

  it.each([
    ["deny", "Task(Explore)", /Task\(Explore\)/],
    ["ask", "Task(Explore)", /Task\(Explore\) requires approval/],
    ["ask", "Task", /Task requires approval/],
    ["deny", "Task(run_in_background:true)", /Task\(run_in_background:true\)/],
  ] as const)("does not run with the %s rule %s", async (effect, rule, text) => {
    const { model, updates } = await use(
      { MAIN: inMain },
      { fields: "context: fork\nagent: Explore\nbackground: true\n", settings: { permissions: { [effect]: [rule] } } },
    );
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(text);
    expect(updates.map(({ type }) => type)).not.toContain("agent.spawned");
  });

  it.each([
    [{ decision: "deny", reason: "not today" }, /A hook denied this call: not today/, 0],
    [{ decision: "ask" }, /A hook requires approval for Task/, 0],
    [{ decision: "allow" }, /^<task_result agent="Explore"/, 1],
    [
      { updatedInput: { description: "x", prompt: "CHANGED: go", subagent_type: "Plan" } },
      /<task_result agent="Plan"/,
      1,
    ],
  ] as const)("runs hooks for Task: %j", async (answer, text, started) => {
    const hooks = { PreToolUse: [{ matcher: "Task", command: `cat > asked.json; echo '${JSON.stringify(answer)}'` }] };
    const { model, updates, cwd } = await use(
      { MAIN: inMain, "Skill audit": [done], CHANGED: [done] },
      { fields: "context: fork\nagent: Explore\n", settings: { hooks } },
    );
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(text);
    expect(updates.filter(({ type }) => type === "agent.spawned")).toHaveLength(started);
    expect(updates).toContainEqual(expect.objectContaining({ type: "hooks.ran", event: "PreToolUse" }));
    expect(JSON.parse(readFileSync(join(cwd, "asked.json"), "utf8"))).toMatchObject({
      tool_name: "Task",
      tool_input: { subagent_type: "Explore", description: "Skill audit" },
    });
  });

  it("counts towards its caller's budget", async () => {
    const { model } = await use({ MAIN: inMain }, { settings: { budget: { spawns: 0 } } });
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(/task_error/);
  });

  it.each([
    ["Task was removed", inMain, { disallowedTools: ["Task"] }, "MAIN"],
    ["a subagent may not delegate", [{ calls: [task("CHILD: go")] }, done], {}, "CHILD"],
  ] as const)("returns its text to the caller if %s", async (_, main, options, caller) => {
    const { model, updates } = await use({ MAIN: main, CHILD: inMain }, options);
    expect(resultsIn(model.requests(caller)[1])[0]).toMatch(
      /AUDIT: look at the cart by steps\.md\.\n\n\[.*yourself.*\]$/,
    );
    expect(updates.filter(({ type }) => type === "agent.spawned")).toHaveLength(caller === "CHILD" ? 1 : 0);
  });

  it("resumes its agent if the process died before the report", async () => {
    const late = promised();
    const at = skilledPlace();
    const first = await open(
      { MAIN: inMain, "Skill audit": [{ text: "x", after: late.promise }] },
      { at, trusted: true },
    );
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run)
      if (update.type === "subagent.event" && update.event.type === "model.requested") break;
    const left = asAfterKill(at);
    late.keep();
    await run.result;
    await first.session.close();
    const parts = { MAIN: [done], "Skill audit": [{ text: "The cart is sound." }] };
    const second = await open(parts, { at: left, trusted: true, resume: first.session.id });
    await second.session.prompt("").result;
    await second.session.close();
    expect(resultsIn(second.model.requests("MAIN")[0])[0]).toContain("The cart is sound.");
    expect(transcriptsIn(left, first.session.id).size).toBe(1);
  });
});
