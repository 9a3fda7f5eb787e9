import { describe, expect, it } from "vitest";
import { steerSession } from "../../src/app/index.ts";
import type { Transcript } from "../../src/ports/index.ts";
import { type Message, type SessionUpdate, textOf } from "../../src/protocol/index.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";
import {
  asAfterKill,
  lastWords,
  mainLines,
  open,
  promised,
  resultsIn,
  task,
  transcriptsIn,
  watch,
} from "./delegation-place.ts";

const text = (words: string) => [{ type: "text", text: words }] as const;

describe("prompts that arrive during a run", () => {
  it("wait for their turn, and each gets its own run", async () => {
    const { promise: later, keep: finish } = promised();
    const { session, model, home, cwd } = await open({
      MAIN: [{ text: "One.", after: later }, { text: "Two." }, { text: "Three." }],
    });
    const first = session.prompt("MAIN: one");
    const second = session.prompt("two");
    const third = session.prompt("three");
    await watch(session).until(({ event }) => event.type === "prompt.queued" && textOf(event.content) === "three");
    expect(session.queue().map(({ content }) => textOf(content))).toEqual(["two", "three"]);
    finish();
    const updates: string[] = [];
    for await (const update of second) updates.push(update.type);
    const results = await Promise.all([first.result, second.result, third.result]);
    expect(results.map((result) => result.text)).toEqual(["One.", "Two.", "Three."]);
    expect(results[1].runId).toBe(second.runId);
    expect(updates).toContain("run.ended");
    expect(session.queue()).toEqual([]);
    await session.close();
    expect(model.requests("MAIN").map(newestPrompt)).toEqual(["MAIN: one", "two", "three"]);
    const prompts = mainLines({ home, cwd }, session.id).filter(({ type }) => type.startsWith("prompt."));
    expect(prompts.map(({ type }) => type)).toEqual([
      "prompt.received",
      "prompt.queued",
      "prompt.queued",
      "prompt.received",
      "prompt.received",
    ]);
  });

  it("can be withdrawn, and the others stay in the queue for the next process", async () => {
    const { promise: never } = promised();
    const { session, home, cwd } = await open({ MAIN: [{ text: "One.", after: never }] });
    const first = session.prompt("MAIN: one");
    const second = session.prompt("two");
    const third = session.prompt("three");
    const waiting = watch(session);
    await waiting.until(({ event }) => event.type === "prompt.queued" && textOf(event.content) === "three");
    second.stop("stopped");
    expect(await second.result).toMatchObject({ outcome: "stopped", message: expect.stringContaining("withdrawn") });
    await session.close();
    expect(await first.result).toMatchObject({ outcome: "stopped" });
    expect(await third.result).toMatchObject({
      outcome: "stopped",
      message: expect.stringContaining("stays in the queue"),
    });
    expect(() => session.prompt("four")).toThrow("The session is closed");

    const again = await open({ MAIN: [{ text: "All." }] }, { at: { home, cwd }, resume: session.id });
    expect(again.session.queue().map(({ content }) => textOf(content))).toEqual(["three"]);
    await again.session.prompt("four").result;
    await again.session.close();
    const [request] = again.model.requests("MAIN");
    expect(JSON.stringify(request)).toMatch(/three.*four/);
    expect(JSON.stringify(request)).not.toContain('"two"');
  });

  it("can be edited, keep their places, and are in the next process's queue with their new text", async () => {
    const { promise: never } = promised();
    const { session, home, cwd } = await open({ MAIN: [{ text: "One.", after: never }] });
    void session.prompt("MAIN: one");
    const second = session.prompt("two");
    void session.prompt("three");
    const { promptId = "" } = second;
    // The command may arrive before the prompt is recorded.
    const receipt = await session.send({ id: "edit", type: "edit", promptId, content: text("two, edited") });
    expect(receipt).toEqual({ commandId: "edit", status: "done", message: "The queued prompt was changed." });
    expect(session.queue().map(({ content }) => textOf(content))).toEqual(["two, edited", "three"]);
    await session.close();

    const again = await open(
      { MAIN: [{ text: "One, continued." }, { text: "Two." }, { text: "Three." }] },
      { at: { home, cwd }, resume: session.id },
    );
    expect(again.session.queue().map(({ content }) => textOf(content))).toEqual(["two, edited", "three"]);
    // No caller in this process waits for these prompts, but they can still be edited.
    await again.session.send({ id: "edit again", type: "edit", promptId, content: text("two, edited twice") });
    const watched = watch(again.session);
    await again.session.prompt("four").result;
    await watched.until(ofMain((event) => event.type === "run.ended"));
    expect(await again.session.send({ id: "late", type: "edit", promptId, content: text("too late") })).toMatchObject({
      status: "refused",
      message: expect.stringContaining("may have received it already"),
    });
    await again.session.close();
    const requests = JSON.stringify(again.model.requests("MAIN"));
    expect(requests).toMatch(/two, edited twice.*three.*four/);
    expect(requests).not.toMatch(/"two"|"two, edited"|too late/);
  });

  it("run with their new text if they are edited just before their turn", async () => {
    const { promise: later, keep: finish } = promised();
    const { session, model } = await open({ MAIN: [{ text: "One.", after: later }, { text: "Two." }] });
    const first = session.prompt("MAIN: one");
    const second = session.prompt("two");
    await watch(session).until(({ event }) => event.type === "prompt.queued");
    const edit = { id: "edit", type: "edit", promptId: second.promptId ?? "", content: text("two, edited") } as const;
    const edited = session.send(edit);
    finish();
    await Promise.all([first.result, second.result]);
    expect(await edited).toMatchObject({ status: "done" });
    expect(await session.send({ ...edit, id: "empty", content: text(" ") })).toMatchObject({
      status: "refused",
      message: "The prompt is empty. To remove it from the queue, withdraw it.",
    });
    await session.close();
    expect(model.requests("MAIN").map(newestPrompt)).toEqual(["MAIN: one", "two, edited"]);
  });

  it("are never sent if they are withdrawn immediately", async () => {
    const { session, model } = await open({ MAIN: [{ text: "One." }, { text: "Three." }] });
    const first = session.prompt("MAIN: one");
    const second = session.prompt("two");
    second.stop("stopped");
    await first.result;
    expect(await second.result).toMatchObject({ message: expect.stringContaining("withdrawn") });
    expect(session.queue()).toEqual([]);
    await session.prompt("three").result;
    await session.close();
    expect(JSON.stringify(model.requests("MAIN"))).not.toContain('"two"');
  });

  it("run even if the prompt before them is withdrawn just as its turn begins", async () => {
    const memory = createMemoryTranscript();
    const { promise: written, keep: write } = promised();
    const append: Transcript["append"] = async (agentId, events) => {
      if (events.some(({ type }) => type === "prompt.queued")) await written;
      return memory.append(agentId, events);
    };
    const { session } = await open(
      { MAIN: [{ text: "One." }, { text: "Three." }] },
      { transcript: { ...memory, append } },
    );
    const first = session.prompt("MAIN: one");
    await watch(session).until(({ event }) => event.type === "run.ended");
    const withdrawal = new AbortController();
    const second = session.prompt("two", { signal: withdrawal.signal });
    const third = session.prompt("three");
    await first.result;
    withdrawal.abort();
    write();
    expect(await second.result).toMatchObject({ outcome: "stopped", message: expect.stringContaining("withdrawn") });
    expect(await third.result).toMatchObject({ outcome: "succeeded", text: "Three." });
    expect(session.queue()).toEqual([]);
    await session.close();
  });

  it("get their own runs after a kill, once the interrupted run has been continued", async () => {
    const { session, home, cwd } = await open({ MAIN: [{ text: "One.", hangs: true }] });
    void session.prompt("MAIN: one");
    void session.prompt("two");
    void session.prompt("three");
    await watch(session).until(({ event }) => event.type === "prompt.queued" && textOf(event.content) === "three");
    const at = asAfterKill({ home, cwd });
    await session.close();

    const again = await open(
      { MAIN: [{ text: "One, continued." }, { text: "Two." }, { text: "Three." }] },
      { at, resume: session.id },
    );
    const watched = watch(again.session);
    await again.session.continueWork();
    await watched.until(ofMain((event) => event.type === "run.ended" && event.text === "Three."));
    expect(again.session.queue()).toEqual([]);
    await again.session.close();
    const ends = mainLines(at, session.id).flatMap((line) => (line.type === "run.ended" ? [line.text] : []));
    expect(ends.slice(1)).toEqual(["One, continued.", "Two.", "Three."]);
    const requests = again.model.requests("MAIN");
    expect(requests.map(newestPrompt).slice(1)).toEqual(["two", "three"]);
    expect(JSON.stringify(requests[0])).not.toContain('"two"');
  });

  it.each(["parked", "killed"])(
    "get their own runs after the interrupted one if they are sent while the session is %s, in the order they were sent",
    async (how) => {
      const { session, home, cwd } = await open({ MAIN: [{ text: "One.", hangs: true }] });
      void session.prompt("MAIN: one");
      void session.prompt("two");
      await watch(session).until(({ event }) => event.type === "prompt.queued");
      const killed = asAfterKill({ home, cwd });
      await session.park();
      const at = how === "killed" ? killed : { home, cwd };
      const send = (id: string, words: string, when: "now" | "next") =>
        steerSession({
          home: at.home,
          sessionId: session.id,
          id,
          command: { type: "prompt", to: "main", content: text(words), when },
        });
      await send("c3", "three", "next");
      await send("c4", "hurry", "now");
      await send("c5", "four", "next");

      const replies = [{ text: "One, continued." }, { text: "Two." }, { text: "Three." }, { text: "Four." }];
      const again = await open({ MAIN: replies }, { at, resume: session.id });
      const watched = watch(again.session);
      await again.session.continueWork();
      await watched.until(ofMain((event) => event.type === "run.ended" && event.text === "Four."));
      expect(again.session.queue()).toEqual([]);
      const repeated = { id: "c3", type: "prompt", to: "main", content: text("three"), when: "next" } as const;
      expect(await again.session.send(repeated)).toMatchObject({ status: "done" });
      await again.session.close();
      const requests = again.model.requests("MAIN");
      expect(requests.map(newestPrompt)).toEqual(["hurry", "two", "three", "four"]);
      expect(JSON.stringify(requests[0])).not.toMatch(/"(two|three|four)"/);
      const received = mainLines(at, session.id).flatMap((line) =>
        line.type === "prompt.received" ? [textOf(line.content)] : [],
      );
      expect(received).toEqual(["MAIN: one", "hurry", "two", "three", "four"]);
    },
  );

  it('wait for the interrupted run if they are sent with `when: "next"` after the session is resumed', async () => {
    const { session, home, cwd } = await open({ MAIN: [{ text: "One.", hangs: true }] });
    void session.prompt("MAIN: one");
    void session.prompt("two");
    await watch(session).until(({ event }) => event.type === "prompt.queued");
    await session.park();
    const replies = [{ text: "One, continued." }, { text: "Two." }, { text: "Three." }];
    const again = await open({ MAIN: replies }, { at: { home, cwd }, resume: session.id });
    const watched = watch(again.session);
    const receipt = await again.session.send({
      id: "c3",
      type: "prompt",
      to: "main",
      content: text("three"),
      when: "next",
    });
    expect(receipt).toMatchObject({ status: "done", message: "The prompt is in the main agent's queue." });
    await watched.until(ofMain((event) => event.type === "run.ended" && event.text === "Three."));
    await again.session.close();
    expect(again.model.requests("MAIN").map(newestPrompt).slice(1)).toEqual(["two", "three"]);
  });

  it("get their own runs after a kill between two runs", async () => {
    const { session, home, cwd } = await open({ MAIN: [{ text: "One." }] });
    const first = session.prompt("MAIN: one");
    void session.prompt("two");
    void session.prompt("three");
    await first.result;
    await session.close();

    const at = { home, cwd };
    const again = await open({ MAIN: [{ text: "Two." }, { text: "Three." }] }, { at, resume: session.id });
    const watched = watch(again.session);
    await again.session.continueWork();
    await watched.until(ofMain((event) => event.type === "run.ended" && event.text === "Three."));
    await again.session.close();
    expect(again.model.requests("MAIN").map(newestPrompt)).toEqual(["two", "three"]);
  });

  it("stay in the queue if the session is closed as soon as the run before them has ended", async () => {
    const { session, home, cwd } = await open({ MAIN: [{ text: "One." }, { text: "never asked" }] });
    const first = session.prompt("MAIN: one");
    const second = session.prompt("two");
    await first.result;
    await session.close();
    expect(await second.result).toMatchObject({ message: expect.stringContaining("stays in the queue") });
    const lines = mainLines({ home, cwd }, session.id);
    expect(lines.filter(({ type }) => type === "run.started")).toHaveLength(1);
    expect(lines.at(-1)?.type).toBe("run.cleaned");
  });

  it.each(["tree", "turn", "main"])(
    "stay in the queue if %s is stopped, and the next run receives them",
    async (what) => {
      const { session, model } = await open({ MAIN: [{ text: "One.", hangs: true }, { text: "All." }] });
      const first = session.prompt("MAIN: one");
      const second = session.prompt("two");
      const third = session.prompt("three");
      await watch(session).until(({ event }) => event.type === "prompt.queued" && textOf(event.content) === "three");
      await session.send({ id: "withdraw", type: "withdraw", promptId: third.promptId ?? "" });
      const receipt = await session.send({ id: "stop", type: "stop", what });
      expect(receipt.message).toBe("Stopped the main agent. 1 prompt stays in the queue.");
      expect(await first.result).toMatchObject({ outcome: "stopped" });
      expect(await second.result).toMatchObject({ message: expect.stringContaining("The prompt stays in the queue") });
      expect(await third.result).toMatchObject({ message: expect.stringContaining("withdrawn") });
      expect(session.state).toBe("idle");
      expect(session.queue().map(({ content }) => textOf(content))).toEqual(["two"]);

      const watched = watch(session);
      const resumed = await session.send({ id: "resume", type: "resume", agent: "main" });
      expect(resumed.message).toBe("The main agent continues. It also gets 1 prompt from the queue.");
      await watched.until(ofMain((event) => event.type === "run.ended" && event.text === "All."));
      expect(session.queue()).toEqual([]);
      await session.close();
      expect(model.requests("MAIN").map(newestPrompt)).toEqual(["MAIN: one", "two"]);
    },
  );

  it("reach the agent before its next step if they are sent now, and only once", async () => {
    const { session, model } = await open({
      MAIN: [{ calls: [{ name: "Bash", input: { command: "true" } }] }, { text: "Heard." }],
    });
    const run = session.prompt("MAIN: one");
    const command = { id: "p1", type: "prompt", to: "main", content: text("Be brief."), when: "now" } as const;
    for await (const update of run) {
      if (update.type !== "run.started") continue;
      const receipts = await Promise.all([session.send(command), session.send(command)]);
      expect(receipts[0]).toEqual({
        commandId: "p1",
        status: "done",
        message: "The main agent will read the message before its next step.",
      });
      expect(receipts[1]).toEqual(receipts[0]);
    }
    await session.close();
    expect(JSON.stringify(model.requests("MAIN").at(-1)).split("Be brief.")).toHaveLength(2);
  });

  it("start their own run if the main agent has nothing to do", async () => {
    const { session, model } = await open({ MAIN: [{ text: "One." }, { text: "Two." }] });
    await session.prompt("MAIN: one").result;
    const watched = watch(session);
    expect((await session.subagents.message("main", "two")).message).toBe("The main agent has started.");
    await watched.until(({ event }) => event.type === "run.ended" && event.text === "Two.");
    await session.close();
    expect(model.requests("MAIN").map(newestPrompt)).toEqual(["MAIN: one", "two"]);
  });
});

