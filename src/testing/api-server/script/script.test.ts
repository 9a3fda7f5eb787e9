import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { callAnthropic, callOpenai } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import { startFromFile } from "../start-from-file.ts";
import type { ApiServer, ApiServerOptions } from "../types.ts";
import { messagesOf, systemOf } from "./messages-of.ts";

let server: ApiServer;
afterEach(() => server?.close());

async function start(options: ApiServerOptions) {
  server = await createApiServer(options);
  return server;
}

async function say(text: string, body: Record<string, unknown> = {}): Promise<string> {
  const received = await callAnthropic(server.url, { messages: [{ role: "user", content: text }], ...body });
  const answer = JSON.parse(received.bytes.toString());
  return received.status === 200 ? answer.content[0].text : `${received.status} ${answer.error.type}`;
}

const toolTurn = [
  { role: "user", content: "List it" },
  { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "LS", input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "a.ts" }] },
];

describe("script", () => {
  it("uses a list in order, and fails with a clear message when it is used up", async () => {
    await start({ script: [{ content: "one" }, { content: "two" }] });
    expect(await say("a")).toBe("one");
    expect(() => server.assertDone()).toThrow("script, step 2 was used 0 of 1 times");
    expect(await say("b")).toBe("two");
    server.assertDone();
    expect(await say("third")).toBe("500 unscripted");
    expect(() => server.assertDone()).toThrow(/request 3 was not scripted: no step left.*"third"/);
  });

  it("calls a function with the request and its position", async () => {
    await start({
      seed: 7,
      script: async (request, { ordinal, count, turn, random }) => ({
        content: [
          systemOf(request),
          ordinal,
          count,
          turn,
          random() < 1,
          messagesOf(request).at(-1)?.toolResults[0]?.text,
        ].join(),
      }),
    });
    expect(await say("", { system: "S", messages: toolTurn })).toBe("S,1,1,2,true,a.ts");
    server.assertDone();
  });

  it("turns an exception in a script function into an unscripted call", async () => {
    await start({
      script: () => {
        throw new Error("what now?");
      },
    });
    expect(await say("a")).toBe("500 unscripted");
    expect(() => server.assertDone()).toThrow("what now?");
  });

  it("selects steps by the content of the request", async () => {
    await start({
      script: [
        { when: { afterTool: "LS", toolResultContains: "a.ts" }, reply: { content: "after LS" } },
        { when: { lastUserContains: "blue" }, reply: { content: "sky" }, times: 2 },
        { when: { turn: 1 }, reply: { content: "first turn" }, times: "always" },
      ],
    });
    expect(await say("x")).toBe("first turn");
    expect(await say("something blue")).toBe("sky");
    expect(await say("", { messages: toolTurn })).toBe("after LS");
    expect(await say("blue again")).toBe("sky");
    expect(await say("blue, third time")).toBe("first turn");
    server.assertDone();
  });

  it("keeps one counter per conversation, even for parallel requests", async () => {
    const steps = (name: string) =>
      ["1", "2", "3"].map((n) => ({ content: `${name}${n}` })).map((reply) => ({ reply }));
    await start({
      script: {
        conversations: [
          { match: { systemContains: "reviewer" }, steps: steps("r") },
          { match: { firstUserContains: "map" }, steps: steps("m") },
        ],
      },
    });
    const all = await Promise.all(
      [1, 2, 3].flatMap(() => [say("go", { system: "You are a reviewer" }), say("map this")]),
    );
    expect(all.toSorted()).toEqual(["m1", "m2", "m3", "r1", "r2", "r3"]);
    server.assertDone();
    expect(await say("nobody's")).toBe("500 unscripted");
  });

  it("sees the same messages in both wire formats", async () => {
    await start({ script: [{ content: "a" }, { content: "b" }] });
    await callAnthropic(server.url, { system: "S", messages: toolTurn });
    await callOpenai(server.url, {
      messages: [
        { role: "system", content: "S" },
        { role: "user", content: "List it" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "toolu_1", type: "function", function: { name: "LS", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "toolu_1", content: "a.ts" },
      ],
    });
    const [one, other] = await Promise.all([server.waitForRequest(1), server.waitForRequest(2)]);
    expect(messagesOf(other)).toEqual(messagesOf(one));
    expect(systemOf(other)).toBe(systemOf(one));
  });
});

describe("script file", () => {
  async function withFile(content: unknown, use: (path: string) => Promise<void>) {
    const directory = await mkdtemp(join(tmpdir(), "retinue-script-"));
    try {
      const path = join(directory, "script.json");
      await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
      await use(path);
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  it("creates the same server from plain data", async () => {
    const file = {
      seed: 3,
      steps: [
        { when: { turn: 1 }, reply: { content: [{ tool: "LS", input: { path: "." } }] } },
        { when: { afterTool: "LS" }, reply: { content: "done" } },
      ],
    };
    await withFile(file, async (path) => {
      server = await startFromFile(path);
      expect(await say("", { messages: toolTurn })).toBe("done");
      expect(server.seed).toBe(3);
      expect(() => server.assertDone()).toThrow("step 1");
    });
  });

  it.each([
    ["{", "is not a script"],
    [{}, 'either "steps" or "conversations"'],
    [{ steps: [{ reply: { content: "a" }, wen: {} }] }, 'steps[0] has an unknown key "wen"'],
    [{ steps: [{ reply: { content: "a" }, when: { turns: 1 } }] }, 'steps[0].when has an unknown key "turns"'],
    [{ steps: [{ content: "a", fault: { kind: "hung" } }] }, 'kind is "hung"; the known kinds are status'],
    [{ steps: [{ reply: {} }] }, "steps[0].reply.content must be"],
    [{ steps: [], faults: [{ fault: { kind: "close", after: 1 }, first: 1 }] }, 'fault has an unknown key "after"'],
    [{ conversations: [{ steps: [], macth: {} }] }, 'conversations[0] has an unknown key "macth"'],
  ])("rejects %j and names the position", async (content, message) => {
    await withFile(content, async (path) => {
      await expect(startFromFile(path)).rejects.toThrow(message);
    });
  });
});
