import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ApiServer } from "../../src/testing/index.ts";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, serve } from "../cli/command-line.ts";
import { answerWith, openTerminal, say } from "./session.ts";

const bash = (command: string) => ({ tool: "Bash", input: { command } });
const buttons = "y allow once";

/** Returns the results that the model has received, oldest first. */
function results(server: ApiServer): readonly string[] {
  const body = server.requests.at(-1)?.body as { readonly messages: readonly { readonly content: unknown }[] };
  const blocks = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return blocks.filter(({ type }) => type === "tool_result").map(({ content }) => JSON.stringify(content));
}

describe("a call that needs approval", needs("tmux"), () => {
  it("is shown in full, and the user can allow it once, deny it, edit it, or always allow it", async () => {
    const calls = ["touch once\necho 'a\u202eb'", "touch never", "touch wrong", "touch always", "touch always"];
    const server = await serve([...calls.map((call) => ({ content: [bash(call)] })), { content: "All done." }]);
    const terminal = await openTerminal(server, { columns: 100, rows: 30 });
    const answer = async (shown: string, letter: "y" | "a" | "e" | "n"): Promise<void> => {
      await terminal.waitFor((screen) => screen.includes(shown) && screen.includes(buttons));
      await answerWith(terminal, letter);
    };
    await say(terminal, "Go");
    const first = await terminal.waitFor("main asks for approval");
    expect(first).toContain("│ Bash touch once↵\n  │ echo 'a\\u{202e}b'");
    expect(first).toContain("No rule allows this command");
    await answer("touch once", "y");

    await answer("touch never", "n");
    await terminal.waitFor("Why?");
    await say(terminal, "Not on Fridays");

    await answer("touch wrong", "e");
    await terminal.waitFor("Enter allows it as edited");
    await terminal.press("C-w");
    await say(terminal, "right");

    await answer("touch always", "a");
    expect(await terminal.waitFor("Always allow")).toContain("Bash(touch always)");
    await terminal.press("Enter");
    await terminal.waitFor("All done.");

    const made = ["once", "never", "wrong", "right", "always"].filter((name) => existsSync(join(terminal.cwd, name)));
    expect(made).toEqual(["once", "right", "always"]);
    expect(results(server)[1]).toContain("Not on Fridays");
    const said = await terminal.scrollback();
    expect(said).toMatch(/✓ Bash {3}touch once↵.*\n {4}you allowed it once\n/);
    expect(said).toMatch(/– Bash {3}touch never +denied\n {4}you denied it: Not on Fridays\n/);
    expect(said).toMatch(/✓ Bash {3}touch right .*\n {4}you edited and allowed it; before: touch wrong\n/);
    expect(said).toContain("    you allowed it, and always in this session: Bash(touch always)\n");
    server.assertDone();
  });

  it("is not answered by a word that contains an answer's key: the word begins a prompt", async () => {
    const server = await serve([{ content: [bash("touch made")] }, { content: "All done." }]);
    const terminal = await openTerminal(server, { columns: 100, rows: 30 });
    await say(terminal, "Go");
    await terminal.waitFor(buttons);
    for (const letter of ["w", "h", "y"]) await terminal.press(letter);
    const screen = await terminal.waitFor("why");
    expect(screen).toContain("Tab answers");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
    await terminal.press("C-u");
    await terminal.press("Tab");
    await terminal.waitFor(buttons);
    await answerWith(terminal, "y");
    await terminal.waitFor("All done.");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(true);
    server.assertDone();
  });

  it("names the agent that asks, at any depth, and ignores keys from a user who is typing", async () => {
    const task = {
      tool: "Task",
      input: { description: "look at it", prompt: "CHILD: go", subagent_type: "general-purpose" },
    };
    const server = await serve({
      conversations: [
        {
          match: { firstUserContains: "CHILD:" },
          steps: [
            { reply: { content: [bash("touch made")], pacing: { delayMs: 500 } } },
            { reply: { content: "Made." } },
          ],
        },
        {
          match: { firstUserContains: "MAIN:" },
          steps: [{ reply: { content: [task] } }, { reply: { content: "The end." } }],
        },
      ],
    });
    const terminal = await openTerminal(server);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("Enter queues");
    await terminal.type("Yes, and then");
    const screen = await terminal.waitFor("Tab answers");
    expect(screen).toContain("main › general-purpose wants to run: touch made");
    await terminal.type(" yyy");
    await terminal.waitFor("› Yes, and then yyy");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
    await terminal.press("Tab");
    await terminal.waitFor("main › general-purpose (look at it) asks for approval");
    // The agent's transcript shows the request too.
    await terminal.press("Escape");
    await terminal.waitFor("Tab answers");
    await terminal.press("C-u");
    await terminal.press("Down");
    await terminal.waitFor("Enter opens");
    await terminal.press("Enter");
    const transcript = await terminal.waitFor("waiting for you · Tab answers");
    expect(transcript).toMatch(/\? wants to run: touch made {2}waiting for you/);
    expect(transcript).toMatch(/wants to run: touch made {2}Tab answers\n {2}Esc back · .*whole calls · ↑↓ scroll\s*$/);
    await terminal.press("Tab");
    await terminal.waitFor((screen) => screen.includes("(look at it) asks for approval") && screen.includes(buttons));
    await answerWith(terminal, "y");
    await terminal.waitFor("Made.");
    await terminal.press("Escape");
    await terminal.waitFor("The end.");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(true);
    expect(await terminal.scrollback()).toContain(
      "  ✓ general-purpose (look at it) wants to run: touch made\n    you allowed it once\n",
    );
  });

  it("is answered for the agent that asks, even if two subagents of a subagent ask at the same time", async () => {
    const place = createPlace();
    mkdirSync(place.home);
    writeFileSync(join(place.home, "settings.json"), JSON.stringify({ subagents: { maxDepth: 2 } }));
    const task = (description: string, prompt: string) => ({
      tool: "Task",
      input: { description, prompt, subagent_type: "general-purpose" },
    });
    const inner = (name: string, commands: readonly string[]) => ({
      match: { firstUserContains: `INNER: ${name}` },
      steps: [
        ...commands.map((command) => ({ reply: { content: [bash(command)] } })),
        { reply: { content: `${name} is done.` } },
      ],
    });
    const server = await serve({
      conversations: [
        inner("left", ["touch left-once", "touch left-never", "touch left-wrong"]),
        inner("right", ["touch right-never", "touch right-always", "touch right-always"]),
        {
          match: { firstUserContains: "OUTER:" },
          steps: [
            { reply: { content: [task("the left part", "INNER: left"), task("the right part", "INNER: right")] } },
            { reply: { content: "Both are done." } },
          ],
        },
        {
          match: { firstUserContains: "MAIN:" },
          steps: [{ reply: { content: [task("all of it", "OUTER: go")] } }, { reply: { content: "The end." } }],
        },
      ],
    });
    const terminal = await openTerminal(server, { ...place, columns: 100, rows: 30 });
    const answers: Readonly<Record<string, () => Promise<void>>> = {
      "left-once": () => answerWith(terminal, "y"),
      "left-never": async () => {
        await answerWith(terminal, "n");
        await terminal.waitFor("Why?");
        await say(terminal, "Left is closed");
      },
      "left-wrong": async () => {
        await answerWith(terminal, "e");
        await terminal.waitFor("Enter allows it as edited");
        await terminal.press("C-u");
        await say(terminal, "touch left-edited");
      },
      "right-never": async () => {
        await answerWith(terminal, "n");
        await terminal.waitFor("Why?");
        await say(terminal, "Right is closed");
      },
      "right-always": async () => {
        await answerWith(terminal, "a");
        await terminal.waitFor("Always allow");
        await terminal.press("Enter");
      },
    };
    const request = /general-purpose › general-purpose \(the (\w+) part\) asks for approval.*\n {2}│ Bash touch (\S+)/;
    await say(terminal, "MAIN: go");
    const asked: string[] = [];
    for (let isNew = true; asked.length < 5; isNew = true) {
      const screen = await terminal.waitFor((shown) => {
        const [, , file = ""] = request.exec(shown) ?? [];
        isNew = file !== "" && !asked.includes(file);
        return isNew && shown.includes(buttons);
      });
      const [, side, file = ""] = request.exec(screen) ?? [];
      expect(file).toContain(side);
      asked.push(file);
      await answers[file]?.();
    }
    await terminal.waitFor("The end.");

    expect(readdirSync(place.cwd).sort()).toEqual(["left-edited", "left-once", "right-always"]);
    /** Returns the last messages that an agent's model has received. */
    const sentTo = (name: string): string | undefined =>
      server.requests
        .map(({ body }) => (body as { readonly messages: readonly unknown[] }).messages)
        .filter(([first]) => JSON.stringify(first).includes(`INNER: ${name}`))
        .map((messages) => JSON.stringify(messages))
        .at(-1);
    expect(sentTo("left")).toContain("Left is closed");
    expect(sentTo("left")).not.toContain("Right is closed");
    expect(sentTo("right")).toContain("Right is closed");
    expect(sentTo("right")).not.toContain("Left is closed");
    server.assertDone();
  });

  it("is not hidden by prompts in the queue", async () => {
    const server = await serve([{ content: [bash("touch made")] }, { content: "The end." }]);
    const terminal = await openTerminal(server);
    await say(terminal, "Go");
    await terminal.waitFor(buttons);
    await terminal.press("Escape");
    await terminal.waitFor("Tab answers");
    for (const name of ["one", "two", "three", "four", "five"]) {
      await say(terminal, `prompt ${name}`);
      await terminal.waitFor(`queued  prompt ${name}`);
    }
    expect(await terminal.screen()).toMatch(
      /queued {2}prompt one\n {2}and 3 more in the queue\n {2}queued {2}prompt five\n {2}\? main wants to run: touch made {2}Tab answers/,
    );
  });

  it("that is longer than the screen can be allowed only after all of it has been shown", async () => {
    const long = Array.from({ length: 60 }, (_, index) => `echo number ${index + 1}.`).join("\n");
    const server = await serve([{ content: [bash(`${long}\ntouch made`)] }, { content: "The end." }]);
    const terminal = await openTerminal(server);
    await say(terminal, "Go");
    const first = await terminal.waitFor("Space shows more");
    expect(first).toMatch(/↓ \d+ more rows/);
    expect(first).toContain("│ Bash echo number 1.");
    expect(first).toContain("  e edit   n deny…");
    const seen = new Set<string>();
    const look = (screen: string): void => {
      for (const [number] of screen.matchAll(/number \d+\./g)) seen.add(number);
    };
    look(first);
    for (let key = 0; seen.size < 60 || !(await terminal.screen()).includes("│ touch made"); key += 1) {
      const before = seen.size;
      await terminal.press(["Space", "PageDown"][key % 2] ?? "");
      await terminal.waitFor((screen) => {
        look(screen);
        return seen.size > before || screen.includes("│ touch made");
      });
      expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
      expect(key).toBeLessThan(20);
    }
    const last = await terminal.waitFor("y a e n and Enter answer");
    expect(last).toMatch(/y allow once {3}a always: Bash\(echo number .*… … {3}e edit {3}n deny…/);
    await answerWith(terminal, "a");
    expect(await terminal.waitFor("Always allow")).toMatch(/│ Bash\(echo number 1\.↵echo number 2\./);
    await terminal.press("Escape");
    await terminal.waitFor("y a e n and Enter answer");
    await answerWith(terminal, "e");
    const edited = await terminal.waitFor("Enter allows it as edited");
    expect(edited).toContain("asks for approval");
    expect(edited).toMatch(/^… +echo number \d+\.$/m);
    await terminal.press("Escape");
    await terminal.waitFor("y a e n and Enter answer");
    await answerWith(terminal, "y");
    await terminal.waitFor("The end.");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(true);
  });

  it("can't be allowed in a window that is too small to show it", async () => {
    const server = await serve([
      { content: [bash(`echo ${"word ".repeat(40)}; touch made`)] },
      { content: "The end." },
    ]);
    const terminal = await openTerminal(server, { rows: 7 });
    await say(terminal, "Go");
    await terminal.waitFor("Make the window larger");
    for (let count = 0; count < 4; count += 1) await terminal.press("Enter");
    await terminal.resize(80, 24);
    await terminal.waitFor("y a e n and Enter answer");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
    await answerWith(terminal, "y");
    await terminal.waitFor("The end.");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(true);
  });
});

describe("a file change that needs approval", needs("tmux"), () => {
  it("is shown as a diff with line numbers, and its new text can be edited", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "a.ts"), "const one = 1;\nconst two = 2;\nconst three = 3;\n");
    const input = { file_path: "a.ts", old_string: "two = 2", new_string: "two = 22" };
    const server = await serve([
      { content: [{ tool: "Read", input: { file_path: "a.ts" } }] },
      { content: [{ tool: "Edit", input }] },
      { content: "The end." },
    ]);
    const terminal = await openTerminal(server, place);
    await say(terminal, "Go");
    const screen = await terminal.waitFor(buttons);
    expect(screen).toMatch(
      /│ Edit a\.ts\n {2}│ 1 {3}const one = 1;\n {2}│ 2 − const two = 2;\n {2}│ 2 \+ const two = 22;/,
    );
    expect(screen).not.toContain("old_string");
    await answerWith(terminal, "e");
    await terminal.waitFor(/^ {2}› two = 22$/m);
    await terminal.type("3");
    await terminal.press("Enter");
    await terminal.waitFor("The end.");
    expect(readFileSync(join(place.cwd, "a.ts"), "utf8")).toContain("two = 223;");
  });
});

