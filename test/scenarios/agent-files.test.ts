import { expect, it } from "vitest";
import { performTask } from "../built-in/perform-task.ts";

const base = { say: "Hello.", trusted: true, steps: [{ text: "Hello." }] };
const good = "---\nname: good\ndescription: Does good. Use when asked.\n---\nBe good.\n";
const broken = "---\nname: broken\ndescription: Does harm.\npermissionMode: whatever\n---\nBe bad.\n";

it("a parent is told why when it tries to start an agent that does not load", async () => {
  const files = {
    ".agents/agents/good.md": good,
    ".agents/agents/broken.md": broken,
    ".agents/agents/README.md": "Ours.\n",
  };
  const told = [expect.stringMatching(/agents\/broken\.md:4: "permissionMode" is "whatever".*Allowed: default/)];
  expect((await performTask({ ...base, files })).notices).toEqual(told);
  expect((await performTask({ ...base, files, agent: "good" })).notices).toEqual(told);
});

it("a file that does not load is reported even if another file defines its name", async () => {
  const files = {
    ".agents/agents/good.md": good,
    ".agents/agents/nested/good.md": broken.replace("broken", "good"),
  };
  const told = [expect.stringMatching(/nested\/good\.md:4: "permissionMode" is "whatever"/)];
  expect((await performTask({ ...base, files })).notices).toEqual(told);
  expect((await performTask({ ...base, files, agent: "good" })).notices).toEqual(told);
});

it("many agents that don't load are reported on one line, with the command that explains why", async () => {
  const names = ["a", "b", "c", "d", "e"];
  const files = Object.fromEntries(names.map((name) => [`.claude/agents/${name}.md`, broken]));
  const { notices, cwd } = await performTask({ ...base, files });
  const first = ["a", "b", "c"].map((name) => `${cwd}/.claude/agents/${name}.md`).join(", ");
  expect(notices).toEqual([`5 agents do not load: ${first} and 2 more. Run "retinue agents check" to see why.`]);
});

it.each([
  ["Explore", "Explore"],
  ["explore", "Explore"],
])("an agent %s in the project is reported as replacing a built-in agent", async (name, builtIn) => {
  const files = { ".agents/agents/x.md": good.replace("good", name) };
  const { notices, cwd } = await performTask({ ...base, files });
  const replaced = `This project's agent "${name}" replaces the built-in agent ${builtIn}.`;
  expect(notices).toEqual([`${cwd}/.agents/agents/x.md:1: ${replaced}`]);
});
