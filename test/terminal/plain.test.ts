import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, retinue, serve } from "../cli/command-line.ts";
import { answerWith, openTerminal, say, type TerminalSession } from "./session.ts";

const words = ["--plain"];

/** Answers a numbered question, once it is on the screen. */
async function answer(terminal: TerminalSession, question: string | RegExp, text: string): Promise<void> {
  await terminal.waitFor(question);
  await terminal.waitFor((screen) => /(Number|Answer|Message):\s*$/.test(screen));
  await say(terminal, text);
}

describe("with --plain", needs("tmux"), () => {
  it("lists are printed with numbers, and the user types a number", async () => {
    const server = await serve([{ content: "Hello." }, { content: "Hello." }]);
    const place = createPlace();
    await retinue(["-p", "First prompt"], { ...place, server });
    const terminal = await openTerminal(server, { ...place, words, rows: 50 });
    await say(terminal, "/permissions");
    await answer(
      terminal,
      /Change the permission mode, or list the rules\n1: rules, list the rules in force\n2: default, .*, current\n/,
      "5",
    );
    const asked = await terminal.waitFor("Run every call without asking?");
    expect(asked).toMatch(/1: No, keep the current mode\n2: Yes, bypass permissions\nType a number from 1 to 2/);
    expect(asked).toContain("Use it only where nothing can be lost");
    await terminal.press("Escape");
    await terminal.waitFor("The permission mode is still default.");
    await say(terminal, "/agents");
    await answer(terminal, "Type part of a name", "explo");
    await answer(terminal, /\n1: Explore, .*/, "1");
    await terminal.waitFor(/Explore[\s\S]*built-in[\s\S]*tools/);
    await say(terminal, "/resume");
    await answer(terminal, /Continue an earlier session\n1: First prompt, /, "nothing like it");
    await terminal.waitFor("Nothing matches nothing like it.");
    await answer(terminal, "Nothing matches", "1");
    await terminal.waitFor(/session \S+[\s\S]*You: First prompt/);
  });

  it("agents are listed, read, messaged and stopped with numbers, and nothing is redrawn", async () => {
    let end = () => {};
    const gate = new Promise<void>((open) => {
      end = open;
    });
    const server = await serve({
      conversations: [
        {
          match: { firstUserContains: "CHILD:" },
          steps: [
            { reply: { content: ["I look.", { tool: "LS", input: { path: "." } }] } },
            {
              reply: async () => {
                await gate;
                return { content: "Seen." };
              },
              times: "always",
            },
          ],
        },
        {
          steps: [
            {
              reply: {
                content: [
                  {
                    tool: "Task",
                    input: {
                      description: "look at it",
                      prompt: "CHILD: go",
                      subagent_type: "general-purpose",
                      run_in_background: true,
                    },
                  },
                ],
              },
            },
            { reply: { content: "It works." }, times: "always" },
          ],
        },
      ],
    });
    const terminal = await openTerminal(server, { words, rows: 60 });
    const bytes = join(terminal.home, "..", "bytes");
    await terminal.record(bytes);
    await say(terminal, "MAIN: go");
    await terminal.waitFor("It works.");
    await terminal.press("Tab");
    await answer(terminal, /Which agent\?\n1: general-purpose \(look at it\), .* tokens\n/, "1");
    await answer(terminal, /1: Read its conversation\n2: Send it a message\n3: Stop it\n4: Make its caller wait/, "1");
    await terminal.waitFor(
      /Conversation of general-purpose \(look at it\):[\s\S]*LS \.: [\s\S]*End of the conversation of/,
    );
    await terminal.press("Tab");
    await answer(terminal, /End of the conversation of[\s\S]*Which agent\?/, "1");
    await answer(terminal, /End of the conversation of[\s\S]*What about general-purpose/, "2");
    await answer(terminal, "Write a message to general-purpose", "Hurry up");
    await terminal.waitFor("will read the message");
    await terminal.press("C-c");
    await terminal.press("C-c");
    await answer(terminal, /1 agent is running\n1: Wait until it has finished, then quit\n2: Let it continue/, "3");
    expect(await terminal.ended()).toBe(0);
    end();
    const written = readFileSync(bytes, "utf8");
    expect(written).not.toContain("\u001b[?1049h");
    expect(written).not.toContain("\u001b[2J");
  });

  it("agents' questions are answered with a number or with words, and approvals with a key", async () => {
    const options = [{ label: "Red", description: "like fire" }, { label: "Blue" }];
    const questions = [
      { question: "Which color?", header: "Color", options },
      { question: "Which ones?", header: "Several", options, multiSelect: true },
      { question: "What else?", header: "Other", options },
    ];
    const server = await serve([
      { content: [{ tool: "AskUserQuestion", input: { questions } }] },
      { content: [{ tool: "Bash", input: { command: "touch made" } }] },
      { content: "Thanks." },
    ]);
    const terminal = await openTerminal(server, { words, rows: 60 });
    await say(terminal, "Ask me");
    await answer(terminal, /Color: Which color\?\n1: Red\. like fire\n2: Blue\./, "2");
    await answer(terminal, "Several: Which ones?", "1, 2");
    await answer(terminal, "Other: What else?", "Green, please");
    await terminal.waitFor("y allow once, a always allow Bash(touch made)");
    expect(await terminal.screen()).toContain("What else? Green, please");
    await answerWith(terminal, "a");
    await answer(terminal, /Always allow\n1: Bash\(touch made\), for this session\n2: /, "1");
    await terminal.waitFor("Thanks.");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(true);
  });

  it("queued prompts and matches of a name are printed once", async () => {
    let end = () => {};
    const gate = new Promise<void>((open) => {
      end = open;
    });
    const server = await serve(async () => {
      await gate;
      return { content: "Heard." };
    });
    const terminal = await openTerminal(server, { words, rows: 40 });
    await say(terminal, "Begin");
    await terminal.waitFor("You: Begin");
    await say(terminal, "second");
    await terminal.waitFor("Queued: second. Up edits it, and Ctrl+S sends it now.");
    await terminal.type("/co");
    await terminal.press("Tab");
    await terminal.waitFor("matches: /context, /compact, /cost");
    await terminal.press("C-u");
    end();
    await terminal.waitFor(/Heard\.[\s\S]*You: second[\s\S]*Heard\./);
    expect((await terminal.scrollback()).match(/Queued: second/g)).toHaveLength(1);
  });
});
