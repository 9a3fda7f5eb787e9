import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { addPlugin, enablePlugin } from "../../src/app/commands/plugins.ts";
import { addTrust } from "../../src/app/commands/trust.ts";
import { loadProjectSettings, openSession, type SessionOptions } from "../../src/app/index.ts";
import type { Model } from "../../src/ports/index.ts";
import { type Head, type Message, type RunResult, textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";
import { type BuiltServer, buildMcpServer } from "../../src/testing/mcp-server/build-server.test-support.ts";
import { firstPrompt } from "./delegation-place.ts";

let server: BuiltServer;
beforeAll(() => {
  server = buildMcpServer();
});
afterAll(() => server.remove());

interface Place {
  readonly home: string;
  readonly cwd: string;
}

function newPlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-mcp-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  return { cwd, home: join(root, "home") };
}

const environment = () => ({ PATH: process.env["PATH"], HOME: tmpdir() });

interface Walked {
  readonly result: RunResult;
  readonly heads: ReadonlyMap<string, Head>;
  requests(part: string): readonly (readonly Message[])[];
  readonly notices: readonly string[];
  /** Number of the session's processes that were still running after it was closed. */
  readonly left: number;
}

type Steps = readonly ScriptedStep[];
type Script = (sessionId: () => string) => Readonly<Record<string, Steps>>;

async function walk(script: Script, options: SessionOptions & { at?: Place } = {}): Promise<Walked> {
  const { at = newPlace(), ...rest } = options;
  let sessionId = "";
  const cast = createCast(script(() => sessionId));
  const heads = new Map<string, Head>();
  const model: Model = {
    describe: cast.describe,
    call: (request, emit) => {
      const [part = ""] = firstPrompt(request.prompt.messages()).split(":");
      heads.set(part, request.prompt.head);
      return cast.call(request, emit);
    },
  };
  const session = await openSession({ ...rest, ...at, model, environment: environment() });
  sessionId = session.id;
  const result = await session.prompt("MAIN: do it.").result;
  await session.close();
  cast.assertDone();
  return { result, heads, requests: cast.requests, notices: session.notices, left: processesOf(session.id) };
}

/** Returns the number of running processes with the session's tag. */
function processesOf(tag: string): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false;
    try {
      if (/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))) return false;
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(tag);
    } catch {
      return false;
    }
  }).length;
}

const toolNames = (head: Head | undefined): readonly string[] => (head?.tools ?? []).map(({ name }) => name);
const serversIn = (head: Head | undefined): readonly string[] => [
  ...new Set(toolNames(head).flatMap((name) => (name.startsWith("mcp__") ? [name.split("__")[1] ?? ""] : []))),
];
const resultsIn = (messages: readonly Message[] | undefined): string[] =>
  (messages?.at(-1)?.content ?? []).flatMap((block) => (block.type === "tool_result" ? [textOf(block.content)] : []));
const echo = (name: string, text: string) => ({ name: `mcp__${name}__echo`, input: { text } });
const task = (prompt: string, type: string) => ({
  name: "Task",
  input: { description: "a piece of work", prompt, subagent_type: type },
});

