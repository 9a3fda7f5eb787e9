import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DurableEvent, type Line, noUsage, type SessionUpdate } from "../../protocol/index.ts";
import { activityWords } from "../words/words.ts";
import { answered, created, line, runEnded, started } from "./agent-events.test-support.ts";
import { closeAgent, foldSession, openAgent, reconnected, sessionClosed, type ViewUpdate } from "./fold-session.ts";
import { elements } from "./persistent.ts";
import { randomSession } from "./random-session.test-support.ts";
import {
  agentOf,
  inTreeOrder,
  newSessionView,
  type SessionView,
  stateOf,
  tokensOf,
  totalsOf,
  type ViewOptions,
} from "./session-view.ts";

function viewOf(updates: readonly ViewUpdate[], options: ViewOptions = {}): SessionView {
  return updates.reduce(foldSession, newSessionView(options));
}

const of = (agentId: string, event: DurableEvent, at = 0): SessionUpdate => ({ agentId, event: line(event, at) });
const live = (agentId: string, text: string): SessionUpdate => ({
  agentId,
  event: { type: "text.delta", turn: 1, text },
});
const read = (file: string) => ({ name: "Read", input: { file_path: file } });
const isRecorded = ({ event }: SessionUpdate): boolean => "at" in event;
const itemsOf = (view: SessionView, agentId: string) => [...elements(agentOf(view, agentId)!.items)];

describe("a session's view", () => {
  it("is the same with and without live events, once everything is recorded", () => {
    fc.assert(
      fc.property(randomSession, (updates) => {
        const view = viewOf(updates);
        expect(view).toEqual(viewOf(updates.filter(isRecorded)));
        expect(view.skipped).toBe(0);
        expect([...elements(view.agents)].filter(({ draft, calls }) => draft || calls.length > 0)).toEqual([]);
      }),
    );
  });

  it("with live events differs only in drafts and in the progress of calls until everything is recorded", () => {
    const settled = (view: SessionView) =>
      [...elements(view.agents)].map(({ draft: _, calls, items, ...agent }) => ({
        ...agent,
        calls: calls.map(({ progress: _progress, ...call }) => call),
        items: [...elements(items)].map((item) => ({ ...item, progress: undefined })),
      }));
    fc.assert(
      fc.property(randomSession, fc.nat(), (updates, cut) => {
        const some = updates.slice(0, cut % (updates.length + 1));
        const [withLive, without] = [viewOf(some), viewOf(some.filter(isRecorded))];
        expect({ ...withLive, agents: settled(withLive) }).toEqual({ ...without, agents: settled(without) });
      }),
    );
  });

  it("is never changed by a later update, or by one that was already applied", () => {
    fc.assert(
      fc.property(randomSession, (updates) => {
        let view = newSessionView();
        for (const update of updates) {
          const before = view;
          const copy = JSON.stringify(before);
          view = foldSession(before, update);
          expect(JSON.stringify(before)).toBe(copy);
          if (update.seq !== undefined) expect(foldSession(view, update)).toBe(view);
        }
      }),
      { numRuns: 15 },
    );
  });

  it("keeps the last items of agents that are not open, and all items of those that are", () => {
    fc.assert(
      fc.property(randomSession, fc.nat(4), fc.nat(), (updates, keep, cut) => {
        const whole = viewOf(updates);
        const opened = updates.slice(0, cut % (updates.length + 1));
        const rest = updates.slice(opened.length);
        const first = viewOf(opened, { keep });
        for (const { agentId, items, dropped } of elements(whole.agents)) {
          const all = [...elements(items)];
          expect([dropped, all.map(({ position }) => position)]).toEqual([0, all.map((_, index) => index)]);
          const bounded = agentOf(viewOf(updates, { keep }), agentId)!;
          expect(bounded.items.length).toBeLessThanOrEqual(2 * keep);
          expect([...elements(bounded.items)]).toEqual(all.slice(bounded.dropped));
          // Lines that are not in the view yet arrive again with the next updates.
          const lines = updates
            .filter((each) => each.agentId === agentId && isRecorded(each))
            .map(({ event }) => event);
          if (agentOf(first, agentId) === undefined) continue;
          const later = rest.reduce(foldSession, openAgent(first, agentId, lines as Line[]));
          expect(itemsOf(later, agentId)).toEqual(all);
          expect(agentOf(closeAgent(later, agentId), agentId)!.items.length).toBeLessThanOrEqual(2 * keep);
        }
      }),
      { numRuns: 25 },
    );
  });

  it("shares the parts that an update does not affect", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `a${index}`);
    const before = viewOf(many.flatMap((id) => [of(id, created([id])), of(id, started())]));
    const after = foldSession(before, of("a500", { type: "model.requested", turn: 1 }));
    const changed = many.filter((id) => agentOf(before, id) !== agentOf(after, id));
    expect(changed).toEqual(["a500"]);
    const copied = (one: unknown, other: unknown): number => {
      if (one === other || !Array.isArray(one) || !Array.isArray(other)) return 0;
      return one.reduce<number>((sum, each, index) => sum + copied(each, other[index]), one.length);
    };
    expect(copied(before.agents.root, after.agents.root)).toBeLessThanOrEqual(3 * 32);
    expect(after.indexes).toBe(before.indexes);
  });

  it("skips a damaged line and counts it", () => {
    const damaged = {
      agentId: "main",
      seq: 2,
      event: { ...line({ type: "notice.raised", code: "", message: "" }), type: "model.ended" },
    };
    const view = viewOf([{ agentId: "main", seq: 1, event: line(started()) }, damaged as unknown as SessionUpdate]);
    expect([view.skipped, view.seq, view.agents.length]).toEqual([1, 2, 1]);
  });
});

