import { describe, expect, it } from "vitest";
import type { ResolvedAgent } from "./resolved-agent.ts";
import { createSharing } from "./share-parts.ts";

const read = { name: "Read", description: "Reads.", inputSchema: { type: "object" } } as const;

function agent({ system = "You help.", pool = ["Read"] } = {}): ResolvedAgent {
  return {
    agentType: "helper",
    head: {
      provider: "anthropic",
      model: "m",
      dialect: "anthropic",
      maxTokens: 1_000,
      tools: [read],
      system,
      systemContext: "",
      userContext: "",
    },
    policy: { mode: "default", pool, rules: [], workspaceRoots: ["/w"], readableRoots: [] },
    maxTurns: 50,
    requestedModel: null,
    modelReason: "the only one",
  };
}

describe("createSharing", () => {
  it("gives agents of one kind one head and one policy", () => {
    const share = createSharing();
    const [first, second] = [share(agent()), share(agent())];
    expect(second.head).toBe(first.head);
    expect(second.policy).toBe(first.policy);
  });

  it("keeps apart what differs in one word or one element", () => {
    const share = createSharing();
    const first = share(agent());
    const other = share(agent({ system: "You help!" }));
    expect(other.head.system).toBe("You help!");
    expect(other.policy).toBe(first.policy);
    expect(share(agent({ pool: [] })).policy.pool).toEqual([]);
    expect(share(agent({ pool: ["Read", "Write"] })).policy.pool).toEqual(["Read", "Write"]);
  });
});
