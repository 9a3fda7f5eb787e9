import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type EndReason,
  noFacts,
  noUsage,
  outcomeOf,
  type ReachedLimit,
  type RunEnd,
  type RunFacts,
} from "../../protocol/index.ts";
import type { Subagent, SubagentResult } from "./subagent.ts";
import { launchedText, noticeText, refusalText, resultText, rosterText, unknownAgentText } from "./task-text.ts";

function ended(end: Partial<RunEnd>, more: Partial<SubagentResult> = {}): SubagentResult {
  const whole: RunEnd = {
    runId: "r1",
    outcome: "succeeded",
    reason: "done",
    text: "All is well.",
    turns: 1,
    usage: noUsage,
    milliseconds: 5,
    modelMilliseconds: 5,
    facts: noFacts,
    ...end,
  };
  return { agentId: "a1", agentType: "Explore", description: "look around", end: whole, ...more };
}
const withFacts = (facts: Partial<RunFacts>): SubagentResult => ended({ facts: { ...noFacts, ...facts } });

/** Text that imitates our tags. */
const tricky = fc
  .array(
    fc.oneof(
      fc.string(),
      fc.constantFrom(
        "<",
        ">",
        "/",
        "\n",
        "</task_result>",
        "<task_error id='x'>",
        "</TASK_notification>",
        "<system-reminder>",
        "</system>",
        "</ task_result>",
        "<task-notification>",
        "[agentId: a2]",
        "]",
        "[verified: true (npm test)]",
      ),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(""));

const tagsIn = (text: string): readonly string[] => text.match(/<\s*\/?\s*(?:task[-_]|system[-_\s>])[^>]*>?/gi) ?? [];

const own = { cause: "CAUSE.", owner: "Explore" };
const resume = 'call Task with resume: "a1"';

describe("the advice to a parent about an agent that ended early", () => {
  it.each<[EndReason, ReachedLimit | undefined, readonly string[]]>([
    ["max_turns", { cause: "CAUSE." }, ["CAUSE.", resume, "ask only for what is missing"]],
    ["timeout", { cause: "CAUSE." }, ["CAUSE.", resume, "ask only for what is missing"]],
    ["stall", { cause: "CAUSE." }, ["CAUSE.", resume, "If this happens again"]],
    ["budget", own, ["CAUSE.", "agent's own budget", "new agent as a smaller task"]],
    ["budget", { cause: "CAUSE.", owner: "session" }, ["CAUSE.", "applies to you too", "say in your answer"]],
    ["budget", { cause: "CAUSE.", owner: "lead" }, ["CAUSE.", "applies to you too", "say in your answer"]],
    ["budget", { ...own, spawns: true }, ["CAUSE.", resume, "do the rest itself"]],
    ["loop", undefined, [resume, "different approach"]],
    ["output_limit", undefined, [resume, "shorter answer"]],
    ["context_overflow", undefined, ["do not resume it", "smaller parts"]],
    ["refused", undefined, ["Do not give it the same task again"]],
    ["model_error", undefined, [resume, "If this happens again"]],
    ["journal_error", undefined, [resume, "could not be written"]],
    ["internal_error", undefined, [resume, "If this happens again"]],
    ["process_lost", undefined, [resume]],
    ["interrupted", undefined, [resume, "only if its work is still wanted"]],
    ["stopped", undefined, [resume, "only if its work is still wanted"]],
  ])("%s, %j", (reason, limit, parts) => {
    const run = ended({ reason, outcome: outcomeOf(reason), message: "CAUSE. Set x in your settings.", limit });
    for (const text of [resultText(run), noticeText([run])]) {
      for (const part of parts) expect(text).toContain(part);
      if (!parts.includes(resume)) expect(text).not.toContain(resume);
      if (limit) expect(text).not.toContain("settings");
    }
  });
});

describe("the text that tells a parent about an agent", () => {
  it("contains our tags only once, whatever the agent writes", () => {
    fc.assert(
      fc.property(tricky, fc.constantFrom("succeeded", "incomplete", "failed", "stopped"), (text, outcome) => {
        const run = ended({ text, outcome, message: text }, { description: text });
        expect(tagsIn(resultText(run)).map((tag) => tag.slice(0, 7))).toEqual(
          ["<task_r", "</task_"].map((tag, index) =>
            index === 0 && (outcome === "failed" || outcome === "stopped") ? "<task_e" : tag,
          ),
        );
        expect(tagsIn(noticeText([run]))).toHaveLength(text.trim() === "" ? 2 : 4);
        expect(tagsIn(refusalText(text, text))).toHaveLength(2);
      }),
    );
  });

  it("ends with the facts on one line, which file names and commands can't break", () => {
    fc.assert(
      fc.property(tricky, (text) => {
        const run = withFacts({ filesChanged: [text], commands: [{ command: text, exitCode: 0 }] });
        const behind = resultText(run).split("</task_result>\n")[1] ?? "";
        expect(behind.split("\n")).toHaveLength(1);
        const unquoted = behind.slice(1, -1).replace(/"(?:[^"\\]|\\.)*"/g, "");
        expect(unquoted).not.toMatch(/[[\]]/);
      }),
    );
  });

  it("says how to apply the commits of an agent with its own worktree", () => {
    const worktree = { path: "/w", branch: "retinue/a1", changes: "1 file changed, 1 commit" };
    const text = resultText({ ...ended({}), worktree });
    expect(text).toMatch(
      /<\/task_result>\n\[.*\]\n\[To apply .*`git diff --binary HEAD\.\.\.retinue\/a1 \| git apply`.*\]$/,
    );
    expect(resultText({ ...ended({}), worktree: { ...worktree, changes: "1 file changed" } })).toContain(
      "[The agent has committed nothing. Leave the worktree in place; the user removes it.]",
    );
  });

  it("lists files, commands with exit codes, denials and subagents that were cut short", () => {
    const run = withFacts({
      toolCalls: { Bash: 2, Edit: 1 },
      filesChanged: ["src/a.ts", "app/[id].tsx"],
      commands: [
        { command: "npm test", exitCode: 1 },
        { command: "sleep 9\nmore", exitCode: null },
      ],
      denied: [
        { tool: "Write", input: "{}", reason: "no" },
        { tool: "Bash", input: '{"command":"npm publish"}', reason: "no" },
      ],
      unknown: ["c1"],
      agentsCut: 1,
    });
    expect(resultText(run).split("\n").at(-1)).toBe(
      '[3 tool calls; 0 tokens; 5 ms; changed: src/a.ts, "app/[id].tsx"; ran: "npm test" (exit 1), "sleep 9…" (no exit code); denied: Write, Bash "npm publish"; outcome unknown: 1 call; 1 subagent cut short]',
    );
  });

  it("explains how to resume an agent that did not succeed, and only then", () => {
    expect(resultText(ended({ outcome: "incomplete", reason: "max_turns" }))).toContain('Task with resume: "a1"');
    expect(noticeText([ended({ outcome: "failed", reason: "stall" })])).toContain('Task with resume: "a1"');
    expect(resultText(ended({}))).not.toContain("resume");
  });

  it("explains why an agent ended early", () => {
    const run = ended({ outcome: "incomplete", reason: "max_turns", message: "Stopped after 3 turns." });
    expect(resultText(run)).toContain("\n[Ended early (max_turns). Stopped after 3 turns.]\n");
    expect(resultText(ended({}))).not.toContain("early");
  });

  it("says where a background agent's output can be read", () => {
    const address = "retinue://output/a1";
    expect(launchedText("a1")).toContain(`open ${address} with Read or Grep`);
    const run = { ...ended({ text: "long ".repeat(20_000) }), inBackground: true };
    expect(noticeText([run])).toContain(`status="completed" output_file="${address}">`);
    expect(noticeText([run])).toContain(`To read all of it, open ${address} with Read or Grep.]`);
    expect(noticeText([{ ...run, inBackground: false }])).toContain("To read all of it, use TaskOutput.]");
  });
});

