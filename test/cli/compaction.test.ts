import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../../src/testing/index.ts";
import { createPlace, jsonLines, resultOf, retinue, serve } from "./command-line.ts";

type Step = Extract<Script, { conversations: unknown }>["conversations"][0]["steps"][0];

const full = { inputTokens: 990_000, outputTokens: 10 };
const read = (usage = {}): Step => ({
  reply: { content: [{ tool: "Read", input: { file_path: "notes.txt" } }], usage },
});
const task: Step = {
  reply: {
    content: [
      { tool: "Task", input: { description: "read", prompt: "CHILD: read", subagent_type: "general-purpose" } },
    ],
  },
};

describe("a compaction", () => {
  it("appears as a boundary in the stream and in the export, for the main agent and for subagents", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "notes.txt"), "alpha\n");
    const says = (content: string): Step => ({ reply: { content } });
    const server = await serve({
      conversations: [
        { match: { firstUserContains: "CHILD:" }, steps: [read(full), says("alpha")] },
        { match: { firstUserContains: "MAIN:" }, steps: [task, read(full), says("Goal: go."), says("Done.")] },
      ],
    });
    const run = await retinue(["-p", "MAIN: go", "--output-format", "stream-json"], { ...place, server });
    expect(run.code).toBe(0);
    const isBoundary = ({ subtype }: Record<string, unknown>) => subtype === "compact_boundary";
    const metadata = { trigger: "auto", pre_tokens: expect.any(Number) };
    const boundary = { type: "system", subtype: "compact_boundary", compact_metadata: metadata };
    const [ofChild, ofMain, ...others] = jsonLines(run).filter(isBoundary);
    expect(others).toEqual([]);
    expect(ofChild).toMatchObject({ ...boundary, agent_id: expect.stringMatching(/^a/) });
    expect(ofMain).toMatchObject(boundary);
    expect(ofMain).not.toHaveProperty("agent_id");

    const exported = jsonLines(await retinue(["sessions", "export", resultOf(run).session_id], place));
    expect(exported.filter(isBoundary)).toEqual(
      ["main", ofChild?.["agent_id"]].map((agent) =>
        expect.objectContaining({
          agent,
          type: "system",
          compactMetadata: { trigger: "auto", preTokens: expect.any(Number) },
          summary: expect.stringContaining("<first_request>"),
        }),
      ),
    );
    expect(JSON.stringify(exported)).not.toContain("conversation.compacted");
  });
});
