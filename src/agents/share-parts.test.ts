import { describe, expect, it } from "vitest";
import { resolveSubagent } from "./resolve-subagent.ts";
import type { ResolvedAgent } from "./resolved-agent.ts";
import { createResolving, createSharing } from "./share-parts.ts";
import { requestFor } from "./subagent.test-support.ts";

const read = { name: "Read", description: "Reads.", inputSchema: { type: "object" } } as const;

function agent({ system = "You help.", pool = ["Read"] } = {}): ResolvedAgent {
  return {
    agentType: "helper",
    head: {
      provider: "anthropic",
      model: "m",
      dialect: "anthropic",
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

describe("createResolving", () => {
  const helper = { name: "helper", tools: ["Read", "Grep"] };

  it("resolves one kind of wish once, however often it comes", () => {
    const resolve = createResolving();
    const first = resolve(requestFor(helper));
    expect(first).toMatchObject({ ok: true, agent: { policy: { pool: ["Read", "Grep"] } } });
    expect(resolve(requestFor(helper))).not.toBe(first);
    const request = requestFor(helper);
    const again = resolve({ ...request, tier: { ...request.tier }, tools: [...request.tools] });
    expect(resolve({ ...request, tier: { ...request.tier }, tools: [...request.tools] })).toBe(again);
  });

  it("keeps apart what differs in the superior, the tier, the tools or the words", () => {
    const resolve = createResolving();
    const request = requestFor(helper);
    const plan = { ...request.superior, mode: "plan" as const };
    const wishes = [
      request,
      { ...request, superior: plan },
      { ...request, tier: { ...request.tier, background: true } },
      { ...request, tools: request.tools.slice(1) },
      { ...request, prompt: "Another." },
      { ...request, workspaceRoot: "/elsewhere" },
    ];
    const resolved = wishes.map(resolve);
    expect(new Set(resolved).size).toBe(wishes.length);
    expect(resolved).toEqual(wishes.map(resolveSubagent));
  });
});
