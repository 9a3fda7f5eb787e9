import { afterEach, describe, expect, it } from "vitest";
import { callAnthropic, callOpenai, readJsonEvents } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServer, CacheOptions, ReplyFunction } from "../types.ts";
import { createPrefixCache } from "./prefix-cache.ts";
import { promptPrefixes } from "./prompt-prefixes.ts";

/** Each block has 40 bytes of JSON, 15 of which are its text, and counts as 10 tokens. */
const block = (name: string) => ({ type: "text", text: name.padEnd(15, ".") });
const marked = (name: string, ttl?: string) => ({
  ...block(name),
  cache_control: ttl === undefined ? { type: "ephemeral" } : { type: "ephemeral", ttl },
});
const user = (...content: unknown[]) => ({ role: "user", content });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });
const names = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `n${from + index}`);

const minute = 60_000;

/** Creates a cache without a server. Each request can read what earlier requests wrote, without a delay. */
function bench(options: CacheOptions = {}) {
  const cache = createPrefixCache(options);
  return (body: Record<string, unknown>, now = 0) => {
    const whole = { model: "m", ...body };
    const prefixes = promptPrefixes("anthropic", Buffer.from(JSON.stringify(whole)));
    const entry = cache.open({ wire: "anthropic", model: whole.model, prefixes }, now);
    entry.commit(now);
    const { read, written, prompt, idealRead, missed } = entry.account;
    return { read, written, plain: prompt - read - written, idealRead, missed };
  };
}