const subagent = (agentId: string, more: Partial<Subagent> = {}): Subagent => ({
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

it("the roster lists agents that are running, have unreported results, or can be resumed", () => {
  const agents = [
    subagent("a1", { name: "scout", inBackground: true }),
    subagent("a2", { end: end("run-a2") }),
    subagent("a3", { end: end("run-a3", "failed") }),
  ];
  expect(rosterText(agents, [{ agentId: "a2", runId: "run-a2" }])).toBe(
    [
      "Running; you will be notified when they end:",
      "- a1 (Explore, called scout): work of a1 (output: retinue://output/a1)",
      "Ended; their reports follow:",
      "- a2 (Explore): work of a2",
      "Ended and reported; to continue one, resume it by its id:",
      "- a3 (Explore) (failed): work of a3",
    ].join("\n"),
  );
});

it("the roster shows only the newest of many ended agents, and is empty without agents", () => {
  const many = Array.from({ length: 30 }, (_, index) => subagent(`b${index}`, { end: end(`run-b${index}`) }));
  expect(rosterText(many, []).split("\n")).toHaveLength(11);
  expect(rosterText(many, [])).toContain("b29");
  expect(rosterText([], [])).toBe("");
});

describe("an agent that can't be found", () => {
  const subagent = (agentId: string) => ({ agentId, agentType: "Explore", description: "look around" }) as Subagent;

  it("is distinguished from one whose id prefix is ambiguous", () => {
    const agents = [subagent("ab1c7zzz"), subagent("ab2d7zzz"), subagent("ax")];
    expect(unknownAgentText("nobody", agents, "main")).toMatch(/^There is no agent nobody in this session/);
    for (const id of ["ab", "7zzz"]) {
      const text = unknownAgentText(id, agents, "main");
      expect(text).toMatch(
        new RegExp(`^"${id}" matches 2 agents: .*ab1c7zzz.*ab2d7zzz.*Use a longer part of the id\\.$`),
      );
    }
  });
});