describe("an agent in the view", () => {
  it("has its name, task, call and usage", () => {
    const view = viewOf([
      of("main", started()),
      of("a1", { ...created(["a1"]), name: "scout" } as DurableEvent),
      of("a1", started({ background: true }), 5),
      of("a1", { type: "model.requested", turn: 1 }, 6),
      of("a1", answered("I look.", [read("src/a.ts")]), 7),
      of("a1", { type: "tool.requested", callId: "c0", name: "Read" }, 8),
    ]);
    const agent = agentOf(view, "a1")!;
    expect(agent).toMatchObject({
      agentType: "Explore",
      name: "scout",
      description: "find the router",
      path: ["a1"],
      callId: "call_a1",
      background: true,
      turns: 1,
      startedAt: 5,
      lastEventAt: 8,
      costUsd: 0.5,
      maxTurns: 5,
      calls: [{ callId: "c0", name: "Read", target: "src/a.ts", requestedAt: 8 }],
    });
    expect(tokensOf(agent.usage)).toBe(1_034);
    expect(view.running).toEqual(["main", "a1"]);
    expect(agentOf(view, "main")?.runningChildren).toBe(1);
  });

  it("takes totals from the end of a run, even if events were missed, and adds up runs", () => {
    const event = fc.constantFrom({ type: "model.requested", turn: 1 } as const, answered("I look.", [read("a")]), {
      type: "tool.requested",
      callId: "c0",
      name: "Read",
    } as const);
    fc.assert(
      fc.property(fc.array(fc.array(event, { maxLength: 8 }), { minLength: 1, maxLength: 4 }), (runs) => {
        const view = viewOf(runs.flatMap((events) => [started(), ...events, runEnded()]).map((each) => of("a1", each)));
        const agent = agentOf(view, "a1")!;
        expect(agent).toMatchObject({ turns: runs.length, toolCalls: 0, costUsd: runs.length * 0.5, calls: [] });
        expect(tokensOf(agent.usage)).toBe(runs.length * 1_034);
        expect(agent.end?.outcome).toBe("succeeded");
      }),
    );
  });

  it.each([
    ["parked", "stopped"],
    ["process_lost", "failed"],
  ] as const)("continues a run's open calls in the next run (%s)", (reason, outcome) => {
    const events = [
      started(),
      answered("", [{ name: "Bash", input: { command: "npm test" } }]),
      runEnded({ reason, outcome }),
      started(),
    ];
    const view = viewOf(events.map((each) => of("main", each)));
    expect(agentOf(view, "main")?.calls).toMatchObject([{ name: "Bash", target: "npm test" }]);
  });

  it("continues its items in a later run", () => {
    const view = viewOf(
      [started(), answered("One."), runEnded(), started(), answered("Two.")].map((each) => of("main", each)),
    );
    expect(
      itemsOf(view, "main").map((item) => ("text" in item && item.kind === "text" ? item.text : item.kind)),
    ).toEqual(["run", "One.", "end", "run", "Two."]);
  });

  it("has a call's decision, answer, changed input, duration and diff in one item", () => {
    const details = { path: "a.ts", added: 6, removed: 9, diff: "@@" };
    const view = viewOf(
      [
        { type: "session.created", sessionId: "s", cwd: "/work", version: "0", serializer: 1 },
        started(),
        answered("", [{ name: "Edit", input: { file_path: "/work/src/a.ts" } }]),
        {
          type: "tool.requested",
          callId: "c0",
          name: "Edit",
          decision: { effect: "ask", rule: "r", scope: "builtin" },
        },
        { type: "approval.requested", requestId: "ask_1", callId: "c0", name: "Edit", inputJson: "{}", reason: "Why." },
        {
          type: "approval.answered",
          requestId: "ask_1",
          callId: "c0",
          answer: "allow",
          by: "me",
          inputJson: '{"file_path":"/work/b.ts"}',
        },
        // The changed call is decided on again.
        {
          type: "approval.answered",
          requestId: "ask_1",
          callId: "c0",
          answer: "allow",
          by: "me",
          always: { rule: "Edit(b.ts)", for: "session" },
        },
        { type: "tool.started", callId: "c0" },
        {
          type: "tool.ended",
          callId: "c0",
          name: "Edit",
          result: { outcome: "ok", content: [], details },
          milliseconds: 13,
        },
      ].map((each, index) => of("main", each as DurableEvent, 10 * index)),
    );
    expect(itemsOf(view, "main").at(-1)).toEqual({
      kind: "call",
      position: 1,
      at: 20,
      callId: "c0",
      name: "Edit",
      inputJson: '{"file_path":"/work/b.ts"}',
      target: "b.ts",
      targetBefore: "src/a.ts",
      decision: { effect: "ask", rule: "r", scope: "builtin" },
      approval: {
        requestId: "ask_1",
        reason: "Why.",
        askedAt: 40,
        answer: { answer: "allow", by: "me", always: { rule: "Edit(b.ts)", for: "session" } },
      },
      requestedAt: 30,
      waitedMs: 10,
      startedAt: 70,
      result: { outcome: "ok", milliseconds: 13, content: [], details },
    });
  });

  it("has live text in a draft that says whether its beginning may be missing", () => {
    const asked = [of("main", started(), 10), of("main", { type: "model.requested", turn: 1 }, 20)];
    const draftOf = (view: SessionView) => agentOf(view, "main")?.draft;
    const view = viewOf([...asked, live("main", "He"), live("main", "llo")]);
    expect(draftOf(view)).toEqual({ turn: 1, parts: [{ kind: "text", text: "Hello" }] });
    expect(draftOf(reconnected(view, 30))?.isPartial).toBe(true);
    expect(draftOf(foldSession(reconnected(viewOf(asked), 30), live("main", "llo")))?.isPartial).toBe(true);
    expect(draftOf(foldSession(reconnected(viewOf(asked), 15), live("main", "llo")))?.isPartial).toBeUndefined();
    expect(draftOf(foldSession(view, of("main", answered("Hello"))))).toBeUndefined();
    expect(draftOf(viewOf([...asked, of("main", answered("Hello")), live("main", "late")]))).toBeUndefined();
  });

  it("has a draft that says that parts are missing if the server had to drop them", () => {
    const view = viewOf([
      of("main", started()),
      of("main", { type: "model.requested", turn: 1 } as DurableEvent, 5),
      live("main", "He"),
      { agentId: "main", event: { type: "text.delta", turn: 1, text: "rld", isAfterGap: true } },
      live("main", "."),
    ]);
    expect(agentOf(view, "main")?.draft).toEqual({
      turn: 1,
      parts: [
        { kind: "text", text: "He" },
        { kind: "text", text: "rld." },
      ],
      hasGaps: true,
    });
  });

  it("has the whole response in its draft if the server repeats it", () => {
    const asked = [of("main", started()), of("main", { type: "model.requested", turn: 1 } as DurableEvent, 5)];
    const repeat = (repeated: number, text: string): SessionUpdate => ({
      agentId: "main",
      event: { type: "text.delta", turn: 1, text, repeated },
    });
    const before = reconnected(viewOf([...asked, live("main", "lost a")]), 10);
    const view = [repeat(0, "All of it"), live("main", ", and more")].reduce(foldSession, before);
    expect(agentOf(view, "main")?.draft).toEqual({ turn: 1, parts: [{ kind: "text", text: "All of it, and more" }] });
  });

  it("reopens a call that needs approval after a restart, and settles it", () => {
    const [command] = [{ name: "Bash", input: { command: "npm test" } }];
    const first = answered("", [command]) as Extract<DurableEvent, { type: "model.ended" }>;
    const { callId } = first.message.content.find((block) => block.type === "tool_call") as { callId: string };
    const ask = (requestId: string) =>
      of("main", {
        type: "approval.requested",
        requestId,
        callId,
        name: "Bash",
        inputJson: '{"command":"npm test"}',
        reason: "",
      });
    const updates = [
      of("main", started()),
      of("main", first),
      of("main", { type: "tool.requested", callId, name: "Bash" }),
      ask("r1"),
      of("main", runEnded({ outcome: "stopped", reason: "parked" })),
      of("main", started()),
      of("main", { type: "tool.requested", callId, name: "Bash" }),
      ask("r2"),
    ];
    const asking = viewOf(updates);
    expect(activityWords(agentOf(asking, "main")!)).toBe("wants to run: npm test");
    const view = foldSession(
      asking,
      of("main", { type: "approval.answered", requestId: "r2", callId, answer: "allow", by: "me" } as DurableEvent),
    );
    const item = itemsOf(view, "main").find(({ kind }) => kind === "call");
    expect(item).toMatchObject({ approval: { requestId: "r2", answer: { answer: "allow" } } });
    expect(stateOf(agentOf(view, "main")!)).toBe("running");
  });

  it("has its path and its call, even if only its resumption was recorded", () => {
    const view = viewOf([
      of("main", started()),
      of("main", answered("", [{ name: "Task", input: { description: "and more", prompt: "x", resume: "a1" } }])),
      of("main", { type: "agent.resumed", callId: "c0", agentId: "a1", runId: "r2" }),
      of("a1", { ...started(), kind: "resume" } as DurableEvent),
      { ...of("a3", started()), agentType: "Plan", path: ["a2", "a3"] },
    ]);
    expect(agentOf(view, "a1")).toMatchObject({ callId: "c0", description: "and more", agentType: "Explore" });
    expect(agentOf(view, "a3")).toMatchObject({ path: ["a2", "a3"] });
    expect(agentOf(view, "main")?.calls[0]?.agents).toEqual(["a1"]);
  });
});

