import { describe, expect, it } from "vitest";
import { subagentFor } from "../../agents/resolve/subagent.test-support.ts";
import { Chain } from "../../conversation/index.ts";
import { checkSchema } from "../../lib/index.ts";
import type { ToolContext } from "../../ports/index.ts";
import { FORK_INTRODUCTION } from "../../protocol/index.ts";
import { createMemoryTranscript, openInbox } from "../../transcript/index.ts";
import { createApprovalQueue } from "../approvals/approval-queue.ts";
import type { LiveAgent } from "../host/run-host.ts";
import { Dispatcher } from "../subagents/dispatcher.ts";
import { delegationSpecs, delegationTools } from "./delegation-tools.ts";
import { planSpecs } from "./plan-tools.ts";

const clock = { now: () => 0, monotonic: () => 0 };
const specs = delegationSpecs({
  list: {
    text: "- Explore: looks",
    tokens: 4,
    complete: true,
    agents: [{ name: "Explore", tokens: 4, shown: "line" }],
  },
  background: true,
  parallel: true,
});

/** Creates a session with one running agent that has the tools for the given depth. */
function sessionWith(agentId: string, maxDepth: number, words: readonly string[] = ["Look."]) {
  let prepared = 0;
  const journal = createMemoryTranscript({ sessionId: "s", clock });
  const dispatcher = new Dispatcher({
    shared: {
      sessionId: "s",
      version: "0",
      approvals: createApprovalQueue({ attended: false, inbox: openInbox({ path: undefined, clock }) }),
      clock,
    },
    journal,
    offered: () => ["Explore"],
    known: () => [],
    modelNames: async () => [],
    mayFork: false,
    settleLost: async () => undefined,
    idleMain: () => {
      throw new Error("no agent is resumed without a call");
    },
    prepare: async () => {
      prepared += 1;
      return { ok: false, message: "The work was looked at." };
    },
  });
  const tier = {
    background: false,
    depth: 1,
    maxDepth,
    mcpTools: "always",
    allowQuestions: false,
    named: false,
  } as const;
  const { agent } = subagentFor({}, { tier });
  const conversation = new Chain(agent.head);
  conversation.append({ role: "user", content: words.map((text) => ({ type: "text", text })) });
  dispatcher.registry.enter({ agentId, agent, thread: { conversation } } as unknown as LiveAgent);
  const tools = delegationTools(dispatcher, specs);
  return { tools, plan: delegationTools(dispatcher, planSpecs), prepared: () => prepared };
}

function contextOf(agentId: string): ToolContext {
  return {
    agentId,
    callId: `${agentId}_1_0`,
    signal: new AbortController().signal,
    paths: [],
    progress: () => undefined,
    authorize: async () => ({ effect: "allow", rule: "x", scope: "session", reason: "x" }),
    hidden: () => false,
    hiddenElsewhere: async () => new Set(),
  };
}

describe("a delegation tool", () => {
  it("checks whether its caller may delegate", async () => {
    const { tools, prepared } = sessionWith("a1", 1);
    const inputs: Readonly<Record<string, Record<string, string>>> = {
      Task: { description: "look", prompt: "look", subagent_type: "Explore" },
      TaskOutput: { task_id: "a1" },
      TaskStop: { task_id: "a1" },
    };
    for (const tool of tools.filter(({ declaration }) => declaration.name in inputs)) {
      const output = await tool.run(inputs[tool.declaration.name] ?? {}, contextOf("a1"));
      expect(output).toMatchObject({ isError: true, content: expect.stringContaining("This agent can't use") });
    }
    expect(prepared()).toBe(0);
  });

  it("works only for the main agent if it controls plan mode", async () => {
    const { plan } = sessionWith("a1", 2);
    for (const tool of plan) {
      const output = await tool.run({ plan: "x" }, contextOf("a1"));
      expect(output).toMatchObject({
        isError: true,
        content: expect.stringContaining("Only the main agent can use"),
      });
    }
    expect(plan).toHaveLength(2);
  });

  it("recognizes a fork by its first message if its record was lost", async () => {
    const { tools, prepared } = sessionWith("a1", 2, [FORK_INTRODUCTION, "Look."]);
    const task = tools.find(({ declaration }) => declaration.name === "Task");
    const output = await task?.run({ description: "look", prompt: "look", subagent_type: "Explore" }, contextOf("a1"));
    expect(output).toMatchObject({ isError: true, content: expect.stringContaining("This agent can't use") });
    expect(prepared()).toBe(0);
  });

  it("works for an agent that is at a depth at which agents may delegate", async () => {
    const { tools } = sessionWith("a1", 2);
    const stop = tools.find(({ declaration }) => declaration.name === "TaskStop");
    const output = await stop?.run({ task_id: "a9" }, contextOf("a1"));
    expect(output?.content).toContain("There is no agent a9");
  });

  it("declares the listed names, and accepts every agent name", () => {
    const [shown] = specs;
    const [task] = sessionWith("a1", 2).tools;
    expect(shown?.declaration.inputSchema).toMatchObject({ properties: { subagent_type: { enum: ["Explore"] } } });
    expect(task?.declaration).toEqual(shown?.declaration);
    const schema = task?.accepts ?? {};
    const given = { description: "look", prompt: "look" };
    for (const input of [{ subagent_type: "explore" }, { agentType: "Explore" }, { subagent_type: null, model: null }])
      expect(checkSchema(schema, { ...given, ...input })).toEqual([]);
    for (const input of [{ subagent_type: 5 }, { prompt: "" }, { max_turns: 0 }, { isolation: "remote" }])
      expect(checkSchema(schema, { ...given, ...input })).toHaveLength(1);
  });
});
