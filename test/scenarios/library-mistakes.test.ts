import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type Approvals,
  createMemoryTranscript,
  defineAgent,
  defineTool,
  loadSettings,
  openSession,
  run,
  type SessionOptions,
  sessions,
  UserError,
} from "../../src/app/index.ts";
import type { RunUpdate } from "../../src/protocol/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";
import { newPlace, open, resultsIn, task } from "./delegation-place.ts";

const touch = { calls: [{ name: "Bash", input: { command: "touch made.txt" } }] };
const write = { calls: [{ name: "Write", input: { file_path: "made.txt", content: "made" } }] };

describe("the program's answer", () => {
  const answered = async (answer: unknown) => {
    const ask = typeof answer === "function" ? answer : async () => answer;
    const troubles: string[] = [];
    const options = { approvals: { ask } as Approvals, onTrouble: (message: string) => void troubles.push(message) };
    const { session, model, cwd } = await open({ MAIN: [touch, { text: "Done." }] }, options);
    const updates: RunUpdate[] = [];
    for await (const update of session.prompt("MAIN: go")) updates.push(update);
    await session.close();
    const recorded = updates.find(({ type }) => type === "approval.answered");
    const notices = updates.flatMap((update) => (update.type === "notice.raised" ? [update.message] : []));
    const isMade = existsSync(join(cwd, "made.txt"));
    return { recorded, notices, troubles, isMade, told: resultsIn(model.requests("MAIN")[1]) };
  };

  it("does not have to name an approver", async () => {
    expect(await answered({ answer: "allow" })).toMatchObject({
      recorded: { answer: "allow", by: "the program" },
      isMade: true,
    });
  });

  it.each([
    [undefined, "it must be an object"],
    ["allow", "it must be an object"],
    [{ answer: "yes" }, '`answer` must be "allow" or "deny"'],
    [{ answer: "allow", by: 1 }, "`by` must be a string"],
    [{ answer: "allow", always: { rule: "Bash" } }, "`always` must be an object"],
    [{ answer: "allow", replies: "SQLite" }, "`replies` must be an array"],
    [{ answer: "allow", updatedInput: { command: "true" } }, "the field `updatedInput` is unknown. Use `inputJson`"],
    [{ answer: "allow", inputJSON: "{}" }, "the field `inputJSON` is unknown. Use `inputJson`"],
    [{ answer: "allow", input: {} }, "the field `input` is unknown. Use `inputJson`"],
    [{ answer: "allow", inputJson: { command: "true" } }, "`inputJson` must be a string that contains a JSON object"],
    [{ answer: "allow", more: 1 }, "the field `more` is unknown. Use answer, by, message, inputJson, always, replies"],
  ])("is a denial if it is %j", async (answer, problem) => {
    const message = expect.stringContaining(
      `The answer of the program's \`approvals.ask\` function is invalid: ${problem}`,
    );
    expect(await answered(answer)).toMatchObject({
      recorded: { answer: "deny", by: "the program", message },
      isMade: false,
      told: [message],
      troubles: [expect.stringMatching(/^A call to Bash was denied: .*is invalid/)],
    });
  });

  it.each([
    [
      "throws",
      () => {
        throw new TypeError("db is undefined");
      },
    ],
    [
      "rejects",
      async () => {
        throw new TypeError("db is undefined");
      },
    ],
  ])("is a denial if the function %s, and the program is told", async (_, ask) => {
    const message = "The program's `approvals.ask` function failed: db is undefined";
    expect(await answered(ask)).toMatchObject({
      recorded: { answer: "deny", by: "the program", message },
      isMade: false,
      told: [expect.stringContaining(message)],
      troubles: [`A call to Bash was denied: ${message}`],
    });
  });

  it("allows the call even if its rule is invalid, and the run says so", async () => {
    const always = { rule: "Bash(touch", for: "project" };
    const { isMade, notices } = await answered({ answer: "allow", always });
    expect(isMade).toBe(true);
    expect(notices).toEqual([
      "A rule in session scope: allow rule `Bash(touch`: the closing parenthesis is missing; write `Bash(touch)`. The rule is ignored.",
    ]);
  });
});

