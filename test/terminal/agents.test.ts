import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ApiServer, Reply } from "../../src/testing/index.ts";
import { serve } from "../cli/command-line.ts";
import { openTerminal, say } from "./session.ts";
import { hasTmux } from "./tmux.ts";

const task = (name: string) => ({
  tool: "Task",
  input: { description: `look at ${name}`, prompt: `CHILD: ${name}`, subagent_type: "general-purpose" },
});

interface Scene {
  readonly server: ApiServer;
  /** Lets the agents answer. */
  readonly answer: () => void;
}

/** Starts a server whose agents do not answer until the test calls `answer`. */
async function scene(...names: readonly string[]): Promise<Scene> {
  let answer = () => {};
  const gate = new Promise<void>((open) => {
    answer = open;
  });
  onTestFinished(() => answer());
  const child = async (): Promise<Reply> => {
    await gate;
    return { content: "Seen and noted." };
  };
  const server = await serve({
    conversations: [
      { match: { firstUserContains: "CHILD:" }, steps: [{ reply: child, times: "always" }] },
      {
        match: { firstUserContains: "MAIN:" },
        steps: [
          { reply: { content: names.map(task) } },
          { when: { lastUserContains: "MAIN: again" }, reply: child, times: "always" },
          { reply: { content: "They work." }, times: "always" },
        ],
      },
    ],
  });
  return { server, answer };
}

describe.skipIf(!hasTmux)("the agents", () => {
  it("are listed while they work, go on in the background after Ctrl+B, and report their end", async () => {
    const { server, answer } = await scene("one", "two");
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    const working = await terminal.waitFor("2 agents  2 working");
    expect(working).toMatch(/● general-purpose look at one: /);
    expect(working).toContain("waiting for 2 agents");
    await terminal.press("C-b");
    await terminal.waitFor("They work.");
    expect(await terminal.waitFor("2 working")).toContain("background");
    answer();
    await terminal.waitFor("general-purpose (look at two) succeeded");
    await terminal.waitFor("general-purpose (look at one) succeeded");
  });

  it("can be twenty that write at once, while the user types and nothing flickers", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `part ${index}`);
    const text = "I am looking at it, line by line.\n\n".repeat(40);
    const server = await serve({
      conversations: [
        {
          match: { firstUserContains: "CHILD:" },
          steps: [{ reply: { content: text, pacing: { chunkMs: 15, chunkCharacters: 16 } }, times: "always" }],
        },
        { steps: [{ reply: { content: names.map(task) } }, { reply: { content: "All have reported." } }] },
      ],
    });
    const terminal = await openTerminal(server, { columns: 100, rows: 30 });
    const bytes = join(terminal.home, "..", "bytes");
    await terminal.record(bytes);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("20 agents  20 working");
    const typed = "The quick brown fox jumps over the lazy dog";
    for (const word of typed.split(" ")) await terminal.type(`${word} `);
    await terminal.waitFor(`› ${typed}`);
    await terminal.waitFor("All have reported.");
    expect(await terminal.screen()).toContain(`› ${typed}`);
    const written = readFileSync(bytes, "utf8");
    for (const erase of ["[2J", "[3J", "[J", "[0J", "c"]) expect(written).not.toContain(`\u001b${erase}`);
  });

  it("are chosen with the arrow keys, opened, messaged, stopped and resumed", async () => {
    const { server, answer } = await scene("one", "two");
    const terminal = await openTerminal(server, { columns: 100, rows: 30 });
    await say(terminal, "MAIN: go");
    await terminal.waitFor("2 working");
    await terminal.press("C-b");
    await terminal.waitFor("They work.");
    await terminal.press("Down");
    await terminal.waitFor(/› ● general-purpose look at one/);
    await terminal.press("Down");
    await terminal.waitFor(/› ● general-purpose look at two/);
    await terminal.press("Enter");
    await terminal.waitFor("main › general-purpose  look at two");
    await terminal.waitFor("› CHILD: two");
    await terminal.press("m");
    await terminal.waitFor("to general-purpose:");
    await say(terminal, "Hurry up");
    await terminal.press("s");
    await terminal.waitFor("Stop general-purpose (look at two)?");
    await terminal.press("s");
    await terminal.waitFor("stopped, can be resumed");
    await terminal.press("r");
    await terminal.waitFor("waiting for the model");
    expect(await terminal.screen()).toContain("› Hurry up");
    answer();
    await terminal.waitFor("Seen and noted.");
    await terminal.press("Escape");
    await terminal.waitFor("Enter opens");
    await terminal.press("Escape");
    await terminal.waitFor("Enter sends");
    // The conversation shows what happened in the meantime.
    expect(await terminal.scrollback()).toContain("general-purpose (look at two) succeeded");
  });

  it("are not stopped when the user types a sentence, and no keystroke is lost", async () => {
    const { server } = await scene("one", "two");
    const terminal = await openTerminal(server, { columns: 100, rows: 30 });
    await say(terminal, "MAIN: go");
    await terminal.waitFor("2 working");
    await terminal.press("Down");
    await terminal.waitFor("Enter opens");
    for (const letter of "stop") await terminal.type(letter);
    await terminal.waitFor(/^› stop$/m);
    await terminal.press("C-u");
    await terminal.press("Down");
    await terminal.waitFor("Enter opens");
    // Someone may type slowly.
    await terminal.type("s");
    await terminal.waitFor("Stop general-purpose (look at one)?");
    await terminal.type("tay calm");
    await terminal.waitFor(/^› stay calm$/m);
    await terminal.press("C-u");
    await terminal.press("Down");
    await terminal.waitFor("Enter opens");
    await terminal.type("run the tests");
    await terminal.waitFor(/^› run the tests$/m);
    expect(await terminal.screen()).toContain("2 working");
  });

  it("can be left running, to continue when the session is resumed, or stopped", async () => {
    const { server, answer } = await scene("one");
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("1 working");
    await terminal.press("C-b");
    await terminal.waitFor("They work.");
    await terminal.press("C-c");
    await terminal.waitFor("Ctrl+C again quits");
    await terminal.press("C-c");
    await terminal.waitFor("1 agent is running");
    await terminal.press("l");
    expect(await terminal.ended()).toBe(0);
    answer();
    const again = await openTerminal(server, { home: terminal.home, cwd: terminal.cwd, words: ["--continue"] });
    await again.waitFor("general-purpose (look at one) succeeded");
  });
});

