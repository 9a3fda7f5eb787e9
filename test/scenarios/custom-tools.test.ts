import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type Approvals,
  agentTool,
  defineAgent,
  defineTool,
  openSession,
  type RunResult,
  type Session,
  type SessionOptions,
} from "../../src/app/index.ts";
import { type ApiServer, type Conversation, createApiServer, messagesOf, type Reply } from "../../src/testing/index.ts";
import { asAfterKill, mainLines, newPlace, type Place } from "./delegation-place.ts";

/** Directory of the built library. */
const library = join(import.meta.dirname, "../../dist/esm");

/** A tool defined by the program, which returns prices by product and records its calls. */
function priceTool(calls: string[] = [], wait?: (signal: AbortSignal) => Promise<void>) {
  return defineTool({
    name: "price_of",
    description: "Returns the price of a product in cents.",
    input: z.object({ product: z.string(), count: z.number().int().min(1).default(1) }),
    run: async ({ product, count }, { signal }) => {
      calls.push(`${product} ${count}`);
      await wait?.(signal);
      if (product === "nothing") throw new Error("There is no such product.");
      return { product, cents: 250 * count };
    },
  });
}

const ask = (input: object): Reply => ({ content: [{ tool: "price_of", input }] });
const say = (content: string): Reply => ({ content });
const delegate: Reply = {
  content: [
    {
      tool: "Task",
      input: { description: "a price", prompt: "CHILD: find the price", subagent_type: "general-purpose" },
    },
  ],
};

interface Stage extends Place {
  readonly server: ApiServer;
  readonly session: Session;
}

