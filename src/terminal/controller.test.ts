import { describe, expect, it, vi } from "vitest";
import { answered, created, runEnded, started } from "../client/view/agent-events.test-support.ts";
import type { DurableEvent, ImageBlock } from "../protocol/index.ts";
import { openTestTerminal, type TestTerminal } from "./terminal.test-support.ts";

const image: ImageBlock = { type: "image", mediaType: "image/png", data: "aGk=" };

function queue(terminal: TestTerminal, text: string, ...images: readonly ImageBlock[]): void {
  const promptId = `prompt ${text}`;
  terminal.happen({ type: "prompt.queued", promptId, content: [{ type: "text", text }, ...images] });
}

describe("Esc while prompts are queued", () => {
  it("holds them back, each with its images, until Enter sends them in order", async () => {
    const terminal: TestTerminal = await openTestTerminal({
      receipt: (command) => {
        if (command.type === "withdraw") terminal.happen({ type: "prompt.withdrawn", promptId: command.promptId });
        if (command.type === "stop") terminal.happen(runEnded({ outcome: "stopped", reason: "interrupted" }));
        return "Done.";
      },
    });
    terminal.happen(started());
    queue(terminal, "first");
    queue(terminal, "see this", image);
    await terminal.waitFor("queued  see this [1 image]");
    terminal.press("esc");
    await terminal.waitFor("Enter sends the held prompts · ↑ edits the last one");
    expect(terminal.frame()).toMatch(/held {4}first\n {2}held {4}see this \[1 image\]/);
    terminal.press("up");
    await terminal.waitFor("› see this @image-1.png");
    terminal.type(" now");
    terminal.press("enter", "enter");
    await expect
      .poll(() => terminal.sent.filter(({ type }) => type === "prompt"))
      .toMatchObject([
        { content: [{ type: "text", text: "first" }] },
        { content: [{ type: "text", text: "see this @image-1.png now" }, image] },
      ]);
  });
});

describe("changes that were not verified because the run ended early", () => {
  it("are named after the interruption, and again when the user leaves", async () => {
    const terminal = await openTestTerminal();
    terminal.happen(started());
    const output = "The run ended early (interrupted), so its changes are not verified: b.txt.";
    const acceptance = { command: "Verification", ok: false, exitCode: null, verdict: "inconclusive", output } as const;
    terminal.happen(runEnded({ outcome: "stopped", reason: "interrupted", acceptance }));
    await terminal.waitFor("changes are not verified: b.txt");
    expect(terminal.farewell).toMatch(/^The run ended early .* not verified: b\.txt\.\nResume this session with:/);
    terminal.happen(started());
    terminal.happen(runEnded({ outcome: "succeeded", reason: "done" }));
    await expect.poll(() => terminal.farewell).toMatch(/^Resume this session with:/);
  });
});

describe("↑ after Ctrl+C has cleared the box", () => {
  it("brings the cleared text back before it edits queued prompts", async () => {
    const terminal = await openTestTerminal();
    terminal.happen(started());
    queue(terminal, "first");
    await terminal.waitFor("queued  first");
    terminal.type("a draft");
    terminal.press("ctrl-c");
    await terminal.waitFor("Cleared. ↑ brings it back");
    terminal.press("up");
    expect(terminal.frame()).toContain("› a draft");
    expect(terminal.sent).toEqual([]);
  });
});