it("rewind refuses unknown options, and keeps the files", async () => {
  const { session, cwd } = await open({ MAIN: [write, { text: "Done." }] }, { permissionMode: "acceptEdits" });
  await session.prompt("MAIN: go").result;
  const [prompt] = await session.prompts();
  await expect(session.rewind(prompt?.id ?? "", { file: false } as never)).rejects.toMatchObject({
    message: 'session.rewind has no option "file"',
    fix: "Did you mean files?",
  });
  expect(existsSync(join(cwd, "made.txt"))).toBe(true);
  await session.close();
});

it("run says how to pass a prompt", async () => {
  const failed = expect(run({ prompt: "Hello", options: {} } as never)).rejects;
  await failed.toMatchObject({
    message: expect.stringContaining("run needs a prompt"),
    fix: "Call run(prompt, options).",
  });
});

it("a run reports that the scripted model has no answer left", async () => {
  const result = await run("Hello", { ...newPlace(), home: false, model: createScriptedModel([]) });
  expect(result.message).toMatch(/^The script has no answer to this request\. .*Hello$/s);
});

it("reading or deleting a session without an id is refused", async () => {
  await expect(sessions.delete(undefined as never)).rejects.toThrow("The session's id is missing");
  await expect(sessions.read("", {})).rejects.toThrow("The session's id is missing");
});

const callWithInput = { type: "tool_call", callId: "c1", name: "Read", input: {} };
const answers =
  ({
    content = [{ type: "text", text: "Hi." }],
    ...more
  }: {
    readonly content?: readonly unknown[];
    readonly [field: string]: unknown;
  }) =>
  async () => ({ ok: true, message: { role: "assistant", content }, stopReason: "end_turn", usage: {}, ...more });

it.each([
  ["returns nothing", async () => undefined, "did not return an outcome"],
  ["throws", async () => Promise.reject(new Error("no network")), "failed: no network"],
  [
    "returns a call without inputJson",
    answers({ content: [callWithInput] }),
    "message.content[0].inputJson must be a string",
  ],
  ["returns no stop reason", answers({ stopReason: undefined }), "stopReason must be one of end_turn"],
  ["returns no usage", answers({ usage: undefined }), "usage must be an object"],
  [
    "returns a failure without partial",
    async () => ({ ok: false, error: { code: "server", message: "Down." } }),
    "Down.",
  ],
])("a run fails if the program's model %s", async (_, call, message) => {
  const described = { provider: "mine", model: "echo", dialect: "openai", window: 8_000, maxOutputTokens: 1_000 };
  const model = { describe: () => described, call } as never;
  const result = await run("x", { ...newPlace(), home: false, model });
  expect(result).toMatchObject({ outcome: "failed", reason: "model_error" });
  expect(result.message).toContain(message);
});

it("reading earlier sessions with unknown options or agents is refused", async () => {
  const at = newPlace();
  const { session } = await open(
    { MAIN: [{ calls: [task("PART: look")] }, { text: "Done." }], PART: [{ text: "Found." }] },
    { at },
  );
  await session.prompt("MAIN: go").result;
  const [child] = await session.subagents.list();
  await session.close();
  const { id } = session;
  const { home } = at;
  for (const work of [
    () => sessions.list({ hom: home } as never),
    () => sessions.read(id, { hom: home } as never),
    () => sessions.delete(id, { hom: home } as never),
  ])
    await expect(work()).rejects.toMatchObject({ name: "UserError", fix: "Did you mean home?" });
  await expect(sessions.read(id, { home, agentId: "zz" })).rejects.toThrow(`There is no agent "zz" in session ${id}`);
  const lines = await sessions.read(id, { home, agentId: child?.agentId.slice(0, -2) });
  expect(lines[0]?.type).toBe("agent.created");
});

