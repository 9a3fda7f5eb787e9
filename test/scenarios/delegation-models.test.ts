import { describe, expect, it } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import type { EventOf } from "../../src/protocol/index.ts";
import { createApiServer, type Reply } from "../../src/testing/index.ts";
import { newPlace, task } from "./delegation-place.ts";

interface Seen {
  readonly started: EventOf<"run.started"> | undefined;
  readonly notices: readonly string[];
  /** The models that were asked, in order. */
  readonly asked: readonly unknown[];
}

/** What becomes of a delegation over a real wire. */
async function delegate(more: Record<string, unknown>, options: SessionOptions = {}): Promise<Seen> {
  const { input } = task("CHILD: go", more);
  const script: Reply[] = [
    { content: [{ tool: "Task", input }] },
    { content: "The child's answer." },
    { content: "Done." },
  ];
  const server = await createApiServer({ script });
  try {
    const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
    const session = await openSession({ ...newPlace(), environment, ...options });
    const run = session.prompt("MAIN: do it.");
    const notices: string[] = [];
    let started: EventOf<"run.started"> | undefined;
    for await (const update of run) {
      if (update.type !== "subagent.event") continue;
      if (update.event.type === "notice.raised") notices.push(update.event.message);
      if (update.event.type === "run.started") started = update.event;
    }
    expect((await run.result).outcome).toBe("succeeded");
    await session.close();
    server.assertDone();
    return { started, notices, asked: server.requests.map(({ body }) => (body as { model?: unknown }).model) };
  } finally {
    await server.close();
  }
}

describe("the model of a call", () => {
  it("is asked for as it is when nobody here knows it, and that is told and recorded", async () => {
    const { started, notices, asked } = await delegate({ model: "claude-unheard-9" });
    expect(asked).toEqual(["claude-sonnet-5-5", "claude-unheard-9", "claude-sonnet-5-5"]);
    expect(started).toMatchObject({ requestedModel: "claude-unheard-9", model: "claude-unheard-9" });
    expect(started?.modelReason).toContain("model by the call");
    expect(notices).toEqual([expect.stringContaining('The model "claude-unheard-9" is not one of anthropic')]);
  });

  it("is the one of a tier, or one that is known, without a word", async () => {
    const small = await delegate({ model: "small" });
    expect(small.started).toMatchObject({ requestedModel: "small", model: "claude-haiku-5-5" });
    const known = await delegate({ model: "claude-opus-5" });
    expect(known.started).toMatchObject({ requestedModel: "claude-opus-5", model: "claude-opus-5" });
    expect([...small.notices, ...known.notices]).toEqual([]);
  });

  it("comes before the definition's, and that before the parent's", async () => {
    const agents = {
      cheap: { description: "Saves. Use when it may cost little.", prompt: "Save.", model: "haiku" },
      heir: { description: "Inherits. Use when needed.", prompt: "Inherit.", model: "inherit" },
    };
    const settings = { subagents: { model: "opus" } };
    const modelOf = async (more: Record<string, unknown>) =>
      (await delegate(more, { agents, settings })).started?.model;
    expect(await modelOf({ subagent_type: "cheap", model: "opus" })).toBe("claude-opus-5-5");
    expect(await modelOf({ subagent_type: "cheap" })).toBe("claude-haiku-5-5");
    expect(await modelOf({})).toBe("claude-opus-5-5");
    expect(await modelOf({ subagent_type: "heir" })).toBe("claude-sonnet-5-5");
  });
});
