import fc from "fast-check";
import { expect, it } from "vitest";
import type { SessionOptions } from "../../src/app/index.ts";
import type { ReplyPart } from "../../src/testing/index.ts";
import { type Action, judges, perform, plainJudges, read, type Wire } from "./change-conversation.ts";
import { forkCall } from "./fork-place.ts";

const readMuch = { tool: "Read", input: { file_path: "long.txt" } };

/** Responses of the main agent to one prompt, before its last one. */
const responses: readonly (readonly ReplyPart[])[] = [
  [read],
  ["I read.", readMuch],
  [{ thinking: "Both." }, read, { thinking: "And again." }, read],
  [{ redactedThinking: "x" }, "Hm.", { thinking: "" }, { tool: "LS", input: { path: "." } }],
  [forkCall("ONE: a part"), forkCall("TWO: another part")],
  [forkCall("ONE: a part in the background", { run_in_background: true }), read],
  [read, forkCall("ONE: the newest part", { context_turns: 1 })],
  [forkCall("judge it", { subagent_type: "judge" })],
  [{ thinking: "Only thinking." }],
];
const model = fc.nat(4);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("prompt" as const),
      replies: fc.array(fc.constantFrom(...responses), { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("compact" as const, "interrupt" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("rewind" as const, "message" as const), to: fc.nat() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("model" as const), model }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("mode" as const), mode: fc.constantFrom("plan", "acceptEdits", "default") }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("agents" as const, "skills" as const), exists: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("instructions" as const), text: fc.constantFrom("Tabs.", "") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("resume" as const),
      isParked: fc.boolean(),
      model,
      options: fc.record<SessionOptions>({
        effort: fc.constantFrom("low", "high"),
        trusted: fc.boolean(),
        disallowedTools: fc.constantFrom([], ["LS"]),
        systemPrompt: fc.constantFrom({ append: "Use sugar." }, { append: "Use salt." }),
        agents: fc.constantFrom(judges, plainJudges),
      }),
    }),
  },
) as fc.Arbitrary<Action>;

const thinking = /"signature"|"type":"reasoning"|"thoughtSignature":"(?!skip_)/;

it.each<Wire>(["anthropic", "responses", "gemini", "all"])(
  "whatever happens to a conversation, its head changes only for a recorded reason, and all thinking is accepted, %s",
  async (wire) => {
    let withThinking = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 12 }), async (actions) => {
        const requests = await perform(actions, wire);
        expect(requests.flatMap(({ refusal, unscripted }) => refusal ?? unscripted ?? [])).toEqual([]);
        withThinking += requests.filter(({ rawBody }) => thinking.test(`${rawBody}`)).length;
      }),
      { numRuns: 25 },
    );
    expect(withThinking).toBeGreaterThan(50);
  },
);