it("every method of a closed session says that the session is closed", async () => {
  const { session } = await open({ MAIN: [{ text: "Done." }] });
  await session.prompt("MAIN: go").result;
  const [prompt] = await session.prompts();
  await session.close();
  for (const work of [
    async () => session.prompt("again"),
    async () => session.compact(),
    () => session.setPermissionMode("plan"),
    () => session.setModel("sonnet"),
    () => session.rewind(prompt?.id ?? ""),
    () => session.save(),
    () => session.continueWork(),
  ])
    await expect(work()).rejects.toMatchObject({
      name: "UserError",
      message: "The session is closed",
      fix: `Open it again with the \`resume: "${session.id}"\` option.`,
    });
  const receipt = await session.send({ id: "c1", type: "stop", what: "tree" });
  expect(receipt).toMatchObject({ status: "refused", message: expect.stringMatching(/^The session is closed\. Open/) });
});

it("an object that is not a model, and an empty prompt without a conversation, are refused", async () => {
  const { session } = await open({
    MAIN: [{ error: { code: "bad_request", message: "No." } }, { text: "More." }],
  });
  for (const model of [42, {}, undefined])
    await expect(session.setModel(model as never)).rejects.toMatchObject({
      name: "UserError",
      fix: "Use a non-empty string, or an object with describe and call.",
    });
  expect(() => session.prompt(" ")).toThrow(UserError);
  expect(() => session.prompt([])).toThrow("The prompt is empty, and there is no conversation to continue");
  await session.prompt("MAIN: go").result;
  expect((await session.prompt("").result).text).toBe("More.");
  expect(() => session.prompt("")).toThrow("The prompt is empty, and the agent has finished its work");
  await session.close();
});

describe("an error message", () => {
  const failure = async (work: () => unknown): Promise<string> => {
    const error = await Promise.resolve()
      .then(work)
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof UserError)) throw new Error(`not a UserError: ${String(error)}`);
    return `${error.message}. ${error.fix}`;
  };
  const opening = (options: unknown) => failure(() => openSession(options as never));
  const review = (agent: string) => ({ name: "review", description: "Reviews.", agent });

  it("names the option that limits the cost", async () => {
    const fix = "To limit the cost, use `settings: { budget: { usd: 1 } }`.";
    expect(await opening({ budget: 1 })).toBe(`openSession has no option "budget". ${fix}`);
    expect(await failure(() => run("x", { maxCost: 1 } as never))).toBe(`run has no option "maxCost". ${fix}`);
  });

  it("names the tool, and the function that was called", async () => {
    expect(await failure(() => run("x", { outputs: {} } as never))).toBe(
      'run has no option "outputs". Did you mean output?',
    );
    expect(await opening(null)).toMatch("openSession needs an object with options");
    expect(await failure(() => loadSettings({} as never))).toMatch("loadSettings needs the home option");
    const tool = { name: "stock", description: "", input: {}, run: () => "" };
    expect(await opening({ tools: [tool] })).toMatch('The description option of the tool "stock" can\'t be ""');
    expect(await opening({ tools: [{ ...tool, more: 1 }] })).toMatch('The tool "stock" has no option "more"');
  });

  it("says what to use instead of names from other libraries", async () => {
    const { session } = await open({});
    expect(await failure(() => session.prompt("x", { schema: {} } as never))).toBe(
      'session.prompt has no option "schema". Use output.',
    );
    expect(await failure(() => session.subagents.start("Explore", "x", { abortSignal: 1 } as never))).toBe(
      'session.subagents.start has no option "abortSignal". Use signal.',
    );
    expect(await failure(() => createMemoryTranscript({ sesionId: "x" } as never))).toBe(
      'createMemoryTranscript has no option "sesionId". Did you mean sessionId?',
    );
    expect(await opening({ approvals: { ask: async () => ({ decision: "deny" }) }, onAsk: "deny" })).toMatch(
      'both the approvals option and onAsk: "deny"',
    );
    expect(await opening({ mcpServers: { a: { cmd: "a" } } })).toMatch('unknown field "cmd". Did you mean command?');
    await session.close();
  });

  it("says that an agent must be named", async () => {
    const { session } = await open({});
    const { read, wait, stop } = session.subagents;
    for (const call of [read, wait, stop])
      expect(await failure(() => call(undefined as never))).toMatch("An agent must be given by its name or its id.");
    expect(await failure(() => wait("nobody"))).toMatch('There is no agent "nobody" in this session');
    await session.close();
  });

  it("names the invalid setting, or the invalid block of a prompt", async () => {
    expect(await opening({ settings: { budgets: {} } })).toMatch(
      "The settings option of openSession is invalid: the key budgets is unknown (did you mean budget?)",
    );
    const { session } = await open({});
    const text = { type: "text", text: "Look at this." };
    expect(await failure(() => session.prompt([text, { type: "video" }] as never))).toMatch(
      'The prompt is not valid: block 1 has the type "video"',
    );
    expect(await failure(() => session.prompt([{ type: "image", data: "" }] as never))).toMatch(
      "The prompt is not valid: block 0 is not a valid image block",
    );
    await session.close();
  });

  it("says which agents an agent tool can start", async () => {
    const at = { ...newPlace(), environment: {} };
    expect(await opening({ ...at, tools: [review("explroe")] })).toMatch('Did you mean "Explore"?');
    expect(await opening({ ...at, tools: [review("zebra")] })).toMatch(/Use one of (?!.*statusline-setup).*Explore/);
  });

  it("says that a session is open in this process", async () => {
    const at = newPlace();
    const { session } = await open({ MAIN: [{ text: "Hi." }] }, { at });
    await session.prompt("MAIN: hi").result;
    expect(await opening({ ...at, resume: session.id })).toMatch("is already open in this process. Close it first");
    await session.close();
    expect(await opening({ ...at, resume: session.id.slice(0, 8) })).toMatch("Use the full id of a session");
  });

  it("says that a run has one reader", async () => {
    const { session } = await open({ MAIN: [{ text: "Hi." }] });
    const prompted = session.prompt("MAIN: hi");
    for await (const _ of prompted);
    const read = async () => {
      for await (const _ of prompted.textStream);
    };
    expect(await failure(read)).toMatch("can be read only once");
    await session.close();
  });
});