describe("a user's message to a subagent", () => {
  it("is read by a subagent that its caller is waiting for", async () => {
    const { promise: later, keep: finish } = promised();
    const { session, model } = await open({
      MAIN: [{ calls: [task("PART: look.")] }, { text: "Done." }],
      PART: [{ calls: [{ name: "Bash", input: { command: "true" } }], after: later }, { text: "Found." }],
    });
    const watched = watch(session);
    const run = session.prompt("MAIN: go");
    const agentId = await subagent(watched);
    const sent = session.subagents.message(`agent-${agentId}`, "Look in src only.");
    expect((await sent).message).toBe(
      `general-purpose (a piece of work, ${agentId}) will read the message before its next step.`,
    );
    finish();
    expect((await run.result).outcome).toBe("succeeded");
    await session.close();
    expect(lastWords(model.requests("PART").at(-1))).toBe("Look in src only.");
  });

  it("resumes a subagent that has ended, even if the main agent has nothing to do, and its parent is notified", async () => {
    const { session, model } = await open(
      {
        MAIN: [{ calls: [task("PART: look.")] }, { text: "Done." }, { text: "Thanks." }],
        PART: [{ text: "First." }, { text: "Second." }],
      },
      { interactive: true },
    );
    const watched = watch(session);
    await session.prompt("MAIN: go").result;
    const agentId = await subagent(watched);
    const receipt = await session.subagents.message(agentId, "Look again.");
    expect(receipt).toMatchObject({ status: "done", message: expect.stringContaining("continues in the background") });
    await endOf(watched, "Second.");
    await session.prompt("Anything new?").result;
    await session.close();
    expect(lastWords(model.requests("PART").at(-1))).toBe("Look again.");
    expect(JSON.stringify(model.requests("MAIN").at(-1))).toMatch(/task_notification.*Second\./);
  });
});