describe("the main agent", () => {
  it("has the configured servers' tools after its own, with their instructions", async () => {
    const walked = await walk(() => ({ MAIN: [{ calls: [echo("notes", "hello")] }, { text: "Done." }] }), {
      settings: { mcpServers: { notes: server.config({ instructions: "Ask twice." }) } },
      allowedTools: ["mcp__notes"],
    });
    expect(walked.result.outcome).toBe("succeeded");
    expect(resultsIn(walked.requests("MAIN")[1])).toEqual(["hello"]);
    const names = toolNames(walked.heads.get("MAIN"));
    const first = names.findIndex((name) => name.startsWith("mcp__"));
    expect(first).toBeGreaterThan(names.indexOf("Task"));
    expect(names.slice(first).every((name) => name.startsWith("mcp__notes__"))).toBe(true);
    const { system, systemContext } = walked.heads.get("MAIN") as Head;
    expect(systemContext.split("Ask twice.")).toHaveLength(2);
    expect(system).not.toContain("Ask twice.");
    expect(walked.left).toBe(0);
  });

  it("works without a server that is disabled or can't be started, and reports it", async () => {
    const walked = await walk(() => ({ MAIN: [{ text: "Done." }] }), {
      settings: {
        mcpServers: { broken: server.config({ exitAtStart: true }), off: { ...server.config(), disabled: true } },
      },
    });
    expect(walked.result.outcome).toBe("succeeded");
    expect(serversIn(walked.heads.get("MAIN"))).toEqual([]);
    expect(walked.notices.filter((notice) => notice.includes("MCP"))).toEqual([
      expect.stringContaining('"broken" could not be started'),
    ]);
    expect(walked.left).toBe(0);
  });

  it("needs a rule that allows the server; otherwise calls to its tools are denied", async () => {
    const walked = await walk(() => ({ MAIN: [{ calls: [echo("notes", "hello")] }, { text: "Done." }] }), {
      settings: { mcpServers: { notes: server.config() } },
    });
    expect(walked.result.facts.denied).toMatchObject([{ tool: "mcp__notes__echo" }]);
  });
});

describe("a subagent", () => {
  const agents = () => ({
    clerk: {
      description: "Keeps notes.",
      prompt: "You keep notes.",
      mcpServers: [{ desk: server.config({ instructions: "Knock first." }) }],
    },
  });
  const counted: number[] = [];
  const script: Script = (sessionId) => ({
    MAIN: [
      { calls: [task("CLERK: note it", "clerk")] },
      () => {
        counted.push(processesOf(sessionId()));
        return { text: "Done." };
      },
    ],
    CLERK: [
      { calls: [echo("desk", "noted")] },
      () => {
        counted.push(processesOf(sessionId()));
        return { text: "I have noted it." };
      },
    ],
  });

  it("has its own servers, which no other agent has and which end with it", async () => {
    counted.length = 0;
    const walked = await walk(script, { agents: agents(), allowedTools: ["mcp__desk"] });
    expect(resultsIn(walked.requests("CLERK")[1])).toEqual(["noted"]);
    expect(serversIn(walked.heads.get("MAIN"))).toEqual([]);
    expect(serversIn(walked.heads.get("CLERK"))).toEqual(["desk"]);
    expect(walked.heads.get("CLERK")?.systemContext).toContain("Knock first.");
    expect(walked.heads.get("MAIN")?.systemContext).not.toContain("Knock first.");
    expect(counted).toEqual([1, 0]);
    expect(walked.left).toBe(0);
  });

  it("also has the session's servers, and shares those that its definition names", async () => {
    counted.length = 0;
    const walked = await walk(script, {
      agents: { clerk: { description: "Keeps notes.", prompt: "You keep notes.", mcpServers: ["desk"] } },
      settings: { mcpServers: { desk: server.config({ instructions: "Knock first." }) } },
      allowedTools: ["mcp__desk"],
    });
    expect(resultsIn(walked.requests("CLERK")[1])).toEqual(["noted"]);
    expect(walked.heads.get("CLERK")?.systemContext.split("Knock first.")).toHaveLength(2);
    expect(counted).toEqual([1, 1]);
    expect(walked.left).toBe(0);
  });

  it("has no servers if settings withhold MCP tools, and none is started", async () => {
    counted.length = 0;
    const walked = await walk(script, {
      agents: agents(),
      allowedTools: ["mcp__desk"],
      settings: { subagents: { mcpTools: "never" } },
    });
    expect(serversIn(walked.heads.get("CLERK"))).toEqual([]);
    expect(counted).toEqual([0, 0]);
  });

  it("works without an unknown server, and its transcript records the problem", async () => {
    const at = newPlace();
    const walked = await walk(
      () => ({
        MAIN: [{ calls: [task("CLERK: note it", "clerk")] }, { text: "Done." }],
        CLERK: [{ text: "No desk." }],
      }),
      { at, agents: { clerk: { description: "Keeps notes.", prompt: "You keep notes.", mcpServers: ["desk"] } } },
    );
    expect(walked.result.outcome).toBe("succeeded");
    const files = readdirSync(at.home, { recursive: true, encoding: "utf8" });
    const transcript = files.find((file) => /subagents.*\.jsonl$/.test(file)) ?? "";
    expect(readFileSync(join(at.home, transcript), "utf8")).toContain("no servers are configured");
  });
});

