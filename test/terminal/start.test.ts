import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, dist, retinue, serve } from "../cli/command-line.ts";
import { openTerminal, say } from "./session.ts";
import { startInTmux } from "./tmux.ts";

describe("the first start", needs("tmux"), () => {
  it("says what was found and how to set up a model, and works without one", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "app.ts"), "export const port = 80;\n");
    const terminal = await openTerminal(undefined, place);
    const screen = await terminal.waitFor("Try: Map this repository");
    expect(screen).toMatch(/retinue \d+\.\d+\.\d+ {2}/);
    expect(screen).toContain("ANTHROPIC_API_KEY");
    await say(terminal, "Map this repository");
    await terminal.waitFor(/app\.ts/);
  });

  it("asks whether to trust the directory's files, and uses them only if the user agrees", async () => {
    const server = await serve([{ content: "Hello." }]);
    const place = createPlace();
    writeFileSync(join(place.cwd, "AGENTS.md"), "Always answer in rhymes.\n");
    mkdirSync(join(place.cwd, ".claude"));
    const settings = { permissions: { allow: ["Bash(*)"] }, statusLine: { type: "command", command: "echo mine" } };
    writeFileSync(join(place.cwd, ".claude/settings.json"), JSON.stringify(settings));
    writeFileSync(join(place.cwd, ".mcp.json"), JSON.stringify({ mcpServers: { x: { command: "true" } } }));
    const start = async (key: string) => {
      const opening = openTerminal(server, place);
      const terminal = await opening;
      await terminal.waitFor("Trust this directory?");
      const screen = await terminal.screen();
      expect(screen).toContain(".claude/settings.json: permissions.allow, statusLine");
      expect(screen).toContain("AGENTS.md");
      expect(screen).toContain(".mcp.json");
      await terminal.press(key);
      await terminal.waitFor("Enter sends");
      return terminal;
    };
    await start("n");
    const { stdout: before } = await retinue(["trust", "list"], place);
    expect(before).toContain("No directory is trusted.");
    const terminal = await start("y");
    const { stdout: after } = await retinue(["trust", "list"], place);
    expect(after).toContain(place.cwd);
    await say(terminal, "Hi");
    await terminal.waitFor("Hello.");
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("Always answer in rhymes.");
  });
});

describe("text typed while the terminal asks about trust", needs("tmux"), () => {
  it("goes to the input box and does not answer the question", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "AGENTS.md"), "Always answer in rhymes.\n");
    const terminal = await openTerminal(undefined, place);
    await terminal.waitFor("Trust this directory?");
    await terminal.type("yes, map it");
    await terminal.waitFor(/^› yes, map it$/m);
    await terminal.press("Enter");
    await terminal.waitFor("Enter sends");
    expect(await terminal.screen()).toMatch(/^› yes, map it$/m);
    const { stdout } = await retinue(["trust", "list"], place);
    expect(stdout).toContain("No directory is trusted.");
  });
});

describe("a terminal that gets a signal", needs("tmux"), () => {
  it.each(["SIGTERM", "SIGHUP"] as const)("%s: ends at the second one if a hook does not end", async (first) => {
    const place = createPlace();
    const begun = join(place.cwd, "begun");
    const hook = { type: "command", command: `echo > '${begun}'; sleep 100`, timeout: 100 };
    mkdirSync(place.home, { recursive: true });
    writeFileSync(join(place.home, "settings.json"), JSON.stringify({ hooks: { SessionEnd: [{ hooks: [hook] }] } }));
    const terminal = await openTerminal(await serve([{ content: "Hello." }]), place);
    await say(terminal, "Hi");
    await terminal.waitFor("Hello.");
    terminal.signal(first);
    await expect.poll(() => existsSync(begun), { timeout: 10_000 }).toBe(true);
    // Signals that arrive together count as one.
    await setTimeout(250);
    terminal.signal("SIGINT");
    expect(await terminal.ended()).toBe(130);
  });
});

