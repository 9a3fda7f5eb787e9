import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createPlace, jsonLines, type Place, resultOf, retinue, serve } from "./command-line.ts";

const model = ["--model", "claude-opus-5-5"];

it.each([
  ["text", []],
  ["stream-json", ["--output-format", "stream-json"]],
])("a run whose earlier thinking is refused says so and goes on (%s)", async (format, options) => {
  const place = createPlace();
  const server = await serve(["One.", "Two.", "Three."].map((content) => ({ content })));
  const first = await retinue(["-p", "Say one", "--output-format", "json", ...model], { ...place, server });
  const id = resultOf(first).session_id;
  editTranscript(place, id, "Say one", "Say uno");
  const second = await retinue(["-p", "Say two", "--resume", id, ...model, ...options], { ...place, server });
  expect(second).toMatchObject({ code: 0 });
  const words = "anthropic refused the model's earlier thinking";
  if (format === "text") expect(second).toMatchObject({ stdout: "Two.\n", stderr: expect.stringContaining(words) });
  else {
    expect(resultOf(second)).toMatchObject({ is_error: false, result: "Two." });
    expect(jsonLines(second)).toContainEqual(
      expect.objectContaining({ type: "system", subtype: "notice", message: expect.stringContaining(words) }),
    );
  }
  const shown = await retinue(["sessions", "show", `${id}/main`], place);
  expect(shown.stdout).toContain(words);
  const third = await retinue(["-p", "Say three", "--resume", id, ...model], { ...place, server });
  expect(third).toMatchObject({ code: 0, stdout: "Three.\n" });
  expect(third.stderr).not.toContain(words);
  expect(server.requests.map(({ status }) => status)).toEqual([200, 400, 200, 200]);
});

it("a model's thinking between its calls is shown, and later requests contain it unchanged", async () => {
  const place = createPlace();
  const thinking = "First I look at the files.";
  const script = [{ content: [{ thinking }, { tool: "LS", input: { path: "." } }] }, { content: "Done." }];
  for (const name of ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]) {
    const server = await serve(script);
    const ran = await retinue(["-p", "Look", "--output-format", "stream-json", "--model", name], { ...place, server });
    expect(ran).toMatchObject({ code: 0 });
    server.assertDone();
    const [first] = jsonLines(ran).filter(({ type }) => type === "assistant");
    expect(first).toMatchObject({ message: { content: [{ type: "thinking", thinking }, { type: "tool_use" }] } });
    const shown = await retinue(["sessions", "show", `${resultOf(ran).session_id}/main`], place);
    expect(shown.stdout).toContain(thinking);
  }
});

it("an effort that the model does not support is replaced or left out, with a notice", async () => {
  const place = createPlace();
  for (const [name, sent, notice] of [
    ["claude-opus-4-6", "high", 'does not support effort "xhigh"; using "high" instead'],
    ["claude-sonnet-4-5", undefined, 'does not support effort: "xhigh" is omitted'],
  ] as const) {
    const server = await serve([{ content: "Done." }]);
    const ran = await retinue(["-p", "Look", "--effort", "xhigh", "--model", name], { ...place, server });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining(notice) });
    const [config] = server.requests.map(({ body }) => (body as { output_config?: unknown }).output_config);
    expect(config).toEqual(sent && { effort: sent });
  }
});

/** Changes text in a transcript, so that the conversation differs from what was sent. */
function editTranscript({ home }: Place, id: string, from: string, to: string): void {
  const [project = ""] = readdirSync(join(home, "projects"));
  const path = join(home, "projects", project, `${id}.jsonl`);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(from, to));
}
