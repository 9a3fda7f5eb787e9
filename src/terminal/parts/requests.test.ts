import { describe, expect, it, onTestFinished, vi } from "vitest";
import { answered, created, started } from "../../client/view/agent-events.test-support.ts";
import type { ApprovalQuestion } from "../../protocol/index.ts";
import { openTestTerminal } from "../terminal.test-support.ts";

const question: ApprovalQuestion = {
  requestId: "request_1",
  sessionId: "s1",
  kind: "call",
  agentId: "main",
  agentType: "main",
  path: [],
  call: { callId: "c1", name: "Bash", inputJson: JSON.stringify({ command: "npm publish" }) },
  inputHash: "h",
  decision: { effect: "ask", reason: "No rule allows this command.", rule: "", scope: "builtin" } as never,
  always: ["Bash(npm publish)"],
};

const edit: ApprovalQuestion = {
  ...question,
  call: {
    callId: "c1",
    name: "Edit",
    inputJson: JSON.stringify({ file_path: "a.ts", old_string: "two", new_string: "zwei" }),
  },
};

/** Lets the test control the clock. */
function stopClock(): { readonly pass: (milliseconds: number) => void } {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  return { pass: (milliseconds) => void vi.setSystemTime(Date.now() + milliseconds) };
}

it("a request with a long call is not laid out again for each frame", async () => {
  const clock = stopClock();
  const content = "line 👍 of a new file\n".repeat(5_000);
  const terminal = await openTestTerminal();
  terminal.happen(started());
  terminal.ask({
    ...question,
    call: { callId: "c1", name: "Write", inputJson: JSON.stringify({ file_path: "a.ts", content }) },
  });
  await terminal.waitFor("main asks for approval");
  clock.pass(400);
  expect(terminal.frame()).toContain("n deny");
  const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
  terminal.press("pagedown");
  expect(terminal.frame()).toContain("line 👍 of a new file");
  expect(segment.mock.calls.reduce((sum, [text]) => sum + text.length, 0)).toBeLessThan(10_000);
  segment.mockRestore();
});

