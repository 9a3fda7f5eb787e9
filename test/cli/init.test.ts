import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { buildMcpServer } from "../../src/testing/mcp-server/build-server.test-support.ts";
import { createPlace, jsonLines, type Place, retinue, serve } from "./command-line.ts";

async function initOf(place: Place, words: readonly string[] = []): Promise<Record<string, unknown>> {
  const server = await serve(() => ({ content: "Hello." }));
  const run = await retinue(["-p", "Hello", "--output-format", "stream-json", ...words], { ...place, server });
  expect(run.code).toBe(0);
  return jsonLines(run)[0] ?? {};
}

describe("the first line of a stream", () => {
  it("lists the agents that can be delegated to, without those that rules deny", async () => {
    const { agents } = await initOf(createPlace(), ["--disallowed-tools", "Task(Plan)"]);
    expect(agents).toContain("Explore");
    expect(agents).toContain("general-purpose");
    expect(agents).not.toContain("Plan");
  });

  it("lists no agents if there is no tool to delegate with", async () => {
    expect(await initOf(createPlace(), ["--disallowed-tools", "Task"])).toMatchObject({ agents: [] });
    expect(await initOf(createPlace(), ["--agent", "Explore"])).toMatchObject({ agents: [] });
  });

  it("lists the MCP servers, including those that did not start", async () => {
    const place = createPlace();
    const built = buildMcpServer();
    onTestFinished(() => built.remove());
    const mcpServers = { good: built.config(), bad: { command: "there-is-no-such-program" } };
    mkdirSync(place.home);
    writeFileSync(join(place.home, "settings.json"), JSON.stringify({ mcpServers }));
    expect(await initOf(place)).toMatchObject({
      mcp_servers: [
        { name: "good", status: "connected" },
        { name: "bad", status: "failed" },
      ],
    });
  });
});