describe("a prompt for the next run", () => {
  it("is refused for a subagent, which has no queue", async () => {
    const { session } = await open({
      MAIN: [{ calls: [task("PART: look.", { name: "helper" })] }],
      PART: [{ text: "So far.", hangs: true }],
    });
    const watched = watch(session);
    void session.prompt("MAIN: go");
    await subagent(watched);
    const command = { id: "p1", type: "prompt", to: "helper", content: text("Later."), when: "next" } as const;
    expect(await session.send(command)).toMatchObject({
      status: "refused",
      message: 'Only the main agent has a queue. Send the prompt with `when: "now"`.',
    });
    await session.close();
  });
});

describe("stopping a run", () => {
  it("requires a valid cause, for a run in progress and for a queued one", async () => {
    const { session } = await open({ MAIN: [{ text: "So far.", hangs: true }] });
    const first = session.prompt("MAIN: one");
    const second = session.prompt("two");
    for (const run of [first, second]) {
      for (const cause of ["bogus", "parked", undefined])
        expect(() => run.stop(cause as never)).toThrow(
          expect.objectContaining({
            message: `A run can't be stopped with the cause ${JSON.stringify(cause)}`,
            fix: 'Use "interrupted" or "stopped".',
          }),
        );
    }
    first.stop("interrupted");
    expect(await first.result).toMatchObject({ reason: "interrupted" });
    await session.close();
  });
});