describe("the keys of a request", () => {
  it("are shown as soon as they have an effect, in a row that was free until then", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.ask(question);
    await terminal.waitFor("main asks for approval");
    const before = terminal.frame();
    expect(before).not.toMatch(/allow once|answer/);
    clock.pass(400);
    const after = terminal.frame();
    expect(after).toContain("y allow once   a always: Bash(npm publish)   e edit   n deny…");
    expect(after.split("\n")).toHaveLength(before.split("\n").length);
    terminal.type("y");
    expect(terminal.frame()).toMatch(/^› y\n.*\n {2}Enter allows it once/m);
    expect(terminal.sent).toEqual([]);
    terminal.press("enter");
    await expect.poll(() => terminal.sent).toMatchObject([{ type: "answer", answer: { answer: "allow" } }]);
  });

  it.each(["yes", "always", "explain it", "no"])(
    "begin a prompt if they begin the word %j, even if it is typed slowly",
    async (word) => {
      const clock = stopClock();
      const terminal = await openTestTerminal();
      terminal.happen(started());
      terminal.ask(question);
      await terminal.waitFor("main asks for approval");
      clock.pass(400);
      for (const letter of word) {
        terminal.type(letter);
        clock.pass(1_000);
      }
      expect(terminal.frame()).toContain(`› ${word}\n`);
      terminal.press("enter");
      await expect.poll(() => terminal.sent).toMatchObject([{ type: "prompt", content: [{ text: word }] }]);
    },
  );

  async function openRequest(asked: ApprovalQuestion = question) {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.ask(asked);
    await terminal.waitFor("main ");
    await terminal.waitFor("Esc write a prompt first");
    clock.pass(400);
    terminal.frame();
    return { terminal, clock };
  }

  it.each([
    { chunks: ["y\r"], answer: { answer: "allow" } },
    { chunks: ["e\u007fy\r"], answer: { answer: "allow" } },
    { chunks: ["n\r\r"], answer: { answer: "deny" } },
    { chunks: ["n\r", "Not today\r"], answer: { answer: "deny", message: "Not today" } },
    { chunks: ["n", "\rNot ", "today\r"], answer: { answer: "deny", message: "Not today" } },
    { chunks: ["a\r", "\r"], answer: { answer: "allow", always: { rule: "Bash(npm publish)", for: "session" } } },
  ])("answer if a slow connection delivers them as $chunks", async ({ chunks, answer }) => {
    const { terminal } = await openRequest();
    for (const chunk of chunks) terminal.receive(chunk);
    await expect.poll(() => terminal.sent).toMatchObject([{ type: "answer", answer }]);
    expect(terminal.sent).toHaveLength(1);
  });

  it.each([
    "\u001b[200~y\u001b[201~",
    "\u001b[200~y\r\u001b[201~",
    "\u001b[200~n\rNo\r\u001b[201~",
    "n\rNo\r",
    "y\ry\r",
    "y\tes",
  ])("never answer if they are pasted: %j", async (pasted) => {
    const { terminal } = await openRequest();
    terminal.receive(pasted);
    expect(terminal.frame()).toContain("Tab answers");
    terminal.press("enter", "enter");
    terminal.type("Done");
    terminal.press("enter");
    await expect.poll(() => terminal.sent.at(-1)).toMatchObject({ type: "prompt", content: [{ text: "Done" }] });
    expect(terminal.sent.filter(({ type }) => type === "answer")).toEqual([]);
  });

  it("are not sent as a prompt if they were pressed just before the request accepted them", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.ask(question);
    await terminal.waitFor("main asks for approval");
    terminal.receive("y\r");
    expect(terminal.frame()).toContain("Choose your answer again");
    expect(terminal.frame()).toContain("main asks for approval");
    clock.pass(400);
    terminal.receive("y\r");
    await expect.poll(() => terminal.sent).toMatchObject([{ type: "answer", answer: { answer: "allow" } }]);
    expect(terminal.sent).toHaveLength(1);
  });

  it("can be taken back with Backspace or Esc", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.ask(question);
    await terminal.waitFor("main asks for approval");
    clock.pass(400);
    for (const key of ["backspace", "esc"]) {
      terminal.type("y");
      terminal.press(key, "enter");
      expect(terminal.frame()).toContain("y a e n and Enter answer");
    }
    expect(terminal.sent).toEqual([]);
  });

  it("put the request aside with Esc, and another Esc ends it only after a warning, whenever it is pressed", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.ask(question);
    await terminal.waitFor("main asks for approval");
    clock.pass(400);
    terminal.press("esc");
    for (const pause of [0, 60_000]) {
      clock.pass(pause);
      terminal.press("esc");
      expect(terminal.frame()).toContain("Esc again interrupts and ends 1 request");
      expect(terminal.sent).toEqual([]);
    }
    terminal.press("esc");
    await expect.poll(() => terminal.sent).toMatchObject([{ type: "stop" }]);
  });

  it("put the request aside with Ctrl+C, which ends it only after a warning and then quits", async () => {
    const { terminal } = await openRequest();
    terminal.press("ctrl-c");
    expect(terminal.frame()).toContain("Tab answers");
    terminal.press("ctrl-c");
    expect(terminal.frame()).toContain("Ctrl+C again interrupts and ends 1 request");
    expect(terminal.sent).toEqual([]);
    terminal.press("ctrl-c");
    await expect.poll(() => terminal.sent).toMatchObject([{ type: "stop" }]);
    expect(terminal.frame()).toContain("Interrupted · Ctrl+C again quits");
    terminal.press("ctrl-c");
    await terminal.waitFor("1 agent is running");
  });

  it("show the request with Tab, even from the list of agents", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.happen(created(["a000000000001"]), "a000000000001");
    terminal.happen(started(), "a000000000001");
    await terminal.waitFor("↓ agents");
    terminal.press("down");
    terminal.ask(question);
    await terminal.waitFor("Tab answers");
    clock.pass(700);
    terminal.press("tab");
    expect(terminal.frame()).toContain("main asks for approval");
  });

  it("choose the selected option of a multi-select question if none is ticked", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    const options = [{ label: "A" }, { label: "B" }];
    const questions = [{ header: "Ways", question: "Which?", options, multiSelect: true }];
    terminal.ask({ ...question, kind: "question", questions });
    await terminal.waitFor("main has a question");
    clock.pass(400);
    terminal.press("down", "enter");
    await expect.poll(() => terminal.sent).toMatchObject([{ type: "answer", answer: { replies: [["B"]] } }]);
  });

  it("choose an option of a question by its number, and Enter answers only this question", async () => {
    const options = [{ label: "A" }, { label: "B" }];
    const asked = ["One", "Two", "Three"].map((header) => ({ header, question: "Which?", options }));
    const { terminal } = await openRequest({ ...question, kind: "question", questions: asked });
    terminal.receive("2\r");
    expect(terminal.frame()).toContain("Two (2 of 3)");
    terminal.type("2");
    terminal.type(" of them");
    terminal.press("enter");
    expect(terminal.frame()).toContain("Three (3 of 3)");
    terminal.receive("\u001b[200~1\u001b[201~");
    terminal.press("enter");
    await expect
      .poll(() => terminal.sent)
      .toMatchObject([{ type: "answer", answer: { replies: [["B"], ["2 of them"], ["1"]] } }]);
  });

  it("begin the user's own answer to a question if they are letters", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    const options = [{ label: "A" }, { label: "B" }];
    terminal.ask({ ...question, kind: "question", questions: [{ header: "Way", question: "Which?", options }] });
    await terminal.waitFor("main has a question");
    clock.pass(400);
    for (const letter of "some way") terminal.type(letter);
    terminal.press("enter");
    await expect.poll(() => terminal.sent).toMatchObject([{ type: "answer", answer: { replies: [["some way"]] } }]);
  });

  it("are shown for a question as soon as they have an effect", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    const options = [{ label: "A" }, { label: "B" }];
    terminal.ask({ ...question, kind: "question", questions: [{ header: "Way", question: "Which?", options }] });
    await terminal.waitFor("main has a question");
    expect(terminal.frame()).not.toContain("Enter answers");
    clock.pass(400);
    expect(terminal.frame()).toContain("Enter answers");
  });
});

