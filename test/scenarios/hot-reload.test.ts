import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/index.ts";
import { type Message, textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";

function agent(name: string, prompt: string, description = `Does ${name}. Use when asked.`): string {
  return `---\nname: ${name}\ndescription: ${description}\ntools: Read\n---\n${prompt}\n`;
}

const task = (type: string) => ({
  calls: [{ name: "Task", input: { description: "work", prompt: "CHILD: work", subagent_type: type } }],
});
const done = { text: "Done." };

/** A session that is prompted several times, with files of the user that change in between. */
async function begin(
  parts: Readonly<Record<string, readonly ScriptedStep[]>>,
  { files = {}, ...options }: SessionOptions & { readonly files?: Readonly<Record<string, string>> } = {},
) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-reload-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "work");
  const directory = join(root, ".agents/agents");
  mkdirSync(cwd);
  const put = (name: string, text: string) => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, name), text);
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  const cast = createCast(parts);
  const heard: string[] = [];
  const model: typeof cast = {
    ...cast,
    call: (request, emit) => {
      heard.push(request.prompt.head.system);
      return cast.call(request, emit);
    },
  };
  const environment = { HOME: root, PATH: process.env["PATH"] ?? "" };
  const home = join(root, "state");
  const session = await openSession({ trusted: false, ...options, cwd, home, environment, model });
  onTestFinished(() => session.close());
  const ask = async () => session.prompt("MAIN: go on.").result;
  return { session, cast, heard, directory, put, ask };
}

const words = (messages: readonly Message[] | undefined, index: number): string =>
  textOf(messages?.at(index)?.content ?? []);
const resultsIn = (messages: readonly Message[] | undefined): string =>
  (messages?.at(-1)?.content ?? []).map((b) => (b.type === "tool_result" ? textOf(b.content) : "")).join();

describe("files of agents that change while a session is open", () => {
  it("are seen at the next prompt: a new one is told and can be given work", async () => {
    const main = [done, task("poet"), done];
    const { ask, put, cast, heard, session } = await begin({ MAIN: main, CHILD: [{ text: "A rhyme." }] });
    await ask();
    put("poet.md", agent("poet", "You rhyme."));
    await ask();
    cast.assertDone();
    expect(heard[2]).toMatch(/^You rhyme\./);
    const second = cast.requests("MAIN")[1];
    expect(words(second, -1)).toMatch(/New agents?:\n- poet: Does poet\. Use when asked\. \(Tools: Read\)/);
    expect(resultsIn(cast.requests("MAIN")[2])).toContain("A rhyme.");
    expect(session.notices).toEqual([]);
  });

  it("count as they are now when work is given: changed, removed, renamed", async () => {
    const files = { "poet.md": agent("poet", "You rhyme."), "singer.md": agent("singer", "You sing.") };
    const main = [done, task("poet"), done, task("singer"), done];
    const { ask, put, cast, heard, directory } = await begin({ MAIN: main, CHILD: [done] }, { files });
    await ask();
    put("poet.md", agent("poet", "You rhyme badly."));
    await ask();
    expect(heard[2]).toMatch(/^You rhyme badly\./);
    // Its line in the list is as it was: nothing is to be told.
    expect(words(cast.requests("MAIN")[1], -1)).not.toContain("agent");
    renameSync(join(directory, "singer.md"), join(directory, "dancer.md"));
    put("dancer.md", agent("dancer", "You dance."));
    put("poet.md", agent("poet", "You rhyme.", "Does verse. Use when asked."));
    await ask();
    const told = words(cast.requests("MAIN")[3], -1);
    expect(told).toContain("New agent:\n- dancer:");
    expect(told).toContain("Changed agent:\n- poet: Does verse.");
    expect(told).toContain("No longer there: singer.");
    expect(resultsIn(cast.requests("MAIN")[4])).toContain('There is no agent "singer"');
  });

  it("stay as they were last good while one is half-written", async () => {
    const files = { "poet.md": agent("poet", "You rhyme.") };
    const { ask, put, cast, heard } = await begin({ MAIN: [done, task("poet"), done], CHILD: [done] }, { files });
    await ask();
    put("poet.md", "---\nname: poet\ndescr");
    await ask();
    expect(heard[2]).toMatch(/^You rhyme\./);
    expect(words(cast.requests("MAIN")[1], -1)).not.toContain("agent");
  });

  it("of agents that rules deny are not told", async () => {
    const { ask, put, cast } = await begin({ MAIN: [done, done] }, { disallowedTools: ["Task(poet)"] });
    await ask();
    put("poet.md", agent("poet", "You rhyme."));
    await ask();
    expect(words(cast.requests("MAIN")[1], -1)).not.toContain("poet");
  });
});