it("a session adds up the spending of all its agents, including what they spent before it was resumed", async () => {
  const at = newPlace();
  const settings = { budget: { tokens: 20_000 } };
  const parts = { MAIN: [{ calls: [task("PART: look")] }, { text: "Done." }], PART: [{ text: "Found." }] };
  const { session } = await open(parts, { at, settings });
  const { usage } = await session.prompt("MAIN: go").result;
  expect(usage).toMatchObject({ inputTokens: 200, outputTokens: 20 });
  const spent = await session.spent();
  expect(spent).toEqual({
    costUsd: 0,
    unpriced: 3,
    tokens: 330,
    turns: 3,
    agents: 1,
    left: { tokens: 19_670 },
  });
  await session.close();
  const again = await open({}, { at, resume: session.id });
  expect(await again.session.spent()).toEqual({ ...spent, left: {} });
  await again.session.close();
});

describe("agents in a program's settings", () => {
  const place = () => ({ ...newPlace(), home: false as const, environment: {}, model: createScriptedModel([]) });

  it("can be started, unless the agents option defines another one with the same name", async () => {
    const scout = { description: "Looks around.", prompt: "You look around.", maxTurns: 3 };
    const session = await openSession({
      ...place(),
      settings: { agents: { scout, poet: scout, Explore: false } },
      agents: { poet: { ...scout, tools: ["Read"] } },
      agent: "poet",
    });
    expect(session).toMatchObject({ agentType: "poet", tools: ["Read"], notices: [] });
    await session.close();
    const other = await openSession({ ...place(), settings: { agents: { scout } } });
    expect(other.agents).toContain("scout");
    await other.close();
  });

  it("are refused if they are invalid", async () => {
    const settings = { agents: { scout: { prompt: "You look around." } } };
    await expect(openSession({ ...place(), settings })).rejects.toMatchObject({
      name: "UserError",
      message: expect.stringContaining('Agent "scout"'),
    });
  });
});