describe("moving a subagent", () => {
  it("lets its parent continue, and later wait for it again, without restarting the subagent", async () => {
    const { promise: later, keep: finish } = promised();
    const { promise: between, keep: goOn } = promised();
    const { session, model, home, cwd } = await open({
      MAIN: [
        { calls: [task("PART: look.")] },
        { calls: [{ name: "Bash", input: { command: "true" } }], after: between },
        { text: "With the report." },
      ],
      PART: [{ text: "Found.", after: later }],
    });
    const watched = watch(session);
    const run = session.prompt("MAIN: go");
    const agentId = await subagent(watched);
    expect((await session.subagents.foreground(agentId)).status).toBe("refused");
    expect((await session.subagents.background(agentId)).message).toBe(
      `general-purpose (a piece of work, ${agentId}) is now working in the background.`,
    );
    expect((await session.subagents.background(agentId)).status).toBe("refused");
    await watched.until(
      ({ agentId: id, event }) => id === "main" && event.type === "model.requested" && event.turn === 2,
    );
    expect((await session.subagents.foreground(agentId)).message).toBe(
      `The main agent will wait for general-purpose (a piece of work, ${agentId}) before its next step.`,
    );
    goOn();
    await watched.until(
      ({ agentId: id, event }) => id === "main" && event.type === "tool.ended" && event.name === "Bash",
    );
    finish();
    expect((await run.result).text).toBe("With the report.");
    await session.close();
    const last = model.requests("MAIN").at(-1);
    expect(resultsIn(last)).toHaveLength(1);
    expect(JSON.stringify(last)).toMatch(/task_notification.*Found\./);
    const [lines = []] = [...transcriptsIn({ home, cwd }, session.id).values()].filter(
      ([line]) => line?.type === "agent.created",
    );
    expect(lines.filter(({ type }) => type === "run.started")).toHaveLength(1);
  });

  it("to the foreground ends when all agents are moved to the background, as with Ctrl+B", async () => {
    const { promise: between, keep: goOn } = promised();
    const { session } = await open({
      MAIN: [
        { calls: [task("PART: look.", { run_in_background: true })] },
        { calls: [{ name: "Bash", input: { command: "true" } }], after: between },
        { text: "Without the report.", hangs: true },
      ],
      PART: [{ text: "So far.", hangs: true }],
    });
    const watched = watch(session);
    const isRequest = (turn: number) => ofMain((event) => event.type === "model.requested" && event.turn === turn);
    void session.prompt("MAIN: go");
    const agentId = await subagent(watched);
    await watched.until(isRequest(2));
    expect(await session.subagents.foreground(agentId)).toMatchObject({ status: "done" });
    goOn();
    await watched.until(ofMain((event) => event.type === "tool.ended" && event.name === "Bash"));
    expect(await session.moveToBackground()).toEqual([agentId]);
    await watched.until(isRequest(3));
    await session.close();
  });

  it("to the foreground can be undone: its parent continues, and the agent stays in the background", async () => {
    const { promise: between, keep: goOn } = promised();
    const { session } = await open({
      MAIN: [
        { calls: [task("PART: look.", { run_in_background: true })] },
        { calls: [{ name: "Bash", input: { command: "true" } }], after: between },
        { text: "Without the report.", hangs: true },
      ],
      PART: [{ text: "So far.", hangs: true }],
    });
    const watched = watch(session);
    const isRequest = (turn: number) => ofMain((event) => event.type === "model.requested" && event.turn === turn);
    void session.prompt("MAIN: go");
    const agentId = await subagent(watched);
    await watched.until(isRequest(2));
    expect(await session.subagents.foreground(agentId)).toMatchObject({ status: "done" });
    goOn();
    await watched.until(ofMain((event) => event.type === "tool.ended" && event.name === "Bash"));
    expect(watched.updates.some(isRequest(3))).toBe(false);
    expect(await session.subagents.background(agentId)).toMatchObject({
      status: "done",
      message: `The main agent is no longer waiting for general-purpose (a piece of work, ${agentId}), which continues in the background.`,
    });
    await watched.until(isRequest(3));
    expect(await session.subagents.background(agentId)).toMatchObject({
      status: "refused",
      message: `general-purpose (a piece of work, ${agentId}) is already working in the background.`,
    });
    await session.close();
  });

  it("still applies after the process was killed: the agent continues, and its parent waits for it", async () => {
    const { promise: between, keep: goOn } = promised();
    const { session, home, cwd } = await open({
      MAIN: [
        { calls: [task("PART: look.", { run_in_background: true })] },
        { calls: [{ name: "Bash", input: { command: "true" } }], after: between },
      ],
      PART: [{ calls: [{ name: "Bash", input: { command: "true" } }] }, { text: "So far.", hangs: true }],
    });
    const watched = watch(session);
    void session.prompt("MAIN: go");
    const agentId = await subagent(watched);
    await watched.until(ofMain((event) => event.type === "model.requested" && event.turn === 2));
    await session.subagents.foreground(agentId);
    goOn();
    await watched.until(ofMain((event) => event.type === "tool.ended" && event.name === "Bash"));
    await watched.until(
      ({ event, agentId: id }) => id === agentId && event.type === "model.requested" && event.turn === 2,
    );
    const at = asAfterKill({ home, cwd });
    await session.close();

    const { promise: later, keep: finish } = promised();
    const again = await open(
      { MAIN: [{ text: "With the report." }], PART: [{ text: "Found.", after: later }] },
      { at, resume: session.id },
    );
    const seen = watch(again.session);
    const run = again.session.prompt("");
    await seen.until(
      ({ event, agentId: id }) => id === agentId && event.type === "model.requested" && event.turn === 3,
    );
    expect(again.model.requests("MAIN")).toEqual([]);
    finish();
    expect((await run.result).text).toBe("With the report.");
    await again.session.close();
    expect(JSON.stringify(again.model.requests("MAIN"))).toMatch(/task_notification.*Found\./);
    const lines = mainLines(at, session.id);
    expect(lines.filter(({ type }) => type === "agent.resumed")).toMatchObject([{ agentId, by: "awaited" }]);
    expect(lines.flatMap((line) => (line.type === "notices.delivered" ? line.notices : []))).toMatchObject([
      { agentId, outcome: "succeeded" },
    ]);
  });
});

