import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDeferred } from "../../src/lib/index.ts";
import type { Line } from "../../src/protocol/index.ts";
import { type StreamedEvent, updateOf } from "../../src/server/server.test-support.ts";
import type { RecordedRequest, Reply } from "../../src/testing/index.ts";
import { createPlace, type Place, serve, startRetinue } from "../cli/command-line.ts";
import { serveProcess } from "./serve-process.ts";

const task = (prompt: string) => ({
  tool: "Task",
  input: { description: "a part", prompt, subagent_type: "general-purpose" },
});

/** Plays the model. The main agent starts three agents. The first asks for approval, and the others take a while. */
function family() {
  const { promise: two, resolve: finishTwo } = createDeferred<void>();
  const { promise: never } = createDeferred<void>();
  const script = async ({ rawBody }: RecordedRequest): Promise<Reply> => {
    const text = rawBody.toString();
    const hasResult = text.includes('"tool_result"');
    if (text.includes("MAIN: go"))
      return { content: hasResult ? "All done." : [task("ONE: make"), task("TWO: wait"), task("THREE: hang")] };
    if (text.includes("ONE: make"))
      return { content: hasResult ? "One done." : [{ tool: "Bash", input: { command: "mkdir made" } }] };
    await (text.includes("TWO: wait") ? two : never);
    return { content: "Two done." };
  };
  return { script, finishTwo };
}

describe.each([
  { signal: "SIGTERM", code: 0 },
  { signal: "SIGKILL", code: null },
] as const)("a server that is ended by $signal and started again", ({ signal, code }) => {
  it("continues all agents, and clients get every durable event once and in order", async () => {
    const place = createPlace();
    const { script, finishTwo } = family();
    const server = await serve(script);
    const options = { ...place, server };
    const first = await serveProcess(options);
    const session = (await first.send("POST", "/session", { prompt: "MAIN: go" })).json as { id: string };
    const path = `/session/${session.id}`;
    const before = first.stream(`${path}/event`);
    await before.until((event) => event.data.type === "subagent_event" && typeIn(event) === "approval.requested");
    const agents = (await first.send("GET", `${path}/agent`)).json as { agentId: string; path: string[] }[];
    expect(agents.map((agent) => agent.path.length)).toEqual([0, 1, 1, 1]);
    const prompted = await before.until(
      (event) => typeIn(event) === "prompt.received" && updateOf(event)?.agentId !== "main" && includes(event, "THREE"),
    );
    const third = updateOf(prompted)?.agentId;
    const stopped = { id: "stop-1", type: "stop", what: third };
    const receipt = (await first.send("POST", `${path}/command`, stopped)).json;
    expect(receipt).toMatchObject({ status: "done", commandId: "stop-1" });
    expect((await first.send("POST", `${path}/command`, stopped)).json).toEqual(receipt);
    await before.until((event) => updateOf(event)?.agentId === third && typeIn(event) === "run.ended");
    expect(await first.end(signal)).toBe(code);
    await before.ended;
    if (signal === "SIGTERM")
      expect(before.events.at(-1)?.data).toEqual({ type: "session_closed", reason: "server_stopped" });

    const second = await serveProcess(options);
    const after = second.stream(`${path}/event`, { "Last-Event-ID": String(before.cursor()) });
    const { data } = await after.until((event) => event.data.type === "session_snapshot");
    const [approval] = data["approvals"] as { question: { requestId: string } }[];
    expect(approval).toBeDefined();
    const answered = await second.send("POST", `${path}/approval/${approval?.question.requestId}`, { answer: "allow" });
    expect(answered, answered.text).toMatchObject({ status: 200 });
    finishTwo();
    await after.until((event) => event.data.type === "turn_complete" && event.data["text"] === "All done.");
    expect(existsSync(join(place.cwd, "made"))).toBe(true);
    expect(await second.end("SIGTERM")).toBe(0);
    await after.ended;

    const received = [...before.events, ...after.events].filter(({ id }) => id !== undefined);
    const ids = received.map(({ id = 0 }) => id);
    expect(ids).toEqual([...new Set(ids)].sort((left, right) => left - right));
    const recorded = linesOf(place, session.id);
    expect(received.map((event) => updateOf(event)?.event)).toEqual(recorded);
    expect(recorded.filter(({ type }) => type === "agent.created")).toHaveLength(3);
  });
});