describe("a plan that needs approval", needs("tmux"), () => {
  it("is shown as formatted text, which stays in the scrollback, and can be rejected with a message", async () => {
    const plan = "# The plan\n\n1. Change **every** `price.ts`.\n2. Run the tests.\n\nDone\u202e.";
    const server = await serve([
      { content: [{ tool: "ExitPlanMode", input: { plan } }] },
      { content: [{ tool: "ExitPlanMode", input: { plan: "- One step" } }] },
      { content: "The end." },
    ]);
    const terminal = await openTerminal(server, { words: ["--permission-mode", "plan"] });
    await say(terminal, "Go");
    const screen = await terminal.waitFor("n deny…");
    expect(screen).toContain("asks for approval of its plan");
    expect(screen).toMatch(/ {2}│ The plan\n {2}│\n {2}│ 1\. Change every price\.ts\.\n {2}│ 2\. Run the tests\./);
    expect(screen).toContain("Done\\u{202e}.");
    expect(screen).not.toContain("↵");
    await answerWith(terminal, "n");
    await terminal.waitFor("Why?");
    await say(terminal, "Only one step");
    await terminal.waitFor(/ {2}│ [-•] One step\n/);
    await terminal.waitFor("y allow once");
    await answerWith(terminal, "y");
    await terminal.waitFor("The end.");
    const said = await terminal.scrollback();
    expect(said).toMatch(/ {4}The plan\n\n {4}1\. Change every price\.ts\./);
    expect(said).toMatch(/ {4}[-•] One step\n {4}you allowed it once\n/);
  });
});

