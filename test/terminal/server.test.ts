import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, retinue, serve } from "../cli/command-line.ts";
import { serveProcess } from "../server/serve-process.ts";
import { answerWith, openTerminal, say } from "./session.ts";

describe("a session on a server", needs("tmux"), () => {
  it("works like a session in the terminal's own process, and continues when the terminal is closed", async () => {
    const api = await serve([
      { content: [{ tool: "Bash", input: { command: "touch made" } }] },
      { content: "Made it." },
      { content: "Still here." },
    ]);
    const here = createPlace();
    const server = await serveProcess({ ...here, server: api }, []);
    const place = createPlace();
    const environment = { RETINUE_TOKEN: server.token };
    const terminal = await openTerminal(undefined, { ...place, words: ["--server", server.url], environment });
    await say(terminal, "Make it");
    await terminal.waitFor("main asks for approval");
    await terminal.waitFor("y allow once");
    await answerWith(terminal, "y");
    await terminal.waitFor("Made it.");
    expect(existsSync(join(here.cwd, "made"))).toBe(true);
    await terminal.press("C-d");
    expect(await terminal.ended()).toBe(0);
    const words = ["--server", server.url, "--continue"];
    const again = await openTerminal(undefined, { ...place, words, environment });
    await again.waitFor("Made it.");
    await say(again, "And now?");
    await again.waitFor("Still here.");
  });

  it("continues after the server was stopped and restarted, and keeps a prompt that could not be sent", async () => {
    const api = await serve([{ content: "First." }, { content: "Second." }]);
    const here = createPlace();
    const server = await serveProcess({ ...here, server: api }, []);
    const terminal = await openTerminal(undefined, { ...here, words: ["--server", server.url] });
    await say(terminal, "One");
    await terminal.waitFor("First.");
    await server.end("SIGTERM");
    await terminal.waitFor("Trying to connect again.");
    expect(await terminal.screen()).not.toContain("The connection is back.");
    await say(terminal, "Two");
    const refused = await terminal.waitFor(/can't be reached\.[\s\S]*› Two/);
    expect(refused.match(/can't be reached/g)).toHaveLength(1);
    await serveProcess({ ...here, server: api }, ["--port", new URL(server.url).port]);
    await terminal.waitFor("The connection is back.");
    await terminal.press("Enter");
    await terminal.waitFor(/› Two\n\nSecond\./);
  });

  it("that the server has not opened yet is opened by a prompt, and shows it and the answer", async () => {
    const api = await serve([{ content: "First." }, { content: "Second." }]);
    const here = createPlace();
    await retinue(["-p", "One"], { ...here, server: api });
    const server = await serveProcess({ ...here, server: api }, []);
    const again = await openTerminal(undefined, { ...here, words: ["--server", server.url, "--continue"] });
    await again.waitFor("First.");
    await say(again, "Two");
    await again.waitFor(/› Two\n\nSecond\./);
  });
});