describe("agents as a tree", () => {
  it("are all listed below their parents, regardless of the order in which they arrived", () => {
    const tree = fc.array(fc.nat(), { minLength: 1, maxLength: 15 }).map((choices) => {
      const paths: (readonly string[])[] = [];
      for (const [index, choice] of choices.entries()) {
        const parent = choice % (paths.length + 1);
        paths.push([...(paths[parent - 1] ?? []), `a${index}`]);
      }
      return paths;
    });
    const shuffled = tree.chain((paths) => fc.shuffledSubarray(paths, { minLength: 1 }));
    fc.assert(
      fc.property(shuffled, (paths) => {
        const updates = paths.map((path) => ({ ...of(path.at(-1) ?? "", started()), path }));
        const order = inTreeOrder(viewOf(updates));
        expect(order).toHaveLength(paths.length);
        const known = new Set(paths.map((path) => path.at(-1)));
        const seen = new Set<string>();
        for (const { agentId, path } of order) {
          const parent = path.at(-2);
          if (parent !== undefined && known.has(parent)) expect(seen).toContain(parent);
          seen.add(agentId);
        }
        expect(seen).toEqual(known);
      }),
    );
  });
});

describe("the session as a whole", () => {
  it("has the queue and the open requests, with the paths of their agents", () => {
    const content = [{ type: "text", text: "Later." }] as const;
    const request = {
      type: "approval.requested",
      requestId: "ask_1",
      callId: "c0",
      name: "Bash",
      inputJson: "{}",
      reason: "Why.",
    } as const;
    const view = viewOf([
      of("main", started()),
      of("a1", created(["a1"])),
      of("a2", created(["a1", "a2"])),
      of("a2", started()),
      of("main", { type: "prompt.queued", promptId: "p1", content }),
      of("main", { type: "prompt.queued", promptId: "p2", content }),
      of("a2", answered("", [{ name: "Bash", input: { command: "ls" } }])),
      of("a2", request, 7),
    ]);
    expect(view.queue.map(({ promptId }) => promptId)).toEqual(["p1", "p2"]);
    expect(view.approvals).toMatchObject([
      { requestId: "ask_1", path: ["a1", "a2"], askedAt: 7, decision: { reason: "Why." } },
    ]);
    expect(stateOf(agentOf(view, "a2")!)).toBe("waitingForApproval");
    const later = [
      of("main", { type: "prompt.received", promptId: "p1", content, from: "person" }),
      of("main", { type: "prompt.withdrawn", promptId: "p2" }),
      of("a2", { type: "approval.answered", requestId: "ask_1", callId: "c0", answer: "deny", by: "me" }),
    ].reduce(foldSession, view);
    expect([later.queue, later.approvals]).toEqual([[], []]);
  });

  it("no longer shows foreground subagents as working once the main agent's turn is complete", () => {
    const view = viewOf([
      of("main", started()),
      ...["a1", "a2"].flatMap((id) => [
        of(id, created([id])),
        of(id, started(id === "a2" ? { background: true } : {})),
      ]),
      of("a3", created(["a2", "a3"])),
      of("a3", started()),
      ...["a1", "a2", "a3"].map((id) => live(id, "so far")),
      of("main", runEnded()),
    ]);
    expect(["a1", "a2", "a3"].map((id) => agentOf(view, id)?.draft?.parts.length)).toEqual([undefined, 1, 1]);
    expect(["a1", "a2", "a3"].map((id) => stateOf(agentOf(view, id)!))).toEqual(["ended", "running", "running"]);
    expect([view.running, agentOf(view, "main")?.runningChildren]).toEqual([["a2", "a3"], 1]);
    const resumed = foldSession(view, of("a1", started()));
    expect(stateOf(agentOf(resumed, "a1")!)).toBe("running");
  });

  it("shows agents without an end as cut off when the session was closed, until they are resumed", () => {
    const updates = [of("main", started()), of("a1", created(["a1"])), of("a1", started({ background: true }))];
    const closed = sessionClosed(viewOf([...updates, live("a1", "so far")]));
    const states = (view: SessionView) => ["main", "a1"].map((id) => stateOf(agentOf(view, id)!));
    expect([states(closed), closed.running, agentOf(closed, "a1")?.draft]).toEqual([["ended", "ended"], [], undefined]);
    expect(states(foldSession(closed, of("main", started())))).toEqual(["running", "ended"]);
  });

  it("shows an agent from the time it was spawned, while it waits for a slot", () => {
    const spawned = {
      type: "agent.spawned",
      callId: "c0",
      agentId: "a1",
      agentType: "Plan",
      description: "it",
    } as const;
    const queued = viewOf([of("main", started()), of("main", spawned)]);
    const waiting = agentOf(queued, "a1")!;
    expect([stateOf(waiting), activityWords(waiting)]).toEqual(["delayed", "waiting for a slot"]);
    expect([waiting.agentType, waiting.description, waiting.path]).toEqual(["Plan", "it", ["a1"]]);
    expect([queued.running, agentOf(queued, "main")?.runningChildren]).toEqual([["main", "a1"], 1]);
    expect(stateOf(agentOf(sessionClosed(queued), "a1")!)).toBe("ended");
    const begun = [of("a1", created(["a1"])), of("a1", started())].reduce(foldSession, queued);
    expect([stateOf(agentOf(begun, "a1")!), begun.running]).toEqual(["running", ["main", "a1"]]);
    expect(agentOf(begun, "main")?.runningChildren).toBe(1);
  });

  it("shows a resumed agent that waits for a slot, until its run starts", () => {
    const resumed = { type: "agent.resumed", agentId: "a1", runId: "r2", by: "person" } as const;
    const parked = runEnded({ outcome: "stopped", reason: "parked" });
    const before = [of("main", started()), of("a1", created(["a1"])), of("a1", started())];
    const ended = viewOf([...before, of("a1", answered("", [read("x")])), of("a1", parked)]);
    const queued = foldSession(ended, of("main", resumed, 7));
    const waiting = agentOf(queued, "a1")!;
    expect([stateOf(waiting), activityWords(waiting)]).toEqual(["delayed", "waiting for a slot"]);
    expect([queued.running, agentOf(queued, "main")?.runningChildren]).toEqual([["main", "a1"], 1]);
    const begun = foldSession(queued, of("a1", { ...started(), runId: "r2" } as DurableEvent));
    expect([stateOf(agentOf(begun, "a1")!), begun.running]).toEqual(["running", ["main", "a1"]]);
    expect(agentOf(begun, "a1")?.calls).toHaveLength(1);
    // The line about a run that is already known changes nothing.
    expect(stateOf(agentOf(foldSession(begun, of("main", { ...resumed, callId: "c9" })), "a1")!)).toBe("running");
    expect(stateOf(agentOf(sessionClosed(queued), "a1")!)).toBe("ended");
  });

  it("shows an agent that was lost while it waited for a slot as cut off when its parent is told", () => {
    const by = { callId: "c0", agentId: "a1", agentType: "Plan", description: "it" } as const;
    const backgrounded = of("a1", { type: "run.backgrounded", runId: "r1", cause: "person" });
    const queued = [of("main", started()), of("main", { type: "agent.spawned", ...by }), backgrounded];
    const told = (runId: string) =>
      of("main", { type: "notices.delivered", text: "", notices: [{ agentId: "a1", runId, outcome: "incomplete" }] });
    const lost = viewOf([...queued, told("r1")]);
    expect([activityWords(agentOf(lost, "a1")!), lost.running]).toEqual(["cut off before it started", ["main"]]);
    // A notice about an earlier run says nothing about the run that waits.
    const resumed = of("main", { type: "agent.resumed", agentId: "a1", runId: "r2", by: "person" });
    expect(viewOf([...queued, told("r1"), resumed, told("r1")]).running).toEqual(["main", "a1"]);
  });

  it("adds up its agents' usage", () => {
    const view = viewOf([
      of("main", started()),
      of("main", answered("x")),
      of("a1", created(["a1"])),
      of("a1", started()),
      of("a1", answered("y")),
    ]);
    expect(totalsOf(view)).toMatchObject({
      agents: 2,
      costUsd: 1,
      isCostKnown: true,
      states: { running: 1, waitingForAgents: 1 },
      isCostAtMost: false,
    });
  });

  it("says that its cost may be lower if the response to a request was lost", () => {
    const lost = { type: "spend.recorded", usage: noUsage, costUsd: 0.25, estimated: true } as const;
    const view = viewOf([of("main", started()), of("main", lost), of("main", answered("x")), of("main", runEnded())]);
    expect(agentOf(view, "main")?.isCostAtMost).toBe(true);
    expect(totalsOf(view).isCostAtMost).toBe(true);
  });
});
