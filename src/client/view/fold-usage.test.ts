import { describe, expect, it } from "vitest";
import type { AgentId, Usage } from "../../protocol/index.ts";
import type { ViewUpdate } from "./fold-session.ts";
import { foldUsage, noSessionUsage } from "./fold-usage.ts";

const usage = (tokens: number): Usage => ({
  inputTokens: tokens,
  cacheReadTokens: 10 * tokens,
  cacheWriteTokens: 0,
  outputTokens: 1,
});

function ended(turn: number, agentId = "main"): ViewUpdate {
  const message = { role: "assistant", content: [{ type: "tool_call", callId: `call_${turn}`, name: "Read" }] };
  const event = { type: "model.ended", turn, at: turn, message, usage: usage(1), costUsd: 0.5, incompleteCalls: 0 };
  return { agentId: agentId as AgentId, event: event as never };
}

const other = (event: object): ViewUpdate => ({ agentId: "main" as AgentId, event: event as never });

describe("foldUsage", () => {
  it("keeps each turn with its agent, tokens and cost", () => {
    const used = [ended(1), ended(1, "a1"), ended(2)].reduce(foldUsage, noSessionUsage);
    expect(used.turns.map(({ agentId, turn, count }) => [agentId, turn, count])).toEqual([
      ["main", 1, 1],
      ["a1", 1, 1],
      ["main", 2, 1],
    ]);
    expect(used).toMatchObject({ costUsd: 1.5, total: { inputTokens: 3, cacheReadTokens: 30, outputTokens: 3 } });
  });

  it("adds spending outside turns to the agent's last turn, and ignores everything else", () => {
    const compacted = other({ type: "conversation.compacted", usage: usage(5), costUsd: 0.25 });
    const used = [compacted, ended(1), compacted].reduce(foldUsage, noSessionUsage);
    expect(used.turns).toHaveLength(1);
    expect(used.turns[0]).toMatchObject({ costUsd: 0.75, usage: { inputTokens: 6 } });
    expect(used.costUsd).toBe(1);
    expect(foldUsage(used, other({ type: "text.delta", turn: 1, text: "x" }))).toBe(used);
    expect(foldUsage(used, other({ type: "model.failed", turn: 1 }))).toBe(used);
    expect(foldUsage(used, other({ type: "model.ended", turn: 1 }))).toBe(used);
  });

  it("keeps a request whose response was lost as a turn of its own agent, with the most that it can have cost", () => {
    const lost = { type: "spend.recorded", at: 9, usage: usage(2), costUsd: 0.25, estimated: true };
    const of = (agentId: string, event: object): ViewUpdate => ({ agentId: agentId as AgentId, event: event as never });
    const used = [ended(1), ended(1, "a1"), ended(2), of("a1", lost), of("a2", lost)].reduce(foldUsage, noSessionUsage);
    expect(
      used.turns.map(({ agentId, turn, costUsd, isCostAtMost }) => [agentId, turn, costUsd, isCostAtMost]),
    ).toEqual([
      ["main", 1, 0.5, undefined],
      ["a1", 1, 0.5, undefined],
      ["main", 2, 0.5, undefined],
      ["a1", 2, 0.25, true],
      ["a2", 1, 0.25, true],
    ]);
    const compacted = of("a1", { type: "conversation.compacted", usage: usage(5), costUsd: 0.125 });
    expect(foldUsage(used, compacted).turns[3]).toMatchObject({ agentId: "a1", costUsd: 0.375 });
  });

  it("notes turns whose price is unknown", () => {
    const { event } = ended(1);
    const used = foldUsage(noSessionUsage, other({ ...event, costUsd: undefined }));
    expect(used.turns[0]).toMatchObject({ costUsd: 0, hasUnknownCost: true });
  });

  it("stays bounded in a session with 50,000 turns, without losing tokens or costs", () => {
    let used = noSessionUsage;
    for (let turn = 1; turn <= 50_000; turn++) used = foldUsage(used, ended(turn));
    expect(used.turns.length).toBeLessThanOrEqual(300);
    expect(new Set(used.turns.slice(0, -1).map(({ count }) => count)).size).toBe(1);
    expect(used.turns.reduce((sum, { count }) => sum + count, 0)).toBe(50_000);
    expect(used.turns.reduce((sum, { costUsd }) => sum + costUsd, 0)).toBe(25_000);
    expect(used).toMatchObject({ costUsd: 25_000, total: { inputTokens: 50_000 } });
  });
});
