import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { loadProjectSettings, type Session, type SessionOptions } from "../../src/app/index.ts";
import type { Line } from "../../src/protocol/index.ts";
import { type RecordedRequest, type Reply, systemOf } from "../../src/testing/index.ts";
import { forkCall, messagesIn, one, prefixOf, type Stage, saying, stage, toolResults, unmarked } from "./fork-place.ts";

const read = { tool: "Read", input: { file_path: "notes.txt" } };
const done: Reply = { content: "Done." };
const poet = "---\nname: poet\ndescription: Rhymes. Use when asked for a rhyme.\ntools: Read\n---\nYou rhyme.\n";
const judge = { description: "Judges. Use it to judge.", prompt: "You are a judge.", tools: ["Read"] };

const open = (on: Stage, options: SessionOptions = {}): Promise<Session> =>
  on.open({ model: "claude-opus-5-5", trusted: false, ...options });

/** Sends a prompt and returns the lines that its run recorded. */
async function ask(session: Session, prompt: string): Promise<readonly Line[]> {
  const run = session.prompt(prompt);
  const lines: Line[] = [];
  for await (const update of run) if ("id" in update) lines.push(update);
  expect(await run.result).toMatchObject({ outcome: "succeeded" });
  return lines;
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Text that a request adds to the conversation. */
const toldIn = (request: RecordedRequest | undefined): string =>
  (messagesIn(one(request)).at(-1)?.content ?? []).map(({ text }) => text ?? "").join("\n");

const noticesIn = (lines: readonly Line[]): string[] =>
  lines.flatMap((line) => (line.type === "notice.raised" ? [line.message] : []));
const headsIn = (lines: readonly Line[]): unknown[] =>
  lines.flatMap((line) => (line.type === "head.set" ? [line.reason] : []));

/** Checks that each request of a conversation begins with the one before, and that none has lost thinking. */
function expectAppended({ server }: Stage, requests: readonly RecordedRequest[]): void {
  expect(server.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  for (const [index, request] of requests.entries()) {
    const before = requests[index - 1];
    if (before) expect(unmarked(request).startsWith(prefixOf(before))).toBe(true);
    const answers = messagesIn(request).filter(({ role }) => role === "assistant");
    expect(answers.map(({ content }) => content.some(({ type }) => type === "thinking"))).not.toContain(false);
  }
}

interface Change {
  /** Options of the session until the change. */
  readonly first?: SessionOptions;
  /** Options of the session after the change. */
  readonly later?: SessionOptions;
  readonly make?: (on: Stage) => void;
}

/**
 * Sends two prompts before a change, two after it in the same session (unless options change), and one after resuming
 * the session.
 */
async function playChange({ first, later, make }: Change, replies: readonly Reply[] = []) {
  const on = await stage({ MAIN: saying({ content: [read] }, done, ...replies, done, done, done, done) });
  let session = await open(on, first);
  await ask(session, "MAIN: one");
  make?.(on);
  if (later !== undefined || make === undefined) {
    await session.close();
    session = await open(on, { ...first, ...later, resume: session.id });
  }
  const lines = [...(await ask(session, "two"))];
  lines.push(...(await ask(session, "three")));
  await session.close();
  const again = await open(on, { ...first, ...later, resume: session.id });
  lines.push(...(await ask(again, "four")));
  await again.close();
  const requests = on.requests("MAIN");
  expectAppended(on, requests);
  expect(headsIn(lines)).toEqual([]);
  const texts = requests.slice(2).map(toldIn);
  return { on, lines, requests, texts, session };
}

describe("what changes while a conversation goes on is appended to it once", () => {
  it("a new agent, which can be started although the declaration of Task does not list it", async () => {
    const on = await stage({
      MAIN: (_, request) => {
        if (systemOf(request).includes("You rhyme.")) return { content: "A rhyme." };
        return toldIn(request).includes("start it")
          ? { content: [forkCall("rhyme", { subagent_type: "poet" })] }
          : done;
      },
    });
    const session = await open(on);
    await ask(session, "MAIN: one");
    put(join(on.home, ".agents/agents/poet.md"), poet);
    await ask(session, "two");
    await session.close();
    const again = await open(on, { resume: session.id });
    await ask(again, "three: start it");
    rmSync(join(on.home, ".agents/agents/poet.md"));
    const lines = await ask(again, "four: start it");
    await again.close();
    const requests = on.server.requests.filter((request) => !systemOf(request).includes("You rhyme."));
    expectAppended(on, requests);
    const texts = requests.map(toldIn);
    expect(texts[1]).toContain("New agent:\n- poet: Rhymes.");
    expect(texts[2]).not.toContain("poet");
    expect(toolResults(requests[3])[0]).toContain("A rhyme.");
    expect(texts[4]).toContain("Removed: poet.");
    expect(toolResults(requests[5])[0]).toContain('There is no agent "poet"');
    expect(noticesIn(lines)).toEqual([expect.stringContaining('The agent "poet" was removed')]);
  });

  it("a changed instruction file, in its new version", async () => {
    const { texts } = await playChange({ make: (on) => put(join(on.home, ".agents/AGENTS.md"), "Use tabs.\n") });
    expect(texts.map((text) => text.includes("Use tabs."))).toEqual([true, false, false]);
  });

  it("an instruction file that changed while the session was closed", async () => {
    const { texts } = await playChange({
      make: (on) => put(join(on.home, ".agents/AGENTS.md"), "Use tabs.\n"),
      later: {},
    });
    expect(texts.map((text) => text.includes("Use tabs."))).toEqual([true, false, false]);
  });

  it("an agent file that was added while the session was closed", async () => {
    const { texts } = await playChange({ make: (on) => put(join(on.home, ".agents/agents/poet.md"), poet), later: {} });
    expect(texts.map((text) => text.includes("New agent:\n- poet:"))).toEqual([true, false, false]);
  });

  it("an MCP server that is gone, whose tools are refused", async () => {
    const server = new McpServer({ name: "stock", version: "1" });
    server.registerTool("count", { description: "Counts." }, async () => ({ content: [{ type: "text", text: "7" }] }));
    const { texts, requests } = await playChange(
      { first: { mcpServers: { stock: { server } } }, later: { mcpServers: {} } },
      [{ content: [{ tool: "mcp__stock__count", input: {} }] }],
    );
    expect(texts[0]).toContain("no longer available, although they are still declared: mcp__stock__count.");
    expect(toolResults(requests[3])[0]).toContain("mcp__stock__count is no longer available");
    expect(texts.slice(1).join()).not.toContain("mcp__stock__count");
  });

  it("a tool that is denied now, whose calls are refused", async () => {
    const { texts, requests } = await playChange({ later: { disallowedTools: ["LS"] } }, [
      { content: [{ tool: "LS", input: { path: "." } }] },
    ]);
    expect(texts[0]).toContain("no longer available, although they are still declared: LS.");
    expect(toolResults(requests[3])[0]).toContain("LS is no longer available");
  });

  it("the first skill, whose file the agent reads because it has no Skill tool, also after a resume", async () => {
    const on = await stage({ MAIN: saying(done, done, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    put(join(on.home, ".agents/skills/ship/SKILL.md"), "---\nname: ship\ndescription: Ships it.\n---\nShip.\n");
    await ask(session, "two");
    await session.close();
    const again = await open(on, { resume: session.id });
    const lines = [...(await ask(again, "three")), ...(await ask(again, "four"))];
    await again.close();
    const requests = on.requests("MAIN");
    expectAppended(on, requests);
    expect(toldIn(requests[1])).toContain(`- ship: Ships it. (${on.home}/.agents/skills/ship/SKILL.md)`);
    expect(toldIn(requests[2])).not.toMatch(/ships|no longer/i);
    expect(toldIn(requests[3])).toBe("four");
    expect(noticesIn(lines)).toEqual([expect.stringContaining("can't be used in this conversation: Skill.")]);
  });

  it("a tool and an agent that a rule denies since the session was opened", async () => {
    const on = await stage({ MAIN: saying(done, { content: [{ tool: "LS", input: { path: "." } }] }, done, done) });
    put(join(on.home, ".agents/agents/poet.md"), poet);
    const { settings, rules } = loadProjectSettings({
      home: on.home,
      cwd: on.cwd,
      environment: { HOME: on.home, PATH: process.env["PATH"] },
      trust: false,
    });
    const session = await open(on, { settings, rules });
    await ask(session, "MAIN: one");
    const file = join(on.home, "settings.json");
    const before = readFileSync(file, "utf8");
    put(file, JSON.stringify({ ...JSON.parse(before), permissions: { deny: ["LS", "Task(poet)"] } }));
    await ask(session, "two");
    put(file, before);
    await ask(session, "three");
    await session.close();
    const requests = on.requests("MAIN");
    expectAppended(on, requests);
    expect(toldIn(requests[1])).toContain("no longer available, although they are still declared: LS.");
    expect(toldIn(requests[1])).toContain("Removed: poet.");
    expect(toolResults(requests[2])[0]).toContain("LS is no longer available");
    expect(toldIn(requests[3])).toContain("These tools are available again: LS.");
    expect(toldIn(requests[3])).toContain("New agent:\n- poet:");
  });

  it("another system prompt, for example after an upgrade", async () => {
    const prompt = (line: string) => ({ systemPrompt: `Be kind.\nBe brief.\n${line}` });
    const { texts } = await playChange({ first: prompt("Use sugar."), later: prompt("Use salt.") });
    expect(texts[0]).toMatch(/Your system prompt has changed\..*Use salt\..*no longer apply:\nUse sugar\./s);
    expect(texts[0]).not.toContain("Be kind.");
    expect(texts.slice(1).join()).not.toContain("salt");
  });

  it("a new tool, which the conversation gets when it is compacted", async () => {
    const server = new McpServer({ name: "stock", version: "1" });
    const tool = (name: string) =>
      server.registerTool(name, { description: "Counts." }, async () => ({ content: [{ type: "text", text: "7" }] }));
    tool("count");
    const on = await stage({
      MAIN: saying({ content: [read] }, done, { content: [read] }, done, { content: "Goal: count." }, done, done),
    });
    const mcpServers = { stock: { server } };
    const session = await open(on, { mcpServers });
    await ask(session, "MAIN: one");
    await session.close();
    tool("weigh");
    const again = await open(on, { mcpServers, resume: session.id });
    const lines = await ask(again, "two");
    expectAppended(on, on.requests("MAIN"));
    expect(noticesIn(lines)).toEqual([expect.stringMatching(/can't be used .*: mcp__stock__weigh\..*\/compact/)]);
    const compacted: Line[] = [];
    for await (const update of again.compact()) if ("id" in update) compacted.push(update);
    expect(headsIn(compacted)).toEqual(["compaction"]);
    const after = await ask(again, "three");
    await again.close();
    expect(noticesIn(after)).toEqual([]);
    const declared = on.requests("MAIN").map(({ rawBody }) => rawBody.includes('"name":"mcp__stock__weigh"'));
    expect(declared).toEqual([false, false, false, false, false, true]);
    expect(toldIn(on.requests("MAIN").at(-1))).not.toContain("mcp__stock__weigh");
  });

  it("a changed definition of a subagent that is resumed", async () => {
    const isJudge = (request: RecordedRequest) => systemOf(request).includes("You are a judge.");
    const task = (prompt: string, more = {}) => ({
      content: [{ tool: "Task", input: { description: "work", prompt, subagent_type: "judge", ...more } }],
    });
    const on = await stage({
      MAIN: (_, request) => {
        if (isJudge(request)) return { content: "Judged." };
        if (!/MAIN: one|two/.test(JSON.stringify(messagesIn(request).at(-1)))) return done;
        const id = /id=\\"(a\w+)/.exec(JSON.stringify(messagesIn(request)))?.[1];
        return id === undefined ? task("judge it") : task("again", { resume: id });
      },
    });
    const session = await open(on, { agents: { judge } });
    await ask(session, "MAIN: one");
    await session.close();
    const mild = { ...judge, prompt: "You are a judge.\nBe mild." };
    const again = await open(on, { agents: { judge: mild }, resume: session.id });
    await ask(again, "two");
    await again.close();
    const judged = on.server.requests.filter(isJudge);
    expect(judged).toHaveLength(2);
    expectAppended(on, judged);
    expect(toldIn(judged[1])).toMatch(/Your system prompt has changed\..*Be mild\./s);
    expectAppended(
      on,
      on.server.requests.filter((request) => !isJudge(request)),
    );
  });
});

it("a session that an earlier version recorded keeps its head, too", async () => {
  const on = await stage({ MAIN: saying({ content: [read] }, done, done) });
  const session = await open(on);
  await ask(session, "MAIN: one");
  await session.close();
  const path = session.transcriptPath ?? "";
  const text = readFileSync(path, "utf8");
  expect(text).toContain('"reason":"start",');
  writeFileSync(path, text.replaceAll('"reason":"start",', ""));
  put(join(on.home, ".agents/AGENTS.md"), "Use tabs.\n");
  const again = await open(on, { resume: session.id });
  expect(headsIn(await ask(again, "two"))).toEqual([]);
  await again.close();
  expectAppended(on, on.requests("MAIN"));
  expect(toldIn(on.requests("MAIN").at(-1))).toContain("Use tabs.");
});

describe("a new head is recorded with its reason", () => {
  it("when a conversation starts, and when another model continues it", async () => {
    const on = await stage({ MAIN: saying(done, done) });
    const session = await open(on);
    expect(headsIn(await ask(session, "MAIN: one"))).toEqual(["start"]);
    await session.setModel("claude-fable-5-1");
    expect(headsIn(await ask(session, "two"))).toEqual(["model"]);
    await session.close();
  });

  it("when only the effort changes, which keeps the tools and the texts", async () => {
    const on = await stage({ MAIN: saying(done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    await session.close();
    put(join(on.home, ".agents/AGENTS.md"), "Use tabs.\n");
    const again = await open(on, { resume: session.id, effort: "low" });
    expect(headsIn(await ask(again, "two"))).toEqual(["settings"]);
    await again.close();
    const [first, second] = on.requests("MAIN").map(({ body }) => body as { tools: unknown; system: unknown });
    expect([second?.tools, second?.system]).toEqual([first?.tools, first?.system]);
    expect(toldIn(on.requests("MAIN")[1])).toContain("Use tabs.");
  });

  it("when the user resumes the session with another main agent, which has other tools", async () => {
    const on = await stage({ MAIN: saying(done, done, done) });
    const session = await open(on, { agent: "Explore" });
    await ask(session, "MAIN: one");
    await session.close();
    const again = await open(on, { resume: session.id, agent: "main" });
    expect(headsIn(await ask(again, "two"))).toEqual(["agent"]);
    expect(headsIn(await ask(again, "three"))).toEqual([]);
    await again.close();
    expect(on.server.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
    const tools = on.requests("MAIN").map(({ rawBody }) => rawBody.includes('"name":"Edit"'));
    expect(tools).toEqual([false, true, true]);
  });

  it("when the stored head is missing, and old thinking is left out", async () => {
    const on = await stage({ MAIN: saying(done, done) });
    const session = await open(on);
    const lines = await ask(session, "MAIN: one");
    await session.close();
    const hash = lines.flatMap((line) => (line.type === "head.set" ? [line.hash] : []))[0];
    const heads = join(dirname(session.transcriptPath ?? ""), session.id, "heads", `${hash}.json`);
    expect(readFileSync(heads, "utf8")).toContain("claude-opus-5-5");
    rmSync(heads);
    const again = await open(on, { resume: session.id });
    expect(headsIn(await ask(again, "two"))).toEqual(["missing"]);
    await again.close();
    expect(on.server.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
    expect(unmarked(one(on.requests("MAIN")[1]))).not.toContain('"thinking","thinking"');
  });
});