describe("a long prompt", () => {
  it("is printed without its middle, and Ctrl+O shows all of it", async () => {
    const terminal = await openTestTerminal();
    const text = Array.from({ length: 200 }, (_, line) => `line ${line}`).join("\n");
    terminal.happen({ type: "prompt.received", from: "person", content: [{ type: "text", text }] });
    terminal.happen(started());
    await terminal.waitFor("line 0");
    expect(terminal.printed).toContain("\n  … 184 more lines · Ctrl+O shows them\n  line 192\n");
    terminal.press("ctrl-o");
    await terminal.waitFor("line 190");
  });

  it("is printed with the number of lines that are not shown completely", async () => {
    const terminal = await openTestTerminal({ columns: 40 });
    const text = Array.from({ length: 100 }, (_, line) => `line ${line} ${"word ".repeat(line % 99 === 0 ? 10 : 1)}`);
    terminal.happen({ type: "prompt.received", from: "person", content: [{ type: "text", text: text.join("\n") }] });
    terminal.happen(started());
    await terminal.waitFor("line 0");
    expect(terminal.printed).toContain("\n  line 6 word\n  … 86 more lines · Ctrl+O shows them\n  line 93 word\n");
  });

  it("costs a frame no more than a shorter one, in the box, in the queue and in lists", async () => {
    const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
    const segmentedFor = async (lines: number): Promise<readonly number[]> => {
      const text = "line e\u0301 with a 👍🏽 and more words\n".repeat(lines);
      const terminal = await openTestTerminal({ history: [text] });
      const count = (action: () => unknown): number => {
        segment.mockClear();
        action();
        terminal.frame();
        return segment.mock.calls.reduce((sum, [piece]) => sum + piece.length, 0);
      };
      terminal.happen({ type: "prompt.received", from: "person", content: [{ type: "text", text }] });
      terminal.happen(started());
      queue(terminal, text);
      await terminal.waitFor("queued  line");
      return [
        count(() => undefined),
        count(() => terminal.press("ctrl-r")),
        count(() => terminal.press("enter")),
        count(() => terminal.type("word")),
        count(() => terminal.press("ctrl-c")),
      ];
    };
    await segmentedFor(100);
    const short = await segmentedFor(1_000);
    expect(Math.max(...short)).toBeGreaterThan(0);
    expect(await segmentedFor(10_000)).toEqual(short);
    segment.mockRestore();
  });
});

describe("a run that was lost with its process", () => {
  it("is explained, without advice to resume the session, which is open", async () => {
    const terminal = await openTestTerminal();
    const message = "The process ended before the run did. Resume the session to continue.";
    terminal.happen(started());
    terminal.happen(runEnded({ outcome: "failed", reason: "process_lost", message }));
    await terminal.waitFor("The process ended before the run");
    expect(terminal.printed).not.toContain("Resume the session");
  });
});

describe("Ctrl+O", () => {
  it("shows calls in full, with their output, and names agents", async () => {
    const terminal = await openTestTerminal();
    const text = Array.from({ length: 9 }, (_, line) => `line ${line}`).join("\n");
    terminal.happen(started());
    terminal.happen(created(["a000000000001"]), "a000000000001");
    terminal.happen(answered("", [{ name: "Bash", input: { command: "seq 9" } }]));
    terminal.happen({ type: "tool.requested", callId: "c0", name: "Bash" });
    const result = { outcome: "ok", content: [{ type: "text", text }] } as const;
    terminal.happen({ type: "tool.ended", callId: "c0", name: "Bash", result, milliseconds: 5 });
    terminal.happen({ type: "run.awaited", agentId: "a000000000001", runId: "r" });
    await terminal.waitFor("seq 9");
    expect(terminal.printed).not.toContain("line 3");
    terminal.press("ctrl-o");
    await terminal.waitFor("line 3");
    expect(terminal.frame()).toContain("waits for Explore (find the router)");
    terminal.press("home");
    expect(terminal.frame()).not.toContain("rows below");
    terminal.press("ctrl-o");
    expect(terminal.frame()).not.toContain("line 3");
  });
});

describe("Ctrl+R", () => {
  it("searches earlier prompts, newest first, and puts the chosen one into the box", async () => {
    const terminal = await openTestTerminal({ history: ["fix the cart", "run tests", "fix the cart", "map it"] });
    terminal.press("ctrl-r");
    expect(terminal.frame()).toMatch(/› map it\n {2}fix the cart\n {2}run tests\n\n/);
    terminal.type("cart");
    terminal.press("enter");
    expect(terminal.frame()).toMatch(/^› fix the cart$/m);
  });
});