describe("a session that can't be opened", needs("tmux"), () => {
  it.each([
    [["--server", "http://127.0.0.1:1"], /127\.0\.0\.1:1/],
    [["--resume", "nope"], /nope/],
    [["--provider", "foo"], /foo/],
  ])("ends the program with the reason: %j", async (words, reason) => {
    const place = createPlace();
    const tmux = startInTmux({
      command: [process.execPath, join(dist, "cli.cjs"), ...words],
      cwd: place.cwd,
      environment: { PATH: process.env["PATH"], HOME: join(place.home, ".."), RETINUE_HOME: place.home },
    });
    onTestFinished(tmux.close);
    expect([1, 2]).toContain(await tmux.ended());
    // When a program ends, tmux scrolls by a row.
    const screen = await tmux.scrollback();
    expect(screen).toMatch(/^retinue: /m);
    expect(screen).toMatch(reason);
    expect(screen).not.toContain("Enter sends");
  });

  it("does not end the session that is already open", async () => {
    const server = await serve([{ content: "First answer." }, { content: "Second answer." }]);
    const place = createPlace();
    const first = await openTerminal(server, place);
    await say(first, "First prompt");
    await first.waitFor("First answer.");
    const second = await openTerminal(server, place);
    await say(second, "/resume");
    await second.waitFor("open elsewhere");
    await second.press("Enter");
    await second.waitFor(/is in use by process \d+/);
    expect(await second.screen()).not.toContain("kill");
    await say(second, "Second prompt");
    await second.waitFor("Second answer.");
  });
});

describe("Ctrl+Z", needs("tmux"), () => {
  it("returns the terminal to the shell, and `fg` continues with the text typed before", async () => {
    const place = createPlace();
    const tmux = startInTmux({
      command: ["bash", "--norc"],
      cwd: place.cwd,
      environment: {
        PATH: process.env["PATH"],
        HOME: join(place.home, ".."),
        RETINUE_HOME: place.home,
        PS1: "shell: ",
      },
    });
    onTestFinished(tmux.close);
    await tmux.waitFor("shell:");
    await say(tmux, `'${process.execPath}' '${join(dist, "cli.cjs")}'`);
    await tmux.waitFor("Try: Map this repository");
    await tmux.type("Hello");
    await tmux.waitFor("› Hello");
    await tmux.press("C-z");
    await tmux.waitFor("Stopped");
    await say(tmux, "fg");
    await tmux.waitFor("› Hello");
    await tmux.type(" again");
    const screen = await tmux.waitFor("› Hello again");
    expect(screen.match(/› Hello/g)).toHaveLength(1);
  });
});

describe("the display", needs("tmux"), () => {
  it("includes a status line from the user's command, with its colors", async () => {
    const server = await serve([{ content: "Hello." }]);
    const place = createPlace();
    mkdirSync(place.home, { recursive: true });
    const command = String.raw`printf '\033[35m%s\033[0m \033[2Jend' "$(cat | grep -o '"state":"[a-z]*"')"`;
    writeFileSync(
      join(place.home, "settings.json"),
      JSON.stringify({ statusLine: { type: "command", command, padding: 2 } }),
    );
    const terminal = await openTerminal(server, place);
    await terminal.waitFor('  "state":"idle" end');
    expect(await terminal.scrollback({ styled: true })).toContain('\u001b[35m"state":"idle"');
  });

  it("has no colors with NO_COLOR, and only plain sentences with --plain", async () => {
    const server = await serve([{ content: [{ tool: "LS", input: { path: "." } }] }, { content: "One **file**." }]);
    const terminal = await openTerminal(server, { words: ["--plain"], environment: { NO_COLOR: "1" } });
    await say(terminal, "List");
    await terminal.waitFor("One file.");
    const styled = await terminal.scrollback({ styled: true });
    // tmux adds the codes 39 and 49 for the default colors.
    expect(styled).not.toMatch(/\[(\d;)?(3|4|9|10)[0-7]m/);
    const shown = await terminal.scrollback();
    expect(shown).toMatch(/You: List\n\nLS \.: \d+ entr(y|ies), \d+ ms\n\nOne file\./);
    expect(shown).not.toMatch(/[─●✓›]/);
  });
});
