import { describe, expect, it } from "vitest";
import { said, startApi, startServer, startSession, stateOf, updateOf } from "./server.test-support.ts";

describe("a session over HTTP", () => {
  it("is started, watched, prompted, listed and deleted", async () => {
    const api = await startApi([said("One."), said("Two.")]);
    const server = await startServer({ api });
    const session = await startSession(server, { prompt: "First" });
    expect(session).toMatchObject({ worker: "work", state: "running", turns: expect.any(Number), approvals: 0 });
    const stream = server.stream(`/session/${session.id}/event`);
    expect((await stream.until(({ data }) => data.type === "session_snapshot")).id).toBeUndefined();
    await stream.until(({ data }) => data.type === "turn_complete" && data["text"] === "One.");
    const message = await server.send("POST", `/session/${session.id}/message`, { body: { prompt: "Second" } });
    expect(message).toMatchObject({ status: 200, json: { status: "done", message: "The main agent has started." } });
    await stream.until(({ data }) => data.type === "turn_complete" && data["text"] === "Two.");
    const ids = stream.events.flatMap(({ id }) => id ?? []);
    expect(ids).toEqual(Array.from(ids, (_, index) => index + 1));
    expect(stream.events.flatMap((event) => updateOf(event)?.event.type ?? [])).toContain("text.delta");
    await stateOf(server, session.id, "idle");
    expect((await server.send("GET", "/session")).json).toMatchObject([
      { id: session.id, title: "First", outcome: "succeeded", reason: "done" },
    ]);
    expect((await server.send("DELETE", `/session/${session.id}`)).status).toBe(204);
    expect(await stream.until(({ data }) => data.type === "session_closed")).toMatchObject({
      data: { reason: "deleted" },
    });
    await stream.ended;
    expect((await server.send("GET", `/session/${session.id}`)).status).toBe(404);
    expect(server.reports).toEqual([]);
  });
});
