import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Inbox } from "../../ports/index.ts";
import type { ApprovalQuestion, InboxLine } from "../../protocol/index.ts";
import { emptyInbox, foldInbox, openInbox } from "./inbox.ts";

let directory = "";
let path = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "inbox-"));
  path = join(directory, "session", "inbox.jsonl");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const clock = { now: () => 1 };
const open = (): Inbox => openInbox({ path, clock });

function question(requestId: string, more: Partial<ApprovalQuestion> = {}): ApprovalQuestion {
  return {
    requestId,
    sessionId: "s",
    kind: "call",
    agentId: "main",
    agentType: "main",
    path: [],
    call: { callId: "c1", name: "Bash", inputJson: '{"command":"npm test"}' },
    inputHash: "hash",
    decision: { effect: "ask", rule: "command", scope: "builtin", reason: "No rule allows it." },
    always: ["Bash(npm test)"],
    ...more,
  };
}

const yes = { answer: "allow", by: "ana" } as const;
const no = { answer: "deny", by: "ben", message: "Not today." } as const;

describe("an inbox", () => {
  it("is written to disk before a request resolves, and later processes find requests and answers", async () => {
    const first = open();
    await first.request(question("a"));
    await first.request(question("b"));
    expect(readFileSync(path, "utf8").split("\n")).toHaveLength(3);
    await first.answer("a", no);
    const second = open();
    expect(second.open()).toEqual([question("b")]);
    expect(second.answerTo("a")).toEqual(no);
    await second.request(question("a"));
    expect(second.open()).toEqual([question("b")]);
  });

  it("accepts the first of two answers, and tells both senders who gave it", async () => {
    await open().request(question("a"));
    const [one, two] = [open(), open()];
    const answers = await Promise.all([one.answer("a", yes), two.answer("a", no)]);
    expect(answers.filter((counted) => counted?.isOwn)).toHaveLength(1);
    expect(answers[0]?.answer).toEqual(answers[1]?.answer);
    expect(open().answerTo("a")).toEqual(answers[0]?.answer);
  });

  it("notifies watchers of an answer that another process gave", async () => {
    const waiting = open();
    await waiting.request(question("a"));
    const answered = new Promise<void>((resolve) => {
      const unwatch = waiting.watch(() => {
        if (waiting.answerTo("a") === undefined) return;
        unwatch();
        resolve();
      });
    });
    await open().answer("a", yes);
    await answered;
    expect(waiting.answerTo("a")).toEqual(yes);
  });

  it("rejects an answer that is for another input, has no request or comes too late", async () => {
    const inbox = open();
    await inbox.request(question("a"));
    const line = { v: 1, at: 1, type: "approval.answered", answerId: "x", requestId: "a", ...yes };
    appendFileSync(path, `${JSON.stringify({ ...line, inputHash: "other" })}\n`);
    expect(open().answerTo("a")).toBeUndefined();
    expect(await inbox.answer("b", yes)).toBeUndefined();
    await inbox.withdraw("a", "The run was stopped.");
    expect(await inbox.answer("a", yes)).toBeUndefined();
    expect(open().open()).toEqual([]);
    await inbox.request(question("a"));
    expect(open().open()).toEqual([question("a")]);
  });

  it("continues after an incomplete line from a killed process", async () => {
    await open().request(question("a"));
    appendFileSync(path, '{"v":1,"type":"approval.answ');
    await open().answer("a", yes);
    expect(open().answerTo("a")).toEqual(yes);
  });

  it('turns "always" answers into rules, and returns the same list until there are more', async () => {
    const inbox = open();
    await inbox.request(question("a"));
    await inbox.request(question("b"));
    await inbox.answer("a", { ...yes, always: { rule: "Bash(npm test)", for: "session" } });
    const rules = inbox.rules();
    expect(rules).toEqual([{ text: "Bash(npm test)", effect: "allow", scope: "session" }]);
    await inbox.answer("b", { ...no, always: { rule: "Bash", for: "session" } });
    expect(inbox.rules()).toBe(rules);
  });

  it("also works in memory", async () => {
    const inbox = openInbox({ path: undefined, clock });
    await inbox.request(question("a"));
    expect(await inbox.answer("a", yes)).toEqual({ answer: yes, isOwn: true });
    expect(await inbox.answer("a", no)).toEqual({ answer: yes, isOwn: false });
  });
});

