import { describe, expect, it } from "vitest";
import type { EventOf } from "../../src/protocol/index.ts";
import {
  lastWords,
  mainLines,
  type Options,
  open,
  promised,
  read,
  resultsIn,
  task,
  transcriptsIn,
  walk,
} from "./delegation-place.ts";

const hang = { text: "So far.", hangs: true } as const;

describe("background work disabled", () => {
  it.each([
    ["by the settings", { settings: { subagents: { background: false } } }],
    ["by our variable", { environment: { RETINUE_DISABLE_BACKGROUND: "1" } }],
    ["by another program's variable", { environment: { DISABLE_BACKGROUND_TASKS: "true" } }],
  ] satisfies [string, Options][])("%s can't be started by calls, files or users", async (_, options) => {
    const { promise: moved, keep: move } = promised();
    const behind = { description: "Works behind. Use it.", prompt: "Work.", background: true };
    const { session, model, home, cwd } = await open(
      {
        MAIN: [
          {
            calls: [
              task("ONE: look", { run_in_background: true }),
              task("TWO: look", { subagent_type: "behind", run_in_background: false }),
            ],
          },
          { text: "Both." },
        ],
        ONE: [{ text: "never asked" }],
        TWO: [{ text: "Second.", after: moved }],
      },
      { ...options, agents: { behind } },
    );
    expect(session.tools.filter((tool) => /^Task|^SendMessage/.test(tool))).toEqual(["Task"]);
    const run = session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type !== "subagent.event" || update.event.type !== "run.started") continue;
      expect(await session.moveToBackground()).toEqual([]);
      move();
    }
    await session.close();
    const [one, two] = resultsIn(model.requests("MAIN")[1]);
    expect(one).toContain("run_in_background");
    expect(two).toContain("Second.");
    const lines = [...transcriptsIn({ home, cwd }, session.id).values()].flat();
    expect(lines.filter((line) => line.type === "run.started" && line.background)).toEqual([]);
  });
});

describe("an agent with its own agents that is moved to the background", () => {
  it("restricts its own agents to background tools too", async () => {
    const { promise: moved, keep: move } = promised();
    const { session, model } = await open(
      {
        MAIN: [{ calls: [task("LEAD: go")] }, { text: "I go on." }, { text: "Told." }],
        LEAD: [{ calls: [task("BELOW: go")] }, { text: "Led." }],
        BELOW: [{ calls: [task("LEAF: go")], after: moved }, { text: "Alone." }],
        LEAF: [{ text: "never asked" }],
      },
      { settings: { subagents: { maxDepth: 3 } } },
    );
    const run = session.prompt("MAIN: do it.");
    for await (const update of run) {
      const isBelow = update.type === "subagent.event" && update.path.length === 2;
      if (!isBelow || update.event.type !== "run.started") continue;
      expect(await session.moveToBackground()).toHaveLength(1);
      move();
    }
    await session.close();
    expect(model.requests("LEAF")).toEqual([]);
    expect(resultsIn(model.requests("BELOW")[1])[0]).toMatch(/Task/);
    expect((await run.result).outcome).toBe("succeeded");
  });
});

describe("agents whose parent ended before them", () => {
  const deep = { settings: { subagents: { maxDepth: 2 } } };

  it("are reported to the parent's caller, which is waiting for them", async () => {
    const { promise: later, keep: finish } = promised();
    const { model, result, home, cwd, sessionId } = await walk(
      {
        MAIN: [
          { calls: [task("LEAD: go", { max_turns: 1 })] },
          () => {
            finish();
            return { text: "Not all." };
          },
          { text: "All of it." },
        ],
        LEAD: [{ calls: [task("BELOW: look", { run_in_background: true })] }],
        BELOW: [{ text: "Found it.", after: later }],
      },
      deep,
    );
    expect(result).toMatchObject({ outcome: "succeeded", text: "All of it.", facts: { agentsCut: 1 } });
    const below = [...transcriptsIn({ home, cwd }, sessionId).values()].flatMap(([first]) =>
      first?.type === "agent.created" && first.depth === 2 ? [first.agentId] : [],
    );
    expect(below).toHaveLength(1);
    const created = transcriptsIn({ home, cwd }, sessionId).get(
      `agent-${below[0]}.jsonl`,
    )?.[0] as EventOf<"agent.created">;
    const { agentId: parentSessionId, callId } = created.parent;
    expect(parentSessionId).not.toBe("main");
    expect(created.metadata?.subagent).toEqual({ parentSessionId, agentType: "general-purpose", callId });
    const [report = ""] = resultsIn(model.requests("MAIN")[1]);
    expect(report).toContain(`subagents that did not report to it: ${below[0]}`);
    expect(report).toContain("[Ended early (max_turns).");
    expect(lastWords(model.requests("MAIN")[2])).toMatch(
      /<task_notification [^>]*id="a\w+" status="completed".*Found it\./s,
    );
    const told = mainLines({ home, cwd }, sessionId).flatMap((line) =>
      line.type === "notices.delivered" ? line.notices : [],
    );
    expect(told.map(({ agentId }) => agentId)).toEqual(below);
  });

  it("are reported even if their parent was stopped in the background", async () => {
    const { promise: later, keep: finish } = promised();
    const { session, model } = await open(
      {
        MAIN: [
          { calls: [task("LEAD: go", { name: "lead" })] },
          { calls: [{ name: "TaskStop", input: { task_id: "lead" } }] },
          () => {
            finish();
            return { text: "It was stopped." };
          },
          { text: "And the other is done." },
        ],
        LEAD: [{ calls: [task("BELOW: look", { run_in_background: true })] }, hang],
        BELOW: [{ text: "Found it.", after: later }],
      },
      deep,
    );
    const run = session.prompt("MAIN: do it.");
    for await (const update of run) {
      const isSecond =
        update.type === "subagent.event" && update.event.type === "text.delta" && update.event.text === "So far.";
      if (isSecond) await session.moveToBackground();
    }
    expect((await run.result).text).toBe("And the other is done.");
    await session.close();
    const told = model.requests("MAIN").map(lastWords);
    expect(told[2]).toMatch(/status="stopped"/);
    expect(told[3]).toMatch(/<task_notification .*Found it\./s);
  });
});

