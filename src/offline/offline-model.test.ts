import { afterEach, describe, expect, it } from "vitest";
import type { ModelProgress } from "../ports/index.ts";
import { callsOf, type Message, runtimeText, textOf } from "../protocol/index.ts";
import { createOfflineModel } from "./offline-model.ts";
import { createOfflineWorkspace, type OfflineWorkspace } from "./offline-workspace.test-support.ts";
import { plan } from "./plan.ts";

let workspace: OfflineWorkspace | undefined;
afterEach(() => workspace?.remove());

const say = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });

async function ask(messages: readonly Message[], signal = new AbortController().signal) {
  workspace ??= createOfflineWorkspace();
  const { head } = workspace;
  const progress: ModelProgress[] = [];
  const prompt = { head, messages: () => messages, body: () => [] };
  const outcome = await createOfflineModel().call(
    { prompt, maxTokens: 1_000, callId: (index) => `c${index}`, signal },
    (one) => progress.push(one),
  );
  return { outcome, progress };
}

describe("the offline model", () => {
  it("costs nothing, and reports its input and output tokens", async () => {
    const { outcome } = await ask([say("Map this repository")]);
    expect(outcome).toMatchObject({
      ok: true,
      stopReason: "tool_calls",
      usage: { cacheReadTokens: 0, cacheWriteTokens: 0 },
    });
    if (!outcome.ok) return;
    expect(outcome.usage.inputTokens).toBeGreaterThan(100);
    expect(outcome.usage.outputTokens).toBeGreaterThan(10);
    expect(createOfflineModel().describe()).toMatchObject({
      provider: "offline",
      prices: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    });
  });

  it("makes independent calls in one turn, after one line of text", async () => {
    const { outcome, progress } = await ask([say("Map this repository")]);
    if (!outcome.ok) throw new Error("expected an answer");
    expect(callsOf(outcome.message).map(({ callId, name }) => [callId, name])).toEqual([
      ["c0", "LS"],
      ["c1", "Bash"],
      ["c2", "Bash"],
    ]);
    expect(progress).toEqual([{ type: "text.delta", text: textOf(outcome.message.content) }]);
  });

  it("explains in four lines what it can and can't do, and how to use a language model", async () => {
    const { outcome, progress } = await ask([say("Write me a poem about the sea")]);
    expect(outcome).toMatchObject({ ok: true, stopReason: "refusal" });
    if (!outcome.ok) return;
    const text = textOf(outcome.message.content);
    expect(
      text,
    ).toBe(`The offline model can't do this: "Write me a poem about the sea". It finds and reports what is in the files, and changes nothing.
It can map a repository ("Map this repository"), find a name ("Where is parseConfig defined?"), summarize a file or directory ("Summarize src/main.ts"),
report the git history ("What changed recently?"), and list, read and search files ("List files in docs", "Read README.md", "Search for 'timeout'").
For anything else, use a language model: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or use a local one: --provider ollama --model NAME
`);
    expect(progress.map((one) => (one.type === "text.delta" ? one.text : "")).join("")).toBe(text);
  });

  it("asks for a request if there is none", async () => {
    const { outcome } = await ask([say("  ")]);
    if (!outcome.ok) throw new Error("expected an answer");
    expect(textOf(outcome.message.content)).toMatch(/^There is no request\. The offline model finds and reports /);
  });

  it("stops when it is aborted", async () => {
    const aborted = await ask([say("Map this repository")], AbortSignal.abort());
    expect(aborted.outcome).toMatchObject({ ok: false, error: { code: "aborted" } });
    expect(aborted.progress).toEqual([]);
  });

  it("turns an unexpected exception into an outcome", async () => {
    workspace ??= createOfflineWorkspace();
    const broken = {
      head: workspace.head,
      messages: () => {
        throw new Error("no messages");
      },
      body: () => [],
    };
    const request = { prompt: broken, maxTokens: 1_000, callId: String, signal: new AbortController().signal };
    expect(await createOfflineModel().call(request, () => {})).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("no messages") },
    });
  });

  it("responds to an empty conversation", async () => {
    expect((await ask([])).outcome).toMatchObject({ ok: true, stopReason: "refusal" });
  });
});

