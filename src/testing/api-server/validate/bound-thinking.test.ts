import { afterEach, describe, expect, it } from "vitest";
import { anthropicHeaders, callAnthropic, readJsonEvents } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import type { ApiServer, Reply } from "../types.ts";

let server: ApiServer;
afterEach(() => server.close());

type Block = Record<string, unknown>;
type Message = { role: string; content: Block[] };
type Body = { model?: string; system?: unknown; tools?: unknown[]; messages: Message[] } & Record<string, unknown>;

const BOUND = "bound to a different conversation";
const withControls = {
  ...anthropicHeaders,
  "anthropic-beta": "other-2026-01-01, thinking-binding-controls-2026-08-01",
};
const isThinking = ({ type }: Block) => type === "thinking" || type === "redacted_thinking";
const mark = { cache_control: { type: "ephemeral" } };
const tool = { name: "Read", description: "Reads.", input_schema: { type: "object", properties: { file: {} } } };

const replies: Reply[] = [
  { content: [{ thinking: "First." }, { tool: "Read", id: "t1", input: { file: "a", limit: 1 } }] },
  { content: [{ redactedThinking: "Second." }, "It says a."] },
  { content: [{ thinking: "" }, "Also b.", { thinking: "After text." }] },
];

/** Holds a conversation of three responses with thinking, to which a fourth message is added. */
async function converse(model = "claude-opus-5-5"): Promise<Body> {
  server = await createApiServer({ script: [...replies, { reply: { content: "Done." }, times: "always" }] });
  const body: Body = {
    model,
    max_tokens: 1000,
    system: [{ type: "text", text: "Be brief." }],
    tools: [tool],
    messages: [{ role: "user", content: [{ type: "text", text: "Read a." }] }],
  };
  const result = { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "a" }] };
  for (const next of [result, { type: "text", text: "And b?" }, { type: "text", text: "Thanks." }]) {
    const answer = await callAnthropic(server.url, body);
    expect(answer.status).toBe(200);
    body.messages.push({ role: "assistant", content: JSON.parse(answer.bytes.toString()).content });
    body.messages.push({ role: "user", content: [next] });
  }
  return body;
}

async function send(body: Body, headers: Record<string, string> = anthropicHeaders): Promise<string> {
  const answer = await callAnthropic(server.url, body, { headers });
  return answer.status === 200 ? "accepted" : JSON.parse(answer.bytes.toString()).error.message;
}

function contentOf({ messages }: Body, index: number): Block[] {
  const message = messages[index];
  if (message === undefined) throw new Error(`there is no message ${index}`);
  return message.content;
}

/** Removes the thinking blocks with these numbers, starting at 0. */
function without(body: Body, ...numbers: number[]): Body {
  let number = -1;
  const isKept = (block: Block) => {
    if (isThinking(block)) number += 1;
    return !isThinking(block) || !numbers.includes(number);
  };
  const messages = body.messages.map((message) => ({ ...message, content: message.content.filter(isKept) }));
  return { ...body, messages };
}

/** Rewrites the JSON with the keys of every object in reverse order. */
function reordered<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reordered) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, reordered(inner)])
      .reverse(),
  ) as T;
}

describe("changes between requests that keep thinking valid", () => {
  it.each<[string, (body: Body) => Body]>([
    ["appended messages", (body) => body],
    ["other key order", reordered],
    [
      "cache marks",
      (body) => {
        Object.assign(contentOf(body, 0)[0] ?? {}, mark);
        Object.assign(contentOf(body, 2)[0] ?? {}, { content: [{ type: "text", text: "a", ...mark }] });
        return { ...body, tools: [{ ...tool, ...mark }] };
      },
    ],
    [
      "effort, choice of tools, display and limit",
      (body) => ({
        ...body,
        max_tokens: 2000,
        output_config: { effort: "low" },
        tool_choice: { type: "none" },
        thinking: { type: "adaptive", display: "summarized" },
      }),
    ],
    [
      "a tool that is loaded later",
      (body) => ({ ...body, tools: [tool, { ...tool, name: "B", defer_loading: true }] }),
    ],
    ["no thinking", (body) => without(body, 0, 1, 2, 3)],
    ["thinking removed from the start", (body) => without(body, 0, 1)],
    ["thinking removed from the end", (body) => without(body, 2, 3)],
    ["another branch of the same history", (body) => ({ ...body, messages: body.messages.slice(0, 5) })],
  ])("%s", async (_, change) => {
    expect(await send(change(await converse()))).toBe("accepted");
    server.assertDone();
  });
});