describe("stopping and resuming", () => {
  it("stops one agent or all of them, and reports what continues", async () => {
    const hang = { text: "So far.", hangs: true } as const;
    const { session } = await open({
      MAIN: [
        { calls: [task("ONE: go", { run_in_background: true }), task("TWO: go", { run_in_background: true })] },
        { text: "Started." },
        { text: "One is gone." },
      ],
      ONE: [hang],
      TWO: [hang],
    });
    const watched = watch(session);
    const run = session.prompt("MAIN: go");
    await watched.until(({ agentId, event }) => agentId === "main" && event.type === "model.ended" && event.turn === 2);
    const [one = "", two = ""] = subagents(watched.updates);
    const stopped = await session.send({ id: "s1", type: "stop", what: one });
    expect(stopped.message).toBe(
      `Stopped general-purpose (a piece of work, ${one}). 1 agent still running: general-purpose (a piece of work, ${two}).`,
    );
    const all = await session.send({ id: "s2", type: "stop", what: "tree" });
    expect(all).toMatchObject({ status: "done", message: expect.stringContaining(two) });
    expect((await run.result).outcome).toBe("stopped");
    expect((await session.send({ id: "s3", type: "stop", what: "nobody" })).message).toContain(
      'There is no agent "nobody" in this session. Its agents are main,',
    );
    expect((await session.send({ id: "s4", type: "stop", what: "tree" })).message).toBe("Nothing was running.");
    await session.close();
  });

  it("continues a stopped agent in the background", async () => {
    const { session } = await open(
      {
        MAIN: [{ calls: [task("PART: go", { run_in_background: true })] }, { text: "Started." }],
        PART: [{ text: "So far.", hangs: true }, { text: "All of it." }],
      },
      { interactive: true },
    );
    const watched = watch(session);
    await session.prompt("MAIN: go").result;
    const agentId = await subagent(watched);
    await session.subagents.stop(agentId);
    expect((await session.subagents.resume(agentId)).message).toBe(
      `general-purpose (a piece of work, ${agentId}) continues in the background.`,
    );
    await endOf(watched, "All of it.");
    expect((await session.subagents.resume(agentId)).message).toContain("has finished its work");
    await session.close();
  });
});