describe.each([{ signal: "SIGTERM" }, { signal: "SIGKILL" }] as const)(
  "a background agent whose server is ended by $signal",
  ({ signal }) => {
    it("continues when the server is restarted, even though the main agent was idle", async () => {
      const place = createPlace();
      const { promise: later, resolve: finish } = createDeferred<void>();
      const input = { ...task("CHILD: wait").input, run_in_background: true };
      const server = await serve(async ({ rawBody }): Promise<Reply> => {
        const text = rawBody.toString();
        if (text.includes("CHILD: report?")) return { content: "It said Found." };
        if (text.includes("MAIN: go"))
          return { content: text.includes('"tool_result"') ? "Started." : [{ tool: "Task", input }] };
        await later;
        return { content: "Found." };
      });
      const options = { ...place, server };
      const first = await serveProcess(options);
      const { id } = (await first.send("POST", "/session", { prompt: "MAIN: go" })).json as { id: string };
      const before = first.stream(`/session/${id}/event`);
      await before.until((event) => typeIn(event) === "run.ended" && includes(event, "Started."));
      await before.until((event) => event.data.type === "subagent_event" && typeIn(event) === "model.requested");
      await first.end(signal);
      const second = await serveProcess(options);
      const after = second.stream(`/session/${id}/event`, { "Last-Event-ID": String(before.cursor()) });
      await after.until((event) => event.data.type === "subagent_event" && typeIn(event) === "model.requested");
      finish();
      const isOfAgent = (type: string) => (event: StreamedEvent) =>
        event.data.type === "subagent_event" && typeIn(event) === type;
      const ended = await after.until((event) => isOfAgent("run.ended")(event) && includes(event, "Found."));
      // The run that was lost with the first server has also been cleaned up.
      await after.until((event) => isOfAgent("run.cleaned")(event) && (event.id ?? 0) > (ended.id ?? 0));
      await second.send("POST", `/session/${id}/message`, { prompt: "CHILD: report?" });
      await after.until((event) => typeIn(event) === "notices.delivered" && includes(event, "Found."));
      await after.until((event) => event.data.type === "turn_complete" && event.data["text"] === "It said Found.");
      const notices = after.events.filter((event) => typeIn(event) === "notices.delivered");
      expect(notices.map(({ data }) => data["notices"])).toEqual([[expect.objectContaining({ outcome: "succeeded" })]]);
      expect(await second.end("SIGTERM")).toBe(0);
    });
  },
);

it.each([
  ["", { before: 0, after: 0 }],
  [", even if its new token is published late", { before: 1_500, after: 0 }],
  [", even if it begins to resume sessions late", { before: 0, after: 1_500 }],
])(
  "`retinue attach` follows a session on the user's own server across a restart%s",
  async (_, { before, after }) => {
    const place = createPlace();
    // Makes the disk slow when the server writes the file with its token.
    const slow = join(place.cwd, "slow.cjs");
    writeFileSync(
      slow,
      `const fs = require("node:fs/promises");
    const { rename } = fs;
    fs.rename = async (from, to) => {
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, to.endsWith("server.json") ? ms : 0));
      await wait(${before});
      await rename(from, to);
      await wait(${after});
    };`,
    );
    const { promise: later, resolve: finish } = createDeferred<void>();
    const server = await serve(async (): Promise<Reply> => {
      await later;
      return { content: "Answered after the restart." };
    });
    const options = { ...place, server };
    const first = await serveProcess(options);
    const { id } = (await first.send("POST", "/session", { prompt: "Go" })).json as { id: string };
    const attached = startRetinue(["attach", id, "--server", first.url], place);
    let shown = "";
    for (const output of [attached.stdout, attached.stderr])
      output.on("data", (chunk) => {
        shown += String(chunk);
      });
    await expect.poll(() => shown, { timeout: 20_000 }).toContain("Go");
    await first.end("SIGKILL");
    const environment = { NODE_OPTIONS: `--require=${slow}` };
    await serveProcess({ ...options, environment }, ["--port", new URL(first.url).port]);
    finish();
    await expect.poll(() => shown, { timeout: 20_000 }).toContain("Answered after the restart.");
  },
  60_000,
);

