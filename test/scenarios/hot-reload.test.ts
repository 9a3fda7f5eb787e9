import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/index.ts";
import { type Head, type Line, type Message, textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedAnswer, type ScriptedStep } from "../../src/testing/index.ts";

function agent(name: string, prompt: string, description = `Does ${name}. Use when asked.`): string {
  return `---\nname: ${name}\ndescription: ${description}\ntools: Read\n---\n${prompt}\n`;
}

const task = (type: string) => ({
  calls: [{ name: "Task", input: { description: "work", prompt: "CHILD: work", subagent_type: type } }],
});
const done = { text: "Done." };

/** Opens a session for several prompts. The test can change the user's files between them. */
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
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  const cast = createCast(parts);
  const heard: string[] = [];
  const contexts: string[] = [];
  const offers: (readonly string[])[] = [];
  const model: typeof cast = {
    ...cast,
    call: (request, emit) => {
      heard.push(request.prompt.head.system);
      contexts.push(request.prompt.head.userContext);
      offers.push(offeredIn(request.prompt.head));
      return cast.call(request, emit);
    },
  };
  const environment = { HOME: root, PATH: process.env["PATH"] ?? "" };
  const home = join(root, "state");
  const session = await openSession({ trusted: false, ...options, cwd, home, environment, model });
  onTestFinished(() => session.close());
  const lines: Line[] = [];
  const ask = async () => {
    const run = session.prompt("MAIN: go on.");
    for await (const update of run) if ("id" in update) lines.push(update);
    return run.result;
  };
  /** Writes a file. The path is relative to the user's home directory; the workspace is `work`. */
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  const told = (request: number): string => words(cast.requests("MAIN")[request], -1);
  return {
    session,
    cast,
    heard,
    contexts,
    offers,
    lines,
    directory,
    root,
    cwd,
    home,
    environment,
    put,
    ask,
    write,
    told,
  };
}

/** Returns the agent types that the Task tool in a head enumerates. */
function offeredIn({ tools }: Head): readonly string[] {
  const schema = tools.find(({ name }) => name === "Task")?.inputSchema as
    | { readonly properties: { readonly subagent_type: { readonly enum: readonly string[] } } }
    | undefined;
  return schema?.properties.subagent_type.enum ?? [];
}

const noticesIn = (lines: readonly Line[]): string[] =>
  lines.flatMap((line) => (line.type === "notice.raised" ? [line.message] : []));

const words = (messages: readonly Message[] | undefined, index: number): string =>
  textOf(messages?.at(index)?.content ?? []);
const resultsIn = (messages: readonly Message[] | undefined): string =>
  (messages?.at(-1)?.content ?? []).map((b) => (b.type === "tool_result" ? textOf(b.content) : "")).join();

