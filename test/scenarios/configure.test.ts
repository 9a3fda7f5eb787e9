import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Approvals, steerSession } from "../../src/app/index.ts";
import type { PermissionMode, SettingsOrigin } from "../../src/protocol/index.ts";
import { createCast } from "../../src/testing/index.ts";
import { mainLines, open, promised, resultsIn, task, watch } from "./delegation-place.ts";

const write = (path: string) => ({ name: "Write", input: { file_path: path, content: "new" } });

/** Allows everything, and records the requests. */
function allowing(): Approvals & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async ask({ call }) {
      asked.push(JSON.parse(call.inputJson).file_path);
      return { answer: "allow", by: "test" };
    },
  };
}

describe("the permission mode", () => {
  it("changes during a run, and the model is told", async () => {
    const approvals = allowing();
    const { promise: later, keep: finish } = promised();
    const { session, model, home, cwd } = await open(
      { MAIN: [{ calls: [write("a.txt")] }, { calls: [write("b.txt")], after: later }, { text: "Done." }] },
      { approvals },
    );
    const watched = watch(session);
    const run = session.prompt("MAIN: go");
    await watched.until(({ event }) => event.type === "model.requested" && event.turn === 2);
    await session.setPermissionMode("acceptEdits");
    expect(session.permissionMode).toBe("acceptEdits");
    finish();
    expect((await run.result).outcome).toBe("succeeded");
    await session.close();
    expect(approvals.asked).toEqual(["a.txt"]);
    expect(JSON.stringify(model.requests("MAIN").at(-1))).toContain("The permission mode is now acceptEdits.");
    const changes = mainLines({ home, cwd }, session.id).filter(({ type }) => type === "mode.changed");
    expect(changes).toMatchObject([{ mode: "acceptEdits" }]);
  });

  it("never leaves a running subagent with more permissions than the main agent", async () => {
    const approvals = allowing();
    const { promise: later, keep: finish } = promised();
    const { session } = await open(
      {
        MAIN: [{ calls: [task("PART: go")] }, { text: "Done." }],
        PART: [{ calls: [write("a.txt")] }, { calls: [write("b.txt")], after: later }, { text: "Done." }],
      },
      { approvals, permissionMode: "bypassPermissions" },
    );
    const watched = watch(session);
    const run = session.prompt("MAIN: go");
    await watched.until(
      ({ agentId, event }) => agentId !== "main" && event.type === "model.requested" && event.turn === 2,
    );
    await session.setPermissionMode("default");
    finish();
    await run.result;
    await session.close();
    expect(approvals.asked).toEqual(["b.txt"]);
  });

  it("can be changed to plan and back", async () => {
    const { promise: later, keep: finish } = promised();
    const { session, model, cwd } = await open(
      {
        MAIN: [
          { calls: [write("a.txt")] },
          { calls: [write("b.txt")], after: later },
          { text: "Planned." },
          { calls: [write("c.txt")] },
          { text: "Done." },
        ],
      },
      { approvals: allowing() },
    );
    const watched = watch(session);
    const run = session.prompt("MAIN: go");
    await watched.until(({ event }) => event.type === "model.requested" && event.turn === 2);
    await session.setPermissionMode("plan");
    expect(session.permissionMode).toBe("plan");
    finish();
    await run.result;
    expect(resultsIn(model.requests("MAIN")[2])[0]).toContain("lan mode");
    await session.setPermissionMode("acceptEdits");
    expect(session.permissionMode).toBe("acceptEdits");
    await session.prompt("Carry it out").result;
    await session.close();
    expect(readFileSync(join(cwd, "c.txt"), "utf8")).toBe("new");
    expect(() => readFileSync(join(cwd, "b.txt"))).toThrow("ENOENT");
  });

  it("can be chosen before the first prompt", async () => {
    const { session, cwd } = await open(
      { MAIN: [{ calls: [write("a.txt")] }, { text: "Done." }] },
      { permissionMode: "plan", approvals: allowing() },
    );
    for (const mode of ["acceptEdits", "plan", "default", "plan", "acceptEdits"] as const) {
      await session.setPermissionMode(mode);
      expect(session.permissionMode).toBe(mode);
    }
    const run = session.prompt("MAIN: go");
    expect(session.permissionMode).toBe("acceptEdits");
    await run.result;
    expect(session.permissionMode).toBe("acceptEdits");
    await session.close();
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("new");
  });

  it.each([
    ["yolo", 'The permission mode can\'t be "yolo"'],
    ["bypassPermissions", "The bypassPermissions mode is switched off"],
  ])("can't be %s", async (mode, message) => {
    const { session } = await open(
      { MAIN: [] },
      { settings: { permissions: { disableBypassPermissionsMode: "disable" } } },
    );
    await expect(session.setPermissionMode(mode as PermissionMode)).rejects.toThrow(message);
    expect(await session.send({ id: "c1", type: "configure", permissionMode: mode as PermissionMode })).toMatchObject({
      status: "refused",
      message: expect.stringContaining(message),
    });
    expect(session.permissionMode).toBe("default");
    await session.close();
  });

  it("can't be more permissive than managed settings, which also fix the model", async () => {
    const file = "/etc/retinue/managed-settings.json";
    const settings = { permissions: { defaultMode: "default" }, model: "managed-model" } as const;
    const settingsOrigins: SettingsOrigin[] = [
      { path: "permissions.defaultMode", scope: "managed", file, value: "default" },
      { path: "model", scope: "managed", file, value: "managed-model" },
    ];
    const { session } = await open({ MAIN: [] }, { settings, settingsOrigins });
    const mode = "The permission mode can't be changed, because it is set in managed settings";
    await expect(session.setPermissionMode("acceptEdits")).rejects.toThrow(mode);
    await session.setPermissionMode("plan");
    await session.setPermissionMode("default");
    await expect(session.setModel("another")).rejects.toThrow("The model can't be changed");
    expect(await session.send({ id: "c1", type: "configure", permissionMode: "bypassPermissions" })).toMatchObject({
      status: "refused",
      message: expect.stringContaining(mode),
    });
    expect(session.permissionMode).toBe("default");
    await session.close();
  });
});

