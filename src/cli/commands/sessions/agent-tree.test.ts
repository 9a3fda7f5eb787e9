import { describe, expect, it } from "vitest";
import { created, line } from "../../../client/view/agent-events.test-support.ts";
import { type DurableEvent, MAIN_AGENT, type Usage } from "../../../protocol/index.ts";
import { costOf, recordedAgents, renderAgentTree } from "./agent-tree.ts";

const usage: Usage = { inputTokens: 400, cacheReadTokens: 500, cacheWriteTokens: 50, outputTokens: 50 };

/** Lines of an unfinished run, with a search and a compaction that each cost `usage`. */
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
  const transcripts = types.map((agentType, index) => {
    const agentId = `a${index}`;
    return {
      agentId,
      lines: [{ ...created([agentId]), agentType } as DurableEvent, ...events].map((each) => line(each)),
    };
  });
  return renderAgentTree(recordedAgents(transcripts), { inUse: true });
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

  it("is also shown together with the main agent's, which is not in the list", () => {
    const own = { agentId: MAIN_AGENT, lines: events.map((each) => line(each)) };
    const agent = { agentId: "a1", lines: [created(["a1"]), ...events].map((each) => line(each)) };
    const lines = renderAgentTree(recordedAgents([own, agent]), { inUse: true }).split("\n");
    expect(lines.slice(-3)).toEqual([
      "  ── 1 agent · 2,000 tokens · $0.0300",
      "  ── with the main agent · 4,000 tokens · $0.0600",
      "",
    ]);
  });

  it("has a cost that says whether it may be lower, or is incomplete", () => {
    const lost = { costUsd: 0.25, isCostAtMost: true } as const;
    expect(costOf([{ costUsd: 0.01 }, lost])).toBe("≤ $0.2600");
    expect(costOf([{ costUsd: 0.01 }, {}])).toBe("at least $0.0100");
    expect(costOf([lost, {}])).toBe("about $0.2500");
    expect(costOf([{}])).toBe("cost unknown");
  });

  it("is shown without totals by type if all agents have the same type", () => {
    expect(shown("Explore", "Explore").match(/──/g)).toHaveLength(1);
  });
});
