import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Reply } from "../../src/testing/index.ts";
import { isLinux, needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, type Ended, resultOf, retinue, serve } from "./command-line.ts";

/** Expects a one-line message with the remedy on standard error, without a stack trace. */
function expectComplaint(run: Ended, { code, says }: { code: number; says: RegExp }): void {
  expect(run.stderr).toMatch(says);
  expect(run.code).toBe(code);
  expect(run.stdout).toBe("");
  expect(run.stderr).toMatch(/^retinue: .+[.?)"]\n/);
  expect(run.stderr).not.toMatch(/\n\s+at .+:\d+/);
}

it("additional directories that are relative or missing are reported in runs and in doctor", async () => {
  const place = createPlace();
  mkdirSync(place.home);
  const file = join(place.home, "settings.json");
  const additionalDirectories = ["relative", "/no/such/directory", place.cwd];
  writeFileSync(file, JSON.stringify({ permissions: { additionalDirectories } }));
  const start = `${file}: permissions.additionalDirectories contains`;
  for (const words of [["-p", "hello", "--verbose"], ["doctor"]]) {
    const { stdout, stderr } = await retinue(words, place);
    expect(stdout + stderr).toContain(`${start} "relative", which is not an absolute path.`);
    expect(stdout + stderr).toContain(`${start} "/no/such/directory", which does not exist`);
    expect(stdout + stderr).not.toContain(`contains "${place.cwd}"`);
  }
});

it("broken MCP servers and hook matchers are reported with their lines in runs and in doctor", async () => {
  const place = createPlace();
  mkdirSync(place.home);
  const file = join(place.home, "settings.json");
  const entry = (matcher: string) => ({ matcher, hooks: [{ type: "command", command: "true" }] });
  const settings = {
    mcpServers: { a: { comand: "x" }, b: { command: "no-such-program" }, c: { url: "htp:/x" } },
    hooks: {
      PreToolUse: [entry("Edit"), entry("Baash"), entry("Bash(")],
      PreTolUse: [entry("Bash")],
      SubagentStop: [entry("Explor")],
    },
  };
  const written = JSON.stringify(settings, null, 2);
  writeFileSync(file, written);
  const agents = join(place.home, "..", ".agents", "agents");
  mkdirSync(agents, { recursive: true });
  const fields = ["name: db", "description: Reads tables.", "hooks: {PreToolUse: [{matcher: '[', command: x}]}"];
  const servers = "mcpServers: [unknown, {d: {command: no-such-program}}]";
  writeFileSync(join(agents, "db.md"), `---\n${[...fields, servers].join("\n")}\n---\nRead tables.\n`);
  const lineWith = (text: string) => 1 + written.split("\n").findIndex((line) => line.includes(text));
  const run = await retinue(["-p", "hello"], place);
  const { stdout } = await retinue(["doctor"], place);
  for (const text of [run.stderr, stdout]) {
    expect(text).toContain(`${file}:4: The MCP server "a" can't be used`);
    expect(text).toContain('write "command" instead of "comand"');
    expect(text).toContain(`${file}:7: The MCP server "b"`);
    expect(text).toContain(`${file}:10: The MCP server "c" can't be used: its "url" is not valid`);
    expect(text).toContain(`${file}:${lineWith('"Baash"')}: The matcher of the PreToolUse hook "true" names "Baash"`);
    expect(text).toMatch(/settings\.json:\d+: Unknown hook event "PreTolUse"; .* Did you mean "PreToolUse"\?/);
    expect(text).toContain(
      `${file}:${lineWith('"Explor"')}: The matcher of the SubagentStop hook "true" names "Explor"`,
    );
    expect(text).toContain("Did you mean Explore?");
    expect(text.match(/settings\.json:\d+: The MCP server "/g)).toHaveLength(3);
  }
  const agent = join(agents, "db.md");
  expect(stdout).toContain(
    `${agent}:4: The matcher of the PreToolUse hook "x" ("[") is not a valid regular expression`,
  );
  expect(stdout).toContain(`${agent}:5: The MCP server "unknown" can't be used: it is not configured.`);
  expect(stdout).toContain(`${agent}:5: The MCP server "d" can't be used: there is no program "no-such-program"`);
  expect(stdout).toContain(
    `${file}:${lineWith('"Bash("')}: The matcher of the PreToolUse hook "true" ("Bash(") is not a`,
  );
});

it("damaged, incomplete and unusable schedules are reported in doctor", async () => {
  const place = createPlace();
  mkdirSync(place.home);
  const file = join(place.home, "schedules.json");
  expect((await retinue(["doctor"], place)).stdout).not.toContain("schedules");
  await retinue(["schedule", "add", "every day 7:00", "-p", "x"], place);
  expect((await retinue(["doctor"], place)).stdout).toMatch(/✓ schedules +1 in /);
  writeFileSync(file, readFileSync(file, "utf8").replace(/"cwd": ".*"/, '"cwd": "/no/such/directory"'));
  expect((await retinue(["doctor"], place)).stdout).toMatch(/! schedules +\w+ can't start: \/no\/such\/directory/);
  writeFileSync(file, '{ "version": 1,\n "schedules": [{}] }');
  expect((await retinue(["doctor"], place)).stdout).toMatch(/! schedules .*1 incomplete schedule/);
  writeFileSync(file, '{ "version": 1,\n "schedules": }');
  expect(await retinue(["doctor"], place)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`${file}:2:15 can't be read: expected a value`),
  });
});

describe("bad usage", () => {
  it.each([
    [["-p", "x", "--modle", "y"], /--modle.*Did you mean --model\?/],
    [["-p"], /no prompt.*retinue -p "/],
    [["-p", "   "], /no prompt/],
    [["-p", "x", "--max-turns", "0"], /--max-turns.*whole number/],
    [["-p", "x", "--max-turns", "many"], /--max-turns.*whole number/],
    [["-p", "x", "--output-format", "xml"], /--output-format.*text, json, stream-json/],
    [["-p", "x", "--permission-mode", "yolo"], /--permission-mode.*acceptEdits/],
    [["-p", "x", "--effort", "huge"], /--effort.*medium/],
    [["-p", "x", "--model"], /--model needs a value.*NAME/],
    [["-p", "x", "--model", ""], /--model.*empty/],
    [["-p", "x", "--resume", "a", "--continue"], /--resume and --continue/],
    [["-p", "x", "--include-partial-messages"], /stream-json/],
    [["-p", "x", "--cwd", "does/not/exist"], /does\/not\/exist does not exist.*--cwd/],
    [["-p", "x", "--agents", "{poet"], /--agents is not JSON.*Use --agents '/],
    [["-p", "x", "--agents", "my/agents.json"], /--agents is not JSON.*"\$\(cat my\/agents\.json\)"/],
    [["-p", "x", "--disallowed-tools", "Baash(rm *)"], /--disallowed-tools: `Baash\(rm \*\)`.*Did you mean "Bash"\?/],
    [["sessions", "list", "-C", "does/not/exist"], /does\/not\/exist does not exist.*--cwd/],
    [["agents", "list", "-C", "does/not/exist"], /does\/not\/exist does not exist.*--cwd/],
    [["config", "show", "-C", "does/not/exist"], /does\/not\/exist does not exist.*--cwd/],
    [["permissions", "list", "-C", "does/not/exist"], /does\/not\/exist does not exist.*--cwd/],
    [["approvals", "list", "-C", "does/not/exist"], /does\/not\/exist does not exist.*--cwd/],
    [["cache", "report", "-C", "does/not/exist"], /does\/not\/exist does not exist.*--cwd/],
    [["-p", "- a list"], /goes after "--"/],
    [["sesions", "list"], /no command "sesions".*retinue sessions/],
    [["mcp", "list"], /no command "mcp".*\.mcp\.json/],
    [
      ["-p", "x", "--allowed-tools", "Edit(src/**"],
      /`Edit\(src\/\*\*`.*closing parenthesis is missing.*`Edit\(src\/\*\*\)`/,
    ],
    [["sessions", "lst"], /Did you mean "list"/],
    [["sessions", "show"], /needs a session id/],
    [["sessions", "delete", "zzzz", "--yes"], /no sessions yet/],
    [["sessions", "show", "zzz"], /No session id starts with "zzz".*end of an id.*at least 4 characters/],
    [["Fix", "the", "tests", "please"], /needs a terminal.*retinue -p "Fix the tests please"/],
    [[], /needs a terminal/],
    [["doctor", "--jsn"], /--jsn.*--json/],
  ])("%j is refused with exit code 2", async (words, says) => {
    expectComplaint(await retinue(words, createPlace()), { code: 2, says });
  });

  it.each(["json", "stream-json"])("is reported to programs as a result (%s)", async (format) => {
    const run = await retinue(["-p", "x", "--output-format", format, "--bogus"], createPlace());
    expect(run.code).toBe(2);
    expect(run.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(resultOf(run)).toMatchObject({
      type: "result",
      is_error: true,
      errors: [expect.stringContaining("--bogus")],
    });
  });
});

describe("bad configuration is reported:", () => {
  it.each([
    ["a broken settings file", '{"model": }', /settings\.json:1:\d+/],
    ["a wrong setting", '{"maxTurns": "many"}', /settings\.json:1: maxTurns must be/],
  ])("%s", async (_, text, says) => {
    const place = createPlace();
    mkdirSync(place.home);
    writeFileSync(join(place.home, "settings.json"), text);
    expectComplaint(await retinue(["-p", "x"], place), { code: 2, says });
  });

  it.each([
    ["a missing settings file", ["--settings", "none.json"], /no settings file none\.json.*--settings/],
    ["an unknown provider", ["--provider", "antropic"], /no provider "antropic".*Did you mean "anthropic"/],
    ["a provider without its key", ["--provider", "anthropic"], /ANTHROPIC_API_KEY/],
    ["a model without a provider", ["--model", "gpt-9"], /OPENAI_API_KEY/],
  ])("%s", async (_, words, says) => {
    const place = createPlace();
    const run = await retinue(["-p", "x", ...words], place);
    expectComplaint(run, { code: 2, says });
  });

  it("a model that is unknown to the provider", async () => {
    const place = createPlace();
    const server = await serve([{ reply: { content: "no" }, times: "always" }], { models: ["known-model"] });
    const run = await retinue(["-p", "x", "--model", "unknown-model"], { ...place, server });
    expectComplaint(run, { code: 2, says: /unknown-model/ });
  });

  it("a key that the provider does not accept", async () => {
    const place = createPlace();
    const server = await serve([{ reply: { content: "no" }, times: "always" }], { apiKey: "another" });
    const run = await retinue(["-p", "x"], { ...place, server });
    expectComplaint(run, { code: 2, says: /ANTHROPIC_API_KEY/ });
    expect(run.stderr).not.toContain("sk-test-secret");
  });

  // Root ignores file modes, but not even root can create files in this directory.
  it("a state directory that is not writable", needs("Linux", isLinux), async () => {
    const run = await retinue(["-p", "x"], { ...createPlace(), environment: { RETINUE_HOME: "/sys/kernel/retinue" } });
    expectComplaint(run, { code: 2, says: /state directory \/sys\/kernel\/retinue\b.*RETINUE_HOME/ });
  });

  it("a state directory in which no schedule can be stored", needs("Linux", isLinux), async () => {
    const words = ["schedule", "add", "every day 7:00", "-p", "x"];
    const run = await retinue(words, { ...createPlace(), environment: { RETINUE_HOME: "/sys/kernel/retinue" } });
    expectComplaint(run, { code: 2, says: /\/sys\/kernel\/retinue\/schedules\.json can't be written.*RETINUE_HOME/ });
  });

  it.each([["-p", "x"], ["agents", "list"], ["doctor"]])("a deleted current directory: %s", async (...words) => {
    const place = createPlace();
    const script = 'rmdir "$PWD" && exec "$@"';
    const run = await retinue(words, { ...place, through: ["sh", "-c", script, "sh"] });
    expectComplaint(run, { code: 2, says: /current directory no longer exists.*--cwd/ });
  });

  it("a state directory that is a file", async () => {
    const place = createPlace();
    writeFileSync(place.home, "");
    const run = await retinue(["-p", "x"], place);
    expect(run.stderr).toContain(place.home);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    expect(run.code).toBeGreaterThan(0);
    expect(run.stdout).toBe("");
  });
});

describe("a model failure", () => {
  it("results in exit code 1, and the reason is shown", async () => {
    const place = createPlace();
    const fault = { kind: "status", status: 400, message: "prompt: unacceptable" } as const;
    const server = await serve([{ reply: { content: "no", fault } }]);
    const run = await retinue(["-p", "x"], { ...place, server });
    expectComplaint(run, { code: 1, says: /unacceptable/ });
    expect(run.stderr).toContain("--resume");
  });

  it("results in exit code 1, and the address is shown if the server is not running", async () => {
    const place = createPlace();
    const server = await serve([]);
    await server.close();
    const run = await retinue(["-p", "x"], { ...place, server });
    expectComplaint(run, { code: 1, says: new RegExp(`127\\.0\\.0\\.1:${server.port}.*base URL`) });
  });

  it("is reported to programs as a result", async () => {
    const place = createPlace();
    const fault = { kind: "spend-cap" } as const;
    const server = await serve([{ reply: { content: "no", fault } }]);
    const run = await retinue(["-p", "x", "--output-format", "stream-json"], { ...place, server });
    expect(run.code).toBe(1);
    expect(resultOf(run)).toMatchObject({ subtype: "error_during_execution", is_error: true, reason: "model_error" });
  });
});

describe("a model that can't be used", () => {
  const status = (code: number, message: string): Reply => ({
    content: "",
    fault: { kind: "status", status: code, message },
  });

  it.each<[string, readonly Reply[], readonly string[], number, RegExp]>([
    [
      "that is unknown",
      [],
      ["--model", "claude-opus-55"],
      2,
      /no model named "claude-opus-55".* Did you mean "claude-opus-5-5".* --model \(see `retinue models`\)/,
    ],
    [
      "for which the key has no access",
      [status(403, "Your key does not have access to model x")],
      [],
      2,
      /does not let this key use the model .* Set another key in ANTHROPIC_API_KEY, or choose another model with --model/,
    ],
    [
      "without tools",
      [status(400, "x does not support tools")],
      [],
      1,
      /does not support tools.* Choose another model with --model/,
    ],
    [
      "at an address without an API",
      [{ content: "", fault: { kind: "status", status: 404, body: '{"detail":"Not Found"}' } }],
      [],
      1,
      /has no model API at this address.* set providers\.anthropic\.dialect to "openai" in your settings/,
    ],
    [
      "at a web page",
      [{ content: "", fault: { kind: "html" } }],
      [],
      1,
      /returned a web page instead of a model's response\. Check the base URL/,
    ],
    [
      "whose price is unknown, with a limit in dollars",
      [],
      ["--model", "house-1", "--max-cost", "1"],
      3,
      /price of the model house-1 is unknown.* providers\.anthropic\.prices\["house-1"\] in your settings, .* or use --max-tokens/,
    ],
  ])("%s is reported with what to do, without words of the library", async (_, script, options, code, says) => {
    const server = await serve(script, { models: ["claude-sonnet-5-5"] });
    const ran = await retinue(["-p", "hello", ...options], { ...createPlace(), server });
    expect(ran.code).toBe(code);
    expect(ran.stderr).toMatch(says);
    expect(ran.stderr).not.toMatch(/describe\(\)|`model` option|your program/);
    expect(ran.stdout).toBe("");
  });
});
