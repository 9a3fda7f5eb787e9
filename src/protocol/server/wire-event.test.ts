import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { delivery, fromWire, type SessionUpdate, toWire, wireNames } from "../index.ts";

const agent = { agentType: "Explore", path: ["a1", "a2"] };

describe("an update on the wire", () => {
  it("has the event names that clients wait for", () => {
    expect(wireNames["approval.requested"]).toBe("tool_approval_required");
    expect(wireNames["run.ended"]).toBe("turn_complete");
    expect(new Set(Object.values(wireNames)).size).toBe(Object.keys(wireNames).length);
    expect(Object.keys(delivery).filter((name) => !(name in wireNames))).toEqual(["subagent.event"]);
  });

  it("is unchanged after being sent and read", () => {
    const types = Object.keys(wireNames) as SessionUpdate["event"]["type"][];
    const fields = fc.dictionary(fc.string(), fc.jsonValue());
    const update = fc
      .tuple(fc.constantFrom("main", "a2"), fc.option(fc.nat(), { nil: undefined }), fc.constantFrom(...types), fields)
      .map(([agentId, seq, type, rest]): SessionUpdate => {
        const { type: _type, seq: _seq, ...others } = rest as Record<string, unknown>;
        const event = seq === undefined ? { ...others, type } : { ...others, type, seq };
        return { agentId, seq, event: event as unknown as SessionUpdate["event"] };
      });
    fc.assert(
      fc.property(update, (each) => {
        expect(fromWire(JSON.parse(JSON.stringify(toWire(each, agent))))).toEqual(JSON.parse(JSON.stringify(each)));
      }),
    );
  });

  it("has an envelope with the agent's path for a subagent's event, and none for the main agent's", () => {
    const event = { type: "tool.progressed", callId: "c1", text: "half" } as const;
    expect(toWire({ agentId: "main", event }, agent)).toEqual({ ...event, type: "tool_progressed" });
    expect(toWire({ agentId: "a2", event }, agent)).toEqual({
      type: "subagent_event",
      agentType: "Explore",
      sessionId: "a2",
      path: ["a1", "a2"],
      event: { ...event, type: "tool_progressed" },
    });
  });

  it("is skipped if its event is unknown, because the server may be newer than the client", () => {
    expect(fromWire({ type: "something_new" } as never)).toBeUndefined();
  });
});