/** Opens a session with a model API server that plays one conversation per key, recognized by its first prompt. */
async function stage(parts: Record<string, Reply[]>, options: SessionOptions, at = newPlace()): Promise<Stage> {
  const conversations = Object.entries(parts).map(
    ([part, replies]): Conversation => ({
      match: { firstUserContains: part },
      steps: replies.map((reply) => ({ reply })),
    }),
  );
  const server = await createApiServer({ script: { conversations } });
  onTestFinished(() => server.close());
  const environment = { PATH: process.env["PATH"], ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
  const session = await openSession({ ...at, environment, ...options });
  onTestFinished(() => session.close());
  return { server, session, ...at };
}

async function play(parts: Record<string, Reply[]>, options: SessionOptions): Promise<Stage & { result: RunResult }> {
  const staged = await stage(parts, options);
  const result = await staged.session.prompt("MAIN: what does it cost?").result;
  await staged.session.close();
  staged.server.assertDone();
  return { ...staged, result };
}

/** Returns the tool results in the last request of a conversation. */
function resultsIn(server: ApiServer, part: string): readonly string[] {
  const request = server.requests.findLast((each) => messagesOf(each)[0]?.text.includes(part));
  const messages = request === undefined ? [] : messagesOf(request);
  return messages.flatMap(({ toolResults }) => toolResults.map(({ text }) => text));
}

const allowAll: Approvals = { ask: async () => ({ answer: "allow", by: "test" }) };

describe("a tool that the program defines", () => {
  it("asks for approval, then runs with its validated input", async () => {
    const calls: string[] = [];
    const asked: string[] = [];
    const approvals: Approvals = {
      ask: async ({ call, decision, always }) => {
        asked.push(`${call.name} ${call.inputJson} ${decision.reason} ${always}`);
        return { answer: "allow", by: "test" };
      },
    };
    const { server, result, session, ...at } = await play(
      { MAIN: [ask({ product: "pear", count: "3" }), say("750 cents.")] },
      { tools: [priceTool(calls)], approvals },
    );
    expect(asked).toEqual(['price_of {"product":"pear","count":"3"} No rule allows price_of. price_of']);
    expect(calls).toEqual(["pear 3"]);
    expect(resultsIn(server, "MAIN")).toEqual(['{"product":"pear","cents":750}']);
    expect(result.facts.toolCalls).toEqual({ price_of: 1 });
    const lines = mainLines(at, session.id).map(({ type }) => type);
    expect(lines).toEqual(
      expect.arrayContaining(["tool.requested", "approval.answered", "tool.started", "tool.ended"]),
    );
    expect(session.tools.at(-1)).toBe("price_of");
  });

  it("can need approval for some inputs only, and can name a host on the local network", async () => {
    const asked: string[] = [];
    const approvals: Approvals = {
      ask: async ({ decision }) => {
        asked.push(decision.reason);
        return { answer: "allow", by: "test" };
      },
    };
    const store = defineTool({
      name: "store",
      description: "Works on the store.",
      input: z.object({ how: z.enum(["look", "pay", "call"]) }),
      access: ({ how }) => (how === "look" ? "none" : how === "pay" ? "unknown" : { network: "http://10.0.0.7/api" }),
      run: ({ how }) => how,
    });
    const use = (how: string): Reply => ({ content: [{ tool: "store", input: { how } }] });
    const replies = [use("look"), use("pay"), use("call"), say("Done.")];
    const { server } = await play({ MAIN: replies }, { tools: [store], approvals });
    expect(asked).toEqual(["No rule allows store.", "No rule allows fetching from 10.0.0.7."]);
    expect(resultsIn(server, "MAIN")).toEqual(["look", "pay", "call"]);
  });

  it("is denied if no one can approve it, and the message names the option that would allow it", async () => {
    const calls: string[] = [];
    const { server, result } = await play(
      { MAIN: [ask({ product: "pear" }), say("Unknown.")] },
      { tools: [priceTool(calls)] },
    );
    expect(calls).toEqual([]);
    expect(resultsIn(server, "MAIN")[0]).toMatch(
      /price_of was not run.*the rule `price_of` in the `allowedTools` option/s,
    );
    expect(result.facts.denied).toMatchObject([{ tool: "price_of" }]);
  });

  it("needs no approval if a rule allows it, and is absent if a rule denies it", async () => {
    const calls: string[] = [];
    const allowed = await play(
      { MAIN: [ask({ product: "pear" }), say("250 cents.")] },
      { tools: [priceTool(calls)], allowedTools: ["price_of"] },
    );
    expect(calls).toEqual(["pear 1"]);
    expect(allowed.session.notices).toEqual([]);
    const denied = await play({ MAIN: [say("No tool.")] }, { tools: [priceTool()], disallowedTools: ["price_of"] });
    expect(denied.session.tools).not.toContain("price_of");
    expect(denied.session.notices).toEqual([]);
  });

  it("tells the model what is wrong with its input, and what went wrong in the tool", async () => {
    const { server } = await play(
      {
        MAIN: [ask({ product: "pear", count: 0 }), ask({ count: 2 }), ask({ product: "nothing" }), say("No price.")],
      },
      { tools: [priceTool()], allowedTools: ["price_of"] },
    );
    const [tooFew, missing, thrown] = resultsIn(server, "MAIN");
    expect(tooFew).toContain("`count` must be at least 1");
    expect(missing).toContain("`product` is required");
    expect(thrown).toBe("price_of failed: There is no such product.");
  });

  it("is checked by hooks like a built-in tool", async () => {
    const seen: string[] = [];
    const { server } = await play(
      { MAIN: [ask({ product: "pear" }), say("Denied.")] },
      {
        tools: [priceTool()],
        allowedTools: ["price_of"],
        hooks: {
          PreToolUse: [
            {
              matcher: "price_of",
              run: ({ tool_name }) => {
                seen.push(tool_name);
                return { decision: "deny", reason: "Prices are secret." };
              },
            },
          ],
        },
      },
    );
    expect(seen).toEqual(["price_of"]);
    expect(resultsIn(server, "MAIN")[0]).toContain("Prices are secret.");
  });

  it("can be used by subagents, but not by agents whose definition does not list it", async () => {
    const calls: string[] = [];
    const { server } = await play(
      {
        MAIN: [delegate, say("500 cents.")],
        CHILD: [ask({ product: "plum", count: 2 }), say("500 cents.")],
      },
      { tools: [priceTool(calls)], allowedTools: ["price_of"] },
    );
    expect(calls).toEqual(["plum 2"]);
    expect(resultsIn(server, "CHILD")).toEqual(['{"product":"plum","cents":500}']);
    const reader = { description: "Reads.", prompt: "You read.", tools: ["Read", "price_of"] };
    const listed = await play({ MAIN: [say("Hi.")] }, { tools: [priceTool()], agents: { reader }, agent: "reader" });
    expect(listed.session.tools).toEqual(["Read", "price_of"]);
    expect(listed.session.notices).toEqual([]);
    const without = { ...reader, tools: ["Read"] };
    const other = await play({ MAIN: [say("Hi.")] }, { tools: [priceTool()], agents: { without }, agent: "without" });
    expect(other.session.tools).toEqual(["Read"]);
  });

  it("stops when the run is stopped", async () => {
    let started = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    const wait = (signal: AbortSignal) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
        started();
      });
    const { session } = await stage(
      { MAIN: [ask({ product: "pear" })] },
      { tools: [priceTool([], wait)], allowedTools: ["price_of"] },
    );
    const run = session.prompt("MAIN: what does it cost?");
    await begun;
    run.stop("interrupted");
    expect(await run.result).toMatchObject({ outcome: "stopped", facts: { toolCalls: { price_of: 1 } } });
  });

  it("does not keep the process alive after the session is closed, even if it never ends", async () => {
    const program = `
      import { defineTool, openSession } from ${JSON.stringify(join(library, "index.js"))};
      import { createScriptedModel } from ${JSON.stringify(join(library, "testing/index.js"))};
      const model = createScriptedModel([{ calls: [{ name: "wait", input: {} }] }]);
      let session;
      const input = { type: "object", properties: {} };
      const run = () => (setTimeout(() => session.close(), 10), new Promise(() => {}));
      const tools = [defineTool({ name: "wait", description: "Waits.", input, access: "none", run })];
      session = await openSession({ model, tools, home: false });
      console.log((await session.prompt("Wait.").result).outcome);
    `;
    const words = ["--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 30_000 });
    expect(stdout).toBe("stopped\n");
  });

  it("has an unknown outcome after a crash, and works in the resumed session", async () => {
    let started = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    const never = () => {
      started();
      return new Promise<void>(() => {});
    };
    const options = { allowedTools: ["price_of"] };
    const { session, ...at } = await stage(
      { MAIN: [ask({ product: "pear" })] },
      { ...options, tools: [priceTool([], never)] },
    );
    const run = session.prompt("MAIN: what does it cost?");
    await begun;
    const left = asAfterKill(at);
    run.stop("interrupted");
    await session.close();
    const calls: string[] = [];
    const resumed = await stage(
      { MAIN: [ask({ product: "pear" }), say("250 cents.")] },
      { ...options, tools: [priceTool(calls)], resume: session.id },
      left,
    );
    expect(resumed.session.notices).toContain(
      'The process ended during 1 call of the main agent, so its outcome is unknown: price_of {"product":"pear"}. The model is told to check before it repeats the call.',
    );
    const { outcome, facts } = await resumed.session.prompt("").result;
    expect(outcome).toBe("succeeded");
    // The resumed run continues the lost one.
    expect(facts.toolCalls).toEqual({ price_of: 2 });
    expect(calls).toEqual(["pear 1"]);
    expect(resultsIn(resumed.server, "MAIN")).toEqual([
      expect.stringContaining("Outcome unknown"),
      '{"product":"pear","cents":250}',
    ]);
  });
});

