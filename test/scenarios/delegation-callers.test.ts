import { describe, expect, it } from "vitest";
import { lastWords, type Options, open, promised, resultsIn, task, walk } from "./delegation-place.ts";

const message = (to: string) => ({ name: "SendMessage", input: { to, message: "PEER: go on" } });

describe("a named agent that may not delegate", () => {
  it("can message running agents, but can't resume one that has ended", async () => {
    const { promise: begun, keep: begin } = promised();
    const { promise: later, keep: finish } = promised();
    const { model, result } = await walk({
      MAIN: [
        { calls: [task("ENDED: be quick", { name: "ended" })] },
        {
          calls: [
            task("BUSY: take your time", { name: "busy", run_in_background: true }),
            task("SPEAKER: tell them", { name: "speaker" }),
          ],
        },
        { text: "So it is." },
        { text: "And told." },
      ],
      ENDED: [{ text: "Done." }, { text: "never asked" }],
      BUSY: [
        () => {
          begin();
          return { text: "Heard.", after: later };
        },
        { text: "Heard it." },
      ],
      SPEAKER: [
        { calls: [message("ended"), message("busy")], after: begun },
        () => {
          finish();
          return { text: "Told them." };
        },
      ],
    });
    expect(result.outcome).toBe("succeeded");
    expect(model.requests("ENDED")).toHaveLength(1);
    const [toEnded = "", toBusy = ""] = resultsIn(model.requests("SPEAKER")[1]);
    expect(toEnded).toMatch(/has ended.*only agents that can delegate/);
    expect(toBusy).toContain("will read the message");
    expect(lastWords(model.requests("BUSY")[1])).toMatch(
      /from agent a\w{12} \(general-purpose, called speaker\), which is not your parent\.\n<.*>\nPEER: go on$/,
    );
  });
});

it("a name belongs to one agent while that agent is working; afterwards, another agent can have it", async () => {
  const { promise: begun, keep: begin } = promised();
  const { promise: later, keep: finish } = promised();
  const twin = { name: "twin", run_in_background: true };
  const { model } = await walk({
    MAIN: [
      { calls: [task("FIRST: go", twin), task("SECOND: go", twin)] },
      { calls: [task("SECOND: go", { name: "twin" })], after: begun },
      () => {
        finish();
        return { text: "I wait." };
      },
      { calls: [task("SECOND: go", { name: "twin" })] },
      { calls: [message("twin")] },
      { text: "Told." },
      { text: "Good." },
    ],
    FIRST: [
      () => {
        begin();
        return { text: "First.", after: later };
      },
    ],
    SECOND: [{ text: "Second." }, { text: "Heard." }],
  });
  const told = model.requests("MAIN").map(resultsIn);
  expect(told[1]?.[0]).toContain("is running in the background");
  expect(told[1]?.[1]).toMatch(/The name "twin" is taken by .*\. Choose another name, or omit it\./);
  expect(told[2]?.[0]).toMatch(/The name "twin" is taken by agent a\w{12} \(general-purpose: a piece of work\)\./);
  expect(told[4]?.[0]).toContain("Second.");
  // The message went to the newest agent with that name.
  expect(model.requests("SECOND")).toHaveLength(2);
});