it("a run that ends before its background agents lists them", async () => {
  const { result, home, cwd, sessionId } = await walk(
    { MAIN: [{ calls: [task("CHILD: go", { run_in_background: true })] }], CHILD: [hang] },
    { maxTurns: 1 },
  );
  const [[, lines = []] = []] = transcriptsIn({ home, cwd }, sessionId);
  const [created] = lines;
  expect(result.facts.unreturned?.map(({ agentId }) => agentId)).toEqual([
    created?.type === "agent.created" && created.agentId,
  ]);
});

describe("background.waitSeconds", () => {
  it.each([0, 0.05])(
    "ends background agents, with a message, if they take longer than %d s after all other work is done",
    async (waitSeconds) => {
      const { promise: begun, keep: begin } = promised();
      const { model, result } = await walk(
        {
          MAIN: [
            { calls: [task("CHILD: go", { run_in_background: true })] },
            { text: "I wait.", after: begun },
            { text: "Half of it." },
          ],
          CHILD: [
            () => {
              begin();
              return hang;
            },
          ],
        },
        { settings: { background: { waitSeconds } } },
      );
      expect(result).toMatchObject({ outcome: "succeeded", text: "Half of it.", facts: { agentsCut: 1 } });
      expect(lastWords(model.requests("MAIN")[2])).toMatch(/status="incomplete".*timeout.*So far\./s);
    },
  );
});

it.each([
  ["with nothing else to do", { text: "I wait." }],
  ["by TaskOutput", { calls: [{ name: "TaskOutput", input: { task_id: "below", block: true, timeout: 600_000 } }] }],
])("an agent that is waiting for its own agents lends them its slot: %s", async (_, waiting) => {
  const { result, model } = await walk(
    {
      MAIN: [{ calls: [task("LEAD: go")] }, { text: "ok" }],
      LEAD: [
        { calls: [task("BELOW: go", { run_in_background: true, name: "below" })] },
        waiting,
        { text: "All." },
        { text: "All." },
      ],
      BELOW: [{ text: "Mine." }],
    },
    { settings: { subagents: { maxDepth: 2 }, budget: { concurrent: 1 } } },
  );
  expect(result.outcome).toBe("succeeded");
  expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("All.");
});

it("an agent that got a report from TaskOutput gets no notice with the same report", async () => {
  const output = { calls: [{ name: "TaskOutput", input: { task_id: "watch", block: true, timeout: 600_000 } }] };
  const { model, home, cwd, sessionId } = await walk({
    MAIN: [{ calls: [task("CHILD: go", { run_in_background: true, name: "watch" })] }, output, { text: "Done." }],
    CHILD: [{ text: "The report." }],
  });
  expect(resultsIn(model.requests("MAIN")[2])[0]).toContain("The report.");
  expect(JSON.stringify(model.requests("MAIN").at(-1)).split("The report.")).toHaveLength(2);
  expect(mainLines({ home, cwd }, sessionId).some(({ type }) => type === "notices.delivered")).toBe(false);
});

it("TaskOutput without an id lists the agents, with what they have written so far", async () => {
  const call = (name: string, input = {}) => ({ name, input });
  const watch = { task_id: "watch" };
  const { promise: said, keep: say } = promised();
  const { model } = await walk({
    MAIN: [
      { calls: [call("TaskOutput")] },
      { calls: [task("CHILD: go", { run_in_background: true, name: "watch" }), task("QUICK: go")] },
      { calls: [call("TaskOutput"), call("TaskOutput", watch), call("TaskStop", watch)] },
      { text: "Seen." },
      { text: "Told." },
    ],
    CHILD: [
      { text: "<task_result>So far.", calls: [read] },
      () => {
        say();
        return hang;
      },
    ],
    QUICK: [{ text: "Done.", after: said }],
  });
  expect(resultsIn(model.requests("MAIN")[1])[0]).toBe("You have not started any agents.");
  const [list, soFar] = resultsIn(model.requests("MAIN")[3]);
  expect(list).toMatch(
    /^Running;.*\n- a\w+ \(general-purpose, called watch\): a piece of work \(output: retinue:\/\/output\/a\w+\)\nEnded and reported.*\n- a\w+ \(general-purpose\): a piece of work$/,
  );
  expect(soFar).toContain("&lt;task_result>So far.");
});