it("a server that is started with --no-resume after a crash resumes no session, but knows what each has cost", async () => {
  const place = createPlace();
  const { promise: never } = createDeferred<void>();
  let isHanging = true;
  const server = await serve(async ({ rawBody }): Promise<Reply> => {
    const hasResult = rawBody.toString().includes('"tool_result"');
    if (hasResult && isHanging) await never;
    return { content: hasResult ? "Done." : [{ tool: "Glob", input: { pattern: "*" } }] };
  });
  const options = { ...place, server };
  const first = await serveProcess(options);
  const { id } = (await first.send("POST", "/session", { prompt: "Go" })).json as { id: string };
  const turns = first.stream(`/session/${id}/event`);
  await turns.until((event) => event.data.type === "tool_ended");
  await turns.until((event) => event.data.type === "model_requested" && (event.data["turn"] as number) > 1);
  const { costUsd } = (await first.send("GET", `/session/${id}`)).json as { costUsd: number };
  expect(costUsd).toBeGreaterThan(0);
  await first.end("SIGKILL");
  isHanging = false;
  const second = await serveProcess(options, ["--no-resume"]);
  const known = async () => (await second.send("GET", `/session/${id}`)).json;
  // The request whose response was lost may have cost as much as was reserved for it.
  const more = expect.toSatisfy((cost: unknown) => typeof cost === "number" && cost > costUsd);
  await expect.poll(known).toMatchObject({ state: "parked", costUsd: more, isCostAtMost: true });
  expect(await second.end("SIGTERM")).toBe(0);
  const third = await serveProcess(options);
  await third.stream(`/session/${id}/event`).until((event) => event.data.type === "turn_complete");
  await third.end("SIGTERM");
}, 60_000);

it("a restarted server does not resume idle sessions", async () => {
  const place = createPlace();
  const server = await serve([{ content: "One." }]);
  const first = await serveProcess({ ...place, server });
  const { id } = (await first.send("POST", "/session", { prompt: "Go" })).json as { id: string };
  await first.stream(`/session/${id}/event`).until((event) => event.data.type === "turn_complete");
  await first.end("SIGKILL");
  const second = await serveProcess({ ...place, server });
  const { data } = await second
    .stream(`/session/${id}/event`)
    .until(({ data: { type } }) => type === "session_snapshot");
  expect(data["session"]).toMatchObject({ state: "ended", outcome: "succeeded" });
  await second.end("SIGTERM");
  server.assertDone();
});

function includes({ data }: StreamedEvent, text: string): boolean {
  return JSON.stringify(data).includes(text);
}

function typeIn(event: StreamedEvent): string | undefined {
  return updateOf(event)?.event.type;
}

/** Reads all lines of a session in the order of their numbers. */
function linesOf({ home }: Place, id: string): Line[] {
  const projects = join(home, "projects");
  return readdirSync(projects, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(`${id}.jsonl`) || /subagents\/agent-\w+\.jsonl$/.test(name))
    .map((name) => join(projects, name))
    .filter((file) => statSync(file).isFile())
    .flatMap((file) => readFileSync(file, "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line) as Line)
    .sort((left, right) => (left.seq ?? 0) - (right.seq ?? 0));
}