describe("a tool's access", () => {
  const note = defineTool({
    name: "note",
    description: "Appends to a file of notes.",
    input: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    access: ({ path }) => ({ write: path }),
    run: ({ path }) => `Noted in ${path}.`,
  });
  const call = (path: string): Reply => ({ content: [{ tool: "note", input: { path } }] });

  it("is determined from the same input that the tool gets, even if the schema adds default values", async () => {
    let made = 0;
    const seen: string[] = [];
    const numbered = defineTool({
      name: "numbered",
      description: "Writes a new file.",
      input: z.object({ path: z.string().default(() => `${++made}.txt`) }),
      access: ({ path }) => {
        seen.push(path);
        return { write: path };
      },
      run: ({ path }) => void seen.push(path),
    });
    const steps = [{ content: [{ tool: "numbered", input: {} }] }, say("Done.")];
    await play({ MAIN: steps }, { tools: [numbered], approvals: allowAll });
    expect(seen.length).toBeGreaterThan(1);
    expect(new Set(seen).size).toBe(1);
  });

  it("is subject to rules and modes, like the access of built-in tools", async () => {
    const steps = [call("notes.txt"), call("/etc/hosts"), call("private/notes.txt"), say("Done.")];
    const { server } = await play(
      { MAIN: steps },
      { tools: [note], permissionMode: "acceptEdits", disallowedTools: ["Edit(private/**)"] },
    );
    const [inside, outside, denied] = resultsIn(server, "MAIN");
    expect(inside).toBe("Noted in notes.txt.");
    expect(outside).toContain("outside the workspace");
    expect(denied).toContain("Edit(private/**)");
  });

  it("can be none, a fixed network address, or absent", async () => {
    const define = (name: string, access?: "none" | { network: string }) =>
      defineTool({ name, description: "Does it.", input: { type: "object" }, access, run: () => "done" });
    const use = (tool: string): Reply => ({ content: [{ tool, input: {} }] });
    const { server } = await play(
      { MAIN: [use("clock"), use("weather"), use("traffic"), use("open"), say("Done.")] },
      {
        tools: [
          define("clock", "none"),
          define("weather", { network: "https://api.example.com/" }),
          define("traffic", { network: "https://other.example.org/" }),
          define("open"),
        ],
        allowedTools: ["WebFetch(domain:api.example.com)"],
      },
    );
    const [clock, weather, traffic, open] = resultsIn(server, "MAIN");
    expect([clock, weather]).toEqual(["done", "done"]);
    expect(traffic).toContain("other.example.org");
    expect(open).toContain("No rule allows open.");
  });
});

