import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type BuiltServer, buildMcpServer } from "../testing/mcp-server/build-server.test-support.ts";
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

async function connect(
  behavior: Parameters<BuiltServer["config"]>[0],
  limits: Parameters<typeof createTestServers>[1] = {},
) {
  const servers = createTestServers({ s: program.config(behavior) }, limits);
  made.push(servers);
  return { servers, connection: await servers.connect([{ name: "s" }], { owner: "main" }, neverAborted) };
}

describe("an MCP server that misbehaves", () => {
  it("fails all calls in progress with the reason if it crashes, and is restarted for the next call", async () => {
    const { connection, servers } = await connect({ hangAtCall: 2, crashAtCall: 3, leavesChild: true });
    expect(textOfOutput(await runTool(connection, "mcp__s__count"))).toBe("1");
    const hanging = runTool(connection, "mcp__s__count");
    for (const lost of [await runTool(connection, "mcp__s__count"), await hanging]) {
      expect(lost.isError).toBe(true);
      expect(textOfOutput(lost)).toMatch(/was lost during the call: it exited with code 7 after .*this is a crash/s);
    }
    const again = await runTool(connection, "mcp__s__count");
    expect(again.isError).toBeUndefined();
    expect(textOfOutput(again)).toMatch(/^\[The MCP server "s" had stopped \(it exited with code 7/);
    expect(textOfOutput(again)).toMatch(/was restarted. Its in-memory state is lost\.\]\n1$/);
    await connection.release();
    expect(servers.processes()).toBe(0);
  });

  it("is not restarted if it dies again without a response", async () => {
    const { connection } = await connect({ crashAtCall: 1 });
    expect(textOfOutput(await runTool(connection, "mcp__s__count"))).toContain("was lost during the call");
    expect(textOfOutput(await runTool(connection, "mcp__s__count"))).toMatch(/restarted.*was lost during the call/s);
    for (let count = 0; count < 2; count++) {
      const after = await runTool(connection, "mcp__s__count");
      expect(after.isError).toBe(true);
      expect(textOfOutput(after)).toMatch(
        /is not running, and restarting it did not help.*Continue without its tools\./s,
      );
    }
  });

  it("keeps running if a call exceeds its time limit, and the error names the limit", async () => {
    const { connection } = await connect({ hangAtCall: 1 }, { limits: { callMs: 1_000 } });
    const hung = await runTool(connection, "mcp__s__count");
    expect(hung.isError).toBe(true);
    expect(textOfOutput(hung)).toContain("did not respond within 1.0 s");
    expect(textOfOutput(await runTool(connection, "mcp__s__count"))).toBe("2");
  });

  it("does not hold up a call that is cancelled", async () => {
    const { connection } = await connect({ hangAtCall: 1 });
    const impatient = new AbortController();
    const hung = runTool(connection, "mcp__s__count", { signal: impatient.signal });
    impatient.abort();
    expect(textOfOutput(await hung)).toContain("was cancelled");
  });

  it("may write invalid lines, which are counted", async () => {
    const { connection } = await connect({ junkLines: 3 });
    // The junk comes before the answer to initialize and before each of the three pages of tools.
    expect(connection.problems).toEqual([
      expect.stringContaining('"s" wrote text other than MCP messages to standard output (12 lines)'),
    ]);
    expect(textOfOutput(await runTool(connection, "mcp__s__count"))).toBe("1");
    expect(connection.problems).toEqual([expect.stringContaining("(15 lines)")]);
  });

  it("may send 50 MB at once, but no more than the message limit", async () => {
    const { connection } = await connect({});
    const bytes = 50 * 1024 * 1024;
    expect(textOfOutput(await runTool(connection, "mcp__s__big", { input: { bytes } }))).toHaveLength(bytes);
    const { connection: strict } = await connect({}, { limits: { maxMessageBytes: 100_000 } });
    const flood = await runTool(strict, "mcp__s__big", { input: { bytes: 1_000_000 } });
    expect(flood.isError).toBe(true);
    expect(textOfOutput(flood)).toContain("it sent a message larger than 97.7 KB and was stopped");
    expect(textOfOutput(await runTool(strict, "mcp__s__big", { input: { bytes: 9 } }))).toMatch(/restarted.*\nx{9}$/s);
  });

  it("may remove tools: a connected agent keeps its list, and a new one gets the current tools", async () => {
    const { connection, servers } = await connect({ changeToolsAtCall: 1 });
    const before = connection.tools.map(({ declaration }) => declaration.name);
    await runTool(connection, "mcp__s__count");
    const gone = await runTool(connection, "mcp__s__echo", { input: { text: "x" } });
    expect(gone).toEqual({ content: 'The MCP server "s" no longer has the tool "echo".', isError: true });
    expect(connection.tools.map(({ declaration }) => declaration.name)).toEqual(before);
    const later = await servers.connect([{ name: "s" }], { owner: "a1" }, neverAborted);
    expect(later.tools.map(({ declaration }) => declaration.name)).toContain("mcp__s__other");
    expect(later.tools.map(({ declaration }) => declaration.name)).not.toContain("mcp__s__echo");
  });

  it("gets time to start in addition to the call limit if a call has to restart it", async () => {
    const { connection } = await connect({ crashAtCall: 1 }, { limits: { startMs: 9_000, callMs: 4_000 } });
    const [tool] = connection.tools;
    expect(tool?.timeoutMs?.({})).toBe(4_000);
    await runTool(connection, "mcp__s__count");
    expect(tool?.timeoutMs?.({})).toBe(13_000);
  });

  it("leaves no processes behind, even if it is started many times in a row", async () => {
    const servers = createTestServers({});
    made.push(servers);
    for (let count = 0; count < 10; count++) {
      const uses = [{ name: "own", config: program.config({ leavesChild: count % 5 === 0 }) }];
      const connection = await servers.connect(uses, { owner: "a1" }, neverAborted);
      expect(textOfOutput(await runTool(connection, "mcp__own__count"))).toBe("1");
      await connection.release();
    }
    expect(servers.processes()).toBe(0);
  });
});