it("another process can't configure a session by writing to its inbox", async () => {
  const { session, home } = await open({ MAIN: [{ text: "So far.", hangs: true }] });
  void session.prompt("MAIN: go");
  await watch(session).until(({ event }) => event.type === "model.requested");
  const command = { type: "configure", permissionMode: "bypassPermissions" } as const;
  expect(await steerSession({ home, sessionId: session.id, command })).toMatchObject({
    receipt: { status: "refused", message: expect.stringContaining("Change them where the session runs.") },
  });
  expect(session.permissionMode).toBe("default");
  await session.close();
});

it("a command with an invalid mode or model changes neither", async () => {
  const provider = { dialect: "openai", baseUrl: "http://127.0.0.1:9/v1", models: { large: "llama" } } as const;
  const { session } = await open({ MAIN: [] }, { settings: { providers: { local: provider } } });
  const before = session.model.model;
  const configure = (id: string, permissionMode: string, model: string) =>
    session.send({ id, type: "configure", permissionMode: permissionMode as PermissionMode, model });
  expect(await configure("c1", "yolo", "local/large")).toMatchObject({ status: "refused" });
  expect(await configure("c2", "acceptEdits", "nowhere/nothing")).toMatchObject({ status: "refused" });
  expect([session.model.model, session.permissionMode]).toEqual([before, "default"]);
  expect(await configure("c3", "acceptEdits", "local/large")).toMatchObject({ status: "done" });
  expect([session.model.model, session.permissionMode]).toEqual(["llama", "acceptEdits"]);
  await session.close();
});

describe("the model", () => {
  it("changes with the next prompt, for the main agent and its subagents", async () => {
    const { promise: later, keep: finish } = promised();
    const { session, model } = await open({ MAIN: [{ text: "One.", after: later }] });
    const other = createCast(
      { MAIN: [{ calls: [task("PART: go")] }, { text: "Two." }], PART: [{ text: "Part." }] },
      { window: 100_000, model: "scripted-2" },
    );
    const first = session.prompt("MAIN: one");
    await watch(session).until(({ event }) => event.type === "model.requested");
    await session.setModel(other);
    expect(session.model.model).toBe("scripted-2");
    finish();
    expect((await first.result).model).toBe(model.describe().model);
    expect(await session.prompt("MAIN: two").result).toMatchObject({ text: "Two.", model: "scripted-2" });
    await session.close();
    expect(other.requests("PART")).toHaveLength(1);
    expect(JSON.stringify(other.requests("MAIN")[0])).toContain("Your model is now");
  });

  it("must be known to a provider", async () => {
    const { session } = await open({ MAIN: [] });
    await expect(session.setModel("nowhere/nothing")).rejects.toThrow("nowhere");
    expect(await session.send({ id: "c1", type: "configure" })).toMatchObject({
      status: "refused",
      message: expect.stringContaining("permissionMode"),
    });
    await session.close();
  });
});

describe("compaction on demand", () => {
  it("replaces the conversation with a summary that follows the instructions", async () => {
    const { session, model, home, cwd } = await open({
      MAIN: [{ text: "One." }, { text: "Two." }, { text: "Three." }, { text: "SUMMARY of it all." }, { text: "Four." }],
    });
    for (const words of ["MAIN: one", "the middle", "three"]) await session.prompt(words).result;
    const result = await session.compact("Keep the names of files.").result;
    expect(result).toMatchObject({ outcome: "succeeded" });
    await session.prompt("MAIN: four").result;
    await session.close();
    const [, , , asked, last] = model.requests("MAIN");
    expect(JSON.stringify(asked?.at(-1))).toContain("Keep the names of files.");
    expect(JSON.stringify(last)).toContain("SUMMARY of it all.");
    expect(JSON.stringify(last)).not.toContain("the middle");
    const lines = mainLines({ home, cwd }, session.id);
    expect(lines.filter(({ type }) => type === "conversation.compacted")).toMatchObject([{ trigger: "manual" }]);
  });

  it("is refused while the main agent is working, and if there is nothing to compact", async () => {
    const { session } = await open({ MAIN: [{ text: "One." }, { text: "Two.", hangs: true }] });
    expect(() => session.compact()).toThrow("There is nothing to compact yet");
    await session.prompt("MAIN: one").result;
    const run = session.prompt("MAIN: two");
    expect(await session.send({ id: "c1", type: "compact" })).toMatchObject({
      status: "refused",
      message: expect.stringContaining("The main agent is working"),
    });
    run.stop("interrupted");
    await session.close();
  });
});