describe("a mistake in code is an error", () => {
  const opening = async (options: SessionOptions) => {
    const session = await openSession({
      ...newPlace(),
      home: false,
      environment: {},
      model: createScriptedModel([]),
      ...options,
    });
    await session.close();
  };
  const agent = { description: "Does it.", prompt: "You do it." };

  it.each<[string, unknown, string]>([
    ["a rule without text", { rules: [{ tool: "x" }] }, "The rules option of openSession can't be"],
    ["a session id with a space", { home: undefined, resume: "has space" }, '"has space" is not a valid session id'],
    ["a path as a session id", { home: undefined, resume: "../x" }, '"../x" is not a valid session id'],
    [
      "a prompt function that throws",
      {
        agent: "a",
        agents: {
          a: {
            ...agent,
            prompt: () => {
              throw new Error("boom");
            },
          },
        },
      },
      'The prompt of agent "a" could not be created: boom',
    ],
    ["a negative budget", { agents: { a: { ...agent, budget: { usd: -1 } } } }, '"usd: -1"'],
    ["a timeout that is not a duration", { agents: { a: { ...agent, timeout: "soon" } } }, "timeout"],
    ["an agent's unknown hook event", { agents: { a: { ...agent, hooks: { PreTool: [] } } } }, "PreTool"],
    ["an agent without a name", { agents: { " ": agent } }, "The agents option of openSession can't be"],
    ["a deny rule for an unknown tool", { settings: { permissions: { deny: ["Baash"] } } }, 'there is no tool "Baash"'],
    ["a broken deny rule", { disallowedTools: ["Bash(rm"] }, "the closing parenthesis is missing"],
    ["a broken hook", { settings: { hooks: { PreToolUse: [{ matcher: "Bash" }] } } }, "has no command"],
    ["a hook's negative time limit", { hooks: { Stop: [{ run: () => {}, timeoutSeconds: -1 }] } }, "value for Stop"],
    ["an empty command", { acceptance: [""] }, "The acceptance option of openSession can't be"],
    ["a number in the environment", { environment: { A: 5 } }, "The environment option of openSession can't be"],
  ])("such as %s", async (_, options, message) => {
    await expect(opening(options as SessionOptions)).rejects.toMatchObject({
      name: "UserError",
      message: expect.stringContaining(message),
    });
  });

  it("unless it is in a file that the program has loaded", async () => {
    const settings = { permissions: { deny: ["Baash"] } };
    await opening({ settings, rules: [{ text: "Baash", effect: "deny", scope: "user", file: "settings.json" }] });
  });
});

it("options and settings may be undefined, and hook functions may return nothing", async () => {
  const log = (_: unknown): void => {};
  const session = await openSession({
    ...newPlace(),
    home: false,
    environment: {},
    model: createScriptedModel([{ text: "Hi." }]),
    settings: { budget: { usd: undefined, turns: 5 }, permissions: undefined, sandbox: { mode: undefined } },
    trusted: undefined,
    allowedTools: undefined,
    acceptance: undefined,
    transcript: undefined,
    hooks: { PreToolUse: [{ run: (input) => log(input.tool_name) }], SessionEnd: [{ run: log }], Stop: undefined },
    agents: { a: defineAgent({ description: "d", prompt: "p", timeout: undefined, hooks: undefined }) },
    onTrouble: undefined,
  });
  expect((await session.prompt("Hello").result).text).toBe("Hi.");
  expect(Object.keys((await session.spent()).left)).toEqual(["turns"]);
  await session.close();
});

it("a resumed session reports tools of the program that are missing", async () => {
  const at = newPlace();
  const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, run: () => "paid" });
  const { session } = await open({ MAIN: [{ text: "Hi." }] }, { at, tools: [pay] });
  await session.prompt("MAIN: hi").result;
  await session.close();
  const again = await open({}, { at, resume: session.id });
  expect(again.session.notices).toEqual([
    'The tool "pay", which this session had before, is missing from the `tools` option.',
  ]);
  await again.session.close();
});