describe("the fold of an inbox", () => {
  const line = fc.oneof(
    fc.record({ type: fc.constant("approval.requested"), requestId: fc.constantFrom("a", "b") }),
    fc.record({
      type: fc.constant("approval.answered"),
      requestId: fc.constantFrom("a", "b"),
      inputHash: fc.constantFrom("hash", "other"),
      answer: fc.constantFrom("allow", "deny", "yes"),
      answerId: fc.string(),
    }),
    fc.record({ type: fc.constant("approval.withdrawn"), requestId: fc.constantFrom("a", "b") }),
    fc.jsonValue(),
  );

  it("never changes a request's answer, and accepts one only for the requested input", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.nat(12), (drawn, cut) => {
        const lines = drawn.map((each) =>
          each !== null && typeof each === "object" && "type" in each
            ? { v: 1, at: 1, by: "ana", reason: "", ...question(String(each.requestId)), ...each }
            : each,
        );
        const earlier = foldInbox(lines.slice(0, cut), emptyInbox);
        const all = foldInbox(lines, emptyInbox);
        for (const [id, { answer }] of earlier.requests)
          if (answer) expect(all.requests.get(id)?.answer).toEqual(answer);
        for (const { answer } of all.requests.values()) {
          if (answer === undefined) continue;
          const given = lines.find((each) => (each as InboxLine & { answerId?: string })?.answerId === answer.answerId);
          expect(given).toMatchObject({ type: "approval.answered" });
          expect(["allow", "deny"]).toContain(answer.answer.answer);
        }
      }),
    );
  });
});

describe("commands in an inbox", () => {
  const stop = { id: "c1", type: "stop", what: "tree" } as const;
  const done = { commandId: "c1", status: "done", message: "Nothing was running." } as const;

  it("reach another process once, and so do their receipts", async () => {
    const [sender, session] = [open(), open()];
    await sender.send(stop);
    await sender.send({ ...stop, what: "turn" });
    const seen = new Promise<void>((resolve) => {
      const unwatch = session.watch(() => {
        unwatch();
        resolve();
      });
    });
    await seen;
    expect(session.commands()).toEqual([stop]);
    await session.settle(done, stop);
    await session.settle({ ...done, status: "refused" }, stop);
    expect(session.commands()).toEqual([]);
    expect(open().receiptOf("c1")).toEqual(done);
    await session.settle({ ...done, commandId: "c2" }, { ...stop, id: "c2" });
    for (const id of ["c1", "c2", "c3"]) {
      expect(open().isIdInUse({ what: "tree", type: "stop", id })).toBe(false);
      expect(open().isIdInUse({ id, type: "stop", what: "turn" })).toBe(id !== "c3");
    }
  });

  it.each([
    [{ id: "c2", type: "stop" }],
    [{ id: "c2", type: "explode", what: "tree" }],
    [{ type: "stop", what: "tree" }],
    [{ id: "c2", type: "answer", requestId: "ask_1", answer: yes }],
    [{ id: "c2", type: "prompt", to: "main", when: "now", content: "words" }],
    [{ id: "c2", type: "prompt", to: "main", when: "soon", content: [{ type: "text", text: "words" }] }],
    [{ id: "c2", type: "constructor" }],
    [null],
  ])("are ignored if they are invalid: %j", (command) => {
    const { commands } = foldInbox([{ v: 1, at: 1, type: "command.sent", command }], emptyInbox);
    expect(commands.size).toBe(0);
  });
});
