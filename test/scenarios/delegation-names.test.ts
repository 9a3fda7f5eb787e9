import { describe, expect, it } from "vitest";
import type { SessionOptions } from "../../src/app/index.ts";
import { newPlace, open, resultsIn, task, walk } from "./delegation-place.ts";
import { forkCall, one, play, saying, stage, taskOf, toolResults } from "./fork-place.ts";

const agents = {
  reviewer: { description: "Reviews changes. Use when code was changed.", prompt: "Review." },
  "sql-writer": { description: "Writes queries. Use when data must be asked for.", prompt: "Write." },
  secret: { description: "Is not on the list. Use when named.", prompt: "Hide.", hidden: true },
};

/** Returns the result of a Task call with this input, and the types of the agents that were started. */
async function askFor(input: Record<string, unknown>, options: SessionOptions = {}) {
  const { model, result, updates } = await walk(
    { MAIN: [{ calls: [{ name: "Task", input }] }, { text: "ok" }], CHILD: [{ text: "Done." }] },
    { agents, ...options },
  );
  expect(result.outcome).toBe("succeeded");
  const [answer = ""] = resultsIn(model.requests("MAIN")[1]);
  const types = updates.flatMap((update) => (update.type === "agent.spawned" ? [update.agentType] : []));
  return { answer, types };
}

const work = { description: "a piece of work", prompt: "CHILD: go" };

describe("the agent that a call names", () => {
  it.each([
    ["by alias", { subagent_type: "explore" }, "Explore"],
    ["by another kind of alias", { subagent_type: "general" }, "general-purpose"],
    ["in another case", { subagent_type: "REVIEWER" }, "reviewer"],
    ["with blanks around it", { subagent_type: " reviewer " }, "reviewer"],
    ["even if it is hidden", { subagent_type: "secret" }, "secret"],
    ["with fields that have no meaning here", { subagent_type: "reviewer", team_name: "t", mode: "plan" }, "reviewer"],
    ["as agentType", { agentType: "reviewer" }, "reviewer"],
    ["as agentType, by alias", { agentType: "explore" }, "Explore"],
  ])("is found %s", async (_, input, type) => {
    const { answer, types } = await askFor({ ...work, ...input });
    expect(types).toEqual([type]);
    expect(answer).toContain(`<task_result agent="${type}"`);
  });

  it("is suggested by spelling and by purpose if the name is unknown", async () => {
    const { answer, types } = await askFor({ ...work, subagent_type: "reviewr" });
    expect(types).toEqual([]);
    expect(answer).toMatch(/There is no agent "reviewr"\. Did you mean reviewer\? Available agents: reviewer, /);
    const vague = await askFor({ ...work, subagent_type: "data-queries" });
    expect(vague.answer).toMatch(/There is no agent "data-queries"\..* Available agents: sql-writer, /);
  });

  it("is suggested in a list of at most ten names", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `helper-${index}`,
        { description: `Helps. Use when ${index} is needed.`, prompt: "Help." },
      ]),
    );
    const { answer } = await askFor({ ...work, subagent_type: "helpr-1" }, { agents: many });
    const [, names = ""] = /Available agents: (.*)\.\n/.exec(answer) ?? [];
    expect(names.split(", ")).toHaveLength(10);
    expect(names.split(", ")).toContain("helper-1");
    expect(names).toMatch(/ and \d+ more$/);
  });

  it.each([
    ["without a person", { settings: { fork: "off" as const } }],
    ["with a person", { interactive: true }],
    ["with forks", {}],
    ["with rules", { disallowedTools: ["Task(reviewer)"] }],
  ])(
    "can be any agent in the Task schema, and the error for an unknown one lists the same agents: %s",
    async (_, options) => {
      const call = forkCall("x", { subagent_type: "nobody-like-this" });
      const on = await stage({ MAIN: saying({ content: [call] }, { content: "ok" }) });
      await play(on, { agents, ...options });
      const [answer = ""] = toolResults(on.requests("MAIN")[1]);
      const [, names = ""] = /Available agents: (.*)\.\n/.exec(answer) ?? [];
      expect(names.split(", ").sort()).toEqual([...taskOf(one(on.requests("MAIN")[0])).types].sort());
    },
  );

  it("is found even if every optional field is null", async () => {
    const nothing = {
      model: null,
      resume: null,
      run_in_background: null,
      name: null,
      max_turns: null,
      acceptance: null,
    };
    const { types } = await askFor({ ...work, ...nothing, subagent_type: "reviewer", isolation: null });
    expect(types).toEqual(["reviewer"]);
  });

  it.each(["admin\u202e", "a\u200bdmin", "a\u001b[2Jb", "two\nlines"])("can't be given the name %j", async (name) => {
    const input = { ...work, subagent_type: "reviewer", run_in_background: true, name };
    const { answer, types } = await askFor(input);
    expect(types).toEqual([]);
    expect(answer).toContain("name contains control or invisible characters");
  });

  it("has a description without control characters", async () => {
    const { updates } = await walk({
      MAIN: [{ calls: [task("CHILD: go", { description: "a\u202e \u001b[2Jtask" })] }, { text: "ok" }],
      CHILD: [{ text: "Done." }],
    });
    const created = updates.find((update) => update.type === "agent.spawned");
    expect(created).toMatchObject({ description: "a task" });
  });

  it("is not started without a prompt", async () => {
    for (const prompt of ["", "  \n "]) {
      const { answer, types } = await askFor({ ...work, prompt, subagent_type: "reviewer" });
      expect(types).toEqual([]);
      expect(answer).toMatch(/prompt.* empty/);
    }
  });

  it("is required; if it is missing, the error lists the available agents", async () => {
    const { answer } = await askFor(work);
    expect(answer).toMatch(/subagent_type is missing\. Available agents: .*reviewer/);
  });
});