describe("a plan that is presented after Shift+Tab has passed through a mode", needs("tmux"), () => {
  it("leads back to the mode before, and the last line shows the mode in force", async () => {
    const write = (name: string) => ({ tool: "Write", input: { file_path: name, content: "new" } });
    const server = await serve([
      { content: "Hello." },
      { content: [{ tool: "ExitPlanMode", input: { plan: "- Write made.txt" } }] },
      { content: [write("made.txt")] },
      { content: [{ tool: "EnterPlanMode", input: {} }] },
      { content: "Planning." },
    ]);
    const terminal = await openTerminal(server);
    await say(terminal, "Hi");
    await terminal.waitFor("Hello.");
    const last = /(acceptEdits|plan)(?: · .*)?\s*$/;
    for (const mode of ["acceptEdits", "plan"]) {
      await terminal.press("BTab");
      await terminal.waitFor((screen) => last.exec(screen)?.[1] === mode);
    }
    await say(terminal, "Plan it");
    await terminal.waitFor("y allow once");
    expect((await terminal.screen()).replace(/\n */g, " ")).toContain(
      "the permission mode is default: calls that no rule allows need approval.",
    );
    await answerWith(terminal, "y");
    await terminal.waitFor(/^ {2}│ Write made\.txt/m);
    await terminal.waitFor("y allow once");
    expect(await terminal.scrollback()).toContain("permission mode: default");
    expect(last.test(await terminal.screen())).toBe(false);
    await answerWith(terminal, "y");
    await terminal.waitFor("Planning.");
    await terminal.waitFor((screen) => last.exec(screen)?.[1] === "plan");
  });
});

