import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPlace, jsonLines, resultOf, retinue, serve } from "./command-line.ts";

describe("retinue -p", () => {
  it("prints the last message and nothing else", async () => {
    const place = createPlace();
    const server = await serve([{ content: "Hello there." }]);
    const run = await retinue(["-p", "Say hello"], { ...place, server });
    expect(run).toEqual({ code: 0, signal: null, stdout: "Hello there.\n", stderr: "" });
    server.assertDone();
  });

  it("also works with the OpenAI wire format", async () => {
    const place = createPlace();
    const server = await serve([{ content: "Hi." }], { requireKey: false });
    const environment = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "sk-test" };
    const run = await retinue(["-p", "Say hello", "--model", "some-model"], { ...place, environment });
    expect(run).toMatchObject({ code: 0, stdout: "Hi.\n" });
    expect(server.requests[0]).toMatchObject({ wire: "openai", model: "some-model" });
  });

  it("works without a key or network, and says that no language model is used", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "a.txt"), "hello\n");
    const run = await retinue(["-p", "Read a.txt"], place);
    expect(run.code).toBe(0);
    expect(run.stdout).toContain("hello");
    expect(run.stderr).toContain("not a language model");
    const other = await retinue(["-p", "Write me a poem about the sea"], place);
    expect(other.code).toBe(1);
  });

  it("prints the result as one object", async () => {
    const place = createPlace();
    const server = await serve([{ content: "Done.", usage: { inputTokens: 120, outputTokens: 7 } }]);
    const run = await retinue(["-p", "Do it", "--output-format", "json"], { ...place, server });
    expect(run.code).toBe(0);
    expect(jsonLines(run)).toEqual([
      expect.objectContaining({
        type: "result",
        subtype: "success",
        is_error: false,
        num_turns: 1,
        result: "Done.",
        stop_reason: "end_turn",
        session_id: expect.stringMatching(/^[0-9a-z]{26}$/),
        usage: expect.objectContaining({ input_tokens: 120, output_tokens: 7 }),
        permission_denials: [],
        outcome: "succeeded",
        reason: "done",
        provider: "anthropic",
        facts: expect.objectContaining({ filesChanged: [] }),
      }),
    ]);
    expect(run.stdout + run.stderr).not.toContain("sk-test-secret");
  });

  it("streams every step as a line, with the result last and only once", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "notes.txt"), "alpha\nbeta\n");
    const server = await serve([
      { content: ["Looking.", { tool: "Read", input: { file_path: "notes.txt" } }] },
      { content: [{ tool: "Edit", input: { file_path: "notes.txt", old_string: "beta", new_string: "gamma" } }] },
      { content: "Changed it." },
    ]);
    const words = ["-p", "Change beta", "--output-format", "stream-json", "--permission-mode", "acceptEdits"];
    const run = await retinue(words, { ...place, server });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(place.cwd, "notes.txt"), "utf8")).toBe("alpha\ngamma\n");
    const lines = jsonLines(run);
    expect(lines.map(({ type, subtype }) => (subtype ? `${type}/${subtype}` : type))).toEqual([
      "system/init",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
      "result/success",
    ]);
    const [init, assistant, user] = lines;
    expect(init).toMatchObject({ cwd: place.cwd, permissionMode: "acceptEdits", mcp_servers: [] });
    expect(assistant).toMatchObject({
      message: {
        content: [
          { type: "thinking", thinking: "", signature: expect.any(String) },
          { type: "text" },
          { type: "tool_use", name: "Read", input: { file_path: "notes.txt" } },
        ],
      },
    });
    const call = (assistant as { message: { content: { id?: string }[] } }).message.content[2]?.id;
    expect(user).toMatchObject({ message: { content: [{ type: "tool_result", tool_use_id: call }] } });
    expect(new Set(lines.map((line) => line["session_id"])).size).toBe(1);
    expect(new Set(lines.map((line) => line["uuid"])).size).toBe(lines.length);
    expect(resultOf(run).facts.filesChanged).toEqual(["notes.txt"]);
    server.assertDone();
  });

  it("streams text as it arrives, and the pieces add up to the message", async () => {
    const place = createPlace();
    const server = await serve([{ content: [{ text: ["One ", "two ", "three."] }] }]);
    const words = ["-p", "Count", "--output-format", "stream-json", "--include-partial-messages"];
    const lines = jsonLines(await retinue(words, { ...place, server }));
    const events = lines
      .filter(({ type }) => type === "stream_event")
      .map(({ event }) => event as { type: string; delta?: { text?: string } });
    expect(events[0]?.type).toBe("message_start");
    expect(events.at(-1)?.type).toBe("message_stop");
    expect(events.map((event) => event.delta?.text ?? "").join("")).toBe("One two three.");
  });

  it("reports retries to programs", async () => {
    const place = createPlace();
    const fault = { kind: "status", status: 529, retryAfter: { milliseconds: 10 } } as const;
    const server = await serve([{ reply: { content: "At last." }, faults: [fault] }]);
    const run = await retinue(["-p", "Go", "--output-format", "stream-json"], { ...place, server });
    const retry = jsonLines(run).find(({ subtype }) => subtype === "api_retry");
    expect(retry).toMatchObject({ attempt: 1, error_status: 529 });
    expect(resultOf(run)).toMatchObject({ result: "At last.", is_error: false });
  });

  it("denies a command that no one can approve, and tells the model and the program", async () => {
    const place = createPlace();
    const server = await serve([
      { content: [{ tool: "Bash", input: { command: "touch made" } }] },
      { when: { afterTool: "Bash" }, reply: { content: "I may not." } },
    ]);
    const run = await retinue(["-p", "Make it", "--output-format", "stream-json"], { ...place, server });
    expect(run.code).toBe(0);
    const denied = jsonLines(run).find(({ subtype }) => subtype === "permission_denied");
    expect(denied).toMatchObject({ tool_name: "Bash", message: expect.stringMatching(/\S/) });
    expect(resultOf(run).permission_denials).toEqual([
      expect.objectContaining({
        tool_name: "Bash",
        tool_input: { command: "touch made" },
        message: expect.stringContaining("allow"),
      }),
    ]);
  });

  it("allows a command by one rule, and denies a tool by another", async () => {
    const place = createPlace();
    const server = await serve([
      { content: [{ tool: "Bash", input: { command: "touch made" } }] },
      { content: [{ tool: "Read", input: { file_path: "made" } }] },
      { content: "Done." },
    ]);
    const rules = ["--allowed-tools", "Bash(touch made), Edit", "--disallowed-tools", "Read"];
    const run = await retinue(["-p", "Make it", ...rules, "--output-format", "json"], { ...place, server });
    expect(readFileSync(join(place.cwd, "made"), "utf8")).toBe("");
    expect(resultOf(run).facts).toMatchObject({ commands: [{ command: "touch made", exitCode: 0 }] });
  });
});
