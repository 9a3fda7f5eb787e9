import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { PermissionMode, SessionInfo, WaitingApproval } from "../../../src/protocol/index.ts";
import {
  newPlace,
  said,
  startApi,
  startServer,
  startSession,
  type TestServer,
} from "../../../src/server/server.test-support.ts";

const write = said([{ tool: "Write", input: { file_path: "made.txt", content: "made" } }]);
const enterPlan = said([{ tool: "EnterPlanMode", input: {} }]);

/** Waits until a session is waiting for approval, or its last run has ended after this many turns. */
async function settled(server: TestServer, id: string, turns: number): Promise<SessionInfo> {
  const read = async () => (await server.send("GET", `/session/${id}`)).json as SessionInfo;
  await expect
    .poll(
      async () => {
        const { state, turns: done } = await read();
        return state === "waiting" || (state !== "running" && done >= turns);
      },
      { timeout: 15_000 },
    )
    .toBe(true);
  return read();
}

it.each<[PermissionMode, PermissionMode, "waiting" | "idle"]>([
  ["bypassPermissions", "plan", "idle"],
  ["bypassPermissions", "default", "waiting"],
  ["acceptEdits", "dontAsk", "idle"],
])(
  "a session that was changed from %s to %s keeps the new mode when a server opens it again",
  async (from, to, state) => {
    const place = newPlace();
    const api = await startApi([said("One."), write, said("Two.")]);
    const first = await startServer({ place, api });
    const { id } = await startSession(first, { permissionMode: from, prompt: "One" });
    await settled(first, id, 1);
    const body = { id: "c1", type: "configure", permissionMode: to };
    expect((await first.send("POST", `/session/${id}/command`, { body })).json).toMatchObject({ status: "done" });
    await first.close();
    const server = await startServer({ place, api });
    await server.send("POST", `/session/${id}/message`, { body: { prompt: "Two" } });
    expect(await settled(server, id, 3)).toMatchObject({ state });
    expect(existsSync(join(place.cwd, "made.txt"))).toBe(false);
  },
);

it("a session that its agent put into plan mode stays there when a server opens it again", async () => {
  const place = newPlace();
  const api = await startApi([enterPlan, said("One."), write, said("Two.")]);
  const first = await startServer({ place, api });
  const { id } = await startSession(first, { permissionMode: "bypassPermissions", prompt: "One" });
  await settled(first, id, 2);
  await first.close();
  const server = await startServer({ place, api });
  await server.send("POST", `/session/${id}/message`, { body: { prompt: "Two" } });
  await settled(server, id, 4);
  expect(existsSync(join(place.cwd, "made.txt"))).toBe(false);
});

it("a mode that was only passed through on the way to plan mode applies neither after a restart nor to the plan", async () => {
  const place = newPlace();
  const present = said([{ tool: "ExitPlanMode", input: { plan: "Write made.txt." } }]);
  const api = await startApi([said("One."), present, write]);
  const first = await startServer({ place, api });
  const { id } = await startSession(first, { prompt: "One" });
  await settled(first, id, 1);
  for (const permissionMode of ["acceptEdits", "plan"]) {
    const body = { id: permissionMode, type: "configure", permissionMode };
    expect((await first.send("POST", `/session/${id}/command`, { body })).json).toMatchObject({ status: "done" });
  }
  const current = async (server: TestServer) => (await server.send("GET", `/session/${id}`)).json as SessionInfo;
  expect(await current(first)).toMatchObject({ permissionMode: "plan" });
  await first.close();

  const second = await startServer({ place, api });
  await second.send("POST", `/session/${id}/message`, { body: { prompt: "Two" } });
  expect(await settled(second, id, 2)).toMatchObject({ state: "waiting", permissionMode: "plan" });
  const [plan] = (await second.send("GET", "/approval")).json as readonly WaitingApproval[];
  expect(plan?.question.decision.reason).toContain("the permission mode is default: calls that no rule allows need");
  const path = `/session/${id}/approval/${plan?.question.requestId}`;
  expect((await second.send("POST", path, { body: { answer: "allow" } })).status).toBe(200);
  await expect
    .poll(() => current(second), { timeout: 10_000 })
    .toMatchObject({ approvals: 1, permissionMode: "default" });
  await second.close();

  const third = await startServer({ place, api });
  await third.send("POST", `/session/${id}/command`, { body: { id: "c2", type: "resume", agent: "main" } });
  await expect.poll(() => current(third), { timeout: 10_000 }).toMatchObject({ permissionMode: "default" });
  expect(existsSync(join(place.cwd, "made.txt"))).toBe(false);
});

it("a session keeps the mode and the model that a client chose before its first prompt", async () => {
  const place = newPlace();
  const api = await startApi([write, said("One.")]);
  const first = await startServer({ place, api });
  const { id } = await startSession(first, { permissionMode: "plan" });
  const body = { id: "c1", type: "configure", permissionMode: "acceptEdits", model: "claude-haiku-4-5" };
  expect((await first.send("POST", `/session/${id}/command`, { body })).json).toMatchObject({ status: "done" });
  await first.close();
  const server = await startServer({ place, api });
  await server.send("POST", `/session/${id}/message`, { body: { prompt: "One" } });
  expect(await settled(server, id, 2)).toMatchObject({ state: "idle", model: expect.stringContaining("haiku") });
  expect(existsSync(join(place.cwd, "made.txt"))).toBe(true);
});
