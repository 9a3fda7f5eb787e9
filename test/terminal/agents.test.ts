import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ApiServer, Reply } from "../../src/testing/index.ts";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, serve } from "../cli/command-line.ts";
import { openTerminal, say, type TerminalSession } from "./session.ts";

const task = (name: string) => ({
  tool: "Task",
  input: {
    description: `look at ${name}`,
    prompt: `CHILD: ${name}`,
    subagent_type: name === "paint" ? "painter" : "general-purpose",
  },
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

describe("running agents", needs("tmux"), () => {
  it.each([
    [{}, { plain: "[39m", painter: "[35m", selected: "[1m[35m" }],
    [{ NO_COLOR: "1" }, { plain: "", painter: "", selected: "[1m" }],
  ])("have names in the colors of their definitions, unless colors are off: %j", async (environment, looks) => {
    const { server } = await scene("one", "paint");
    const place = createPlace();
    const agents = join(place.home, "../.agents/agents");
    mkdirSync(agents, { recursive: true });
    const fields = "name: painter\ndescription: Paints. Use it for pictures.\ncolor: purple";
    writeFileSync(join(agents, "painter.md"), `---\n${fields}\n---\nYou paint.\n`);
    const terminal = await openTerminal(server, { ...place, environment });
    await say(terminal, "MAIN: go");
    await terminal.waitFor(/● painter +look at paint/);
    /** Returns the escape sequences between the mark and the name of the agent, without the escape characters. */
    const lookOf = async (name: string): Promise<string | undefined> => {
      const lines = (await terminal.scrollback({ styled: true })).split("\n");
      const line = lines.findLast((each) => each.includes(` ${name} `) && each.includes("●"));
      return line?.slice(line.indexOf("●") + 1, line.indexOf(` ${name} `)).replaceAll("\u001b", "");
    };
    expect(await lookOf("general-purpose")).toBe(looks.plain);
    expect(await lookOf("painter")).toBe(looks.painter);
    await terminal.press("Down");
    await terminal.press("Down");
    await terminal.waitFor(/› ● painter/);
    expect(await lookOf("painter")).toBe(looks.selected);
    await terminal.press("Enter");
    await terminal.waitFor("main › painter");
  });

  it("are listed, continue in the background after Ctrl+B, and report when they end", async () => {
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

  it("do not make the screen flicker, even if twenty of them write while the user is typing", async () => {
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

  it("leave no old rows on the screen when the terminal becomes too small for them and large again", async () => {
    const { server } = await scene(...Array.from({ length: 8 }, (_, index) => `part ${index}`));
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("8 agents  8 working");
    const sizes = [
      [80, 10],
      [80, 24],
      [80, 8],
      [80, 14],
      [80, 24],
      [40, 9],
      [80, 24],
      [80, 40],
      [80, 24],
    ] as const;
    // tmux reports a change of size up to 250 ms late, and some of these not at all.
    for (const [columns, rows] of sizes) await terminal.resize(columns, rows);
    await terminal.waitFor(/› MAIN: go\n\n {2}● waiting for 8 agents {2}0:0[2-9][\s\S]*agents · \/ commands/);
    const all = await terminal.scrollback();
    expect(all).toMatch(/retinue \d[\s\S]*› MAIN: go\n\n {2}● waiting/);
    expect(all.match(/waiting for 8 agents/g)).toHaveLength(1);
    expect(all.match(/8 agents {2}8 working/g)).toHaveLength(1);
  });

  it("leave no old rows in GNU screen when the terminal becomes narrower", needs("screen"), async () => {
    const { server } = await scene("one", "two");
    const place = createPlace();
    const sockets = join(place.cwd, "sockets");
    mkdirSync(sockets, { mode: 0o700 });
    // By default, screen and its programs outlive their terminal.
    const settings = join(place.cwd, "screenrc");
    writeFileSync(settings, "autodetach off\nstartup_message off\n");
    const terminal = await openTerminal(server, {
      ...place,
      columns: 100,
      through: ["screen", "-U", "-c", settings],
      environment: { SCREENDIR: sockets },
    });
    await say(terminal, "!seq 30");
    await terminal.waitFor(/^ {2}30$/m);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("2 agents  2 working");
    for (const columns of [60, 100, 50]) {
      await terminal.resize(columns, 24);
      await terminal.waitFor((screen) => new RegExp(`^─{${columns - 1}}$`, "m").test(screen));
    }
    const screen = await terminal.waitFor(/2 agents {2}2 working[\s\S]*Enter queues ·/);
    expect(screen.match(/2 agents {2}2 working/g)).toHaveLength(1);
    expect(screen.match(/Enter queues ·/g)).toHaveLength(1);
  });

  it("can be selected with the arrow keys, opened, messaged, stopped and resumed", async () => {
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
    await terminal.waitFor((screen) => !screen.includes("to general-purpose:"));
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

  it("are not stopped while the user is typing a sentence, and no keystroke is lost", async () => {
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
    // The user may type slowly.
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

  it("are waited for before another session is opened, if the user wants that", async () => {
    const { server, answer } = await scene("one");
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("1 working");
    await terminal.press("C-b");
    await terminal.waitFor("They work.");
    const wait = async (): Promise<void> => {
      await say(terminal, "/new");
      await terminal.waitFor("w Wait until it has finished, then leave this session");
      await terminal.press("w");
      await terminal.waitFor("Starting a new session when all agents have finished.  Esc stays");
    };
    await wait();
    await terminal.press("Escape");
    await terminal.waitFor((screen) => !screen.includes("when all agents have finished"));
    await wait();
    answer();
    await terminal.waitFor(/general-purpose \(look at one\) succeeded[\s\S]*retinue \d/);
    await terminal.waitFor((screen) => !screen.includes("when all agents have finished"));
    await say(terminal, "/rewind");
    await terminal.waitFor("There is no earlier prompt to go back to.");
  });

  describe("when the user quits", () => {
    /** Starts an agent in the background, and presses Ctrl+C twice. */
    async function quit(server: ApiServer): Promise<TerminalSession> {
      const terminal = await openTerminal(server);
      await say(terminal, "MAIN: go");
      await terminal.waitFor("1 working");
      await terminal.press("C-b");
      await terminal.waitFor("They work.");
      await terminal.press("C-c");
      await terminal.waitFor("Ctrl+C again quits");
      await terminal.press("C-c");
      await terminal.waitFor("1 agent is running");
      return terminal;
    }
    const reopen = ({ home, cwd }: TerminalSession, server: ApiServer): Promise<TerminalSession> =>
      openTerminal(server, { home, cwd, words: ["--continue"] });

    it("continue when the session is resumed, if the user lets them continue", async () => {
      const { server, answer } = await scene("one");
      const terminal = await quit(server);
      await terminal.press("l");
      expect(await terminal.ended()).toBe(0);
      answer();
      const again = await reopen(terminal, server);
      await again.waitFor("general-purpose (look at one) succeeded");
    });

    it("are stopped, if the user stops them, and continue only when they are resumed", async () => {
      const { server, answer } = await scene("one");
      const terminal = await quit(server);
      await terminal.press("s");
      expect(await terminal.ended()).toBe(0);
      expect(await terminal.screen()).toMatch(/Resume this session with: retinue --resume \S+/);
      const requests = server.requests.length;
      const again = await reopen(terminal, server);
      await again.waitFor("They work.");
      await again.press("Down");
      await again.waitFor(/– general-purpose look at one: stopped/);
      expect(server.requests).toHaveLength(requests);
      answer();
      await again.press("r");
      await again.waitFor(/✓ general-purpose look at one/);
    });

    it("are waited for, if the user wants that, and their reports are kept", async () => {
      const { server, answer } = await scene("one");
      const terminal = await quit(server);
      await terminal.press("w");
      await terminal.waitFor("Quitting when all agents have finished.  Esc stays");
      // A draft is never lost.
      await terminal.type("One more thing");
      answer();
      await terminal.waitFor("general-purpose (look at one) succeeded");
      expect(await terminal.screen()).toContain("› One more thing");
      await terminal.press("C-u");
      expect(await terminal.ended()).toBe(0);
      const again = await reopen(terminal, server);
      await again.waitFor("They work.");
      await again.press("Down");
      await again.waitFor(/✓ general-purpose look at one/);
    });

    it("keep running if the user decides to stay", async () => {
      const { server } = await scene("one");
      const terminal = await quit(server);
      await terminal.press("c");
      await terminal.waitFor((screen) => !screen.includes("1 agent is running") && screen.includes("1 working"));
      await say(terminal, "MAIN: hello");
      await terminal.waitFor(/› MAIN: hello[\s\S]*They work\./);
    });
  });
});

describe("Esc", needs("tmux"), () => {
  it("interrupts the main agent, and says which agents continue", async () => {
    const { server } = await scene("one");
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("1 working");
    await terminal.press("C-b");
    await terminal.waitFor("They work.");
    await say(terminal, "MAIN: again");
    await terminal.waitFor("waiting for the model");
    await terminal.press("Escape");
    await terminal.waitFor(/– interrupted, can be resumed\n\n {2}1 agent continues: general-purpose \(look at one\)\./);
  });
});

describe("Esc while prompts are queued", needs("tmux"), () => {
  it("keeps them in the queue and starts none of them", async () => {
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

describe("prompts that are written while the main agent is working", needs("tmux"), () => {
  it("are queued and shown, and can be edited or sent immediately to steer the agent", async () => {
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
