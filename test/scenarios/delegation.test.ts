import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Line } from "../../src/protocol/index.ts";
import type { ScriptedStep } from "../../src/testing/index.ts";
import {
  asAfterKill,
  lastWords,
  mainLines,
  newPlace,
  type Options,
  open,
  type Parts,
  promised,
  read,
  resultsIn,
  task,
  transcriptsIn,
  walk,
  wholeRuns,
} from "./delegation-place.ts";

describe("a foreground agent", () => {
  it("works in its own context and returns one report", async () => {
    const walked = await walk({
      MAIN: [{ calls: [task("CHILD: read the notes")] }, { text: "It says alpha." }],
      CHILD: [{ calls: [read] }, { text: "The notes say alpha and beta." }],
    });
    walked.model.assertDone();
    expect(walked.result).toMatchObject({ outcome: "succeeded", text: "It says alpha." });
    const [report] = resultsIn(walked.model.requests("MAIN")[1]);
    expect(report).toMatch(
      /^<task_result agent="general-purpose" id="a[0-9a-z]{12}" status="completed">\nThe notes say alpha and beta\.\n<\/task_result>\n\[1 tool call; 220 tokens; /,
    );
    expect(walked.model.requests("CHILD")[0]).toHaveLength(1);
    const [[, lines = []] = []] = transcriptsIn(walked, walked.sessionId);
    expect(lines.map(({ type }) => type)).toEqual([
      "agent.created",
      "head.set",
      "run.started",
      "context.added",
      "prompt.received",
      "model.requested",
      "model.ended",
      "tool.requested",
      "tool.started",
      "tool.ended",
      "model.requested",
      "model.ended",
      "run.ended",
      "run.cleaned",
    ]);
    const call = walked.updates.find((update) => update.type === "tool.started");
    expect(lines[0]).toMatchObject({
      metadata: {
        subagent: { parentSessionId: walked.sessionId, agentType: "general-purpose", callId: call?.callId },
      },
    });
    const seen = walked.updates.flatMap((update) => (update.type === "subagent.event" ? [update.event] : []));
    expect(seen.filter((event): event is Line => "id" in event)).toEqual(lines);
    const told = walked.updates.flatMap((update) => (update.type === "tool.ended" ? [update.result.details] : []));
    expect(told).toMatchObject([
      {
        status: "completed",
        outcome: "succeeded",
        totalToolUseCount: 1,
        facts: { toolCalls: { Read: 1 }, denied: [] },
      },
    ]);
  });

  it("runs in parallel with others from the same response; results are in call order", async () => {
    let release = () => {};
    const second = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { model, result } = await walk({
      MAIN: [{ calls: [task("ONE: a"), task("TWO: b")] }, { text: "Both." }],
      ONE: [{ text: "first", after: second }],
      TWO: [
        () => {
          release();
          return { text: "second" };
        },
      ],
    });
    expect(result.outcome).toBe("succeeded");
    expect(resultsIn(model.requests("MAIN")[1]).map((text) => text.split("\n")[1])).toEqual(["first", "second"]);
  });

  it("is refused with a list of available types if its type is unknown, and the parent continues", async () => {
    const { model, result } = await walk({
      MAIN: [{ calls: [task("x", { subagent_type: "Explor" })] }, { text: "I see." }],
    });
    expect(result.outcome).toBe("succeeded");
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("Explore");
  });

  it("has no more rights than its parent: no delegation, no denied tool", async () => {
    const { model, updates } = await walk(
      {
        MAIN: [{ calls: [task("CHILD: try")] }, { text: "ok" }],
        CHILD: [
          {
            calls: [
              task("deeper"),
              { name: "Bash", input: { command: "echo hi" } },
              { name: "Read", input: { file_path: "notes.txt" } },
            ],
          },
          { text: "done" },
        ],
      },
      { disallowedTools: ["Bash", "Read(notes.txt)"], permissionMode: "bypassPermissions" },
    );
    const outcomes = updates.flatMap((update) =>
      update.type === "subagent.event" && update.event.type === "tool.ended" ? [update.event.result.outcome] : [],
    );
    expect(outcomes).toEqual(["denied", "denied", "denied"]);
    expect(lastWords(model.requests("CHILD")[1])).toBeDefined();
  });

  it("returns the reason, its text so far and its id for resuming if it fails", async () => {
    const { model, result } = await walk({
      MAIN: [{ calls: [task("CHILD: go")] }, { text: "Too bad." }],
      CHILD: [{ text: "Half", error: { code: "overloaded", message: "The model is overloaded." } }],
    });
    expect(result.outcome).toBe("succeeded");
    const [report = ""] = resultsIn(model.requests("MAIN")[1]);
    expect(report).toMatch(
      /^<task_error agent="general-purpose" id="a\w+" status="failed">\nThe model is overloaded\./,
    );
    expect(report).toContain("Half");
  });
});

describe("a background agent", () => {
  it("starts immediately, and its end is reported exactly once, to a waiting parent", async () => {
    let finish = () => {};
    const later = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { model, result, updates, home, sessionId, cwd } = await walk({
      MAIN: [
        { calls: [task("CHILD: slowly", { run_in_background: true })] },
        () => {
          finish();
          return { text: "Meanwhile." };
        },
        { text: "It is done." },
      ],
      CHILD: [{ calls: [read], after: later }, { text: "The slow answer." }],
    });
    model.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "It is done." });
    const [launched = ""] = resultsIn(model.requests("MAIN")[1]);
    expect(launched).toMatch(/is running in the background/);
    const notice = lastWords(model.requests("MAIN")[2]);
    expect(notice).toMatch(/^<from_retinue>\n1 background agent ended\.\n/);
    expect(notice).toMatch(
      /<task_notification agent="general-purpose" id="a\w+" status="completed" output_file="retinue:\/\/output\/a\w+">/,
    );
    expect(notice).toContain("The slow answer.");
    const [[name = ""] = []] = transcriptsIn({ home, cwd }, sessionId);
    expect(name).toBe(`agent-${/id="(a\w+)"/.exec(notice)?.[1]}.jsonl`);
    const [outputFile = ""] = updates.flatMap((update) =>
      update.type === "tool.ended" ? [String(update.result.details?.["outputFile"])] : [],
    );
    expect(outputFile.endsWith(name.replace(".jsonl", ".output"))).toBe(true);
    expect(readFileSync(outputFile, "utf8")).toContain("The slow answer.");
    const told = JSON.stringify(model.requests("MAIN"));
    expect(told).not.toContain(home);
  });
});