describe("agents that rules deny", () => {
  const denied = { disallowedTools: ["Task(reviewer)", "Agent(explore)"] };

  it("are not suggested if a call names no agent", async () => {
    const { answer } = await askFor(work, denied);
    expect(answer).toMatch(/Available agents: .*general-purpose/);
    expect(answer).not.toMatch(/\breviewer\b|\bExplore\b/);
  });

  it("can't be resumed either, with resume or a message", async () => {
    const at = newPlace();
    const first = await open(
      {
        MAIN: [{ calls: [task("CHILD: go", { subagent_type: "reviewer", name: "critic" })] }, { text: "ok" }],
        CHILD: [{ text: "Done." }],
      },
      { at, agents },
    );
    await first.session.prompt("MAIN: do it.").result;
    await first.session.close();
    const calls = [
      { name: "Task", input: { ...work, resume: "critic" } },
      { name: "SendMessage", input: { to: "critic", message: "more" } },
    ];
    const parts = { MAIN: [{ calls }, { text: "ok" }], CHILD: [] };
    const again = await open(parts, { at, agents, resume: first.session.id, ...denied });
    await again.session.prompt("And more?").result;
    await again.session.close();
    again.model.assertDone();
    for (const answer of resultsIn(again.model.requests("MAIN")[1])) expect(answer).toMatch(/Task\(reviewer\).*denies/);
  });

  it("are not suggested, and neither are hidden agents", async () => {
    for (const subagent_type of ["reviewr", "Explor", undefined]) {
      const { answer } = await askFor({ ...work, ...(subagent_type === undefined ? {} : { subagent_type }) }, denied);
      expect(answer).toContain("Available agents: ");
      const [, names = ""] = /Available agents: (.*)/.exec(answer) ?? [];
      expect(names).toContain("general-purpose");
      expect(answer).not.toMatch(/\breviewer\b|\bExplore\b|\bsecret\b/);
    }
  });

  it("are refused under every name", async () => {
    for (const input of [{ subagent_type: "Reviewer" }, { agentType: "reviewer" }, { subagent_type: "explore" }]) {
      const { answer, types } = await askFor({ ...work, ...input }, denied);
      expect(types).toEqual([]);
      expect(answer).toMatch(/denies|denied/);
    }
  });
});

describe("a rule that asks about one agent", () => {
  const settings = { permissions: { ask: ["Task(reviewer)"] } };

  it("can't be avoided with another spelling of the input", async () => {
    const { answer, types } = await askFor({ ...work, agentType: "reviewer" }, { settings });
    expect(types).toEqual([]);
    expect(answer).toContain('subagent_type: "reviewer"');
    const other = await askFor({ ...work, agentType: "sql-writer" }, { settings });
    expect(other.types).toEqual(["sql-writer"]);
  });

  it("can't be avoided by resuming an agent of that type", async () => {
    let asked = 0;
    const approvals = {
      ask: async () => {
        asked += 1;
        return { answer: asked === 1 ? "allow" : "deny", by: "a person" } as const;
      },
    };
    const { model } = await walk(
      {
        MAIN: [
          { calls: [task("CHILD: go", { subagent_type: "reviewer" })] },
          (messages) => {
            const id = /id="(a\w+)"/.exec(resultsIn(messages)[0] ?? "")?.[1];
            return { calls: [{ name: "Task", input: { ...work, resume: id } }] };
          },
          { text: "ok" },
        ],
        CHILD: [{ text: "Done." }, { text: "never" }],
      },
      { agents, settings, approvals },
    );
    expect(model.requests("CHILD")).toHaveLength(1);
    expect(resultsIn(model.requests("MAIN")[2])[0]).toContain('subagent_type: "reviewer"');
  });
});

describe("a rule with a pattern", () => {
  it("applies to every matching agent: none of them is offered or started", async () => {
    const { answer, types } = await askFor({ ...work, subagent_type: "reviewer" }, { disallowedTools: ["Task(rev*)"] });
    expect(types).toEqual([]);
    expect(answer).toMatch(/Task\(rev\*\)/);
    const { answer: choices } = await askFor(work, { disallowedTools: ["Task(rev*)"] });
    expect(choices).not.toContain("reviewer");
  });
});

describe("a message that would resume an agent", () => {
  it.each([["Task(reviewer)"], ["Task"]])("is treated as a launch: %s asks first", async (rule) => {
    const approvals = { ask: async () => ({ answer: "allow", by: "a person" }) as const };
    const { model } = await walk(
      {
        MAIN: [
          { calls: [task("CHILD: go", { subagent_type: "reviewer", name: "critic" })] },
          { calls: [{ name: "SendMessage", input: { to: "critic", message: "more" } }] },
          { text: "ok" },
        ],
        CHILD: [{ text: "Done." }, { text: "never" }],
      },
      { agents, settings: { permissions: { ask: [rule] } }, approvals },
    );
    expect(model.requests("CHILD")).toHaveLength(1);
    expect(resultsIn(model.requests("MAIN")[2])[0]).toMatch(
      /requires approval\. Use Task with resume: "a\w+" and subagent_type/,
    );
  });
});

describe("a session that may not delegate", () => {
  it("has no agent tools", async () => {
    for (const options of [{ disallowedTools: ["Task"] }, { settings: { permissions: { deny: ["Agent"] } } }]) {
      const { session } = await open({}, options);
      expect(session.tools).toContain("Read");
      expect(session.tools.filter((tool) => /^Task|^SendMessage/.test(tool))).toEqual([]);
      await session.close();
    }
  });
});