describe("a parked session", () => {
  it("asks the model again if it was parked while the model was answering", async () => {
    const { session, home, cwd } = await open({ MAIN: [{ text: "Half an ans", hangs: true }] });
    const run = session.prompt("MAIN: one");
    for await (const update of run) if (update.type === "text.delta") break;
    await session.park();
    const again = await open({ MAIN: [{ text: "A whole answer." }] }, { at: { home, cwd }, resume: session.id });
    const watched = watch(again.session);
    await again.session.continueWork();
    await watched.until(ofMain((event) => event.type === "run.ended" && event.text === "A whole answer."));
    await again.session.close();
    expect(JSON.stringify(again.model.requests("MAIN")[0])).not.toContain("Half an ans");
  });

  it("keeps requests open and continues with all agents when it is resumed", async () => {
    const ask = (path: string) => ({ name: "Write", input: { file_path: path, content: "new" } });
    const { session, home, cwd } = await open(
      {
        MAIN: [{ calls: [task("BACK: go", { run_in_background: true }), task("FRONT: go")] }],
        BACK: [{ calls: [ask("back.txt")] }],
        FRONT: [{ calls: [ask("front.txt")] }],
      },
      { onAsk: "wait" },
    );
    const watched = watch(session);
    const run = session.prompt("MAIN: go");
    await watched.until(() => watched.updates.filter(({ event }) => event.type === "approval.requested").length === 2);
    await session.park();
    expect(await run.result).toMatchObject({ outcome: "stopped", reason: "parked" });
    const requests = watched.updates.flatMap(({ event }) =>
      event.type === "approval.requested" ? [event.requestId] : [],
    );

    const again = await open(
      {
        MAIN: [{ text: "One is there." }, { text: "Both are there." }],
        BACK: [{ text: "Back done." }],
        FRONT: [{ text: "Front done." }],
      },
      { at: { home, cwd }, resume: session.id, onAsk: "wait" },
    );
    for (const [index, requestId] of requests.entries()) {
      const answer = { answer: "allow", by: "test" } as const;
      const { message } = await again.session.send({ id: `a${index}`, type: "answer", requestId, answer });
      expect(message).toBe(`${requestId} was allowed.`);
    }
    const result = await again.session.prompt("").result;
    expect(result).toMatchObject({ outcome: "succeeded" });
    await again.session.close();
    const all = JSON.stringify(again.model.requests("MAIN"));
    expect(all).toContain("Front done.");
    expect(all).toContain("Back done.");
    expect(all).not.toContain("process_lost");
    const files = [...transcriptsIn({ home, cwd }, session.id).values()].flat();
    const ends = files.filter((line) => line.type === "tool.ended" && line.name === "Write");
    expect(ends.map((line) => line.type === "tool.ended" && line.result.outcome)).toEqual(["ok", "ok"]);
    expect(files.filter((line) => line.type === "approval.answered")).toHaveLength(2);
  });
});

