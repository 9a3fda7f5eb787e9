import { describe, expect, it } from "vitest";
import type { DurableEvent, Usage } from "../../../protocol/index.ts";
import { fromAgent } from "../../progress/agent-events.test-support.ts";
import { createAgentViews } from "../../progress/agent-views.ts";
import { renderAgentTree } from "./agent-tree.ts";

const usage: Usage = { inputTokens: 400, cacheReadTokens: 500, cacheWriteTokens: 50, outputTokens: 50 };

/** Lines of a run that has not ended, with a search and a compaction that cost `usage` each. */
const events: readonly DurableEvent[] = [
  { type: "conversation.compacted", summary: "So far.", kept: 0, trigger: "auto", usage, costUsd: 0.01 },
  {
    type: "tool.ended",
    callId: "c1",
    name: "WebSearch",
    result: { outcome: "ok", content: [], facts: { spent: { usage, costUsd: 0.02 } } },
    milliseconds: 1,
  },
];

function shown(...types: readonly string[]): string {
  const views = createAgentViews();
  for (const [index, agentType] of types.entries()) {
    for (const event of events) views.observe({ ...fromAgent([`a${index}`], event), agentType }, 0);
  }
  return renderAgentTree(views.inOrder(), { inUse: true });
}

describe("the usage of a session's agents", () => {
  it("is shown for each agent, each type and in total, including searches and summaries", () => {
    const lines = shown("Explore", "Plan", "Explore").split("\n");
    expect(lines.filter((line) => line.includes("Explore a"))).toHaveLength(2);
    expect(lines.filter((line) => line.startsWith("  … "))[0]).toContain("2,000 tokens · $0.0300");
    expect(lines.filter((line) => line.includes("──"))).toEqual([
      "  ── Explore · 2 agents · 4,000 tokens · $0.0600",
      "  ── Plan · 1 agent · 2,000 tokens · $0.0300",
      "  ── 3 agents · 6,000 tokens · $0.0900",
    ]);
  });

  it("is shown once if all agents have the same type", () => {
    expect(shown("Explore", "Explore").match(/──/g)).toHaveLength(1);
  });
});