describe("a request that is longer than the screen", () => {
  const command = Array.from({ length: 60 }, (_, index) => `echo number ${index + 1}.`).join("\n");
  const long: ApprovalQuestion = { ...question, call: { ...question.call, inputJson: JSON.stringify({ command }) } };

  async function openLong() {
    const clock = stopClock();
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.ask(long);
    await terminal.waitFor("main asks for approval");
    clock.pass(400);
    return { terminal, clock };
  }

  const numbers = (frame: string): readonly number[] =>
    Array.from(frame.matchAll(/number (\d+)\./g), ([, number]) => Number(number));

  it("scrolls with Space and skips nothing, no matter how quickly it is pressed", async () => {
    const { terminal } = await openLong();
    const shown = numbers(terminal.frame());
    terminal.type("   ");
    const next = numbers(terminal.frame());
    expect(next[0]).toBe((shown.at(-1) ?? 0) + 1);
    terminal.type("  ");
    expect(numbers(terminal.frame())[0]).toBe((next.at(-1) ?? 0) + 1);
    expect(terminal.frame()).toContain("main asks for approval");
  });

  it("can be allowed only after its end has been shown, and not by holding a key down", async () => {
    const { terminal, clock } = await openLong();
    expect(terminal.frame()).toContain("  e edit   n deny…");
    expect(terminal.frame()).toContain("Space shows more · e n and Enter answer");
    for (let count = 0; !terminal.frame().includes("this is the end"); count += 1) {
      terminal.type(" ");
      terminal.press("enter");
      expect(count).toBeLessThan(20);
    }
    expect(terminal.frame()).toContain("y allow once");
    for (const key of ["enter", "enter"]) terminal.press(key);
    for (let count = 0; count < 50; count += 1) {
      clock.pass(30);
      terminal.type(count % 7 === 0 ? "yy" : "y");
    }
    expect(terminal.sent).toEqual([]);
    expect(terminal.frame()).toContain("› yyy");
  });
});