describe("a command", () => {
  it("has no effect if an earlier process carried it out, and gets the same receipt", async () => {
    const prompt = { id: "p1", type: "prompt", to: "main", content: text("MAIN: one"), when: "next" } as const;
    const stop = { id: "s1", type: "stop", what: "tree" } as const;
    const first = await open({ MAIN: [{ text: "One." }] });
    const watched = watch(first.session);
    const sent = await first.session.send(prompt);
    await watched.until(({ event }) => event.type === "run.ended");
    const stopped = await first.session.send(stop);
    await first.session.close();
    const { home, cwd } = first;
    const again = await open({ MAIN: [{ text: "Two." }] }, { at: { home, cwd }, resume: first.session.id });
    const run = again.session.prompt("two");
    expect(await again.session.send(prompt)).toEqual(sent);
    expect(await again.session.send(stop)).toEqual(stopped);
    expect(await run.result).toMatchObject({ outcome: "succeeded", text: "Two." });
    await again.session.close();
    const prompts = mainLines({ home, cwd }, first.session.id).filter(({ type }) => type === "prompt.received");
    expect(prompts).toHaveLength(2);
  });

  it.each([
    [undefined, "The type of a command must be one of prompt, edit, withdraw"],
    [{ id: "c", type: "promt" }, "The type of a command must be one of prompt, edit, withdraw"],
    [{ type: "stop", what: "tree" }, 'The command "stop" needs the '],
    [{ id: "c", type: "stop" }, 'The command "stop" needs the '],
    [{ id: "c", type: "prompt", to: "main", content: 5, when: "next" }, "a list of text and image blocks"],
    [
      { id: "c", type: "prompt", to: "main", content: [{ type: "text" }], when: "now" },
      "a list of text and image blocks",
    ],
    [{ id: "c", type: "prompt", to: "main", content: text("x"), when: "later" }, '"now" or "next"'],
    [{ id: "c", type: "prompt", to: "main", content: text(" "), when: "now" }, "The prompt is empty."],
    [{ id: "c", type: "answer", requestId: "ask_1", answer: { answer: "alow", by: "x" } }, "`answer` must be"],
  ])("is refused with advice if it is invalid: %j", async (command, message) => {
    const { session } = await open({ MAIN: [] });
    const receipt = await session.send(command as never);
    expect(receipt).toMatchObject({ status: "refused", message: expect.stringContaining(message) });
    expect(() => session.prompt(5 as never)).toThrow("must be a string or an array of text and image");
    await session.close();
  });

  it("is refused if it asks to wait for an agent and no running agent could wait", async () => {
    const { session } = await open(
      {
        MAIN: [{ calls: [task("PART: go", { run_in_background: true })] }, { text: "Started." }],
        PART: [{ text: "So far.", hangs: true }],
      },
      { interactive: true },
    );
    const watched = watch(session);
    await session.prompt("MAIN: go").result;
    const agentId = await subagent(watched);
    expect(await session.subagents.foreground(agentId)).toMatchObject({ status: "refused" });
    expect(await session.subagents.resume("main")).toMatchObject({ status: "done" });
    expect(await session.subagents.stop("main")).toMatchObject({ stopped: [] });
    await session.close();
  });
});