it.each([
  ["throws", () => JSON.parse("{")],
  ["returns nothing", () => undefined],
  ["returns a path that is not text", () => ({ read: [undefined] })],
  ["returns an unknown access", () => ({ reads: "notes.txt" })],
])("a tool whose access function %s does not run, even in bypassPermissions mode", async (_, access) => {
  const odd = defineTool({
    name: "odd",
    description: "Is odd.",
    input: { type: "object" },
    access: access as () => "none",
    run: () => "ran",
  });
  const { server, result } = await play(
    { MAIN: [{ content: [{ tool: "odd", input: {} }] }, say("Hm.")] },
    { tools: [odd], permissionMode: "bypassPermissions" },
  );
  expect(result.outcome).toBe("succeeded");
  expect(resultsIn(server, "MAIN")[0]).toContain("odd: Retinue can't determine what this call accesses");
});

it("a tool's result can be text, JSON or blocks", async () => {
  const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
  const results: Record<string, unknown> = {
    text: "plain",
    json: [1, { two: 2 }],
    nothing: undefined,
    blocks: [{ type: "text", text: "a picture" }, image],
  };
  const tools = Object.entries(results).map(([name, result]) =>
    defineTool({
      name: `give_${name}`,
      description: "Gives it.",
      input: { type: "object" },
      access: "none",
      run: () => result,
    }),
  );
  const steps = Object.keys(results).map((name): Reply => ({ content: [{ tool: `give_${name}`, input: {} }] }));
  const { server } = await play({ MAIN: [...steps, say("Done.")] }, { tools });
  expect(resultsIn(server, "MAIN").slice(0, 3)).toEqual(["plain", '[1,{"two":2}]', "(no result)"]);
  expect(server.requests.at(-1)?.rawBody.toString()).toContain(image.data);
});

