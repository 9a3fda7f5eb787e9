import { readdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ScriptedStep } from "../../src/testing/index.ts";
import {
  asAfterKill,
  lastWords,
  newPlace,
  type Options,
  open,
  type Place,
  read,
  resultsIn,
  task,
  transcriptsIn,
} from "./delegation-place.ts";

describe("a delegation that was approved before the process died", () => {
  it("does not need approval again, and its agent's report arrives", async () => {
    const at = newPlace();
    const settings = { permissions: { ask: ["Task"] } };
    const yes = { ask: async () => ({ answer: "allow", by: "a person" }) as const };
    const first = await open(
      { MAIN: [{ calls: [task("CHILD: go")] }], CHILD: [{ calls: [read] }, { hangs: true }] },
      { at, settings, approvals: yes },
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
      { MAIN: [{ text: "It says alpha." }], CHILD: [{ text: "alpha" }] },
      { at: left, settings, resume: first.session.id },
    );
    await session.prompt("").result;
    await session.close();
    expect(resultsIn(model.requests("MAIN")[0])[0]).toContain("\nalpha\n");
  });
});

it("what a lost run did is part of the next result, also after a new prompt, and of no later one", async () => {
  const write = (file_path: string) => ({ calls: [{ name: "Write", input: { file_path, content: "text" } }] });
  const hang = { text: "So far.", hangs: true } as const;
  const options = { permissionMode: "bypassPermissions" } as const;
  /** Kills the process of a session when the model has begun its answer. */
  const killed = async (parts: readonly ScriptedStep[], prompt: string, more: Partial<Options>): Promise<Place> => {
    const { session, home, cwd } = await open({ MAIN: [...parts, hang] }, { ...options, ...more });
    const run = session.prompt(prompt);
    let left = { home, cwd };
    for await (const update of run) {
      if (update.type !== "text.delta") continue;
      left = asAfterKill({ home, cwd });
      run.stop("stopped");
    }
    id = session.id;
    await session.close();
    return left;
  };
  let id = "";
  const touch = { calls: [{ name: "Bash", input: { command: "touch b" } }] };
  const one = await killed([write("a.txt"), touch], "MAIN: one", {});
  const two = await killed([write("c.txt")], "MAIN: two", { at: one, resume: id });
  const three = await killed([write("d.txt")], "", { at: two, resume: id });
  const { session } = await open(
    { MAIN: [write("e.txt"), { text: "Five." }, { text: "Six." }] },
    { ...options, at: three, resume: id },
  );
  expect((await session.prompt("MAIN: five").result).facts).toMatchObject({
    toolCalls: { Write: 4, Bash: 1 },
    filesChanged: ["a.txt", "c.txt", "d.txt", "e.txt"],
    commands: [{ command: "touch b", exitCode: 0 }],
  });
  expect((await session.prompt("MAIN: six").result).facts).toMatchObject({ toolCalls: {}, filesChanged: [] });
  await session.close();
});

describe("an agent that was announced before the process died and has no transcript yet", () => {
  it.each([
    { left: "no transcript", forget: (path: string) => rmSync(path) },
    { left: "an empty transcript", forget: (path: string) => truncateSync(path) },
  ])("starts under its id, once, if $left was left", async ({ forget }) => {
    const first = await open({ MAIN: [{ calls: [task("CHILD: go")] }], CHILD: [{ hangs: true }] });
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type === "subagent.event" && update.event.type === "model.requested") break;
    }
    const left = asAfterKill(first);
    run.stop("stopped");
    await run.result;
    await first.session.close();
    const { id } = first.session;
    const named = [...transcriptsIn(left, id).keys()];
    expect(named).toHaveLength(1);
    forgetAgents(left, forget);
    const { model, session } = await open(
      { MAIN: [{ text: "It says alpha." }], CHILD: [{ text: "alpha" }] },
      { at: left, resume: id },
    );
    await session.prompt("").result;
    await session.close();
    expect(resultsIn(model.requests("MAIN")[0])[0]).toContain("\nalpha\n");
    const transcripts = transcriptsIn(left, id);
    expect([...transcripts.keys()]).toEqual(named);
    const runs = [...transcripts.values()].flat().filter(({ type }) => type === "run.started" || type === "run.ended");
    expect(runs).toMatchObject([{ type: "run.started" }, { type: "run.ended", outcome: "succeeded" }]);
  });
});

/** Changes the agents' transcripts as if the process had died before writing to them. */
function forgetAgents({ home }: Place, forget: (transcript: string) => void): void {
  for (const path of readdirSync(home, { recursive: true, encoding: "utf8" })) {
    if (path.endsWith("/wal.jsonl")) rmSync(join(home, path));
    if (/\/agent-\w+\.jsonl$/.test(path)) forget(join(home, path));
  }
}

