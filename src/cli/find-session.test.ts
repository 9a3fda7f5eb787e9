import { describe, expect, it } from "vitest";
import { agentIdOf } from "./find-session.ts";

const agents = [
  { agentId: "a7k3m9x2w4qpz", name: "scout" },
  { agentId: "a7zz00000000a" },
  { agentId: "abcd00000000b", name: "scout" },
  { agentId: "a9ff00000000c", name: "a7k3" },
];

describe("a session's agent", () => {
  it.each([
    ["a7z", "a7zz00000000a"],
    ["agent-a7z", "a7zz00000000a"],
    ["agent-a7k3m9x2w4qpz", "a7k3m9x2w4qpz"],
    ["4qpz", "a7k3m9x2w4qpz"],
    ["scout", "abcd00000000b"],
    ["a7k3", "a9ff00000000c"],
  ])("is found by %s", (reference, expected) => {
    expect(agentIdOf(reference, agents)).toBe(expected);
  });

  it.each([
    ["a7", '"a7" matches 2 agents: a7k3m9x2w4qpz, a7zz00000000a'],
    ["agent-x", 'There is no agent "agent-x" in this session'],
  ])("is not found by %s", (reference, message) => {
    expect(() => agentIdOf(reference, agents)).toThrow(message);
  });

  it("is not found by an unknown name, and the error lists the existing agents with their names", () => {
    const many = Array.from({ length: 9 }, (_, index) => ({ agentId: `b${index}` }));
    expect(() => agentIdOf("nobody", [...agents, ...many])).toThrow(
      expect.objectContaining({
        fix: "Its agents are main, a7k3m9x2w4qpz (scout), a7zz00000000a, abcd00000000b (scout), a9ff00000000c (a7k3), b0, b1, b2, b3 and 5 more.",
      }),
    );
  });

  it("is not found in a session without agents", () => {
    expect(() => agentIdOf("a7", [])).toThrow(expect.objectContaining({ fix: "Its only agent is main." }));
  });
});
