import { describe, expect, it } from "vitest";
import { openTestTerminal } from "./terminal.test-support.ts";

describe("/permissions", () => {
  it("marks the current mode, and asks before everything is allowed", async () => {
    const terminal = await openTestTerminal({ facts: { permissionMode: "acceptEdits" } });
    terminal.type("/permissions");
    terminal.press("enter");
    await terminal.waitFor("› acceptEdits");
    expect(terminal.frame()).toMatch(/› acceptEdits .* current$/m);
    terminal.type("bypass");
    terminal.press("enter");
    await terminal.waitFor("Run every call without asking?");
    expect(terminal.frame()).toContain("run commands, change files and use the");
    terminal.press("enter");
    await terminal.waitFor("What shall we do?");
    expect(terminal.sent).toEqual([]);

    terminal.type("/permissions bypassPermissions");
    terminal.press("enter");
    await terminal.waitFor("Run every call without asking?");
    terminal.press("down", "enter");
    await expect
      .poll(() => terminal.sent)
      .toEqual([expect.objectContaining({ type: "configure", permissionMode: "bypassPermissions" })]);
  });
});

describe("a list in a small window", () => {
  it("shows all of its title, if there is room, and all of the selected item's description", async () => {
    const open = async (rows: number): Promise<string> => {
      const terminal = await openTestTerminal({ columns: 40, rows });
      terminal.type("/permissions");
      terminal.press("enter");
      await terminal.waitFor("› default");
      terminal.press("down");
      return terminal.frame();
    };
    expect(await open(20)).toContain("  Change the permission mode, or list\n  the rules\n");
    const described = /› acceptEdits .*\n {4}edit files in the workspace without\n {4}asking/;
    expect(await open(20)).toMatch(described);
    expect(await open(11)).toMatch(described);
  });
});

describe("/model", () => {
  const models = [
    { name: "claude-haiku-5-5", about: "small" },
    { name: "claude-sonnet-5-5", about: "medium" },
  ];

  it("lists the models of the provider, with the current one selected", async () => {
    const terminal = await openTestTerminal({ host: { models: async () => models } });
    terminal.type("/model");
    terminal.press("enter");
    await terminal.waitFor("claude-haiku-5-5");
    expect(terminal.frame()).toMatch(/^› claude-sonnet-5-5 {2}medium +current$/m);
    terminal.press("up", "enter");
    await expect
      .poll(() => terminal.sent)
      .toEqual([expect.objectContaining({ type: "configure", model: "claude-haiku-5-5" })]);
  });

  it("says that a model is unknown", async () => {
    const terminal = await openTestTerminal({
      facts: { model: "claude-hiaku-5-5" },
      host: { models: async () => models },
    });
    terminal.type("/model claude-hiaku-5-5");
    terminal.press("enter");
    await terminal.waitFor("Done. It is not a known model. Did you mean claude-haiku-5-5?");
  });

  it("says how to choose a model if none is known", async () => {
    const terminal = await openTestTerminal({ host: { models: async () => [] } });
    terminal.type("/model");
    terminal.press("enter");
    await terminal.waitFor("Use /model NAME");
    const offline = await openTestTerminal({ facts: { isOffline: true }, host: { models: async () => [] } });
    offline.type("/model");
    offline.press("enter");
    await offline.waitFor("Only the offline model can be used.");
  });
});