describe("agent files that change while a session is open", () => {
  it("are read with the next prompt: a new agent is announced and can be started", async () => {
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

  it("apply in their current version when an agent is started: changed, removed, renamed", async () => {
    const files = { "poet.md": agent("poet", "You rhyme."), "singer.md": agent("singer", "You sing.") };
    const main = [done, task("poet"), done, task("singer"), done];
    const { ask, put, cast, heard, directory } = await begin({ MAIN: main, CHILD: [done] }, { files });
    await ask();
    put("poet.md", agent("poet", "You rhyme badly."));
    await ask();
    expect(heard[2]).toMatch(/^You rhyme badly\./);
    // The agent's line in the list has not changed, so there is nothing to report.
    expect(words(cast.requests("MAIN")[1], -1)).not.toContain("agent");
    renameSync(join(directory, "singer.md"), join(directory, "dancer.md"));
    put("dancer.md", agent("dancer", "You dance."));
    put("poet.md", agent("poet", "You rhyme.", "Does verse. Use when asked."));
    await ask();
    const told = words(cast.requests("MAIN")[3], -1);
    expect(told).toContain("New agent:\n- dancer:");
    expect(told).toContain("Changed agent:\n- poet: Does verse.");
    expect(told).toContain("Removed: singer.");
    expect(resultsIn(cast.requests("MAIN")[4])).toContain('There is no agent "singer"');
  });

  it("keep their last good version while half-written", async () => {
    const files = { "poet.md": agent("poet", "You rhyme.") };
    const { ask, put, cast, heard } = await begin({ MAIN: [done, task("poet"), done], CHILD: [done] }, { files });
    await ask();
    put("poet.md", "---\nname: poet\ndescr");
    await ask();
    expect(heard[2]).toMatch(/^You rhyme\./);
    expect(words(cast.requests("MAIN")[1], -1)).not.toContain("agent");
  });

  it("leave the Task schema as it is, so that requests can be cached", async () => {
    const main = [done, task("Explore"), done, done, done];
    const { ask, put, offers, lines } = await begin({ MAIN: main, CHILD: [done] });
    await ask();
    put("poet.md", agent("poet", "You rhyme."));
    await ask();
    await ask();
    expect(offers.flat()).toContain("Explore");
    expect(offers.flat()).not.toContain("poet");
    expect(lines.map(({ type }) => type)).not.toContain("cache.missed");
  });

  it("are announced with the next prompt if they change during a run", async () => {
    const place: { put?: (name: string, text: string) => void } = {};
    const later = (): ScriptedAnswer => {
      place.put?.("poet.md", agent("poet", "You rhyme."));
      return task("Explore");
    };
    const { ask, put, cast } = await begin({ MAIN: [later, done, done], CHILD: [done] });
    place.put = put;
    await ask();
    await ask();
    const requests = cast.requests("MAIN");
    expect([1, 2].map((index) => words(requests[index], -1).includes("- poet:"))).toEqual([false, true]);
  });

  it("are reported to the user when they are deleted, and no agent replaces them", async () => {
    const files = { "poet.md": agent("poet", "You rhyme.") };
    const resume = (messages: readonly Message[]): ScriptedAnswer => {
      const id = /id="(a\w{12})"/.exec(JSON.stringify(messages).replaceAll("\\", ""))?.[1];
      return { calls: [{ name: "Task", input: { description: "more", prompt: "CHILD: more", resume: id } }] };
    };
    const main = [task("poet"), done, resume, done];
    const { ask, cast, lines, directory } = await begin({ MAIN: main, CHILD: [done] }, { files });
    await ask();
    rmSync(join(directory, "poet.md"));
    await ask();
    cast.assertDone();
    expect(noticesIn(lines)).toEqual([expect.stringMatching(/The agent "poet" was removed: .*poet\.md/)]);
    expect(resultsIn(cast.requests("MAIN")[3])).toMatch(/Agent a\w{12} can't be resumed: .*"poet" is missing/);
  });

  it("are reported if one defines the main agent and is deleted, and the main agent keeps its definition", async () => {
    const files = { "poet.md": agent("poet", "You rhyme.") };
    const { ask, put, heard, lines, directory } = await begin({ MAIN: [done, done, done] }, { files, agent: "poet" });
    await ask();
    rmSync(join(directory, "poet.md"));
    await ask();
    expect(noticesIn(lines)).toEqual([
      expect.stringMatching(/"poet" was removed: .*poet\.md.* keeps its old definition/),
    ]);
    put("other.md", agent("other", "You are another."));
    await ask();
    expect(heard.at(-1)).toMatch(/^You rhyme\./);
    expect(noticesIn(lines)).toHaveLength(1);
  });

  it("are reported when the session is resumed if they were deleted in the meantime", async () => {
    const files = { "poet.md": agent("poet", "You rhyme.") };
    const { ask, session, directory, cwd, home, environment } = await begin({ MAIN: [done] }, { files });
    await ask();
    await session.close();
    rmSync(join(directory, "poet.md"));
    const model = createCast({ MAIN: [done] });
    const again = await openSession({ trusted: false, cwd, home, environment, model, resume: session.id });
    await again.prompt("MAIN: go on.").result;
    await again.close();
    expect(again.notices).toContainEqual(expect.stringMatching(/agent "poet".* is missing/));
    expect(words(model.requests("MAIN")[0], -1)).toContain("Removed: poet.");
    const last = await openSession({ trusted: false, cwd, home, environment, model, resume: session.id });
    await last.close();
    expect(last.notices.join()).not.toContain("poet");
  });

  it("are not announced if rules deny the agents", async () => {
    const { ask, put, cast } = await begin({ MAIN: [done, done] }, { disallowedTools: ["Task(poet)"] });
    await ask();
    put("poet.md", agent("poet", "You rhyme."));
    await ask();
    expect(words(cast.requests("MAIN")[1], -1)).not.toContain("poet");
  });
});

const skill = (body: string, description = "Ships it. Use before a release.") =>
  `---\nname: ship\ndescription: ${description}\n---\n${body}\n`;
const use = (name: string) => ({ calls: [{ name: "Skill", input: { skill: name } }] });

describe("skills that change while a session is open", () => {
  const files = { "../skills/ship/SKILL.md": skill("Ship slowly.") };

  it("are announced and can be loaded with the next prompt, in their current version", async () => {
    const main = [done, use("ship"), use("land"), done, use("ship"), done];
    const { ask, write, told, cast, root } = await begin({ MAIN: main }, { files });
    await ask();
    write(".agents/skills/ship/SKILL.md", skill("Ship fast."));
    write(".agents/skills/land/SKILL.md", "---\nname: land\ndescription: Lands it.\n---\nLand softly.\n");
    await ask();
    expect(told(1)).toContain("The skills that Skill can load have changed.\nNew skill:\n- land: Lands it.\n");
    expect(resultsIn(cast.requests("MAIN")[2])).toContain("Ship fast.");
    expect(resultsIn(cast.requests("MAIN")[3])).toContain("Land softly.");
    rmSync(join(root, ".agents/skills"), { recursive: true });
    await ask();
    expect(told(4)).toContain("Removed: land, ship.");
    expect(resultsIn(cast.requests("MAIN")[5])).toContain("All skills were removed");
  });

  it("keep their last good version while half-written", async () => {
    const { ask, write, told, cast } = await begin({ MAIN: [done, use("ship"), done] }, { files });
    await ask();
    write(".agents/skills/ship/SKILL.md", "---\nname: ship\ndescr");
    await ask();
    expect(told(1)).not.toContain("skill");
    expect(resultsIn(cast.requests("MAIN")[2])).toContain("Ship slowly.");
  });

  it("must be read as files if the session began without skills and has no Skill tool", async () => {
    const { ask, write, told, root } = await begin({ MAIN: [done, done, done] });
    await ask();
    write(".agents/skills/ship/SKILL.md", skill("Ship slowly."));
    await ask();
    expect(told(1)).toContain("Skills are now available: before you do");
    expect(told(1)).toContain(`- ship: Ships it. Use before a release. (${root}/.agents/skills/ship/SKILL.md)`);
    await ask();
    expect(told(2)).not.toContain("ship");
  });
});

describe("instruction files that change while a session is open", () => {
  const files = { "../AGENTS.md": "Use tabs.\n" };

  it("are announced with the next prompt, after the existing text; new subagents get only the new text", async () => {
    const main = [done, done, task("general-purpose"), done, done];
    const place = await begin({ MAIN: main, CHILD: [done] }, { files, trusted: true });
    const { ask, write, told, cast, contexts, root } = place;
    await ask();
    write(".agents/AGENTS.md", "Use spaces.\n");
    write("work/CLAUDE.md", "Ask first.\n");
    await ask();
    expect(told(1)).toContain("These contents replace the earlier ones.");
    expect(told(1)).toMatch(/AGENTS\.md \(the user's own instructions\):\n\nUse spaces\..*CLAUDE\.md.*Ask first\./s);
    const prefix = cast.requests("MAIN")[0] ?? [];
    expect(cast.requests("MAIN")[1]?.slice(0, prefix.length)).toEqual(prefix);
    rmSync(join(root, "work/CLAUDE.md"));
    await ask();
    expect(told(2)).toContain(`their instructions no longer apply: ${root}/work/CLAUDE.md.`);
    expect(told(2)).not.toContain("Use spaces.");
    // The main agent keeps its head because of the cache, but the subagent of the third prompt has a new head.
    const spaces = [false, false, false, true, false];
    expect(contexts.map((context) => context.includes("Use spaces."))).toEqual(spaces);
    await ask();
    expect(told(4)).not.toContain("[");
  });

  it("keep their last version while empty or not text, and are not read without trust", async () => {
    const { ask, write, told } = await begin({ MAIN: [done, done, done] }, { files });
    await ask();
    write(".agents/AGENTS.md", "");
    write("work/AGENTS.md", "Obey me.\n");
    await ask();
    write(".agents/AGENTS.md", "\0\0");
    await ask();
    for (const request of [1, 2]) expect(told(request)).toBe("MAIN: go on.");
  });
});