describe("resume", () => {
  it("continues an agent by its id, with its whole conversation", async () => {
    const ids: string[] = [];
    const { model, result } = await walk({
      MAIN: [
        { calls: [task("CHILD: begin")] },
        (messages) => {
          const [report = ""] = resultsIn(messages);
          ids.push(/id="(a\w+)"/.exec(report)?.[1] ?? "");
          return { calls: [task("and more", { resume: ids[0] })] };
        },
        { text: "Good." },
      ],
      CHILD: [{ text: "Begun." }, { text: "More." }],
    });
    model.assertDone();
    expect(result.outcome).toBe("succeeded");
    expect(model.requests("CHILD")[1]?.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(resultsIn(model.requests("MAIN")[2])[0]).toContain(`id="${ids[0]}"`);
  });

  it("is refused with advice if the type or the isolation differs, or if the agent is running", async () => {
    const again = (more: object) => task("and more", { resume: "one", ...more });
    const { model } = await walk({
      MAIN: [
        { calls: [task("ONE: begin", { name: "one" }), task("TWO: hang", { name: "two", run_in_background: true })] },
        {
          calls: [again({ subagent_type: "Explore" }), again({ isolation: "worktree" }), again({ resume: "two" })],
        },
        { calls: [{ name: "TaskStop", input: { task_id: "two" } }] },
        { text: "Well." },
        { text: "Told." },
      ],
      ONE: [{ text: "Begun." }, { text: "never asked" }],
      TWO: [{ text: "Hm.", hangs: true }],
    });
    expect(resultsIn(model.requests("MAIN")[2])).toEqual([
      expect.stringMatching(/has the type general-purpose\. Resume it with that subagent_type/),
      expect.stringMatching(/continues in the directory where it worked before\. Omit isolation/),
      expect.stringMatching(/is still running\. Use SendMessage/),
    ]);
    expect(model.requests("ONE")).toHaveLength(1);
  });

  it("lists the existing agents for an unknown id", async () => {
    const { model } = await walk({
      MAIN: [{ calls: [task("x", { resume: "azzz" })] }, { text: "ok" }],
    });
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain(
      "There is no agent azzz in this session: no agent has been started.",
    );
  });
});

describe("limits", () => {
  it("refuse agents beyond the limit for one prompt, and the parent ends as incomplete", async () => {
    const { model, result } = await walk(
      {
        MAIN: [{ calls: [task("ONE: a"), task("TWO: b"), task("THREE: c")] }, { text: "Two of three." }],
        ONE: [{ text: "1" }],
        TWO: [{ text: "2" }],
      },
      { settings: { subagents: { maxSpawns: 2 } } },
    );
    model.assertDone();
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget", text: "Two of three." });
    expect(result.message).toContain("subagents.maxSpawns");
    const results = resultsIn(model.requests("MAIN")[1]);
    expect(results[2]).toMatch(/^<task_error agent="general-purpose">\n.*the limit is 2 agents.* Do the work yourself/);
    expect(results[2]).not.toMatch(/settings|--max-spawns/);
  });

  it.each(["allow", "deny"] as const)(
    "ask once whether to allow more agents if someone can answer %s",
    async (answer) => {
      const reasons: string[] = [];
      const approvals: Options["approvals"] = {
        ask: async ({ decision }) => {
          reasons.push(decision.reason);
          return { answer, by: "a person" };
        },
      };
      const calls = [task("ONE: a"), task("TWO: b"), task("THREE: c"), task("FOUR: d")];
      const done = [{ text: "done" }];
      const { result, model } = await walk(
        { MAIN: [{ calls }, { text: "Done." }], ONE: done, TWO: done, THREE: done, FOUR: done },
        { settings: { subagents: { maxSpawns: 2 } }, approvals },
      );
      expect(reasons).toEqual([
        expect.stringMatching(
          /limit is 2 agents for one prompt.* If you allow this, the prompt can start the same number of agents again/,
        ),
      ]);
      expect(result.outcome).toBe(answer === "allow" ? "succeeded" : "incomplete");
      expect(model.requests("FOUR")).toHaveLength(answer === "allow" ? 1 : 0);
    },
  );

  it("do not count an agent that failed before it ran", async () => {
    const settings = { subagents: { maxSpawns: 1 }, permissions: { deny: ["Task(Plan)"] } };
    const nobody = task("NO_APPROVER: look", { subagent_type: "nobody" });
    const denied = task("NO_APPROVER: plan", { subagent_type: "Plan" });
    const { model, result } = await walk(
      {
        MAIN: [{ calls: [nobody] }, { calls: [denied] }, { calls: [task("ONE: a")] }, { text: "Done." }],
        ONE: [{ text: "1" }],
      },
      { settings },
    );
    model.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
  });

  it("end an agent whose budget is used up, return its work so far, and count it as cut", async () => {
    const { model, result } = await walk(
      {
        MAIN: [{ calls: [task("CHILD: go", { subagent_type: "frugal" })] }, { text: "It was cut." }],
        CHILD: [{ text: "Looking.", calls: [read] }, { text: "never asked" }],
      },
      {
        agents: { frugal: { description: "Saves. Use when little is left.", prompt: "Save.", budget: { turns: 1 } } },
      },
    );
    expect(model.requests("CHILD")).toHaveLength(1);
    expect(result).toMatchObject({ outcome: "succeeded", facts: { agentsCut: 1 } });
    const [report = ""] = resultsIn(model.requests("MAIN")[1]);
    expect(report).toMatch(/status="incomplete"/);
    expect(report).toContain("Looking.");
  });

  it("end the run at the session's budget, with the reason", async () => {
    const { result } = await walk(
      { MAIN: [{ calls: [read] }, { calls: [read] }, { text: "never" }] },
      { settings: { budget: { turns: 2 } } },
    );
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget", turns: 2 });
  });

  it("end a run as stalled if the model is silent, and as timed out if the agent exceeds its time limit", async () => {
    const { model, result } = await walk(
      {
        MAIN: [{ calls: [task("CHILD: hang", { subagent_type: "hasty" })] }, { text: "It hung." }],
        CHILD: [{ text: "I begin.", hangs: true }],
      },
      {
        agents: { hasty: { description: "Hurries. Use when time is short.", prompt: "Hurry.", timeout: "1s" } },
      },
    );
    expect(result.outcome).toBe("succeeded");
    const [report = ""] = resultsIn(model.requests("MAIN")[1]);
    expect(report).toMatch(/status="incomplete">/);
    expect(report).toContain("I begin.");
  });

  it("make agents beyond the concurrency limit wait until others have ended", async () => {
    let running = 0;
    let most = 0;
    const { promise: two, keep: begin } = promised();
    const busy = (): ScriptedStep => () => {
      running += 1;
      most = Math.max(most, running);
      if (running === 2) begin();
      const after = two.then(() => new Promise((resolve) => setImmediate(resolve))).then(() => (running -= 1));
      return { text: "done", after };
    };
    const names = ["ONE", "TWO", "THREE", "FOUR", "FIVE"];
    const { model, result } = await walk(
      {
        MAIN: [{ calls: names.map((name) => task(`${name}: work`)) }, { text: "All." }],
        ...Object.fromEntries(names.map((name) => [name, [busy()]])),
      },
      { settings: { budget: { concurrent: 2 } } },
    );
    model.assertDone();
    expect(result.outcome).toBe("succeeded");
    expect(most).toBe(2);
  });
});

describe("stopping", () => {
  it("interrupts the main agent and its foreground agents, which can be resumed", async () => {
    const parts: Parts = {
      MAIN: [{ calls: [task("CHILD: hang")] }, { text: "Again." }],
      CHILD: [{ text: "Hm.", hangs: true }],
    };
    const { session, model, ...at } = await open(parts);
    const run = session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type === "subagent.event" && update.event.type === "text.delta") run.stop("interrupted");
    }
    const result = await run.result;
    await session.close();
    expect(result).toMatchObject({ outcome: "stopped", reason: "interrupted" });
    const [[, lines = []] = []] = transcriptsIn(at, session.id);
    expect(lines.at(-2)).toMatchObject({ type: "run.ended", outcome: "stopped", text: "Hm." });
    expect(wholeRuns(lines)).toBe(1);
    expect(wholeRuns(mainLines(at, session.id))).toBe(1);
    expect(model.requests("CHILD")).toHaveLength(1);
  });

  it("reports what has stopped and what continues, for a turn, an agent or the whole session", async () => {
    const hang = { text: "Hm.", hangs: true } as const;
    const { session } = await open({
      MAIN: [{ calls: [task("BACK: hang", { run_in_background: true })] }, { calls: [task("FRONT: hang")] }, hang],
      BACK: [hang],
      FRONT: [hang],
    });
    const run = session.prompt("MAIN: do it.");
    const ids: string[] = [];
    let receipt: ReturnType<typeof session.interrupt> | undefined;
    for await (const update of run) {
      if (update.type === "agent.spawned") ids.push(update.agentId);
      const isFront = update.type === "subagent.event" && update.agentId === ids[1];
      if (isFront && update.event.type === "text.delta") receipt ??= session.interrupt();
    }
    const [back = "", front = ""] = ids;
    const work = { agentType: "general-purpose", description: "a piece of work" };
    expect(await receipt).toEqual({
      stopped: [
        { agentId: "main", agentType: "main", runId: expect.any(String), turns: 2 },
        { agentId: front, ...work, runId: expect.any(String), turns: 1 },
      ],
      stillRunning: [{ agentId: back, ...work, runId: expect.any(String) }],
    });
    expect(await session.subagents.stop("nobody")).toBeUndefined();
    await expect(session.subagents.stop("a")).rejects.toThrow('"a" matches several agents');
    expect(await session.subagents.stop(back)).toMatchObject({
      stopped: [{ agentId: back, turns: 1 }],
      stillRunning: [],
    });
    const again = session.prompt("And now?");
    for await (const update of again) if (update.type === "text.delta") void session.stopAll();
    expect((await again.result).reason).toBe("stopped");
    expect(await session.stopAll()).toEqual({ stopped: [], stillRunning: [] });
    await session.close();
  });

  it("leaves nothing running when the session is closed; an unreported end is reported in the next process", async () => {
    const first = await open({
      MAIN: [{ calls: [task("CHILD: hang", { run_in_background: true })] }, { text: "Later.", hangs: true }],
      CHILD: [{ text: "Working.", hangs: true }],
    });
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type === "text.delta") run.stop("interrupted");
    }
    await first.session.close();
    const again = await open(
      { MAIN: [{ text: "I see." }] },
      { at: { home: first.home, cwd: first.cwd }, resume: first.session.id },
    );
    const result = await again.session.prompt("And now?").result;
    await again.session.close();
    expect(result.outcome).toBe("succeeded");
    expect(lastWords(again.model.requests("MAIN")[0])).toMatch(/<task_notification [^>]*status="stopped"/);
  });
});

