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

/** Changes text in a transcript, so that the conversation differs from what was sent. */
function editTranscript({ home }: Place, id: string, from: string, to: string): void {
  const [project = ""] = readdirSync(join(home, "projects"));
  const path = join(home, "projects", project, `${id}.jsonl`);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(from, to));
}