describe("the Anthropic cache", () => {
  it("writes the prefix up to the last mark, reads it next time, and counts the rest as uncached input", () => {
    const ask = bench();
    const first = ask({ system: [marked("s")], messages: [user(marked("a"), block("b"))] });
    expect(first).toEqual({ read: 0, written: 20, plain: 10, idealRead: 0, missed: 0 });
    const second = ask({
      system: [marked("s")],
      messages: [user(block("a"), block("b")), assistant(block("c")), user(marked("d"))],
    });
    // An ideal cache would also contain b, which came after the last mark.
    expect(second).toEqual({ read: 20, written: 30, plain: 0, idealRead: 30, missed: 10 });
  });

  it("caches nothing without a mark", () => {
    const ask = bench();
    const body = { messages: [user(block("a"), block("b"))] };
    expect(ask(body)).toEqual({ read: 0, written: 0, plain: 20, idealRead: 0, missed: 0 });
    expect(ask(body)).toEqual({ read: 0, written: 0, plain: 20, idealRead: 20, missed: 20 });
  });

  it("finds a prefix even if its marks have moved", () => {
    const ask = bench();
    ask({ system: [marked("s"), block("t")], messages: [user(marked("a"))] });
    const moved = ask({ system: [block("s"), marked("t")], messages: [user(block("a")), assistant(marked("b"))] });
    expect(moved).toMatchObject({ read: 30, written: 10, missed: 0 });
  });

  it("puts tools before the system text, whatever the order in the body", () => {
    const ask = bench();
    const tools = [{ name: "a", description: "x", input_schema: { type: "object" } }];
    ask({ messages: [user(block("a"))], system: [marked("s")], tools });
    expect(ask({ tools, system: [marked("s")], messages: [user(block("b"))] }).read).toBeGreaterThan(10);
    expect(ask({ tools: [{ ...tools[0], name: "b" }], system: [marked("s")], messages: [user(block("a"))] }).read).toBe(
      0,
    );
  });

  it("compares bytes, so a different key order or an extra space means a different prompt", () => {
    const cache = createPrefixCache();
    const open = (rawBody: string) => {
      const prefixes = promptPrefixes("anthropic", Buffer.from(rawBody));
      const entry = cache.open({ wire: "anthropic", model: "m", prefixes }, 0);
      entry.commit(0);
      return entry.account.read;
    };
    const mark = ',"cache_control":{"type":"ephemeral"}';
    const body = (content: string) => `{"model":"m","messages":[{"role":"user","content":[${content}]}]}`;
    expect(open(body(`{"type":"text","text":"abc"${mark}}`))).toBe(0);
    expect(open(body(`{"text":"abc","type":"text"${mark}}`))).toBe(0);
    expect(open(body(`{"type": "text","text":"abc"${mark}}`))).toBe(0);
    expect(open(body(`{"cache_control":{"type":"ephemeral"},"type":"text","text":"abc"}`))).toBe(7);
    expect(open(` ${body(`{"type":"text","text":"abc"${mark} }`).replaceAll("[", "[ ")}`)).toBe(0);
  });

  it("looks back over 20 blocks for each mark, including the marked block", () => {
    const ask = bench();
    const start = names(5).map(block);
    ask({ messages: [user(...start.slice(0, 4), marked(names(5)[4] ?? ""))] });
    const grown = (count: number, marks: number[]) => {
      const more = names(count, 50).map((letter, index) =>
        marks.includes(index + 1) ? marked(letter) : block(letter),
      );
      return { messages: [user(...start, ...more)] };
    };
    expect(ask(grown(20, [20]))).toMatchObject({ read: 0, written: 250, missed: 50 });
    const other = bench();
    other({ messages: [user(...start.slice(0, 4), marked(names(5)[4] ?? ""))] });
    expect(other(grown(19, [19]))).toMatchObject({ read: 50, written: 190, missed: 0 });
    const third = bench();
    third({ messages: [user(...start.slice(0, 4), marked(names(5)[4] ?? ""))] });
    expect(third(grown(35, [17, 35]))).toMatchObject({ read: 50, written: 350, missed: 0 });
  });

  it("expires five minutes or an hour after the last read", () => {
    const ask = bench();
    const short = { messages: [user(marked("a"))] };
    ask(short, 0);
    expect(ask(short, 4 * minute).read).toBe(10);
    expect(ask(short, 8 * minute).read).toBe(10);
    expect(ask(short, 13 * minute).read).toBe(0);
    const long = { messages: [user(marked("b", "1h"))] };
    ask(long, 0);
    expect(ask(long, 59 * minute).read).toBe(10);
    expect(ask(long, 118 * minute).read).toBe(10);
    expect(ask(long, 178 * minute).read).toBe(0);
  });

  it("renews a prefix that was read from a later mark", () => {
    const ask = bench();
    ask({ messages: [user(marked("a"))] }, 0);
    expect(ask({ messages: [user(block("a"), marked("b"))] }, 4 * minute).read).toBe(10);
    expect(ask({ messages: [user(block("a"), marked("c"))] }, 8 * minute).read).toBe(10);
  });

  it("provides the shared prefix to every fork", () => {
    const ask = bench();
    const shared = [user(block("a")), assistant(block("b"))];
    ask({ system: [marked("s")], messages: [...shared.slice(0, 1), assistant(marked("b"))] });
    for (const child of names(3)) {
      expect(ask({ system: [marked("s")], messages: [...shared, user(marked(child))] })).toEqual({
        read: 30,
        written: 10,
        plain: 0,
        idealRead: 30,
        missed: 0,
      });
    }
  });

  it("loses everything if the model changes, but only the messages if thinking or tool choice changes", () => {
    const ask = bench();
    const body = { system: [marked("s")], messages: [user(marked("a"))] };
    ask(body);
    expect(ask({ ...body, model: "n" }).read).toBe(0);
    expect(ask({ ...body, thinking: { type: "adaptive" } }).read).toBe(10);
    expect(ask({ ...body, tool_choice: { type: "auto" } }).read).toBe(10);
    expect(ask({ ...body, max_tokens: 5, temperature: 1 }).read).toBe(20);
  });

  it("distinguishes a user's block from an assistant's, and one message from two", () => {
    const ask = bench();
    ask({ messages: [user(block("a"), marked("b"))] });
    expect(ask({ messages: [user(block("a")), user(marked("b"))] }).read).toBe(0);
    expect(ask({ messages: [user(block("a")), assistant(marked("b"))] }).read).toBe(0);
  });

  it("does not cache prompts that are too short", () => {
    const ask = bench({ minimumTokens: 20 });
    const body = { system: [marked("s")], messages: [user(marked("a"))] };
    expect(ask({ system: [marked("s")], messages: [user(block("a"))] })).toMatchObject({ written: 0, plain: 20 });
    expect(ask(body)).toMatchObject({ read: 0, written: 20 });
    expect(ask(body)).toMatchObject({ read: 20, written: 0 });
  });

  it("reports no missed tokens below the model's minimum", () => {
    const ask = bench({ minimumTokens: { small: 20, large: 30 } });
    const body = (model: string) => ({ model, system: [marked("s")], messages: [user(marked("a"))] });
    for (const model of ["small", "large", "unknown"]) ask(body(model));
    expect(ask(body("small"))).toMatchObject({ read: 20, idealRead: 20, missed: 0 });
    expect(ask(body("large"))).toMatchObject({ read: 0, plain: 20, idealRead: 0, missed: 0 });
    expect(ask(body("unknown"))).toMatchObject({ read: 20, idealRead: 20 });
    expect(ask({ ...body("unknown"), messages: [user(marked("b"))] })).toMatchObject({ read: 10, idealRead: 10 });
    expect(ask({ ...body("small"), messages: [user(marked("b"))] })).toMatchObject({ read: 0, idealRead: 0 });
  });

  it("counts consistently: four bytes per token over the whole prefix", () => {
    const ask = bench();
    const odd = (text: string) => ({ type: "text", text });
    const mark = { cache_control: { type: "ephemeral" } };
    // Each block is 26 bytes long, so the prefixes of 26, 52 and 78 bytes are 7, 13 and 20 tokens.
    expect(ask({ messages: [user({ ...odd("a"), ...mark })] })).toMatchObject({ written: 7 });
    const second = ask({ messages: [user(odd("a"), { ...odd("b"), ...mark }, odd("c"))] });
    expect(second).toMatchObject({ read: 7, written: 6, plain: 7 });
  });
});