describe("an agent that works for a call when the process dies", () => {
  const again = (messages: Parameters<typeof resultsIn>[0], by: string) => {
    const id = / id=\\?"(a\w+)/.exec(resultsIn(messages)[0] ?? "")?.[1] ?? "";
    const call = {
      Task: { description: "more", prompt: "More.", resume: id },
      SendMessage: { to: id, message: "More." },
    };
    return { calls: [{ name: by, input: call[by as "Task"] }] };
  };

  it.each([
    ["Task", "agent.resumed"],
    ["Task", "model.requested"],
    ["SendMessage", "agent.resumed"],
  ])("continues to work for that call: %s, killed after %s", async (by, after) => {
    const at = newPlace();
    const parts = {
      MAIN: [
        { calls: [task("CHILD: go")] },
        (messages: Parameters<typeof resultsIn>[0]) => again(messages, by),
        { hangs: true },
      ],
      CHILD: [{ text: "First." }, { hangs: true }],
    } as const;
    const first = await open(parts, { at });
    const run = first.session.prompt("MAIN: do it.");
    let seen = "";
    for await (const update of run) {
      if (update.type === "agent.resumed") seen = update.type;
      if (seen !== "" && update.type === "subagent.event") seen = update.event.type;
      if (seen === after) break;
    }
    const left = asAfterKill(at);
    run.stop("stopped");
    await run.result;
    await first.session.close();
    const { model, session } = await open(
      { MAIN: [{ text: "Well." }, { text: "Good." }], CHILD: [{ text: "Second." }] },
      { at: left, resume: first.session.id },
    );
    const result = await session.prompt("").result;
    await session.close();
    expect(result).toMatchObject({ outcome: "succeeded", facts: { unknown: [] } });
    const words = JSON.stringify(model.requests("CHILD")[0]);
    expect(words.split("More.")).toHaveLength(2);
    expect(JSON.stringify(model.requests("MAIN").at(-1))).toContain("Second.");
    expect(JSON.stringify(model.requests("MAIN"))).not.toContain("Outcome unknown");
  });
});

describe("an agent is resumed in a later process with its whole conversation, no matter how it ended", () => {
  const hang = { text: "Half.", hangs: true } as const;
  const slow = { description: "Is slow. Use it.", prompt: "Work.", tools: ["Read"], timeout: 0.05 };
  const frugal = { description: "Saves. Use it.", prompt: "Work.", tools: ["Read"], budget: { turns: 1 } };
  const failing = { text: "Half.", error: { code: "overloaded", message: "Overloaded." } } as const;
  const endings: [string, { second: ScriptedStep; more?: object }][] = [
    ["done", { second: { text: "All of it." } }],
    ["max_turns", { second: hang, more: { max_turns: 1 } }],
    ["budget", { second: hang, more: { subagent_type: "frugal" } }],
    ["timeout", { second: hang, more: { subagent_type: "slow" } }],
    ["model_error", { second: failing }],
    ["refused", { second: { text: "No.", stopReason: "refusal" } }],
    ["interrupted", { second: hang }],
    ["process_lost", { second: hang, more: { run_in_background: true } }],
  ];

  it.each(endings)("%s", async (reason, { second, more = {} }) => {
    const at = newPlace();
    const agents = { slow, frugal };
    const first = await open(
      { MAIN: [{ calls: [task("CHILD: read", { ...more })] }, hang], CHILD: [{ calls: [read] }, second] },
      { at, agents },
    );
    const run = first.session.prompt("MAIN: do it.");
    let left = at;
    for await (const update of run) {
      const isHalf = update.type === "subagent.event" && update.event.type === "text.delta";
      if (isHalf && reason === "process_lost") left = asAfterKill(at);
      const isCut = isHalf && ["interrupted", "process_lost"].includes(reason);
      // The main agent continues while a background agent works, so its text does not mean that the agent has ended.
      if (isCut || (update.type === "text.delta" && reason !== "process_lost")) run.stop("interrupted");
    }
    await first.session.close();
    const [name = ""] = transcriptsIn(left, first.session.id).keys();
    const resume = /agent-(\w+)\./.exec(name)?.[1];
    const { model, session } = await open(
      {
        MAIN: [{ calls: [task("Go on.", { resume, subagent_type: undefined })] }, { text: "Good." }],
        CHILD: [{ text: "Now all." }],
      },
      // The agent's earlier spending is still included, so it needs a larger budget to continue.
      { at: left, agents: { slow, frugal: { ...frugal, budget: { turns: 2 } } }, resume: first.session.id },
    );
    await session.prompt("And now?").result;
    await session.close();
    const lines = transcriptsIn(left, first.session.id).get(name) ?? [];
    expect(lines.flatMap((line) => (line.type === "run.ended" ? [line.reason] : []))).toEqual([reason, "done"]);
    const asked = model.requests("CHILD")[0] ?? [];
    expect(lastWords(asked)).toMatch(/Go on\.$/);
    expect(asked.flatMap((message) => resultsIn([message]))).toEqual([expect.stringContaining("beta")]);
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("Now all.");
  });
});

