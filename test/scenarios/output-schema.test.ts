import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Line } from "../../src/protocol/index.ts";
import {
  asAfterKill,
  lastWords,
  newPlace,
  type Options,
  open,
  promised,
  resultsIn,
  task,
  walk,
} from "./delegation-place.ts";

const schema = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
const other = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const good = { text: '{"total":12}' };
const done = { text: "Done." };
const agents = { counter: { description: "Counts. Use it.", prompt: "Count.", outputSchema: schema } };
const counting = (more: Record<string, unknown> = {}) => task("CHILD: count", { subagent_type: "counter", ...more });
const asked = (more: Record<string, unknown> = {}) => task("CHILD: count", { output_schema: schema, ...more });

async function ask(call: object, child: readonly object[], options: Options = {}) {
  const walked = await walk({ MAIN: [{ calls: [call as never] }, done], CHILD: child as never }, options);
  walked.model.assertDone();
  return { ...walked, report: resultsIn(walked.model.requests("MAIN")[1])[0] ?? "" };
}

describe("a subagent's report that must match a schema", () => {
  it.each([
    ["in the call", asked(), {}],
    ["in the definition", counting(), { agents }],
    [
      "in the call instead of the definition's",
      counting({ output_schema: schema }),
      {
        agents: { counter: { ...agents.counter, outputSchema: other } },
      },
    ],
  ])("is valid JSON for the caller: the schema is %s", async (_, call, options) => {
    const { report, model } = await ask(call, [good], options);
    expect(report).toMatch(/^<task_result agent="[\w-]+" id="a\w+" status="completed">\n\{"total":12\}\n/);
    expect(lastWords(model.requests("CHILD")[0])).toMatch(
      /must contain only JSON that matches this JSON Schema.*"total"/,
    );
  });

  it("can be corrected", async () => {
    const { report, model } = await ask(asked(), [{ text: "Twelve." }, good]);
    expect(report).toContain('{"total":12}');
    expect(lastWords(model.requests("CHILD")[1])).toContain("Your answer can't be used: It is not JSON. Answer again.");
  });

  it("is an error for the caller if it stays invalid", async () => {
    const { report } = await ask(asked(), [{ text: "12" }, { text: "{}" }, { text: "Twelve." }]);
    expect(report).toMatch(/^<task_error .*status="failed">\nThe answer does not match its schema: It is not JSON\./);
    expect(report).toContain("Twelve.");
    expect(report).toContain("ask for the answer in the right form");
  });

  it("is required of background agents and forks too", async () => {
    const background = [{ calls: [asked({ run_in_background: true })] }, done, done];
    const first = await walk({ MAIN: background, CHILD: [{ text: "Twelve." }, good] });
    first.model.assertDone();
    expect(lastWords(first.model.requests("MAIN").at(-1))).toContain('{"total":12}');
    // A fork's conversation begins with its parent's prompt.
    const forked = [{ calls: [asked({ subagent_type: "fork" })] }, { text: "Twelve." }, good, done];
    const second = await walk({ MAIN: forked }, { settings: { fork: "on" } });
    second.model.assertDone();
    expect(resultsIn(second.model.requests("MAIN")[3])[0]).toContain('{"total":12}');
  });

  it("is not required again when the agent is resumed without a schema", async () => {
    const { session, model } = await open({
      MAIN: [
        { calls: [asked({ name: "cart" })] },
        { calls: [task("More.", { resume: "cart", subagent_type: undefined })] },
        done,
      ],
      CHILD: [good, { text: "Plain words." }],
    });
    for await (const _ of session.prompt("MAIN: do it."));
    await session.close();
    model.assertDone();
    expect(resultsIn(model.requests("MAIN")[2])[0]).toContain("Plain words.");
  });

  it.each([
    [{ type: "objekt" }, /objekt/],
    [{ properties: 3 }, /properties/],
    [{ anything: true }, /not a JSON Schema/],
  ])("is refused before the agent starts if the schema is invalid: %j", async (output_schema, why) => {
    const { report, updates } = await ask(asked({ output_schema }), []);
    expect(report).toMatch(why);
    expect(updates.map(({ type }) => type)).not.toContain("agent.spawned");
  });

  it("can be described in an agent file", async () => {
    const at = newPlace();
    mkdirSync(join(at.cwd, ".agents/agents"), { recursive: true });
    const file = `---\nname: counter\ndescription: Counts. Use it.\noutput-schema:\n  type: object\n  required: [total]\n---\nCount.\n`;
    writeFileSync(join(at.cwd, ".agents/agents/counter.md"), file);
    const { report } = await ask(counting(), [{ text: "{}" }, good], { at, trusted: true });
    expect(report).toContain('{"total":12}');
  });

  it("is still required after a crash", async () => {
    const at = newPlace();
    const { promise: never } = promised();
    const { session } = await open({ MAIN: [{ calls: [asked()] }, done], CHILD: [{ ...good, after: never }] }, { at });
    for await (const update of session.prompt("MAIN: do it.")) {
      if (update.type !== "subagent.event" || update.event.type !== "model.requested") continue;
      const left = asAfterKill(at);
      void session.interrupt();
      const again = await open({ MAIN: [done], CHILD: [{ text: "Twelve." }, good] }, { at: left, resume: session.id });
      for await (const _ of again.session.prompt(""));
      await again.session.close();
      again.model.assertDone();
      expect(resultsIn(again.model.requests("MAIN")[0])[0]).toContain('{"total":12}');
    }
    await session.close();
  });

  it("is in the first line of the run", async () => {
    const { updates } = await ask(asked(), [good]);
    const events = updates.flatMap((update) => (update.type === "subagent.event" ? [update.event as Line] : []));
    expect(events).toContainEqual(expect.objectContaining({ type: "run.started", outputSchema: schema }));
  });
});