it("a result that can't be converted to JSON is reported as unusable", async () => {
  const large = defineTool({
    name: "large",
    description: "Returns a large number.",
    input: z.object({}),
    access: "none",
    run: () => ({ cents: 10n }),
  });
  const { server } = await play(
    { MAIN: [{ content: [{ tool: "large", input: {} }] }, say("Hm.")] },
    { tools: [large] },
  );
  expect(resultsIn(server, "MAIN")[0]).toMatch(/^large failed: `run` must return text, blocks or JSON: .*BigInt/);
});

it("the result of a tool with an output schema is validated", async () => {
  const bad = defineTool({
    name: "bad",
    description: "Returns the wrong thing.",
    input: z.object({}),
    output: z.object({ cents: z.number() }),
    access: "none",
    run: () => ({ cents: "many" }) as unknown as { cents: number },
  });
  const { server } = await play({ MAIN: [{ content: [{ tool: "bad", input: {} }] }, say("Hm.")] }, { tools: [bad] });
  expect(resultsIn(server, "MAIN")[0]).toMatch(/^bad failed: Its result is not valid: `cents`/);
});

describe("openSession", () => {
  const good = { name: "good", description: "Good.", input: { type: "object" }, run: () => "" } as const;
  it.each([
    [[good, good], 'The `tools` option has two tools named "good"'],
    [[{ ...good, name: "Read" }], "is the name of a built-in tool"],
    [[{ ...good, name: "shell" }], "is another name for the built-in tool Bash"],
    [[{ ...good, name: "mcp__x__y" }], "mcp__"],
    [[{ ...good, name: "a tool" }], "letters, digits, _ or -"],
    [[{ ...good, description: " " }], "description"],
    [[{ ...good, run: undefined }], "run"],
    [[{ ...good, inptu: {} }], "Did you mean input?"],
    [[{ ...good, input: { type: "array" } }], "must describe an object"],
    [[{ ...good, input: "text" }], "input"],
    [[{ ...good, access: "all" }], "access"],
    [[{ ...good, access: { reads: "a" } }], "access"],
    [
      [{ ...good, input: { "~standard": { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) } } }],
      "inputSchema",
    ],
  ])("refuses invalid tools with a clear message (%#)", async (tools, message) => {
    const options = { tools, home: false, provider: "offline" } as unknown as SessionOptions;
    const error = await openSession(options).then(
      () => undefined,
      (thrown: unknown) => thrown as Error & { fix?: string },
    );
    expect(`${error?.message} ${error?.fix}`).toContain(message);
  });
});

it("a tool's input can be any Standard Schema, with its own JSON Schema or with inputSchema", async () => {
  const validate = (value: unknown) => ({ value: { n: Number((value as { n: unknown }).n) * 2 } });
  const own = { "~standard": { version: 1 as const, vendor: "own", validate } };
  const inputSchema = { type: "object", properties: { n: { type: "number" } } };
  const jsonSchema = { input: () => inputSchema, output: () => inputSchema };
  const seen: unknown[] = [];
  const define = (name: string, more: object) =>
    defineTool({
      name,
      description: "Doubles.",
      input: own,
      access: "none",
      ...more,
      run: (input) => {
        seen.push(input);
        return "ok";
      },
    });
  const tools = [
    define("with_schema", { inputSchema }),
    define("with_converter", { input: { "~standard": { ...own["~standard"], jsonSchema } } }),
  ];
  const use = (tool: string): Reply => ({ content: [{ tool, input: { n: 2 } }] });
  await play({ MAIN: [use("with_schema"), use("with_converter"), say("Done.")] }, { tools, approvals: allowAll });
  expect(seen).toEqual([{ n: 4 }, { n: 4 }]);
});