describe("a resumed agent that has background agents", () => {
  const background = { run_in_background: true };
  const later = { text: "Later.", hangs: true } as const;

  it("is told again which background agents are still working", async () => {
    const { session, model } = await open({
      MAIN: [{ calls: [task("CHILD: hang", background)] }, later, { text: "Still." }],
      CHILD: [{ text: "Working.", hangs: true }],
    });
    const run = session.prompt("MAIN: do it.");
    for await (const update of run) if (update.type === "text.delta") run.stop("interrupted");
    await run.result;
    const again = session.prompt("And now?");
    for await (const update of again) if (update.type === "text.delta") again.stop("interrupted");
    await again.result;
    await session.close();
    const told = lastWords(model.requests("MAIN")[2]);
    expect(told).toMatch(/Running;[^\n]*:\n- a\w{12} \(general-purpose\): a piece of work \(output: retinue:/);
    expect(told).toContain("And now?");
  });

  it("is told once after a kill which background agents have ended, with their reports", async () => {
    const at = newPlace();
    const first = await open(
      { MAIN: [{ calls: [task("CHILD: be quick", background)] }, later], CHILD: [{ text: "The quick answer." }] },
      { at },
    );
    const run = first.session.prompt("MAIN: do it.");
    const seen = new Set<string>();
    for await (const update of run) {
      if (update.type === "text.delta") seen.add("main");
      if (update.type === "subagent.event" && update.event.type === "run.ended") seen.add("child");
      if (seen.size === 2) break;
    }
    const left = asAfterKill(at);
    run.stop("stopped");
    await run.result;
    await first.session.close();
    const parts = { MAIN: [{ text: "I see." }, { text: "Nothing new." }] };
    const { model, session } = await open(parts, { at: left, resume: first.session.id });
    await session.prompt("And now?").result;
    await session.prompt("And now again?").result;
    await session.close();
    const [once, twice] = model.requests("MAIN").map(lastWords);
    expect(once).toMatch(/Ended; their reports follow:\n- a\w{12} \(general-purpose\): a piece of work/);
    expect(once).toMatch(/<task_notification [^>]*status="completed"[\s\S]*The quick answer\./);
    expect(twice).toBe("And now again?");
  });
});

describe("a background agent that continues after its session was parked", () => {
  it("still has to pass the check that its call set", async () => {
    const at = newPlace();
    const options = { at, permissionMode: "bypassPermissions" } as const;
    const call = task("CHILD: go", { run_in_background: true, acceptance: "test -f made.txt" });
    const first = await open(
      { MAIN: [{ calls: [call] }, { text: "I wait." }], CHILD: [{ text: "Half.", hangs: true }] },
      options,
    );
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run)
      if (update.type === "subagent.event" && update.event.type === "text.delta") void first.session.park();
    await run.result;
    await first.session.close();
    const parts = {
      MAIN: [{ text: "I still wait." }, { text: "Good." }],
      CHILD: [{ text: "Made." }, { text: "Really." }],
    };
    const { model, session } = await open(parts, { ...options, resume: first.session.id });
    await session.prompt("").result;
    await session.close();
    model.assertDone();
    expect(lastWords(model.requests("MAIN")[1])).toContain("[verified: false (test -f made.txt: exit code 1)]");
  });

  it("has only the turns that are left of its call's max_turns, and reports what it did before", async () => {
    const at = newPlace();
    const options = { at, permissionMode: "bypassPermissions" } as const;
    const count = { calls: [{ name: "Bash", input: { command: "node -e 0" } }] };
    const write = { calls: [{ name: "Write", input: { file_path: "a.txt", content: "text\n" } }] };
    const call = task("CHILD: go", { run_in_background: true, max_turns: 4 });
    const first = await open(
      { MAIN: [{ calls: [call] }, { text: "I wait." }], CHILD: [write, { text: "Half.", hangs: true }] },
      options,
    );
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run)
      if (update.type === "subagent.event" && update.event.type === "text.delta") void first.session.park();
    await run.result;
    await first.session.close();
    const { model, session } = await open(
      { MAIN: [{ text: "I still wait." }, { text: "Good." }], CHILD: [count, count] },
      { ...options, resume: first.session.id },
    );
    const result = await session.prompt("").result;
    await session.close();
    model.assertDone();
    expect(result.facts.filesChanged).toEqual(["a.txt"]);
    const told = lastWords(model.requests("MAIN")[1]);
    expect(told).toMatch(/Stopped after 4 turns, the limit for this run\./);
    expect(told).toMatch(/\[3 tool calls; .*changed: a\.txt; ran: "node -e 0" \(exit 0\), "node -e 0" \(exit 0\)\]/);
  });
});