describe.skipIf(!hasTmux)("Esc", () => {
  it("interrupts the main agent and says which agents go on", async () => {
    const { server } = await scene("one");
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("1 working");
    await terminal.press("C-b");
    await terminal.waitFor("They work.");
    await say(terminal, "MAIN: again");
    await terminal.waitFor("waiting for the model");
    await terminal.press("Escape");
    await terminal.waitFor("1 agent continues: general-purpose.");
    expect(await terminal.screen()).toContain("– interrupted, can be resumed");
  });
});

describe.skipIf(!hasTmux)("Esc while prompts are queued", () => {
  it("holds them back, and starts none", async () => {
    const { server } = await scene("one");
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("1 working");
    await say(terminal, "first");
    await terminal.waitFor("queued  first");
    await say(terminal, "second");
    await terminal.waitFor("queued  second");
    await terminal.press("Escape");
    await terminal.waitFor(/held {4}first\n {2}held {4}second\n/);
    await terminal.waitFor("– interrupted, can be resumed");
    expect(server.requests.filter(({ body }) => /"text":"(first|second)/.test(JSON.stringify(body)))).toEqual([]);
  });
});

describe.skipIf(!hasTmux)("prompts that are written while the main agent works", () => {
  it("are queued, shown, edited, and sent at once to steer", async () => {
    let answer = () => {};
    const gate = new Promise<void>((open) => {
      answer = open;
    });
    onTestFinished(() => answer());
    const replies: Reply[] = [];
    const server = await serve(async ({ body }) => {
      const { messages } = body as { readonly messages: readonly unknown[] };
      const text = JSON.stringify(messages.at(-1));
      if (text.includes("Begin")) await gate;
      const reply: Reply = text.includes("Begin")
        ? { content: [{ tool: "LS", input: { path: "." } }] }
        : { content: `Heard: ${/(steer me|third|second)/.exec(text)?.[1] ?? "nothing"}.` };
      replies.push(reply);
      return reply;
    });
    const terminal = await openTerminal(server);
    await say(terminal, "Begin");
    await terminal.waitFor("waiting for the model");
    await say(terminal, "second");
    await terminal.waitFor("queued  second");
    await say(terminal, "third thing");
    await terminal.waitFor("queued  third thing");
    await terminal.press("Up");
    await terminal.waitFor("› third thing");
    await terminal.press("C-w");
    await say(terminal, "time");
    await terminal.waitFor("queued  third time");
    await terminal.type("steer me");
    await terminal.press("C-s");
    answer();
    await terminal.waitFor(/Heard: steer me[\s\S]*› second[\s\S]*Heard: second[\s\S]*› third time[\s\S]*Heard: third/);
  });
});
