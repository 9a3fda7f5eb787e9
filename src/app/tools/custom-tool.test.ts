import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ToolContext } from "../../ports/index.ts";
import { createCustomTool } from "./custom-tool.ts";
import { agentTool, defineTool } from "./define-tool.ts";

const common = { name: "own", description: "Does it.", access: "none" } as const;
const context = { signal: new AbortController().signal, agentId: "main", callId: "c", progress: () => {} };
const perform = (result: unknown) =>
  createCustomTool(defineTool({ ...common, input: z.object({}), run: () => result }), "/").run(
    {},
    context as unknown as ToolContext,
  );

describe("a tool with a time limit", () => {
  const slow = (stops: boolean) =>
    defineTool({
      ...common,
      input: z.object({}),
      timeoutSeconds: 0.02,
      run: (_, { signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => (stops ? reject(signal.reason) : resolve("Half of it.")));
        }),
    });

  it("is stopped by its signal, and the error gives the reason", async () => {
    const run = createCustomTool(slow(true), "/").run({}, context as unknown as ToolContext);
    await expect(run).rejects.toThrow("Timed out after 20 ms.");
  });

  it("can return a result when its signal fires", async () => {
    const output = await createCustomTool(slow(false), "/").run({}, context as unknown as ToolContext);
    expect(output.content).toBe("Half of it.");
  });
});

describe("a tool's result", () => {
  it.each([
    ["an error", new Error("Out of stock."), "Out of stock."],
    ["a Map", new Map(), "can't contain a Map"],
    ["a Set", new Set(), "can't contain a Set"],
    ["a Buffer", Buffer.from("a"), "can't contain bytes (Buffer)"],
    ["a row with bytes", [{ name: "pear", image: new Uint8Array([1, 2]) }], "can't contain bytes (Uint8Array)"],
    ["an object with a Map", { prices: new Map([["pear", 4]]) }, "can't contain a Map"],
    ["a function", () => 1, "it can't be a function"],
    ["a response", new Response("{}"), "an object of type Response would be empty in JSON. Return its data"],
    ["a stream", new ReadableStream(), "ReadableStream"],
    ["a generator", (function* () {})(), "Generator"],
    ["an asynchronous generator", (async function* () {})(), "AsyncGenerator"],
    ["an image without base64", [{ type: "image", mediaType: "image/png", data: "<svg>" }], "is not base64"],
    ["an image of another type", [{ type: "image", mediaType: "image/bmp", data: "AAAA" }], "not a valid image block"],
  ])("is an error if it is %s", async (_, result, message) => {
    await expect(perform(result)).rejects.toThrow(message);
  });

  it("can be an image, JSON or nothing", async () => {
    const image = { type: "image", mediaType: "image/png", data: "AAAA" };
    expect((await perform([image])).content).toEqual([image]);
    expect((await perform({ a: 1 })).content).toBe('{"a":1}');
    expect((await perform({})).content).toBe("{}");
    expect((await perform(new Date(0))).content).toBe('"1970-01-01T00:00:00.000Z"');
    expect((await perform(undefined)).content).toBe("(no result)");
  });
});

it("leaves no listeners on a run's signal", async () => {
  const { signal } = new AbortController();
  const perRun = { ...context, signal } as unknown as ToolContext;
  const run = (returns: () => unknown) =>
    createCustomTool(defineTool({ ...common, input: z.object({}), run: returns }), "/").run({}, perRun);
  await run(() => "done");
  await expect(run(() => Promise.reject(new Error("Out of stock.")))).rejects.toThrow("Out of stock.");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("passes a call's input to the schema library first", async () => {
  const tags = z.preprocess((value) => (typeof value === "string" ? value.split(",") : value), z.array(z.string()));
  const tool = defineTool({ ...common, input: z.object({ tags }), run: ({ tags: list }) => list.length });
  const { content } = await createCustomTool(tool, "/").run({ tags: "a,b" }, context as unknown as ToolContext);
  expect(content).toBe("2");
});

it("explains that an access function can't be asynchronous", async () => {
  const access = (async () => "none") as never;
  const tool = defineTool({ ...common, access, input: z.object({}), run: () => "" });
  expect(await createCustomTool(tool, "/").accesses?.({})).toMatchObject({
    ok: false,
    message: expect.stringContaining("is asynchronous"),
  });
});

it.each([
  [() => defineTool(undefined as never), "defineTool needs an object with options"],
  [() => defineTool({ ...common, input: { a: z.string() }, run: () => "" }), "object of schemas"],
  [() => defineTool({ ...common, input: z.string(), run: () => "" }), "must describe an object"],
  [() => agentTool({ name: "a", description: "A." } as never), "needs the agent option"],
])("refuses an invalid tool where it is defined (%#)", (define, message) => {
  expect(define).toThrow(message);
});
