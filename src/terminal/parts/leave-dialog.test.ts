import { describe, expect, it } from "vitest";
import { created, started } from "../../client/view/agent-events.test-support.ts";
import { openTestTerminal, type TestOptions, type TestTerminal } from "../terminal.test-support.ts";

const AGENT = "a000000000001";

/** Opens a terminal in which an agent is working in the background, and types a command. */
async function openBusy(command: string, options: TestOptions = {}): Promise<TestTerminal> {
  const terminal = await openTestTerminal(options);
  terminal.happen(created([AGENT]), AGENT);
  terminal.happen(started(), AGENT);
  await terminal.waitFor("1 working");
  terminal.type(command);
  terminal.press("enter");
  return terminal;
}

const server = { url: "http://127.0.0.1:7333", isRunning: true, advice: "" };

describe("/new while an agent is running", () => {
  it.each([
    ["l", "park", "1 agent from the previous session continues when you /resume it."],
    ["s", "stop", "1 agent from the previous session was stopped."],
    ["r", "serve", "1 agent from the previous session continues on the server."],
  ])("says what has happened to it after %s", async (key, how, receipt) => {
    const terminal = await openBusy("/new", { host: { server: async () => server } });
    await terminal.waitFor("1 agent is running");
    terminal.type(key);
    await terminal.waitFor(receipt);
    expect(terminal.closed).toEqual([how]);
  });

  it("says that it continues on a server", async () => {
    const terminal = await openBusy("/new", { facts: { isRemote: true } });
    await terminal.waitFor("1 agent from the previous session continues on the server.");
  });
});

describe("/quit while an agent is running", () => {
  it("lets it continue on the user's server", async () => {
    const terminal = await openBusy("/quit", { host: { server: async () => server } });
    await terminal.waitFor("Quit; it continues on the server http://127.0.0.1:7333");
    terminal.type("r");
    await expect.poll(() => terminal.closed).toEqual(["serve"]);
  });

  it("says how to start a server if none is running", async () => {
    const advice = "Run `retinue serve` in another terminal, then quit again.";
    const terminal = await openBusy("/quit", {
      host: { server: async () => ({ ...server, isRunning: false, advice }) },
    });
    await terminal.waitFor("1 agent is running");
    expect(terminal.frame()).not.toContain("on the server");
    terminal.press("down");
    await terminal.waitFor(advice);
  });
});
