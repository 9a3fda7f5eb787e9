import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SessionInfo } from "../../protocol/index.ts";
import { newPlace, said, startApi, startServer, startSession, stateOf } from "../server.test-support.ts";

const answer = { ...said("Done."), usage: { inputTokens: 100_000, outputTokens: 10 } };
const look = { ...said([{ tool: "Read", input: { file_path: "notes.txt" } }]), usage: answer.usage };

describe("a session's cost limit", () => {
  it("is listed with the session's cost, even after the server was restarted", async () => {
    const place = newPlace();
    const api = await startApi([look, answer]);
    const first = await startServer({ place, api });
    const { id } = await startSession(first, { prompt: "Go.", maxCost: 100 });
    await stateOf(first, id, "idle");
    const { costUsd } = (await first.send("GET", `/session/${id}`)).json as SessionInfo;
    expect(costUsd).toBeGreaterThan(0);
    await first.close();
    const server = await startServer({ place, api });
    expect((await server.send("GET", "/session")).json).toMatchObject([{ id, costUsd, maxCost: 100 }]);
  });

  it("is listed with the session's cost after the server was killed", async () => {
    const place = newPlace();
    const api = await startApi([look, answer]);
    const first = await startServer({ place, api });
    const { id } = await startSession(first, { prompt: "Go.", maxCost: 100 });
    await stateOf(first, id, "idle");
    const { costUsd } = (await first.send("GET", `/session/${id}`)).json as SessionInfo;
    const killed = { ...place, home: join(place.root, "killed") };
    cpSync(place.home, killed.home, { recursive: true, filter: (path) => !/[./]lock$/.test(path) });
    const server = await startServer({ place: killed, api });
    await server.resumed;
    expect((await server.send("GET", "/session")).json).toMatchObject([
      { id, costUsd: expect.closeTo(costUsd ?? 0, 9), maxCost: 100, state: "ended" },
    ]);
  });

  it("can be raised when the budget has ended a run, which then continues", async () => {
    const api = await startApi([look, answer]);
    const server = await startServer({ api });
    const { id } = await startSession(server, { prompt: "Go.", maxCost: 0.4 });
    await stateOf(server, id, "idle");
    const path = `/session/${id}`;
    expect((await server.send("GET", path)).json).toMatchObject({ reason: "budget", maxCost: 0.4 });
    const { token } = JSON.parse(readFileSync(server.file, "utf8")) as { token: string };
    const headers = { Authorization: `Bearer ${token}` };
    expect((await server.send("POST", `${path}/limit`, { headers, body: { maxCost: 9 } })).status).toBe(403);
    for (const body of [{}, { maxCost: 0 }, { maxCost: "9" }, { maxCost: 9, model: "x" }])
      expect((await server.send("POST", `${path}/limit`, { body })).status).toBe(400);
    const raised = await server.send("POST", `${path}/limit`, { body: { maxCost: 90 } });
    expect(raised).toMatchObject({ status: 200, json: { maxCost: 90, state: "ended" } });
    const resume = { id: "r1", type: "resume", agent: "main" };
    expect((await server.send("POST", `${path}/command`, { body: resume })).json).toMatchObject({ status: "done" });
    await stateOf(server, id, "idle");
    expect((await server.send("GET", path)).json).toMatchObject({ reason: "done", maxCost: 90 });
  });
});