describe("a background agent whose transcript is missing", () => {
  it("is reported as lost, and no agent keeps waiting for it", async () => {
    const first = await open({
      MAIN: [{ calls: [task("CHILD: hang", { run_in_background: true })] }, { text: "Later.", hangs: true }],
      CHILD: [{ text: "Working.", hangs: true }],
    });
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type === "text.delta") run.stop("interrupted");
    }
    await first.session.close();
    const [name = ""] = transcriptsIn(first, first.session.id).keys();
    const found = readdirSync(first.home, { recursive: true, encoding: "utf8" }).find((path) => path.endsWith(name));
    rmSync(join(first.home, found ?? ""));
    const at = { home: first.home, cwd: first.cwd };
    const again = await open({ MAIN: [{ text: "I see." }] }, { at, resume: first.session.id });
    const result = await again.session.prompt("And now?").result;
    await again.session.close();
    expect(result.outcome).toBe("succeeded");
    expect(lastWords(again.model.requests("MAIN")[0])).toMatch(
      /<task_notification [^>]*status="failed"[\s\S]*is missing/,
    );
  });
});

describe("a session whose process dies while an agent works for a call", () => {
  it("continues the call from the agent's state", async () => {
    const at = newPlace();
    const first = await open(
      { MAIN: [{ calls: [task("CHILD: go")] }], CHILD: [{ calls: [read] }, { hangs: true }] },
      { at },
    );
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type === "subagent.event" && update.event.type === "model.requested" && update.event.turn === 2) break;
    }
    const left = asAfterKill(at);
    run.stop("stopped");
    await run.result;
    await first.session.close();

    const { model, session } = await open(
      { MAIN: [{ text: "unused" }, { text: "It says alpha." }], CHILD: [{ text: "alpha" }] },
      { at: left, resume: first.session.id },
    );
    const result = await session.prompt("").result;
    await session.close();
    expect(result).toMatchObject({ outcome: "succeeded" });
    expect(model.requests("CHILD")).toHaveLength(1);
    const [report = ""] = resultsIn(model.requests("MAIN")[0]);
    expect(report).toContain("\nalpha\n");
    const [[, lines = []] = []] = transcriptsIn(left, session.id);
    expect([wholeRuns(lines), wholeRuns(mainLines(left, session.id))]).toEqual([2, 2]);
  });
});
