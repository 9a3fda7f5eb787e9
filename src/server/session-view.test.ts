import { describe, expect, it } from "vitest";
import {
  agentOf,
  createClient,
  type FoldedSession,
  foldAll,
  newFoldedSession,
  openAgent,
  type SessionView,
  stateOf,
} from "../client/index.ts";
import { createDeferred } from "../lib/index.ts";
import type { Line, SessionClosed } from "../protocol/index.ts";
import { createTranscript } from "../transcript/index.ts";
import { newPlace, said, startApi, startServer, startSession, type TestServer } from "./server.test-support.ts";

/** Shows a session as a page would, until the state is as expected. Returns the state, and the initial view. */
async function show(
  server: TestServer,
  id: string,
  isWanted: (view: SessionView) => boolean,
): Promise<{ readonly folded: FoldedSession; readonly first: SessionView; readonly closed?: SessionClosed }> {
  const session = createClient({ url: server.url, token: server.token }).sessions.open(id);
  let folded: FoldedSession | undefined;
  let first: SessionView | undefined;
  let closed: SessionClosed | undefined;
  const leaving = new AbortController();
  const look = (): void => {
    if (folded !== undefined && isWanted(folded.view)) leaving.abort();
  };
  const updates = session.events({
    signal: leaving.signal,
    onView: (view) => {
      folded = view;
      first = view.view;
      look();
    },
    onClosed: (event) => {
      closed = event;
    },
  });
  for await (const update of updates) {
    if (folded === undefined) throw new Error("An update came before the view.");
    folded = foldAll(folded, update);
    look();
  }
  return { folded: folded!, first: first!, ...(closed && { closed }) };
}

/** Returns a session's state from all its events. */
async function replay(server: TestServer, id: string, until: number): Promise<FoldedSession> {
  const session = createClient({ url: server.url, token: server.token }).sessions.open(id);
  let folded = newFoldedSession({ keep: 0 });
  for await (const update of session.events()) {
    folded = foldAll(folded, update);
    if (folded.view.seq >= until) break;
  }
  return folded;
}

const settled = ({ view: { keep: _keep, connectedAt: _at, ...view }, spans, usage }: FoldedSession) => ({
  view,
  usage,
  spans: { ...spans, version: 0 },
});

describe("a session's view over HTTP", () => {
  it("is the same as folding all events, for every client that connects while agents are working, and its items can be loaded", async () => {
    const go = createDeferred<void>();
    const api = await startApi([
      said([{ tool: "Read", input: { file_path: "notes.txt" } }]),
      { content: "Half of the answer. The other half.", pacing: { chunkMs: 5, chunkCharacters: 8 } },
      {
        reply: async () => {
          await go.promise;
          return said("Done.");
        },
      },
    ]);
    const server = await startServer({ api });
    const { id } = await startSession(server, { prompt: "First" });
    const writing = await show(server, id, (view) => agentOf(view, "main")?.draft !== undefined);
    expect(agentOf(writing.folded.view, "main")?.draft?.isPartial).toBeUndefined();
    await show(server, id, (view) => stateOf(agentOf(view, "main")!) === "idle");
    await server.send("POST", `/session/${id}/message`, { body: { prompt: "Second" } });
    const later = await show(server, id, (view) => agentOf(view, "main")?.turns === 3);
    expect(agentOf(later.first, "main")).toMatchObject({ toolCalls: 1, items: { length: 0 } });
    go.resolve();
    const { folded } = await show(server, id, (view) => agentOf(view, "main")?.lastText === "Done.");
    const end = await show(server, id, (view) => stateOf(agentOf(view, "main")!) === "idle");
    expect(settled(end.folded)).toEqual(settled(await replay(server, id, end.folded.view.seq)));
    const lines: Line[] = [];
    for await (const line of createClient({ url: server.url, token: server.token }).sessions.open(id).lines())
      lines.push(line);
    const opened = agentOf(openAgent(folded.view, "main", lines), "main")!;
    expect([opened.dropped, opened.items.length > 4]).toEqual([0, true]);
  });

  it("contains another process's lines, and continues with new ones", async () => {
    const place = newPlace();
    const server = await startServer({ place });
    const clock = { now: Date.now, monotonic: () => performance.now() };
    const transcript = await createTranscript({ home: place.home, cwd: place.cwd, sessionId: "s1", clock });
    await transcript.append("main", [
      { type: "session.created", sessionId: "s1", cwd: place.cwd, version: "0", serializer: 1 },
      prompt("One"),
    ]);
    const first = await show(server, "s1", () => true);
    expect(first.first.seq).toBe(2);
    const more = show(server, "s1", ({ seq }) => seq === 3);
    await transcript.append("main", [prompt("Two")]);
    expect((await more).first.seq).toBeLessThanOrEqual(3);
    await transcript.close();
    const closed = await show(server, "s1", () => false);
    expect([closed.first.seq, closed.closed?.reason]).toEqual([3, "ended"]);
    // Nothing has changed, so the files are not read again.
    const again = await show(server, "s1", () => false);
    expect([again.first.seq, again.closed?.reason]).toEqual([3, "ended"]);
  });
});

const prompt = (text: string) =>
  ({
    type: "prompt.received",
    content: [{ type: "text", text }],
    from: "person",
    promptId: `p${text}`,
  }) as const;