describe("the cache in the server", () => {
  let server: ApiServer;
  afterEach(() => server.close());
  const answer: ReplyFunction = () => ({ content: "ok" });
  const body = { system: [marked("s", "1h")], messages: [user(marked("a"))] };

  it("returns the computed usage, streaming or not", async () => {
    server = await createApiServer({ script: answer });
    const first = JSON.parse((await callAnthropic(server.url, body)).bytes.toString());
    expect(first.usage).toEqual({
      input_tokens: 0,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 10 },
      output_tokens: 1,
    });
    const events = readJsonEvents((await callAnthropic(server.url, { ...body, stream: true })).bytes);
    expect(events[0]).toMatchObject({ message: { usage: { input_tokens: 0, cache_read_input_tokens: 20 } } });
    expect(server.requests[1]?.cache).toEqual({
      prompt: 20,
      read: 20,
      written: 0,
      written1h: 0,
      idealRead: 20,
      missed: 0,
    });
  });

  /**
   * Sends a second request while the response to the first one has not begun (`gate`) or stops in its body (`hang`).
   */
  async function readOfSecond(
    readableAfter: "immediately" | "response-start" | "response-end",
    first: "gate" | "hang",
  ) {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    server = await createApiServer({
      cache: { readableAfter },
      script: async (_, { ordinal }) => {
        if (ordinal === 1 && first === "gate") await gate;
        return ordinal === 1 && first === "hang"
          ? { content: "ok", fault: { kind: "hang", afterBytes: 10 } }
          : { content: "ok" };
      },
    });
    let started = () => {};
    const inBody = new Promise<void>((resolve) => {
      started = resolve;
    });
    const waiting = callAnthropic(server.url, body, { onChunk: () => started() });
    await server.waitForRequest(1);
    if (first === "hang") await inBody;
    const { usage } = JSON.parse((await callAnthropic(server.url, body)).bytes.toString());
    open();
    await server.close();
    await waiting;
    return usage.cache_read_input_tokens;
  }

  it("can be read by other requests once the response has begun, unless configured otherwise", async () => {
    expect(await readOfSecond("response-start", "hang")).toBe(20);
    expect(await readOfSecond("response-end", "hang")).toBe(0);
    expect(await readOfSecond("immediately", "hang")).toBe(20);
  });

  it("can't be read before the response has begun", async () => {
    expect(await readOfSecond("response-start", "gate")).toBe(0);
  });

  it("is not written for a refused or failed request", async () => {
    const faults = [
      { fault: { kind: "status", status: 529 } as const, at: 1 },
      { fault: { kind: "close" } as const, at: 2 },
    ];
    server = await createApiServer({ script: answer, faults });
    await callAnthropic(server.url, body);
    await callAnthropic(server.url, body);
    await callAnthropic(server.url, { ...body, max_tokens: 0 });
    await callAnthropic(server.url, body);
    expect(server.requests.map((request) => request.cache)).toEqual([
      undefined,
      undefined,
      undefined,
      { prompt: 20, read: 0, written: 20, written1h: 10, idealRead: 0, missed: 0 },
    ]);
  });

  it("expires by the server's clock", async () => {
    let time = 0;
    server = await createApiServer({ script: answer, now: () => time });
    const short = { messages: [user(marked("a"))] };
    await callAnthropic(server.url, short);
    time = 5 * minute - 1;
    await callAnthropic(server.url, short);
    time = 10 * minute;
    await callAnthropic(server.url, short);
    expect(server.requests.map((request) => request.cache?.read)).toEqual([0, 10, 0]);
  });

  it("works automatically in the OpenAI format, from 1024 tokens in steps of 128", async () => {
    server = await createApiServer({ script: answer });
    const message = (role: string, tokens: number) => {
      // A token is four bytes of the message's JSON, so the content is shorter by the length of the rest of the JSON.
      const frame = JSON.stringify({ role, content: "" }).length;
      return { role, content: "x".repeat(tokens * 4 - frame) };
    };
    const cached = async (messages: unknown[]) => {
      const answered = JSON.parse((await callOpenai(server.url, { messages })).bytes.toString());
      return [answered.usage.prompt_tokens, answered.usage.prompt_tokens_details.cached_tokens];
    };
    const [big, small] = [message("user", 1300), message("assistant", 100)];
    expect(await cached([big])).toEqual([1300, 0]);
    expect(await cached([big, small, message("user", 50)])).toEqual([1450, 1280]);
    expect(await cached([big, small])).toEqual([1400, 1280 + 0]);
    expect(await cached([big, small, message("user", 50), small])).toEqual([1550, 1408]);
    expect(await cached([message("user", 900)])).toEqual([900, 0]);
    expect(await cached([message("user", 900), small])).toEqual([1000, 0]);
    expect(server.requests[3]?.cache).toMatchObject({ read: 1408, idealRead: 1408, missed: 0 });
  });
});
