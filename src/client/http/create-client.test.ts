import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionUpdate } from "../../protocol/index.ts";
import type { ViewUpdate } from "../view/fold-session.ts";
import { ClientError } from "./client-error.ts";
import type { ConnectionState } from "./connection.ts";
import { createClient, type EventOptions } from "./create-client.ts";
import {
  beginStream,
  eventText,
  problem,
  sendJson,
  startServer,
  TOKEN,
  updateText,
} from "./http-server.test-support.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const reconnect = { firstMs: 1, longestMs: 4, quietMs: 10_000 };
const EVENTS = "GET /session/s1/event";

function clientOf(url: string, token = TOKEN) {
  return createClient({ url, token, reconnect });
}

const notice = (seq: number, agentId = "main"): SessionUpdate => ({
  agentId,
  seq,
  event: { v: 1, id: String(seq), parentId: null, seq, at: seq, type: "notice.raised", code: "x", message: `é ${seq}` },
});

const closed = eventText({ type: "session_closed", reason: "ended" });

async function collect(url: string, options: EventOptions = {}): Promise<readonly ViewUpdate[]> {
  const updates: ViewUpdate[] = [];
  for await (const update of clientOf(url).sessions.open("s1").events(options)) updates.push(update);
  return updates;
}

describe("the client", () => {
  it.each([
    [undefined, "createClient needs the url option. Use the server's address"],
    [{ url: "localhost:7333", token: "t" }, "createClient needs a valid url option. Use"],
    [{ url: "http://127.0.0.1:7333" }, "createClient needs the token option"],
  ])("refuses %o", (options, message) => {
    expect(() => createClient(options as never)).toThrowError(message);
  });

  it("sends each request in the form that the server expects, with the token", async () => {
    const receipt = { commandId: "c", status: "done", message: "Done." };
    const ok = sendJson(receipt);
    const { url, requests } = await startServer({
      "GET /session": sendJson([{ id: "s1" }]),
      "POST /session": sendJson({ id: "s2" }, 201),
      "GET /session/s1": sendJson({ id: "s1" }),
      "DELETE /session/s1": (response) => void response.writeHead(204).end(),
      "POST /session/s1/message": ok,
      "POST /session/s1/command": ok,
      "POST /session/s1/approval/ask_1": ok,
      "GET /session/s1/agent": sendJson([]),
      "GET /session/s1/agent/a1/line?limit=1000": sendJson({ lines: [{ id: "1" }], next: "1" }),
      "GET /session/s1/agent/a1/line?limit=1000&after=1": sendJson({ lines: [{ id: "2" }] }),
      "GET /session/s1/result/r1": (response) => void response.end("whole"),
      "GET /session/s1/queue": sendJson([]),
      "GET /approval": sendJson([]),
      "GET /agent?worker=w%2F1": sendJson({ agents: [] }),
      "GET /worker": sendJson([]),
    });
    const client = clientOf(`${url}/`);
    const session = client.sessions.open("s1");
    expect(await client.sessions.list()).toEqual([{ id: "s1" }]);
    expect(await client.sessions.create({ prompt: "Go" })).toEqual({ id: "s2" });
    expect(await session.info()).toEqual({ id: "s1" });
    expect(await session.prompt("Hello", { id: "m1" })).toEqual(receipt);
    await session.message("scout", [{ type: "text", text: "x" }], { id: "m2", when: "next" });
    await session.stop();
    await session.send({ type: "resume", agent: "a1", id: "c9" });
    await session.edit("p1", "Better");
    await session.withdraw("p1");
    await session.answer("ask_1", { answer: "deny", message: "No." });
    const lines: unknown[] = [];
    for await (const line of session.lines("a1")) lines.push(line);
    expect(lines).toEqual([{ id: "1" }, { id: "2" }]);
    expect(await session.result("r1")).toBe("whole");
    await Promise.all([
      session.agents(),
      session.queue(),
      client.approvals.list(),
      client.agents("w/1"),
      client.workers(),
    ]);
    await client.sessions.delete("s1");
    const id = expect.stringMatching(/^command_[0-9a-f]{24}$/);
    expect(requests.flatMap(({ line, body }) => (body === undefined ? [] : [[line, body]]))).toEqual([
      ["POST /session", { prompt: "Go" }],
      ["POST /session/s1/message", { prompt: "Hello", to: "main", id: "m1" }],
      ["POST /session/s1/message", { content: [{ type: "text", text: "x" }], to: "scout", when: "next", id: "m2" }],
      ["POST /session/s1/command", { type: "stop", what: "tree", id }],
      ["POST /session/s1/command", { type: "resume", agent: "a1", id: "c9" }],
      ["POST /session/s1/command", { type: "edit", promptId: "p1", content: [{ type: "text", text: "Better" }], id }],
      ["POST /session/s1/command", { type: "withdraw", promptId: "p1", id }],
      ["POST /session/s1/approval/ask_1", { answer: "deny", message: "No." }],
    ]);
  });

  it("rejects with the server's error, or with its own if no server answers", async () => {
    const { url, close } = await startServer({
      "GET /approval": (response) =>
        problem(response, { status: 403, code: "forbidden", detail: "This token does not have the read scope." }),
      "GET /worker": (response) => void response.writeHead(502).end("<html>"),
      "GET /session": (response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    });
    const client = clientOf(url);
    const failure = (promise: Promise<unknown>) => promise.then(undefined, (error: ClientError) => error);
    expect(await failure(client.approvals.list())).toMatchObject({
      name: "ClientError",
      status: 403,
      code: "forbidden",
      detail: "This token does not have the read scope.",
    });
    expect(await failure(client.sessions.open("x").info())).toMatchObject({ status: 404, code: "not_found" });
    expect(await failure(clientOf(url, "old").workers())).toMatchObject({ status: 401, code: "unauthorized" });
    expect(await failure(client.workers())).toMatchObject({ status: 502, code: "http_502" });
    expect(await failure(client.sessions.list())).toMatchObject({ status: 0, code: "unreachable" });
    await close();
    const gone = await failure(client.sessions.list());
    expect(gone).toBeInstanceOf(ClientError);
    expect(gone).toMatchObject({
      status: 0,
      code: "unreachable",
      detail: expect.stringContaining("can't be reached ("),
    });
  });
});

describe("the updates of a session", () => {
  it("arrive once and in order, even if connections are cut and events are sent again", async () => {
    const total = 12;
    const sent = Array.from({ length: total }, (_, index) => notice(index + 1, index % 3 === 0 ? "a1" : "main"));
    const texts = sent.map(updateText);
    const cuts = fc.array(fc.record({ bytes: fc.nat(400), again: fc.nat(3) }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(cuts, async (plan) => {
        const { url, requests, close } = await startServer({
          [EVENTS]: (response, { after = "0" }, count) => {
            beginStream(response);
            const { bytes, again } = plan[count] ?? { bytes: undefined, again: 0 };
            const rest = `${texts.slice(Math.max(0, Number(after) - again)).join("")}${closed}`;
            if (bytes === undefined) return void response.end(rest);
            // The connection can be cut in the middle of an event, or even of a character.
            response.write(Buffer.from(rest).subarray(0, bytes), () => response.destroy());
          },
        });
        const updates = await collect(url);
        expect(updates.map(({ seq }) => seq)).toEqual(sent.map(({ seq }) => seq));
        expect(updates.map(({ event }) => event)).toEqual(sent.map(({ event }) => event));
        expect(updates[0]).toMatchObject({ agentId: "a1", agentType: "Explore", path: ["a1"] });
        const positions = requests.map(({ after }) => Number(after ?? 0));
        expect(positions).toEqual([...positions].sort((left, right) => left - right));
        await close();
      }),
      { numRuns: 25 },
    );
  });

  it("arrive even if every byte is sent separately, and live events have no position", async () => {
    const live: SessionUpdate = { agentId: "main", event: { type: "text.delta", turn: 1, text: "Grüße 🙂" } };
    const { url } = await startServer({
      [EVENTS]: async (response) => {
        beginStream(response);
        for (const byte of Buffer.from(`: keep-alive\n\n${updateText(notice(1))}${updateText(live)}${closed}`)) {
          response.write(Uint8Array.of(byte));
          await setImmediate();
        }
        response.end();
      },
    });
    const updates = await collect(url);
    expect(updates).toEqual([{ ...notice(1) }, { ...live, seq: undefined }]);
  });

  it("skip unknown events from a newer server, but continue after them", async () => {
    const { url, requests } = await startServer({
      [EVENTS]: (response, _, count) => {
        beginStream(response);
        if (count > 0) return void response.end(closed);
        response.write(`${eventText({ type: "something_new" }, 7)}data: not json\n\n`, () => response.destroy());
      },
    });
    expect(await collect(url)).toEqual([]);
    expect(requests.map(({ after }) => after)).toEqual([undefined, "7"]);
  });

  it("report when the connection is lost and restored, with a snapshot for each connection", async () => {
    const snapshot = { type: "session_snapshot", session: { id: "s1" }, approvals: [] };
    const stopped = eventText({ type: "session_closed", reason: "server_stopped" });
    const { url } = await startServer({
      [EVENTS]: (response, _, count) => {
        if (count === 1) return problem(response, { status: 503, code: "stopping", detail: "The server is stopping." });
        beginStream(response);
        response.end(`${eventText(snapshot)}${count === 0 ? stopped : closed}`);
      },
    });
    const states: ConnectionState[] = [];
    const snapshots: unknown[] = [];
    let reason: string | undefined;
    await collect(url, {
      onState: (state) => states.push(state),
      onSnapshot: (each) => snapshots.push(each),
      onClosed: (each) => {
        reason = each.reason;
      },
    });
    expect(states.map((each) => (each.state === "lost" ? each.error.code : each.state))).toEqual([
      "connected",
      "closed",
      "stopping",
      "connected",
    ]);
    expect(states[0]).toMatchObject({ at: expect.closeTo(Date.now(), -5) });
    expect([snapshots, reason]).toEqual([[snapshot, snapshot], "ended"]);
  });

  it("continue if a function returns the restarted server's token", async () => {
    const { url } = await startServer({
      [EVENTS]: (response, _, count) => {
        beginStream(response);
        if (count < 2) response.end(updateText(notice(1)));
        else response.end(`${updateText(notice(2))}${eventText({ type: "session_closed", reason: "ended" })}`);
      },
    });
    const given = [TOKEN, "token-of-the-earlier-server", TOKEN];
    const client = createClient({ url, token: async () => given.shift() ?? TOKEN, reconnect });
    const updates: ViewUpdate[] = [];
    for await (const update of client.sessions.open("s1").events()) updates.push(update);
    expect(updates.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(given).toEqual([]);
    const refused = createClient({ url, token: () => "old", reconnect }).workers();
    await expect(refused).rejects.toMatchObject({ status: 401, code: "unauthorized" });
  });

  it("end with an error instead of retrying if the token is no longer valid or the session no longer exists", async () => {
    for (const [status, code] of [
      [401, "unauthorized"],
      [404, "unknown_session"],
      [400, "invalid_cursor"],
    ] as const) {
      const { url, requests } = await startServer({
        [EVENTS]: (response, _, count) => {
          if (count > 0) return problem(response, { status, code, detail: "It is over." });
          beginStream(response);
          response.end(updateText(notice(1)));
        },
      });
      const updates: ViewUpdate[] = [];
      const follow = async () => {
        for await (const update of clientOf(url).sessions.open("s1").events()) updates.push(update);
      };
      await expect(follow()).rejects.toMatchObject({ status, code, detail: "It is over." });
      expect([updates.length, requests.length]).toEqual([1, 2]);
    }
  });

  it("end when the signal fires or the reader stops, and close the connection", async () => {
    const ended: Promise<unknown>[] = [];
    const { url } = await startServer({
      [EVENTS]: (response: ServerResponse) => {
        beginStream(response);
        response.write(updateText(notice(1)));
        ended.push(new Promise((resolve) => response.once("close", resolve)));
      },
    });
    const leaving = new AbortController();
    const session = clientOf(url).sessions.open("s1");
    for await (const _ of session.events({ signal: leaving.signal })) leaving.abort();
    for await (const _ of session.events()) break;
    expect(ended).toHaveLength(2);
    await Promise.all(ended);
  });

  it("end when the signal fires while nothing is sent, even after a garbage collection", async () => {
    const { url } = await startServer({
      [EVENTS]: (response) => {
        beginStream(response);
        response.write(updateText(notice(1)));
      },
    });
    const leaving = new AbortController();
    const updates = clientOf(url).sessions.open("s1").events({ signal: leaving.signal })[Symbol.asyncIterator]();
    await updates.next();
    const end = updates.next();
    // Node drops a request's signal when the request is garbage-collected.
    for (let round = 0; round < 3; round += 1) {
      collectGarbage();
      await setImmediate();
    }
    leaving.abort();
    expect(await end).toEqual({ done: true, value: undefined });
  });

  it("reconnect after a long silence", async () => {
    const { url, requests } = await startServer({
      [EVENTS]: (response, _, count) => {
        beginStream(response);
        if (count > 0) response.end(closed);
      },
    });
    const client = createClient({ url, token: TOKEN, reconnect: { ...reconnect, quietMs: 50 } });
    for await (const _ of client.sessions.open("s1").events());
    expect(requests.length).toBeGreaterThan(1);
  });
});

it("yields the events of all sessions", async () => {
  const { url } = await startServer({
    "GET /event": (response) => {
      beginStream(response);
      response.end(eventText({ type: "session_deleted", sessionId: "s1" }));
    },
  });
  for await (const event of clientOf(url).events()) {
    expect(event).toEqual({ type: "session_deleted", sessionId: "s1" });
    break;
  }
});