describe("changes between requests that make thinking invalid", () => {
  const edit = (message: number, block: number, change: Block) => (body: Body) => {
    Object.assign(contentOf(body, message)[block] ?? {}, change);
    return body;
  };
  it.each<[string, (body: Body) => Body, path: string, changed: string]>([
    [
      "system text",
      (body) => ({ ...body, system: [{ type: "text", text: "Be long." }] }),
      "1.content.0",
      "the `system` prompt",
    ],
    ["no system text", ({ system: _, ...body }) => body, "1.content.0", "the `system` prompt"],
    ["a new tool", (body) => ({ ...body, tools: [tool, { ...tool, name: "B" }] }), "1.content.0", "the `tools` list"],
    ["a tool", (body) => ({ ...body, tools: [{ ...tool, description: "." }] }), "1.content.0", "the `tools` list"],
    ["a prompt", edit(0, 0, { text: "Read b." }), "1.content.0", "an earlier message"],
    ["a result", edit(2, 0, { content: "b" }), "3.content.0", "an earlier message"],
    ["the input of a call", edit(1, 1, { input: { file: "a", limit: 2 } }), "3.content.0", "an earlier message"],
    ["text", edit(3, 1, { text: "It says b." }), "5.content.0", "an earlier message"],
    ["text before it in the same message", edit(5, 1, { text: "No." }), "5.content.2", "an earlier message"],
    [
      "a block added to an earlier message",
      (body) => {
        contentOf(body, 4).push({ type: "text", text: "Hurry." });
        return body;
      },
      "5.content.0",
      "an earlier message",
    ],
    ["thinking removed from the middle", (body) => without(body, 1), "5.content.0", "the thinking before it"],
  ])("%s", async (_, change, path, changed) => {
    const message = await send(change(await converse()));
    expect(message).toContain(`messages.${path}: Invalid \`signature\``);
    expect(message).toContain(BOUND);
    expect(message).toContain(`was written: ${changed}`);
    expect(message).toContain("`anthropic-beta` header");
    expect(() => server.assertDone()).toThrow(BOUND);
  });

  it("thinking that was removed and is put back", async () => {
    const body = await converse();
    const removed = without(body, 0, 1, 2, 3);
    server = await restarted([{ content: [{ thinking: "Anew." }, "You are welcome."] }]);
    const answer = await callAnthropic(server.url, removed);
    const { content } = JSON.parse(answer.bytes.toString());
    const next = { role: "user", content: [{ type: "text", text: "Bye." }] };
    const added = [{ role: "assistant", content }, next];
    expect(await send({ ...removed, messages: [...removed.messages, ...added] })).toBe("accepted");
    const message = await send({ ...body, messages: [...body.messages, ...added] });
    expect(message).toContain("messages.7.content.0");
    expect(message).toContain("the thinking before it");
  });
});

async function restarted(script: Reply[], seed?: number): Promise<ApiServer> {
  await server.close();
  return createApiServer({
    script: [...script, { reply: { content: "Done." }, times: "always" }],
    ...(seed && { seed }),
  });
}

describe("signatures", () => {
  it("stay valid after a restart of the server, but not on a server with another seed", async () => {
    const body = await converse();
    server = await restarted([]);
    expect(await send(body)).toBe("accepted");
    expect(await send({ ...body, system: "Other." })).toContain(BOUND);
    server = await restarted([], 2);
    expect(await send(body)).toBe("messages.1.content.0: Invalid `signature` in `thinking` block");
  });

  it("cover the text of the thinking", async () => {
    const body = await converse();
    Object.assign(contentOf(body, 1)[0] ?? {}, { thinking: "Else." });
    const header = { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } };
    expect(await send({ ...body, ...header }, withControls)).toBe(
      "messages.1.content.0: Invalid `signature` in `thinking` block",
    );
  });

  it("are not bound for models without preserved thinking", async () => {
    const body = await converse("claude-opus-4-6");
    expect(await send({ ...body, system: "Other.", tools: [tool, { ...tool, name: "B" }] })).toBe("accepted");
  });
});

describe("a switch of models", () => {
  it("drops the thinking that the new model can't read, without an error", async () => {
    const body = await converse("claude-fable-5-2");
    expect(await send({ ...body, model: "claude-opus-5-5", system: "Other." })).toBe("accepted");
    expect(await send(body)).toBe("accepted");
  });

  it("keeps thinking that the new model can read, which stays bound", async () => {
    const body = await converse("claude-opus-5-5");
    expect(await send({ ...body, model: "claude-fable-5-1" })).toBe("accepted");
    expect(await send({ ...body, model: "claude-fable-5-1", system: "Other." })).toContain(BOUND);
  });
});

