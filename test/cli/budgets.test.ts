import { describe, expect, it } from "vitest";
import type { Script } from "../../src/testing/index.ts";
import { createPlace, resultOf, retinue, serve } from "./command-line.ts";

type Step = Extract<Script, { conversations: unknown }>["conversations"][0]["steps"][0];

const list = { tool: "LS", input: { path: "." } };
const task = (name: string) => ({
  tool: "Task",
  input: { description: `part ${name}`, prompt: "CHILD: look", subagent_type: "general-purpose" },
});
const asking = (
  main: readonly Step[],
  child: readonly Step[] = [{ reply: { content: "Seen." }, times: "always" }],
) => ({
  conversations: [
    { match: { firstUserContains: "CHILD:" }, steps: [...child] },
    { match: { firstUserContains: "MAIN:" }, steps: [...main] },
  ],
});
const times = (text: string, sentence: string): number => text.split(sentence).length - 1;

describe("a budget", () => {
  it("is reported once on standard error when 80% of it is used", async () => {
    const first = { inputTokens: 161_000, outputTokens: 10 };
    const rest = { inputTokens: 10, outputTokens: 10 };
    const server = await serve(
      asking(
        [
          { reply: { content: [task("one")], usage: rest } },
          { reply: { content: [list], usage: rest } },
          { reply: { content: "Done.", usage: rest } },
        ],
        [{ reply: { content: "Seen.", usage: first } }],
      ),
    );
    const run = await retinue(["-p", "MAIN: go", "--max-tokens", "200000"], { ...createPlace(), server });
    expect(run.code).toBe(0);
    const [line = "", ...others] = run.stderr.trimEnd().split("\n");
    expect(line).toMatch(/^retinue: The session has used [\d,]+ tokens, 8\d% of its limit of 200,000 tokens\./);
    expect(line).toContain("--max-tokens");
    expect(others).toEqual([]);
  });

  it("that allows no more agents ends the run as incomplete, keeps its work, and says how to continue", async () => {
    const server = await serve(
      asking([{ reply: { content: [task("one"), task("two"), task("three")] } }, { reply: { content: "Only one." } }]),
    );
    const words = ["-p", "MAIN: go", "--output-format", "json", "--max-spawns", "1"];
    const run = await retinue(words, { ...createPlace(), server });
    expect(run.code).toBe(3);
    const sentence = "The session can't start more agents: the limit is 1 agent for one prompt";
    expect(resultOf(run)).toMatchObject({
      outcome: "incomplete",
      reason: "budget",
      result: "Only one.",
      errors: [expect.stringContaining(sentence)],
    });
    expect(times(run.stderr, sentence)).toBe(1);
    expect(times(run.stderr, "has used")).toBe(0);
    expect(run.stderr).toContain("--max-spawns");
    const { session_id: session } = resultOf(run);
    expect(run.stderr).toContain(`retinue: To continue: retinue -p --resume ${session} --max-spawns … "…"`);
  });

  it("that cuts a subagent is reported with the agent, the reason, the limit to raise, and how to continue", async () => {
    const server = await serve(
      asking(
        [
          { reply: { content: [{ ...task("one"), input: { ...task("one").input, max_turns: 1 } }] } },
          { reply: { content: "Half." } },
        ],
        [{ reply: { content: [list] }, times: "always" }],
      ),
    );
    const run = await retinue(["-p", "MAIN: go", "--output-format", "json"], { ...createPlace(), server });
    expect(run.code).toBe(3);
    const { session_id: session, agents } = resultOf(run) as unknown as {
      session_id: string;
      agents: readonly { id: string }[];
    };
    const id = agents[0]?.id;
    expect(run.stderr.trimEnd().split("\n")).toEqual([
      `retinue: general-purpose part one (${id}) was cut short after 1 turn: it reached its turn limit. To raise it, set maxTurns in the definition of general-purpose.`,
      `retinue: To continue: retinue -p --resume ${session} "Resume agent ${id}."`,
    ]);
  });
});
