import { expect, it } from "vitest";
import { noFacts, noUsage, type RunEnd } from "../../protocol/index.ts";
import { rosterText } from "./roster-text.ts";
import type { Subagent } from "./subagent.ts";

const record = (agentId: string, more: Partial<Subagent> = {}): Subagent => ({
  agentId,
  agentType: "Explore",
  description: `work of ${agentId}`,
  parent: { agentId: "main", callId: "c" },
  depth: 1,
  runId: `run-${agentId}`,
  ...more,
});
const end = (runId: string, outcome: RunEnd["outcome"] = "succeeded"): RunEnd => ({
  runId,
  outcome,
  reason: outcome === "failed" ? "model_error" : "done",
  text: "",
  turns: 1,
  usage: noUsage,
  milliseconds: 1,
  modelMilliseconds: 1,
  facts: noFacts,
});

it("tells which agents run, whose results wait, and who can be resumed", () => {
  const records = [
    record("a1", { name: "scout", outputFile: "/x/a1.output" }),
    record("a2", { end: end("run-a2") }),
    record("a3", { end: end("run-a3", "failed") }),
  ];
  expect(rosterText(records, [{ agentId: "a2", runId: "run-a2" }])).toBe(
    [
      "Still at work; you will be told when they end:",
      "- a1 (Explore, called scout): work of a1, output in /x/a1.output",
      "Ended; their results come with the next turn:",
      "- a2 (Explore): work of a2",
      "Ended and told; to go on with one, resume it by its id:",
      "- a3 (Explore) (failed): work of a3",
    ].join("\n"),
  );
});

it("shows only the newest of many that ended, and nothing where there is nobody", () => {
  const many = Array.from({ length: 30 }, (_, index) => record(`b${index}`, { end: end(`run-b${index}`) }));
  expect(rosterText(many, []).split("\n")).toHaveLength(11);
  expect(rosterText(many, [])).toContain("b29");
  expect(rosterText([], [])).toBe("");
});