describe("controls for bound thinking", () => {
  const dropping = { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } };
  const transformationsOf = async (body: Body, headers = withControls) => {
    const whole = await callAnthropic(server.url, body, { headers });
    expect(whole.status).toBe(200);
    const streamed = await callAnthropic(server.url, { ...body, stream: true }, { headers });
    const [start] = readJsonEvents(streamed.bytes);
    const transformations = JSON.parse(whole.bytes.toString()).input_transformations;
    expect(start).toMatchObject({ message: { input_transformations: transformations } });
    return transformations;
  };
  const dropped = (reason: string, ...paths: string[]) =>
    paths.map((path) => ({ type: "thinking_dropped", path: `messages.${path}`, reason }));

  it("need the beta header", async () => {
    const body = await converse();
    expect(await send({ ...body, ...dropping })).toContain("block_binding: Extra inputs are not permitted");
    expect(
      await send(
        { ...body, thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "x" } } },
        withControls,
      ),
    ).toContain("prefix_mismatch_behavior: Input should be");
  });

  it("drop invalid thinking and report it, and thinking written afterwards is valid", async () => {
    const body = await converse();
    const edited = { ...body, ...dropping };
    Object.assign(contentOf(edited, 2)[0] ?? {}, { content: "b" });
    expect(await transformationsOf(edited)).toEqual(
      dropped("prefix_binding_mismatch", "3.content.0", "5.content.0", "5.content.2"),
    );
    server = await restarted([{ content: [{ thinking: "Anew." }, "Yes."] }]);
    const answer = await callAnthropic(server.url, edited, { headers: withControls });
    edited.messages.push({ role: "assistant", content: JSON.parse(answer.bytes.toString()).content });
    edited.messages.push({ role: "user", content: [{ type: "text", text: "Go on." }] });
    expect(await transformationsOf(edited)).toHaveLength(3);
  });

  it("report thinking that the model can't read, and nothing if there is nothing to report", async () => {
    const body = await converse("claude-fable-5-1");
    expect(await transformationsOf(body)).toEqual([]);
    expect(await transformationsOf({ ...without(body, 1, 2, 3), model: "claude-opus-5-5" })).toEqual(
      dropped("model_binding_mismatch", "1.content.0"),
    );
    const plain = await callAnthropic(server.url, body);
    expect(plain.bytes.toString()).not.toContain("input_transformations");
  });

  it("keep the error by default, without a hint at the header", async () => {
    const message = await send({ ...(await converse()), system: "Other." }, withControls);
    expect(message).toContain(BOUND);
    expect(message).not.toContain("anthropic-beta");
  });
});

describe("replies without scripted thinking", () => {
  it("begin with an empty thinking block, if the model always thinks", async () => {
    server = await createApiServer({ script: ["a", "b", "c"].map((content) => ({ content })) });
    const typesOf = async (model: string, thinking?: Block) => {
      const answer = await callAnthropic(server.url, { model, thinking });
      return JSON.parse(answer.bytes.toString()).content.map(({ type }: Block) => type);
    };
    expect(await typesOf("claude-sonnet-5-5")).toEqual(["thinking", "text"]);
    expect(await typesOf("claude-sonnet-5-5", { type: "between_tools" })).toEqual(["text"]);
    expect(await typesOf("claude-haiku-4-5")).toEqual(["text"]);
  });
});

describe("parameters that depend on the model", () => {
  const budget = { type: "enabled", budget_tokens: 1024 };
  it.each<[string, string, Block, string | undefined]>([
    ["a budget for an early model", "claude-opus-4-6", { thinking: budget, max_tokens: 5000 }, undefined],
    ["a budget", "claude-opus-4-7", { thinking: budget, max_tokens: 5000 }, '"enabled" is not supported'],
    ["no thinking, where it is optional", "claude-haiku-5-5", { thinking: { type: "disabled" } }, undefined],
    ["no thinking", "claude-opus-5-5", { thinking: { type: "disabled" } }, 'always thinks. Use "adaptive"'],
    ["no thinking for Sonnet 5.5", "claude-sonnet-5-5", { thinking: { type: "disabled" } }, 'Use "between_tools"'],
    ["thinking between tools", "claude-sonnet-5-5", { thinking: { type: "between_tools" } }, undefined],
    ["thinking between tools", "claude-opus-5-5", { thinking: { type: "between_tools" } }, "thinking.type: should be"],
    ["a forced call", "claude-opus-5", { tools: [tool], tool_choice: { type: "any" } }, undefined],
    ["a forced call", "claude-fable-5-1-20260901", { tools: [tool], tool_choice: { type: "any" } }, "not supported"],
    ["an unknown effort", "claude-opus-5-5", { output_config: { effort: "most" } }, "output_config.effort"],
  ])("%s, %s", async (_, model, parameters, problem) => {
    server = await createApiServer({ script: [{ content: "a" }] });
    const messages: Message[] = [{ role: "user", content: [{ type: "text", text: "Hi" }] }];
    const message = await send({ model, max_tokens: 1000, messages, ...parameters });
    expect(message).toContain(problem ?? "accepted");
  });
});