type Watched = ReturnType<typeof watch>;

/** Returns a condition for the main agent's updates. */
function ofMain(isWanted: (event: SessionUpdate["event"]) => boolean): (update: SessionUpdate) => boolean {
  return ({ agentId, event }) => agentId === "main" && isWanted(event);
}

/** Waits until a subagent has sent its first request, and returns its id. */
async function subagent(watched: Watched): Promise<string> {
  await watched.until(({ agentId, event }) => agentId !== "main" && event.type === "model.requested");
  return subagents(watched.updates)[0] ?? "";
}

/** Waits until a subagent's run with this report has released its resources. */
async function endOf(watched: Watched, report: string): Promise<void> {
  await watched.until(({ event }) => event.type === "run.ended" && event.text === report);
  const end = watched.updates.findIndex(({ event }) => event.type === "run.ended" && event.text === report);
  await watched.until((update) => update.event.type === "run.cleaned" && watched.updates.indexOf(update) > end);
}

/** Returns the newest prompt, without the context that the runtime adds to it. */
function newestPrompt(messages: readonly Message[]): string | undefined {
  return lastWords(messages).split("\n").at(-1);
}

function subagents(updates: readonly SessionUpdate[]): readonly string[] {
  return [...new Set(updates.map(({ agentId }) => agentId))].filter((agentId) => agentId !== "main");
}
