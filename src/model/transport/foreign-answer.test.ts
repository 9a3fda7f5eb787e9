import { describe, expect, it } from "vitest";
import type { Dialect } from "../../protocol/index.ts";
import { answering, callerFor } from "../wire.test-support.ts";

const chunk = { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "Hi" } }] };
const message = { id: "m", type: "message", role: "assistant", content: [{ type: "text", text: "Hi" }] };
const candidate = { content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" };
const events = (...list: readonly unknown[]): string =>
  list.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");

/** Responses in each format, as a stream and as a whole. */
const answers: Record<Dialect, readonly string[]> = {
  anthropic: [events({ type: "message_start", message }, { type: "message_stop" }), JSON.stringify(message)],
  openai: [`${events(chunk)}data: [DONE]\n\n`, JSON.stringify({ ...chunk, object: "chat.completion" })],
  responses: [
    events({ type: "response.created", response: {} }),
    JSON.stringify({ object: "response", output: [], status: "completed" }),
  ],
  gemini: [events({ candidates: [candidate] }), JSON.stringify({ candidates: [candidate] })],
};
const names = Object.keys(answers) as Dialect[];
const pairs = names.flatMap((asked) =>
  names.filter((other) => other !== asked).map((other) => [asked, other] as const),
);

describe.each(pairs)("a request over the %s dialect", (asked: Dialect, other) => {
  it(`that is answered in the ${other} format fails at once, and says what to set`, async () => {
    for (const body of answers[other]) {
      const caller = callerFor(await answering(body, "text/event-stream"), asked);
      const { outcome } = await caller.call();
      expect(outcome).toMatchObject({ ok: false, error: { code: "protocol" } });
      expect(outcome.ok === false && outcome.error.message).toMatch(
        new RegExp(`responds in .* format, which .* Set providers\\.${asked}\\.dialect to "${other}" in your settings`),
      );
      expect(caller.delays).toEqual([]);
    }
  });
});

it("an answer in an unknown format is not explained by a wrong dialect", async () => {
  const caller = callerFor(await answering('{"ok":true}', "application/json"), "anthropic");
  const { outcome } = await caller.call();
  expect(outcome).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("is not a complete message") },
  });
});
