import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPlace, serve } from "../cli/command-line.ts";
import { serveProcess } from "../server/serve-process.ts";
import { openTerminal, say } from "./session.ts";
import { hasTmux } from "./tmux.ts";

describe.skipIf(!hasTmux)("a session on a server", () => {
  it("is used like one in this process, and goes on when the terminal is closed", async () => {
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
    await new Promise((resolve) => setTimeout(resolve, 500));
    await terminal.press("y");
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
});