describe("a typo", () => {
  it("in a command or a mention gets a hint", async () => {
    const terminal = await openTestTerminal({ host: { files: async () => ["src/cart.ts"] } });
    terminal.type("/modle");
    terminal.press("enter");
    await terminal.waitFor("Unknown command /modle. Did you mean /model? /help lists the commands.");
    // The command can be corrected.
    expect(terminal.frame()).toContain("› /modle");
    terminal.press("ctrl-s", "ctrl-u");
    terminal.type("/qqqq");
    terminal.press("enter");
    await terminal.waitFor("Unknown command /qqqq. /help lists the commands.");
    terminal.press("ctrl-u");
    terminal.type("/");
    terminal.press("enter");
    await terminal.waitFor("Type the name of a command after the slash. /help lists the commands.");
    expect(terminal.sent).toEqual([]);
    terminal.press("ctrl-u");
    terminal.type("@");
    terminal.type("crat");
    await terminal.waitFor("No file or agent is named @crat, so it is sent as plain text.");
    terminal.press("ctrl-u");
    terminal.type("@cart");
    expect(terminal.frame()).toContain("› @src/cart.ts");
    terminal.press("ctrl-u");
    terminal.type("@Exlore find it");
    terminal.press("enter");
    await terminal.waitFor("Did you mean @Explore?");
    expect(terminal.sent).toMatchObject([{ type: "prompt", content: [{ text: "@Exlore find it" }] }]);
  });
});

describe("a command on the command line", () => {
  it("is carried out or explained, and never sent", async () => {
    const terminal = await openTestTerminal({ prompt: "/modle" });
    await terminal.waitFor("Unknown command /modle. Did you mean /model?");
    expect(terminal.sent).toEqual([]);
  });
});

describe("a prompt that begins with a path or a comment", () => {
  it.each(["/etc/hosts looks odd", "/tmp/", "/notes.txt: what is it?", "// what does this do?", " /tmp is full"])(
    "is sent as it is: %s",
    async (prompt) => {
      const terminal = await openTestTerminal();
      terminal.type(prompt);
      terminal.press("enter");
      await expect.poll(() => terminal.sent).toMatchObject([{ type: "prompt", content: [{ text: prompt }] }]);
    },
  );
});

describe("/rewind", () => {
  it("says in one line that the conversation went back, and which files were restored", async () => {
    const terminal: TestTerminal = await openTestTerminal({
      host: { prompts: async () => [{ id: "l1", text: "Make it", at: 0, files: [], commands: [] }] },
      receipt: () => {
        terminal.happen({ type: "conversation.rewound", line: "l1", restored: ["/project/made.txt"] });
        return "The conversation is as it was before the prompt. Restored: made.txt.";
      },
    });
    terminal.happen(started());
    terminal.type("/rewind");
    terminal.press("enter");
    await terminal.waitFor("Make it");
    terminal.press("enter");
    await terminal.waitFor("› Make it");
    await terminal.waitFor("went back to an earlier prompt, restored made.txt");
    expect(terminal.printed).not.toContain("Restored:");
  });
});

describe("a status line command that fails", () => {
  it("is reported once, with advice", async () => {
    let runs = 0;
    const statusLine = async () => {
      runs += 1;
      return { line: "", problem: "exit code 127, sh: my-line: not found" };
    };
    const terminal = await openTestTerminal({ host: { statusLine } });
    await terminal.waitFor("The statusLine command failed: exit code 127");
    expect(runs).toBe(1);
    expect(terminal.printed.replace(/\s+/g, " ")).toContain("`retinue config show --origin` names its file.");
  });
});

describe("a command's text", () => {
  it("is not cut on a narrow terminal", async () => {
    const tools = Array.from({ length: 12 }, (_, index) => `Tool${index}`).join(", ");
    const command = { name: "show", about: "", run: async () => `name\n\n  tools   ${tools}\n  model   m` };
    const terminal = await openTestTerminal({ columns: 40, host: { commands: () => [command] } });
    terminal.type("/show");
    terminal.press("enter");
    await terminal.waitFor("model   m");
    expect(terminal.printed).toContain("    tools   Tool0, Tool1, Tool2, Tool3,\n            Tool4, Tool5");
    expect(terminal.printed).toContain("Tool11");
  });
});

it("/cost breaks lines between words on a narrow terminal, and shows every agent's tokens", async () => {
  const terminal = await openTestTerminal({ columns: 34 });
  terminal.happen(started());
  await terminal.waitFor("Esc interrupts");
  terminal.type("/cost");
  terminal.press("enter");
  await terminal.waitFor("read from the cache");
  const rows = terminal.printed.split("\n");
  expect(rows.filter((row) => row.length > 33)).toEqual([]);
  expect(terminal.printed).toMatch(/^ {2}Explore +0 tokens/m);
});

