import { realpathSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type BuiltServer, buildMcpServer } from "../testing/mcp-server/build-server.test-support.ts";
import { mergeConnections } from "./create-mcp-servers.ts";
import { createTestServers, neverAborted, runTool, type TestServers, textOfOutput } from "./servers.test-support.ts";

let program: BuiltServer;
const made: TestServers[] = [];
beforeAll(() => {
  program = buildMcpServer();
});
afterEach(async () => {
  for (const servers of made.splice(0)) await servers.remove();
});
afterAll(() => program.remove());

const make: typeof createTestServers = (...parameters) => {
  const servers = createTestServers(...parameters);
  made.push(servers);
  return servers;
};
const connect = (servers: TestServers, ...names: string[]) =>
  servers.connect(
    names.map((name) => ({ name })),
    { owner: "main" },
    neverAborted,
  );

const variable = (name: string) => `\${${name}}`;

describe("createMcpServers", () => {
  it("returns a server's tools under safe names in a stable order, with traits and instructions", async () => {
    const servers = make({ "my.server": program.config({ instructions: "  Use it well.  " }) });
    const connection = await connect(servers, "my.server");
    expect(connection.problems).toEqual([]);
    expect(connection.tools.map(({ declaration }) => declaration.name)).toEqual([
      "mcp__my_server__big",
      "mcp__my_server__content",
      "mcp__my_server__count",
      "mcp__my_server__echo",
      "mcp__my_server__environment",
      "mcp__my_server__fail",
      "mcp__my_server__progress",
      "mcp__my_server__where",
    ]);
    const [big, , , echo] = connection.tools;
    expect(echo?.traits).toEqual({ parallel: true, effects: false });
    expect(big?.traits).toEqual({ parallel: false, effects: true });
    expect(echo?.declaration.description).toBe("Says it again.");
    expect(connection.instructions).toEqual([{ server: "my.server", text: "Use it well." }]);
  });

  it("merges connections from different places in a single order, with unique names", async () => {
    const names = ["b", "a.x", "a_x"];
    const [here, there] = [make({ "a.x": program.config() }), make({ b: program.config(), a_x: program.config() })];
    const connect = (servers: TestServers, uses: readonly string[]) =>
      servers.connect(
        uses.map((name) => ({ name })),
        { owner: "main", names },
        neverAborted,
      );
    const connections = [await connect(here, ["a.x"]), await connect(there, ["b", "a_x"])];
    const merged = mergeConnections(names, connections);
    const counters = merged.tools.map(({ declaration }) => declaration.name).filter((name) => name.endsWith("count"));
    expect(counters).toEqual([
      "mcp__b__count",
      expect.stringMatching(/^mcp__a_x_[0-9a-f]{8}__count$/),
      "mcp__a_x__count",
    ]);
    expect(merged.tools).toHaveLength(24);
    expect(merged.servers.map(({ name }) => name)).toEqual(names);
  });

  it("calls tools, passes progress on, and returns tool errors and protocol errors", async () => {
    const connection = await connect(make({ s: program.config() }), "s");
    const said = await runTool(connection, "mcp__s__echo", { input: { text: "hé\nllo" } });
    expect(said).toEqual({ content: [{ type: "text", text: "hé\nllo" }] });
    const halfway = new AbortController();
    const progress = (text: string) => halfway.abort(text);
    await runTool(connection, "mcp__s__progress", { progress, signal: halfway.signal });
    expect(halfway.signal.reason).toBe("Half (1 of 2)");
    const result = { isError: true, content: [{ type: "text", text: "no such row" }] };
    expect(await runTool(connection, "mcp__s__content", { input: { result } })).toEqual({
      content: [{ type: "text", text: "no such row" }],
      isError: true,
    });
    const refused = await runTool(connection, "mcp__s__fail");
    expect(refused.isError).toBe(true);
    expect(textOfOutput(refused)).toMatch(/^The MCP server "s" rejected the call: .*The test asked for it/);
  });

  it("starts the program in the workspace with a scrubbed environment and configured variables", async () => {
    const environment = { MY_TOKEN: "s3cret", REGION: "north" };
    const env = { KEY: variable("MY_TOKEN"), PLACE: variable("REGION:-south"), OTHER: variable("NOT_THERE:-else") };
    const servers = make({ s: { ...program.config(), env } }, { environment });
    const connection = await connect(servers, "s");
    const value = async (name: string) =>
      textOfOutput(await runTool(connection, "mcp__s__environment", { input: { name } }));
    expect(await value("MY_TOKEN")).toBe("not set");
    expect(await value("KEY")).toBe("s3cret");
    expect(await value("PLACE")).toBe("north");
    expect(await value("OTHER")).toBe("else");
    expect(textOfOutput(await runTool(connection, "mcp__s__where"))).toBe(realpathSync(servers.root));
  });

  it("shares a server among users with the same configuration until the last one is gone", async () => {
    const servers = make({ s: program.config() });
    const first = await connect(servers, "s");
    const second = await servers.connect([{ name: "s", config: program.config() }], { owner: "a1" }, neverAborted);
    const own = await servers.connect(
      [{ name: "s", config: program.config({ junkLines: 1 }) }],
      { owner: "a2" },
      neverAborted,
    );
    expect(textOfOutput(await runTool(first, "mcp__s__count"))).toBe("1");
    expect(textOfOutput(await runTool(second, "mcp__s__count"))).toBe("2");
    expect(textOfOutput(await runTool(own, "mcp__s__count"))).toBe("1");
    expect(servers.processes()).toBe(2);
    await own.release();
    expect(servers.processes()).toBe(1);
    await first.release();
    await first.release();
    expect(textOfOutput(await runTool(second, "mcp__s__count"))).toBe("3");
    await second.release();
    expect(servers.processes()).toBe(0);
    const late = await runTool(second, "mcp__s__count");
    expect(late.isError).toBe(true);
    expect(textOfOutput(late)).toContain("was stopped because");
  });

  it("connects several servers in the order they are named", async () => {
    const servers = make({ b: program.config(), a: program.config({ instructions: "A" }) });
    const { tools, problems } = await connect(servers, "b", "a", "b");
    expect(tools.map(({ declaration }) => declaration.name.slice(0, 6))).toEqual([
      ...Array(8).fill("mcp__b"),
      ...Array(8).fill("mcp__a"),
    ]);
    expect(problems).toEqual(['The MCP server "b" is listed twice. The first entry is used.']);
  });

  it("continues without servers that can't be started, and explains why", async () => {
    const servers = make({
      good: program.config(),
      gone: { command: "no-such-program-here --fast" },
      broken: program.config({ exitAtStart: true }),
      needy: { command: `${variable("WHERE")}/server` },
      odd: { type: "ws", url: "ws://x" },
    });
    const { tools, problems } = await connect(servers, "gone", "good", "broken", "needy", "odd", "godo", "zzz");
    expect(tools).toHaveLength(8);
    const about = (name: string) => problems.find((text) => text.includes(`"${name}"`));
    expect(problems).toHaveLength(6);
    expect(about("gone")).toMatch(/Could not start no-such-program-here.*put its arguments in "args"\.$/);
    expect(about("broken")).toMatch(/exited with code 3 after .*standard error:\n.*no database$/s);
    expect(about("needy")).toContain("environment variables that are not set: WHERE");
    expect(about("odd")).toContain('use "stdio", "http" or "sse"');
    expect(about("godo")).toContain('did you mean "good"?');
    expect(about("zzz")).toContain("The configured servers are good, gone, broken, needy, odd");
    expect(servers.processes()).toBe(1);
  });

  it("does not wait longer than the limit for a server that never responds", async () => {
    const reported: string[] = [];
    const limits = { startMs: 400, slowMs: 20 };
    const servers = make({ mute: program.config({ silent: true }) }, { limits, report: (text) => reported.push(text) });
    const { problems } = await connect(servers, "mute");
    expect(reported).toEqual(['Waiting up to 400 ms for the MCP server "mute" to start.']);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^The MCP server "mute" could not be started: it did not respond within 400 ms\./);
    expect(servers.processes()).toBe(0);
  });

  it("reports what a server wrote instead of a response", async () => {
    const script = 'console.log("Listening…"); console.error("no token"); process.stdin.resume()';
    const servers = make({ odd: { command: process.execPath, args: ["-e", script] } }, { limits: { startMs: 1_000 } });
    const { problems } = await connect(servers, "odd");
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/within 1.0 s, but wrote text other than MCP messages to standard output \(1 line\)/);
    expect(problems[0]).toMatch(/standard error:\nno token$/);
  });

  it("ends an unresponsive server and the processes that it started", async () => {
    const servers = make({ s: program.config({ stubborn: true, leavesChild: true }) });
    const connection = await connect(servers, "s");
    expect(servers.processes()).toBe(2);
    await connection.release();
    expect(servers.processes()).toBe(0);
  });

  it("lets one waiter cancel a start that others are still waiting for", async () => {
    const servers = make({ s: program.config({ slowStartMs: 300 }) });
    const impatient = new AbortController();
    const first = servers.connect([{ name: "s" }], { owner: "a1" }, impatient.signal);
    const second = connect(servers, "s");
    impatient.abort();
    expect((await first).problems).toEqual(['The MCP server "s" could not be started: starting it was cancelled.']);
    expect((await second).tools).toHaveLength(8);
    await (await second).release();
    expect(servers.processes()).toBe(0);
  });

  it("leaves nothing behind when the only waiter stops waiting, or when everything is closed", async () => {
    const servers = make({ s: program.config({ silent: true }) });
    const impatient = new AbortController();
    const first = servers.connect([{ name: "s" }], { owner: "a1" }, impatient.signal);
    impatient.abort();
    await first;
    expect(servers.processes()).toBe(0);
    const second = connect(servers, "s");
    await servers.close();
    expect((await second).tools).toEqual([]);
    expect(servers.processes()).toBe(0);
    expect((await connect(servers, "s")).problems).toEqual([
      'The MCP server "s" can\'t be used: the session is ending.',
    ]);
  });

  it("handles tools with unusual declarations", async () => {
    const connection = await connect(make({ s: program.config({ oddTools: true }) }), "s");
    const { tools } = connection;
    const odd = tools
      .map(({ declaration }) => declaration)
      .filter(({ name }) => !/__(big|co|echo|env|fail|pro|where)/.test(name));
    expect(odd.map(({ name }) => name)).toEqual([
      "mcp__s__choice",
      "mcp__s__members",
      expect.stringMatching(/^mcp__s__n{40,}_[0-9a-f]{8}$/),
      "mcp__s__no_schema_at_all",
      expect.stringMatching(/^mcp__s__no_schema_at_all_[0-9a-f]{8}$/),
      "mcp__s__pattern",
    ]);
    for (const { name, inputSchema, description } of odd) {
      expect(name.length).toBeLessThanOrEqual(64);
      expect(inputSchema["type"]).toBe("object");
      expect(inputSchema["anyOf"]).toBeUndefined();
      expect(description.length).toBeLessThanOrEqual(2_048);
    }
    expect(odd[1]?.inputSchema).toMatchObject({ properties: { _top: { type: "string" } }, required: ["_top"] });
    const input = { _top: "3", more: true };
    expect(textOfOutput(await runTool(connection, "mcp__s__members", { input }))).toBe('{"$top":"3","more":true}');
  });
});
