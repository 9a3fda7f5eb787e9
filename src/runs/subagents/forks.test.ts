import { describe, expect, it } from "vitest";
import { createDeferred } from "../../lib/index.ts";
import type { Model, ModelProgress, ModelRequest } from "../../ports/index.ts";
import type { ModelOutcome } from "../../protocol/index.ts";
import { createScriptedModel } from "../../testing/index.ts";
import { SiblingGate } from "./forks.ts";

const answer: ModelOutcome = {
  ok: false,
  error: { code: "overloaded", message: "Too much." },
  partial: [],
};

/** Creates a model whose calls wait until the test completes them. */
function heldModel() {
  const calls: { readonly emit: (progress: ModelProgress) => void; readonly end: () => void }[] = [];
  const model: Model = {
    describe: () => createScriptedModel([]).describe(),
    call: (_, emit) => {
      const ended = createDeferred<ModelOutcome>();
      calls.push({ emit, end: () => ended.resolve(answer) });
      return ended.promise;
    },
  };
  return { model, calls };
}

function request(signal = new AbortController().signal): ModelRequest {
  return { prompt: {} as ModelRequest["prompt"], maxTokens: 1_000, callId: String, signal };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("siblings", () => {
  it("delay their first requests until the first fork's response begins", async () => {
    const { model, calls } = heldModel();
    const gate = new SiblingGate();
    const heard: string[] = [];
    const guarded = [gate.guard(model), gate.guard(model), gate.guard(model)];
    const outcomes = guarded.map((each) => each.call(request(), ({ type }) => heard.push(type)));
    await settled();
    expect(calls).toHaveLength(1);
    expect(heard).toEqual(["waiting", "waiting"]);
    calls[0]?.emit({ type: "sent" });
    await settled();
    expect(calls).toHaveLength(1);
    calls[0]?.emit({ type: "text.delta", text: "I" });
    await settled();
    expect(calls).toHaveLength(3);
    expect(heard).toEqual(["waiting", "waiting", "sent", "text.delta", "sent", "sent"]);
    // Later siblings and second requests do not wait.
    void gate.guard(model).call(request(), () => {});
    void guarded[0]?.call(request(), () => {});
    expect(calls).toHaveLength(5);
    for (const { end } of calls) end();
    expect(await Promise.all(outcomes)).toEqual([answer, answer, answer]);
  });

  it("proceed if the first fork fails or is too slow, or if they are stopped themselves", async () => {
    const failing = heldModel();
    const gate = new SiblingGate();
    for (let sibling = 0; sibling < 2; sibling++) void gate.guard(failing.model).call(request(), () => {});
    failing.calls[0]?.end();
    await settled();
    expect(failing.calls).toHaveLength(2);

    const slow = heldModel();
    const impatient = new SiblingGate(1);
    void impatient.guard(slow.model).call(request(), () => {});
    const sent = createDeferred<void>();
    void impatient.guard(slow.model).call(request(), ({ type }) => type === "sent" && sent.resolve());
    await sent.promise;
    expect(slow.calls).toHaveLength(2);

    const stopped = heldModel();
    const own = new AbortController();
    const patient = new SiblingGate();
    void patient.guard(stopped.model).call(request(), () => {});
    void patient.guard(stopped.model).call(request(own.signal), () => {});
    own.abort();
    await settled();
    expect(stopped.calls).toHaveLength(2);
  });
});