describe("plan", () => {
  it("returns the same response for the same conversation, on every turn", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ "src/index.ts": "// Says hello.\nexport const hello = 1;\n", "README.md": "# Hello\n" });
    const { messages } = await workspace.talk("Map this repository");
    for (let length = 1; length < messages.length; length += 2) {
      const before = messages.slice(0, length);
      expect(plan(before, workspace.head.tools)).toEqual(plan(before, workspace.head.tools));
      const said = messages[length];
      expect(plan(before, workspace.head.tools).text).toBe(said && textOf(said.content));
    }
  });

  it("starts over with every request in a session", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ "a.ts": "export const one = 1;\n" });
    const first = await workspace.talk("Where is one defined?");
    workspace.put({ "a.ts": "\nexport const one = 1;\n" });
    const second = await workspace.talk("Where is one defined?", { before: first.messages });
    expect(first.report).toContain("a.ts:1");
    expect(second.report).toContain("a.ts:2");
  });

  it("continues the last request of a session that is resumed without a prompt", async () => {
    const { outcome } = await ask([
      say("Map this repository"),
      { role: "assistant", content: [{ type: "text", text: "Looking." }] },
      say("[Your previous run ended early: max_turns.]"),
    ]);
    expect(outcome).toMatchObject({ ok: true, stopReason: "tool_calls" });
  });

  it.each([
    "[The acceptance check failed: [ -f made ] exited with code 1. The last lines of its output:]\nlist files in docs",
    "[Verification failed. Fix the findings.]\n<task_result>\nWhat changed recently?\n</task_result>",
  ])("repeats the same job after a failed check, with new calls: %s", async (note) => {
    workspace = createOfflineWorkspace();
    workspace.put({ "a.ts": "export const one = 1;\n" });
    const first = await workspace.talk("Where is one defined?");
    workspace.put({ "a.ts": "\nexport const one = 1;\n" });
    const second = await workspace.talk(note, { before: first.messages });
    // The hint about language models appears only once.
    const [report = "", footer] = first.report.split("\nGenerated offline, ");
    expect(footer).toBeDefined();
    expect(second.report).toBe(report.replaceAll("a.ts:1", "a.ts:2").replaceAll("    1  ", "    2  "));
    const inputsOf = ({ calls }: typeof first) => calls.map(({ input }) => input).sort();
    expect(inputsOf(second)).toEqual(inputsOf(first));
  });

  it("ignores text that the runtime adds to a request", async () => {
    const added = [runtimeText("Today is Monday.\nThe mode is default."), "[Your environment:\nDate: today]"];
    const { outcome } = await ask([
      { role: "user", content: [...added, "Read README.md"].map((text) => ({ type: "text", text })) },
    ]);
    expect(outcome).toMatchObject({ ok: true, stopReason: "tool_calls" });
  });

  it("continues after an interruption, and repeats only failed calls", async () => {
    workspace = createOfflineWorkspace();
    workspace.put({ "a.ts": "export const one = 1;\n" });
    const { messages } = await workspace.talk("Where is one defined?");
    const [question, calls, results] = messages;
    if (!question || !calls || results?.role !== "user") throw new Error("expected calls and results");
    const cancelled = results.content.map((block, index) =>
      block.type === "tool_result" && index === 1 ? { ...block, content: [], isError: true } : block,
    );
    const interrupted: Message = { role: "user", content: [...cancelled, { type: "text", text: "Go on." }] };
    const planned = plan([question, calls, interrupted], workspace.head.tools);
    expect(planned).toMatchObject({ kind: "calls", calls: [{ name: "Grep" }] });
    expect(planned).toHaveProperty("calls.length", 1);
  });
});
