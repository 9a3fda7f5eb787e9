import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, retinue, serve } from "../cli/command-line.ts";
import { openTerminal, say } from "./session.ts";

describe("a conversation", needs("tmux"), () => {
  it("shows the answer as it is written and each call on one line, and ends when Ctrl+C is pressed twice", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "a.ts"), "export const a = 1;\n");
    const server = await serve([
      { content: ["Let me look.", { tool: "Read", input: { file_path: "a.ts" } }] },
      {
        content: "It has **one** line.\n\n```ts\nexport const a = 1;\n```\n\nThat is all.",
        pacing: { chunkMs: 20, chunkCharacters: 8 },
      },
    ]);
    const terminal = await openTerminal(server, place);
    await say(terminal, "What is in a.ts?");
    await terminal.waitFor("writing");
    await terminal.waitFor(/^That is all\.$/m);
    await terminal.waitFor((screen) => !screen.includes("writing"));
    const all = await terminal.scrollback();
    expect(all).toContain("› What is in a.ts?\n\nLet me look.\n\n  ✓ Read   a.ts");
    expect(all).toMatch(
      /✓ Read {3}a\.ts +1 line · \d+ ms\n\nIt has one line\.\n\n {2}export const a = 1;\n\nThat is all\.\n/,
    );
    await terminal.press("C-c");
    await terminal.waitFor("Ctrl+C again quits");
    await terminal.press("C-c");
    expect(await terminal.ended()).toBe(0);
    expect(await terminal.screen()).toContain("Resume this session with: retinue --resume");
    server.assertDone();
  });

  it("shows the earlier messages when it is resumed, and continues", async () => {
    const server = await serve(["First", "Second", "Third"].map((which) => ({ content: `${which} answer.` })));
    const place = createPlace();
    await retinue(["-p", "First prompt"], { ...place, server });
    const terminal = await openTerminal(server, { ...place, words: ["--continue"] });
    await terminal.waitFor("First answer.");
    await say(terminal, "Second prompt");
    await terminal.waitFor("Second answer.");
    // The conversation began without a person, so it has no tools that need one.
    expect(await terminal.scrollback()).toMatch(/New tools can't be used in this conversation:.*AskUserQuestion/s);
    // Prompts are remembered, including those from other sessions in the directory.
    const other = await openTerminal(server, place);
    await other.press("Up");
    await other.waitFor(/^› Second prompt$/m);
    expect(await terminal.scrollback()).toMatch(
      /› First prompt\n\nFirst answer\.\n\n[^›]*› Second prompt\n\nSecond answer\./,
    );
    await say(terminal, "/new");
    await terminal.waitFor(/retinue \d.*Second answer.*retinue \d/s);
    await say(terminal, "Third prompt");
    await terminal.waitFor("Third answer.");
    expect(server.requests.map(({ rawBody }) => rawBody.includes("First prompt"))).toEqual([true, true, false]);
  });

  it("keeps every line in the scrollback exactly once and in order, even if the terminal is resized meanwhile", async () => {
    const lines = Array.from({ length: 120 }, (_, index) => `Line number ${index + 1} of the answer.`);
    const server = await serve([{ content: lines.join("\n\n"), pacing: { chunkMs: 12, chunkCharacters: 24 } }]);
    const terminal = await openTerminal(server);
    await say(terminal, "Count");
    await terminal.waitFor("Line number 5 ");
    // Some sizes follow each other faster than tmux reports them to the program. It writes nothing until they stop changing.
    for (let [count, shown] = [0, 0]; shown < 120; ) {
      for (const end = count + 8; count < end; count += 1)
        await terminal.resize(50 + ((count * 37) % 71), 14 + ((count * 11) % 27));
      const before = shown;
      shown = lastNumber(await terminal.waitFor((screen) => lastNumber(screen) > before));
    }
    await terminal.resize(80, 24);
    await terminal.waitFor((screen) => !screen.includes("writing") && /^─{79}$/m.test(screen));
    const all = await terminal.scrollback();
    expect(all.match(/Line number \d+/g)).toEqual(lines.map((_, index) => `Line number ${index + 1}`));
    expect(all.match(/Enter sends/g)).toHaveLength(1);
    expect(all.match(/^─+$/gm)).toHaveLength(1);
  });

  it("keeps every line of streamed code exactly once, even if the terminal becomes smaller meanwhile", async () => {
    const lines = Array.from(
      { length: 120 },
      (_, index) => `const number${index + 1} = compute(${index + 1}); // done`,
    );
    const code = ["```ts", ...lines, "```"].join("\n");
    const server = await serve([{ content: code, pacing: { chunkMs: 12, chunkCharacters: 24 } }]);
    const terminal = await openTerminal(server);
    await say(terminal, "Count");
    await terminal.waitFor("number20 ");
    for (const [columns, rows] of [
      [80, 12],
      [80, 24],
      [50, 24],
      [80, 24],
      [80, 11],
      [80, 24],
    ] as const) {
      await terminal.resize(columns, rows);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    await terminal.waitFor(/number120 /);
    await terminal.waitFor((screen) => !screen.includes("writing") && /^─{79}$/m.test(screen));
    const found = (await terminal.scrollback()).match(/const number\d+/g);
    expect(found).toEqual(lines.map((_, index) => `const number${index + 1}`));
  });

  it("is not moved by emoji whose width terminals disagree about", async () => {
    const server = await serve([{ content: "Fine \u{1f44d}\u{1f3fd} so far." }]);
    const terminal = await openTerminal(server);
    await say(terminal, "Go");
    await terminal.waitFor("Fine \u{1f44d} so far.");
    const { length } = "long \u{1f44d}\u{1f3fd} ".repeat(6);
    await terminal.type("long \u{1f44d}\u{1f3fd} ".repeat(6));
    await terminal.waitFor(/(long \u{1f44d} ?){6}/u);
    for (let key = 0; key < length; key += 1) await terminal.press("BSpace");
    const screen = await terminal.waitFor("What shall we do?");
    expect(screen).toMatch(/Fine \u{1f44d} so far\.\n\n› What shall we do\?\n─{79}\n/u);
  });
});

function lastNumber(screen: string): number {
  return Number([...screen.matchAll(/Line number (\d+) /g)].at(-1)?.[1] ?? 0);
}
