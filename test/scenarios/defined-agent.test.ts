import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AgentEnvironment, defineAgent, type Model, openSession, type RunResult } from "../../src/index.ts";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.ts";

function place(): { readonly cwd: string; readonly home: string; readonly environment: Record<string, string> } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-defined-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  return { cwd, home: join(root, "state"), environment: { HOME: root, PATH: process.env["PATH"] ?? "" } };
}

/** Creates a scripted model that records the system text of each request. */
function listening(steps: readonly ScriptedStep[]): Model & { readonly heard: string[] } {
  const model = createScriptedModel(steps);
  const heard: string[] = [];
  return {
    heard,
    describe: model.describe,
    call: (request, emit) => {
      heard.push(request.prompt.head.system);
      return model.call(request, emit);
    },
  };
}

const poet = { description: "Writes verse. Use for rhymes.", tools: ["Read"], maxTurns: 3 } as const;

describe("an agent defined by a program", () => {
  it("can have a prompt that depends on the directory, and the same fields as any other agent", async () => {
    const { cwd, home, environment } = place();
    const model = listening([{ text: "A rhyme." }]);
    const seen: AgentEnvironment[] = [];
    const prompt = (given: AgentEnvironment) => {
      seen.push(given);
      return `You rhyme about ${given.cwd}.`;
    };
    const agents = { poet: defineAgent({ ...poet, prompt }), other: defineAgent({ ...poet, prompt: "You." }) };
    const session = await openSession({ cwd, home, environment, model, agents, agent: "poet" });
    expect(session).toMatchObject({ agentType: "poet", tools: ["Read"], notices: [] });
    await session.prompt("Rhyme.").result;
    await session.close();
    expect(model.heard[0]).toMatch(new RegExp(`^You rhyme about ${cwd}\\.`));
    const docsDirectory = realpathSync(join(import.meta.dirname, "../../docs"));
    expect(seen).toEqual([{ cwd, platform: process.platform, stateDirectory: home, docsDirectory }]);
  });

  it("must return its prompt synchronously, or the session does not open", async () => {
    const prompt = (async () => "You.") as unknown as () => string;
    const options = { ...place(), model: createScriptedModel([]), agent: "poet" };
    const opening = openSession({ ...options, agents: { poet: defineAgent({ ...poet, prompt }) } });
    await expect(opening).rejects.toMatchObject({ code: "agents", exitCode: 2 });
  });

  it("calls the callback with the result of each run, before the caller continues", async () => {
    const results: RunResult[] = [];
    const callback = async (result: RunResult) => {
      await Promise.resolve();
      results.push(result);
    };
    const model = createScriptedModel([{ text: "One." }, { error: { code: "protocol", message: "No." } }]);
    const agents = { poet: defineAgent({ ...poet, prompt: "You rhyme.", callback }) };
    const session = await openSession({ ...place(), model, agents, agent: "poet" });
    const first = await session.prompt("Rhyme.").result;
    expect(results).toEqual([first]);
    const second = await session.prompt("Again.").result;
    expect(results).toEqual([first, second]);
    expect(results.map(({ outcome }) => outcome)).toEqual(["succeeded", "failed"]);
    await session.close();
  });

  it("keeps its result if the callback throws, and the run and its transcript record the error", async () => {
    const callback = () => {
      throw new Error("Out of ink");
    };
    const agents = { poet: defineAgent({ ...poet, prompt: "You rhyme.", callback }) };
    const options = { ...place(), agents, agent: "poet" };
    const session = await openSession({ ...options, model: createScriptedModel([{ text: "One." }]) });
    const run = session.prompt("Rhyme.");
    const types: string[] = [];
    for await (const update of run) types.push(update.type);
    expect(types.slice(-2)).toEqual(["run.ended", "notice.raised"]);
    expect(await run.result).toMatchObject({ outcome: "succeeded", text: "One." });
    await session.close();
    expect(readFileSync(session.transcriptPath!, "utf8")).toContain("Out of ink");
    const model = createScriptedModel([{ text: "Two." }]);
    const again = await openSession({ ...options, model, resume: session.id });
    expect(await again.prompt("More.").result).toMatchObject({ outcome: "succeeded", text: "Two." });
    await again.close();
  });

  it("can start another run in its callback, because the previous one has ended", async () => {
    const texts: string[] = [];
    const agents = {
      poet: defineAgent({
        ...poet,
        prompt: "You rhyme.",
        callback: async ({ text }) => {
          texts.push(text);
          if (texts.length === 1) await session.prompt("And another.").result;
          else await session.close();
        },
      }),
    };
    const model = createScriptedModel([{ text: "One." }, { text: "Two." }]);
    const session = await openSession({ ...place(), model, agents, agent: "poet" });
    await session.prompt("Rhyme.").result;
    expect(texts).toEqual(["One.", "Two."]);
    model.assertDone();
  });

  it("does not call the callback of another agent", async () => {
    const called: string[] = [];
    const agents = { poet: defineAgent({ ...poet, prompt: "You.", callback: ({ text }) => void called.push(text) }) };
    const session = await openSession({ ...place(), model: createScriptedModel([{ text: "Hello." }]), agents });
    await session.prompt("Hello.").result;
    await session.close();
    expect(called).toEqual([]);
  });
});