describe("servers in files", () => {
  const load = (at: Place, trust = false) => loadProjectSettings({ ...at, environment: environment(), trust });
  const write = ({ cwd }: Place, servers: object) =>
    writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));

  it("apply in the version that was trusted, not after .mcp.json has changed", async () => {
    const at = newPlace();
    write(at, { notes: server.config() });
    expect(load(at).settings.mcpServers).toBeUndefined();
    expect(load(at).untrusted).toContain(".mcp.json");
    expect(load(at, true).settings.mcpServers).toHaveProperty("notes");
    const { approved } = await addTrust({ ...at, environment: environment() });
    expect(approved.map(({ path }) => path)).toEqual(["mcpServers.notes"]);
    const { settings, trusted } = load(at);
    const walked = await walk(() => ({ MAIN: [{ text: "Done." }] }), { at, settings, trusted });
    expect(serversIn(walked.heads.get("MAIN"))).toEqual(["notes"]);
    write(at, { notes: { command: "something-else" } });
    const changed = load(at);
    expect(changed.settings.mcpServers).toBeUndefined();
    expect(changed.notices.join("\n")).toContain("it has changed since you trusted the directory");
  });

  it("are reported with the line if .mcp.json is invalid, and settings take precedence", () => {
    const at = newPlace();
    writeFileSync(join(at.cwd, ".mcp.json"), '{\n"mcpServers": [');
    expect(load(at, true).notices.join("\n")).toMatch(/\.mcp\.json:2: .*Fix the file/);
    write(at, { notes: { command: "of-the-project" }, more: { command: "more" } });
    mkdirSync(at.home);
    writeFileSync(join(at.home, "settings.json"), JSON.stringify({ mcpServers: { notes: { command: "mine" } } }));
    expect(load(at, true).settings.mcpServers).toEqual({ notes: { command: "mine" }, more: { command: "more" } });
  });

  it("are found in the directory of an enabled plugin", async () => {
    const at = newPlace();
    const directory = join(at.cwd, "..", "kit");
    mkdirSync(join(directory, ".retinue-plugin"), { recursive: true });
    writeFileSync(join(directory, ".retinue-plugin/plugin.json"), JSON.stringify({ name: "kit" }));
    const where = "$" + "{RETINUE_PLUGIN_ROOT}";
    const { command, args } = server.config();
    const servers = { desk: { command, args, env: { KIT_PLACE: where } } };
    writeFileSync(join(directory, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
    const { plugin } = await addPlugin(directory, { home: at.home, environment: environment() });
    const script: Script = () => ({
      MAIN: [{ calls: [{ name: "mcp__kit_desk__environment", input: { name: "KIT_PLACE" } }] }, { text: "Done." }],
    });
    const off = await walk(() => ({ MAIN: [{ text: "Done." }] }), { at, trusted: false });
    expect(serversIn(off.heads.get("MAIN"))).toEqual([]);
    await enablePlugin(at.home, { name: plugin.name, hash: plugin.hash });
    const walked = await walk(script, { at, trusted: false, allowedTools: ["mcp__kit_desk"] });
    expect(resultsIn(walked.requests("MAIN")[1])).toEqual([join(at.home, "plugins", "kit")]);
  });
});