describe("a request that this terminal can't answer", () => {
  it("says who can answer it, and neither offers nor accepts an answer", async () => {
    const clock = stopClock();
    const howToAnswer = (requestId: string): string => `Answer in another terminal: ${requestId}`;
    const terminal = await openTestTerminal({ facts: { isRemote: true }, host: { howToAnswer } });
    terminal.happen(started());
    terminal.ask(question);
    await terminal.waitFor("npm publish  Tab shows who can answer");
    terminal.press("tab");
    expect(terminal.frame()).toContain("Answer in another terminal: request_1");
    expect(terminal.frame()).not.toContain("allow once");
    clock.pass(1_000);
    terminal.type("y");
    terminal.press("enter", "esc");
    expect(terminal.sent).toEqual([]);
    expect(terminal.farewell).toBe("Resume this session with: retinue --server http://127.0.0.1:7333 --resume s1");
  });
});

describe("calls that are waiting for approval", () => {
  it("are not shown as running, and a single one is named once", async () => {
    const terminal = await openTestTerminal();
    terminal.happen(started());
    terminal.happen(answered("", [{ name: "Bash", input: { command: "npm publish" } }]));
    terminal.ask({ ...question, call: { ...question.call, callId: "c0" } });
    await terminal.waitFor("main asks for approval");
    expect(terminal.frame()).not.toContain("running: npm publish");
    expect(terminal.frame().match(/wants to run: npm publish/g)).toHaveLength(1);
  });
});

describe("a request for approval for a screen reader", () => {
  it("is printed once, in sentences, and only the keys are drawn", async () => {
    const clock = stopClock();
    const terminal = await openTestTerminal({ isPlain: true });
    terminal.happen(started());
    terminal.ask(question);
    await terminal.waitFor("asks for approval");
    clock.pass(400);
    expect(terminal.printed).toMatch(/^main asks for approval\.\nBash npm publish\nNo rule allows this command\.$/m);
    expect(terminal.frame()).toBe(
      "y allow once, a always allow Bash(npm publish), e edit, n deny…, Enter\nconfirms, Esc write a prompt first",
    );
  });

  it("names the lines that a change adds and removes", async () => {
    const preview = async (): Promise<string> => "@@ -9,3 +9,3 @@\n one\n-two\n+zwei\n three\n";
    const terminal = await openTestTerminal({ isPlain: true, host: { preview } });
    terminal.happen(started());
    terminal.ask(edit);
    await terminal.waitFor("asks for approval");
    expect(terminal.printed).toContain("\nEdit a.ts\nremoves line 10: two\nadds line 10: zwei\n");
  });

  it("reads out the options of a question", async () => {
    const terminal = await openTestTerminal({ isPlain: true });
    const options = [{ label: "A", description: "The first." }, { label: "B" }];
    terminal.happen(started());
    terminal.ask({ ...question, kind: "question", questions: [{ header: "Way", question: "Which?", options }] });
    await terminal.waitFor("main has a question");
    expect(terminal.printed).toContain(
      "main has a question\nWay: Which?\n1: A. The first.\n2: B.\nType the number of an answer or your own words",
    );
    await terminal.waitFor("Answer: ");
  });
});
