import { describe, expect, it } from "vitest";
import type { RecordedRequest, Reply } from "../../src/testing/index.ts";
import { type Action, judges, perform, plainJudges, read, type Wire } from "./change-conversation.ts";
import { forkCall } from "./fork-place.ts";

const readMuch = { tool: "Read", input: { file_path: "long.txt" } };
const list = { tool: "LS", input: { path: "." } };
const prompt = (...replies: Extract<Action, { do: "prompt" }>["replies"]): Action => ({ do: "prompt", replies });
const reads = prompt([read], [list]);
const fills = prompt([readMuch], [read], [list], [readMuch], [read]);
const compact: Action = { do: "compact" };
const resume = (more: Omit<Extract<Action, { do: "resume" }>, "do"> = {}): Action => ({ do: "resume", ...more });
const elsewhere: Action = { do: "elsewhere" };
const model = (index: number): Action => ({ do: "model", model: index });
const rewind = (to: number): Action => ({ do: "rewind", to });
const message: Action = { do: "message", to: 0 };
const agents = (exists: boolean): Action => ({ do: "agents", exists });
const skills = (exists: boolean): Action => ({ do: "skills", exists });
const instructions = (text: string): Action => ({ do: "instructions", text });
const forks = prompt([read], [forkCall("ONE: a part"), forkCall("TWO: another")]);
const background = prompt([forkCall("ONE: a part", { run_in_background: true }), read], [list]);
const delegates = prompt([read], [forkCall("judge it", { subagent_type: "judge" })], [read]);
const broken: Reply = { content: [read], fault: { kind: "error-event", afterEvents: 4 } };
const summary = /Goal: go on\./;

/** What happens to a conversation, and text that a request then contains. */
const cases: readonly (readonly [string, readonly Action[], RegExp?])[] = [
  ["a compaction in the middle of a run", [reads, fills, reads], summary],
  ["an agent file that is added between two prompts", [reads, agents(true), reads, reads], /New agent/],
  ["instructions that change between two prompts", [reads, instructions("Use tabs."), reads, reads], /Use tabs\./],
  ["an agent with forkContext", [delegates, reads], /You are a judge/],
  ["a fork with the newest turns", [reads, prompt([read], [forkCall("ONE: go", { context_turns: 1 })]), reads]],
  [
    "another system prompt, as after an upgrade",
    [reads, resume({ options: { systemPrompt: { append: "Use salt." } } }), reads, reads],
    /Use salt\./,
  ],
  ["a resume in another process", [reads, elsewhere, reads, elsewhere]],
  ["a resume in another process after changes", [reads, agents(true), instructions("Use tabs."), elsewhere, reads]],
  [
    "a resume in the middle of a run, without a tool that was declared",
    [reads, resume({ isParked: true, options: { disallowedTools: ["LS"] } }), reads],
    /no longer available/,
  ],
  ["a resume with another effort", [reads, resume({ options: { effort: "low" } }), reads, reads]],
  ["other models, and back", [reads, model(1), reads, model(2), reads, model(0), reads, reads]],
  ["another model that can't think in this way, and back", [reads, model(3), reads, model(0), reads]],
  ["a compaction by another model, and back", [reads, fills, model(1), compact, reads, model(0), reads], summary],
  ["two compactions", [reads, reads, compact, reads, reads, compact, reads], summary],
  ["a compaction after changes, with a new head", [reads, agents(true), reads, compact, reads, reads], summary],
  ["going back to before a compaction", [reads, reads, compact, reads, rewind(1), reads, reads], summary],
  ["going back to before another model", [reads, model(1), reads, rewind(1), reads, model(0), reads]],
  ["going back to before changes", [reads, reads, agents(true), reads, rewind(1), reads, reads], /New agent/],
  ["forks, and a message to one of them after a compaction", [forks, compact, message, reads, message], summary],
  ["forks of a compacted conversation, in another process", [reads, reads, compact, forks, elsewhere, message]],
  ["a fork in the background while the run is compacted", [background, fills, message, reads], summary],
  [
    "a changed definition of an agent that gets a message",
    [delegates, resume({ options: { agents: plainJudges } }), message, message],
  ],
  [
    "an agent that gets a message, without forkContext",
    [
      resume({ options: { agents: plainJudges } }),
      delegates,
      message,
      resume({ options: { agents: judges } }),
      message,
    ],
  ],
  ["plan mode, and back", [reads, { do: "mode", mode: "plan" }, reads, { do: "mode", mode: "default" }, reads]],
  ["a skill that comes and goes", [reads, skills(true), reads, skills(false), reads, reads]],
  ["several thoughts around several calls", [prompt([{ thinking: "A" }, read, { thinking: "B" }, list]), reads]],
  ["thinking that is redacted or empty", [prompt([{ redactedThinking: "x" }, { thinking: "" }, read]), reads]],
  ["responses that contain only thinking", [prompt([{ thinking: "Only this." }]), reads, reads]],
  ["a run that the user interrupts", [reads, { do: "interrupt" }, reads, { do: "interrupt" }, compact, reads]],
  ["a response that breaks off and is requested again", [prompt([read], broken, [list]), reads]],
  ["a response that is cut off", [prompt([read], { content: ["Well,"], stopReason: "max_tokens" }), reads]],
];

describe.each<Wire>(["anthropic", "responses", "gemini", "all"])(
  "no thinking is refused, and no run fails (%s)",
  (wire) => {
    const rows = cases.map(([name, actions, sent = thinking]) => [name, { actions, sent }] as const);
    it.each(rows)("%s", async (_, { actions, sent }) => {
      const requests = await perform(actions, wire);
      expect(requests.flatMap(({ refusal, unscripted }) => refusal ?? unscripted ?? [])).toEqual([]);
      expect(requests.filter(isFailed)).toEqual([]);
      const bodies = requests.map(({ rawBody }) => rawBody.toString("utf8"));
      expect([bodies.some((body) => sent.test(body)), bodies.some((body) => thinking.test(body))]).toEqual([
        true,
        true,
      ]);
    });
  },
);

const thinking = /"signature"|"type":"reasoning"|"thoughtSignature":"(?!skip_)/;

function isFailed({ status, fault }: RecordedRequest): boolean {
  return status !== 200 && fault === undefined;
}