describe("an agent's question", needs("tmux"), () => {
  it("can be answered with an option, several options, or the user's own text", async () => {
    const options = [{ label: "Red", description: "like fire" }, { label: "Blue" }];
    const questions = [
      { question: "Which color?", header: "Color", options },
      { question: "Which ones?", header: "Several", options, multiSelect: true },
      { question: "What else?", header: "Other", options },
    ];
    const server = await serve([
      { content: [{ tool: "AskUserQuestion", input: { questions } }] },
      { content: "Thanks." },
    ]);
    const terminal = await openTerminal(server);
    await say(terminal, "Ask me");
    expect(await terminal.waitFor("Enter answers")).toContain("Color (1 of 3): Which color?");
    await terminal.press("2", "Enter");
    await terminal.waitFor("Several (2 of 3)");
    await terminal.press("Space", "Down", "Space", "Enter");
    await terminal.waitFor("Other (3 of 3)");
    await terminal.press("3", "Enter");
    await terminal.waitFor("Esc back");
    await say(terminal, "Green, please");
    await terminal.waitFor("Thanks.");
    const said = await terminal.scrollback();
    expect(said).toContain("    Which color? Blue\n    Which ones? Red, Blue\n    What else? Green, please\n");
    const [result] = results(server);
    expect(result).toContain("Blue");
    expect(result).toContain("Red\\nBlue");
    expect(result).toContain("Green, please");
  });
});