describe("a tool that starts an agent", () => {
  const reviewer = defineAgent({ description: "Reviews.", prompt: "You review.", tools: ["Read"] });
  const review = agentTool({ name: "review", description: "Reviews a change.", agent: "reviewer" });
  const use: Reply = { content: [{ tool: "review", input: { prompt: "CHILD: look at it" } }] };
  const options = { tools: [review], agents: { reviewer } };

  it("returns the agent's report, and is subject to the limits of Task", async () => {
    const { server } = await play({ MAIN: [use, say("Fine.")], CHILD: [say("No problems.")] }, options);
    expect(resultsIn(server, "MAIN")[0]).toMatch(/<task_result agent="reviewer".*No problems\./s);
    const none = { ...options, settings: { subagents: { maxSpawns: 0 } } };
    const limited = await play({ MAIN: [use, say("Hm.")] }, none);
    expect(resultsIn(limited.server, "MAIN")[0]).toMatch(/<task_error agent="reviewer">.*The session/s);
  });

  it("is subject to the rules for Task", async () => {
    const denied = await play({ MAIN: [use, say("Hm.")] }, { ...options, disallowedTools: ["Task(reviewer)"] });
    expect(resultsIn(denied.server, "MAIN")[0]).toContain("Task(reviewer)");
  });

  it("must name an existing agent", async () => {
    const unknown = openSession({ tools: [{ ...review, agent: "revewer" }], agents: { reviewer }, home: false });
    await expect(unknown).rejects.toThrow('The tool "review" starts the agent "revewer", which does not exist');
  });
});

describe("a path with `..` after a symbolic link", () => {
  const file = z.object({ path: z.string() });
  const use = defineTool({
    name: "use",
    description: "Reads a file, as the system follows its path.",
    input: file,
    access: ({ path }) => ({ read: path }),
    run: ({ path }, { cwd }) => readFileSync(`${cwd}/${path}`, "utf8"),
  });
  const put = defineTool({
    name: "put",
    description: "Writes a file, as the system follows its path.",
    input: file,
    access: ({ path }) => ({ write: path }),
    run: ({ path }, { cwd }) => writeFileSync(`${cwd}/${path}`, "written"),
  });

  it.each<[string, SessionOptions]>([
    ["use", { permissionMode: "default", disallowedTools: ["Read(below/key.txt)"] }],
    ["put", { permissionMode: "acceptEdits" }],
    ["use", { permissionMode: "bypassPermissions", disallowedTools: ["Read(below/key.txt)"] }],
    ["put", { permissionMode: "bypassPermissions", disallowedTools: ["Edit(below/key.txt)"] }],
  ])("is refused: %s in %o", async (tool, options) => {
    const at = newPlace();
    const outside = mkdtempSync(join(tmpdir(), "outside-"));
    onTestFinished(() => rmSync(outside, { recursive: true }));
    mkdirSync(join(at.cwd, "below/deep"), { recursive: true });
    mkdirSync(join(outside, "deep"));
    for (const directory of [at.cwd, join(at.cwd, "below"), outside]) writeFileSync(join(directory, "key.txt"), "safe");
    symlinkSync(join(at.cwd, "below/deep"), join(at.cwd, "vendor"));
    symlinkSync(join(outside, "deep"), join(at.cwd, "away"));
    const call = (path: string): Reply => ({ content: [{ tool, input: { path } }] });
    const paths = ["vendor/../key.txt", "away/./../key.txt", "below/../away/../key.txt"];
    const replies = [...paths.map(call), call("below/../key.txt"), say("Done.")];
    const { session, server } = await stage({ MAIN: replies }, { ...options, tools: [use, put] }, at);
    await session.prompt("MAIN: go").result;
    const results = resultsIn(server, "MAIN");
    for (const text of results.slice(0, 3)) expect(text).toContain("ambiguous");
    expect(results[3]).not.toContain("ambiguous");
    for (const directory of [join(at.cwd, "below"), outside])
      expect(readFileSync(join(directory, "key.txt"), "utf8")).toBe("safe");
  });
});