it("an agent can't receive messages while its caller is waiting for its report", async () => {
  const { promise: later, keep: finish } = promised();
  const { model } = await walk({
    MAIN: [
      { calls: [task("SLOW: go", { name: "slow" }), task("SPEAKER: tell it", { name: "speaker" })] },
      { text: "ok" },
    ],
    SLOW: [{ text: "Mine.", after: later }, { text: "never asked" }],
    SPEAKER: [
      { calls: [message("slow")] },
      () => {
        finish();
        return { text: "It would not hear." };
      },
    ],
  });
  expect(resultsIn(model.requests("SPEAKER")[1])[0]).toMatch(/can't receive messages while its caller is waiting/);
  expect(model.requests("SLOW")).toHaveLength(1);
});

it("an agent that is waiting for a slot can't receive messages, because the sender may hold the slot", async () => {
  const behind = { run_in_background: true };
  const { model, result } = await walk(
    {
      MAIN: [
        {
          calls: [
            task("SPEAKER: tell it", { name: "speaker", ...behind }),
            task("NEXT: go", { name: "next", ...behind }),
          ],
        },
        { text: "Started." },
        { text: "One." },
        { text: "Both." },
      ],
      SPEAKER: [{ calls: [message("next")] }, { text: "It has not begun." }],
      NEXT: [{ text: "My turn." }],
    },
    { settings: { budget: { concurrent: 1 } } },
  );
  expect(resultsIn(model.requests("SPEAKER")[1])[0]).toMatch(/has not started yet/);
  expect(result.outcome).toBe("succeeded");
});

describe("a subagent that delegates", () => {
  it("can message only the agents below it", async () => {
    const hang = { text: "Working.", hangs: true } as const;
    const idOf = (messages: Parameters<typeof resultsIn>[0]) =>
      /agentId: (a\w+)/.exec(resultsIn(messages)[0] ?? "")?.[1];
    let beside = "";
    const { model, result } = await walk(
      {
        MAIN: [
          { calls: [task("BESIDE: hang", { run_in_background: true }), task("ENDED: be quick", { name: "ended" })] },
          (messages) => {
            beside = idOf(messages) ?? "";
            return { calls: [task("LEAD: look after yours")] };
          },
          () => ({ calls: [{ name: "TaskStop", input: { task_id: beside } }] }),
          { text: "All stopped." },
          { text: "And told." },
        ],
        BESIDE: [hang],
        ENDED: [{ text: "Done." }, { text: "never asked" }],
        LEAD: [
          () => ({
            calls: [
              { name: "TaskStop", input: { task_id: beside } },
              { name: "TaskOutput", input: { task_id: beside } },
              task("LEAD: more", { resume: beside }),
              message("ended"),
              task("BELOW: hang", { run_in_background: true }),
            ],
          }),
          (messages) => ({
            calls: [
              { name: "TaskStop", input: { task_id: /agentId: (a\w+)/.exec(resultsIn(messages).join())?.[1] ?? "" } },
            ],
          }),
          { text: "Looked." },
          { text: "Looked again." },
        ],
        BELOW: [hang],
      },
      { settings: { subagents: { maxDepth: 2 } } },
    );
    expect(result.outcome).toBe("succeeded");
    const [stop = "", output = "", resume = "", wake = ""] = resultsIn(model.requests("LEAD")[1]);
    for (const answer of [stop, output, resume]) expect(answer).toContain(`no agent ${beside} among yours`);
    expect(wake).toMatch(/has ended.*only the agents above it/);
    expect(resultsIn(model.requests("LEAD")[2])[0]).toContain("was stopped");
    expect(resultsIn(model.requests("MAIN")[3])[0]).toContain("was stopped");
    expect(model.requests("ENDED")).toHaveLength(1);
  });
});

describe("an agent that the user stopped", () => {
  const resume = (id: string) => task("CHILD: more", { resume: id });
  const call = (tool: string, id: string) => (tool === "Task" ? resume(id) : message(id));
  const waysToResume = ["SendMessage", "Task"].flatMap((tool) =>
    (["default", "bypassPermissions", "dontAsk"] as const).flatMap((permissionMode) =>
      (["allow", "deny", "nobody"] as const).map((answer) => ({ tool, permissionMode, answer })),
    ),
  );

  /** Has the user stop a background agent, and then the model resume it in another process. */
  async function resumeStopped(tool: string, { permissionMode, answer }: Omit<(typeof waysToResume)[number], "tool">) {
    const first = await open(
      {
        MAIN: [{ calls: [task("CHILD: hang", { name: "child", run_in_background: true })] }, { text: "Started." }],
        CHILD: [{ text: "Hm.", hangs: true }],
      },
      { interactive: true },
    );
    const { session, home, cwd } = first;
    await session.prompt("MAIN: go").result;
    await session.subagents.stop("child");
    const { agentId = "" } = (await session.subagents.list())[0] ?? {};
    await session.close();
    const asked: string[] = [];
    const ask: NonNullable<Options["approvals"]>["ask"] = async ({ decision: { reason }, call: { name } }) => {
      asked.push(`${name}: ${reason}`);
      return { answer: answer === "allow" ? "allow" : "deny", by: "a person" };
    };
    const again = await open(
      {
        MAIN: [
          { calls: [call(tool, agentId)] },
          { calls: [call("Task", agentId)] },
          { text: "Well." },
          { text: "Told." },
        ],
        CHILD: [{ text: "Good." }, { text: "Better." }],
      },
      { at: { home, cwd }, resume: session.id, permissionMode, approvals: answer === "nobody" ? undefined : { ask } },
    );
    await again.session.prompt("MAIN: go on").result;
    await again.session.close();
    const requests = again.model.requests("MAIN");
    return { asked, told: resultsIn(requests[1])[0] ?? "", toldAgain: resultsIn(requests[2])[0] ?? "", ...again };
  }

  it.each(waysToResume)("is resumed by $tool in mode $permissionMode only with approval: $answer", async (way) => {
    const { asked, told, toldAgain, model } = await resumeStopped(way.tool, way);
    const isAsked = way.answer !== "nobody" && way.permissionMode !== "dontAsk";
    expect(asked[0]).toEqual(
      isAsked
        ? expect.stringMatching(
            new RegExp(`^${way.tool}: The user stopped general-purpose a\\w+, and this call would resume it`),
          )
        : undefined,
    );
    if (isAsked && way.answer === "allow") {
      expect(asked).toHaveLength(1);
      expect(told).toMatch(way.tool === "Task" ? /Good\./ : /was resumed with your message/);
      return;
    }
    expect(model.requests("CHILD")).toHaveLength(0);
    for (const text of [told, toldAgain]) {
      expect(text).toMatch(/The user stopped agent a\w+, and resuming it /);
      expect(text).toContain("Do not resume this agent or give its work to another one");
      expect(text).not.toMatch(/Use Task|call Task/);
    }
  });

  it("keeps the agents stopped that it was waiting for", async () => {
    const { promise: begun, keep: begin } = promised();
    const hang = () => {
      begin();
      return { text: "Hm.", hangs: true } as const;
    };
    let below = "";
    const { session, model } = await open(
      {
        MAIN: [
          { calls: [task("LEAD: go", { name: "lead" })] },
          () => ({ calls: [task("BELOW: more", { resume: below })] }),
          { text: "Well." },
        ],
        LEAD: [{ calls: [task("BELOW: hang")] }],
        BELOW: [hang, { text: "never asked" }],
      },
      { settings: { subagents: { maxDepth: 2 } } },
    );
    const run = session.prompt("MAIN: go");
    await begun;
    below = (await session.subagents.list()).find(({ parent }) => parent !== "main")?.agentId ?? "";
    await session.subagents.stop("lead");
    await run.result;
    await session.close();
    expect(resultsIn(model.requests("MAIN")[2])[0]).toMatch(/The user stopped agent a\w+, and resuming it requires/);
    expect(JSON.stringify(model.requests("MAIN")[1])).toContain("The user stopped this agent. Its work is kept.");
    expect(model.requests("BELOW")).toHaveLength(1);
  });
});

it("an agent that the model stopped needs no approval to be resumed", async () => {
  const { promise: begun, keep: begin } = promised();
  const { model } = await walk({
    MAIN: [
      { calls: [task("CHILD: hang", { name: "child", run_in_background: true })] },
      { calls: [{ name: "TaskStop", input: { task_id: "child" } }], after: begun },
      { calls: [message("child")] },
      { text: "Well." },
      { text: "Told." },
    ],
    CHILD: [
      () => {
        begin();
        return { text: "Hm.", hangs: true };
      },
      { text: "Good." },
    ],
  });
  expect(resultsIn(model.requests("MAIN")[3])[0]).toMatch(/was resumed with your message/);
  expect(model.requests("CHILD")).toHaveLength(2);
});

it("if two calls resume the same agent at once, one starts a run, and the other gets an error", async () => {
  const { model } = await walk({
    MAIN: [
      { calls: [task("CHILD: go", { name: "child" })] },
      { calls: [task("More.", { resume: "child" }), task("And more.", { resume: "child" })] },
      { text: "Well." },
    ],
    CHILD: [{ text: "First." }, { text: "Second." }],
  });
  const [first = "", second = ""] = resultsIn(model.requests("MAIN")[2]);
  expect(first).toContain("Second.");
  expect(second).toMatch(/is already being resumed|still running/);
  expect(model.requests("CHILD")).toHaveLength(2);
});