it("/help lists every key that the main screen has", async () => {
  const terminal = await openTestTerminal({ rows: 60 });
  terminal.type("/help");
  terminal.press("enter");
  await terminal.waitFor("Ctrl+O");
  for (const key of ["Ctrl+R", "Ctrl+B", "Shift+Tab", "Ctrl+D"]) expect(terminal.printed).toContain(key);
});

describe("Ctrl+C", () => {
  it("does not quit if something was typed between the two presses", async () => {
    const terminal = await openTestTerminal();
    terminal.type("one");
    terminal.press("ctrl-c");
    await terminal.waitFor("Ctrl+C again quits");
    terminal.type("two");
    expect(terminal.frame()).not.toContain("Ctrl+C again quits");
    terminal.press("ctrl-c");
    await terminal.waitFor("Cleared. ↑ brings it back");
    terminal.press("up");
    await terminal.waitFor("› two");
    expect(terminal.farewell).toBe("");
  });
});

describe("another session", () => {
  it("is opened only after the user has decided what to do with the running agents", async () => {
    const closed: string[] = [];
    const terminal = await openTestTerminal({ host: { close: async (how) => void closed.push(how) } });
    terminal.happen(started());
    await terminal.waitFor("Esc interrupts");
    const ask = async (): Promise<void> => {
      terminal.type("/new");
      terminal.press("enter");
      await terminal.waitFor("1 agent is running");
    };
    await ask();
    terminal.type("c");
    await expect.poll(() => terminal.frame()).not.toContain("1 agent is running");
    expect(closed).toEqual([]);
    await ask();
    expect(terminal.frame()).toContain("Leave this session; it continues when it is resumed");
    terminal.type("l");
    await expect.poll(() => closed).toEqual(["park"]);
  });
});

describe("a message to a running agent", () => {
  it("is completed, echoed and confirmed", async () => {
    const terminal = await openTestTerminal({ receipt: () => "carty will read the message before its next step." });
    terminal.happen(started());
    terminal.happen({ ...created(["a000000000001"]), name: "carty" } as DurableEvent, "a000000000001");
    terminal.happen(started(), "a000000000001");
    await terminal.waitFor("carty");
    terminal.type("@car");
    await terminal.waitFor("running agent");
    terminal.press("tab");
    terminal.type("look at tax too");
    terminal.press("enter");
    await terminal.waitFor("› @carty (find the router) look at tax too");
    await terminal.waitFor("carty will read the message before its next step.");
    expect(terminal.sent).toMatchObject([{ type: "prompt", to: "a000000000001" }]);
  });
});

describe("the status line command", () => {
  it("gets the fields that scripts for Claude Code read", async () => {
    const got: unknown[] = [];
    const statusLine = async (facts: unknown) => {
      got.push(facts);
      return { line: "" };
    };
    await openTestTerminal({ host: { statusLine } });
    await expect
      .poll(() => got)
      .toMatchObject([
        {
          session_id: "s1",
          cwd: "/project",
          model: { id: "claude-sonnet-5-5", display_name: "claude-sonnet-5-5" },
          workspace: { current_dir: "/project", project_dir: "/project" },
          version: "1",
          cost: { total_cost_usd: 0 },
        },
      ]);
  });
});

describe("a message to an agent that is working", () => {
  it("is marked as unread until the agent's next request, and the prompt of a run never is", async () => {
    const terminal = await openTestTerminal();
    const receive = (text: string): void =>
      terminal.happen({ type: "prompt.received", from: "person", content: [{ type: "text", text }] });
    terminal.happen(started());
    receive("Go");
    terminal.happen({ type: "model.requested", turn: 1 });
    receive("Use the new one");
    await terminal.waitFor("  unread  Use the new one");
    expect(terminal.frame()).not.toContain("unread  Go");
    terminal.happen(answered("I look.", [{ name: "Read", input: { file_path: "a.ts" } }]));
    await terminal.waitFor("I look.");
    expect(terminal.frame()).toContain("  unread  Use the new one");
    terminal.happen({ type: "model.requested", turn: 2 });
    await expect.poll(() => terminal.frame()).not.toContain("unread");
  });
});
