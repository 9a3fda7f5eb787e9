import { execFileSync } from "node:child_process";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionOptions } from "../../src/app/index.ts";
import { newPlace, open, type Parts, resultsIn, task } from "./delegation-place.ts";

function stockServer(): McpServer {
  const server = new McpServer({ name: "stock", version: "1" }, { instructions: "Ask for one product at a time." });
  server.registerTool(
    "count",
    { description: "Counts pieces.", inputSchema: z.object({ product: z.string() }) },
    async ({ product }) => ({ content: [{ type: "text", text: `${product}: 7` }] }),
  );
  return server;
}

const count = { name: "mcp__stock__count", input: { product: "pear" } };

async function play(parts: Parts, options: SessionOptions & { at?: ReturnType<typeof newPlace> }) {
  const { session, model } = await open(parts, { allowedTools: ["mcp__stock__*"], ...options });
  const result = await session.prompt("MAIN: count.").result;
  await session.close();
  model.assertDone();
  return { session, model, result };
}

describe("an MCP server in the program", () => {
  it("offers its tools to the main agent and to subagents", async () => {
    const server = stockServer();
    const { session, model } = await play(
      {
        MAIN: [{ calls: [count] }, { calls: [task("CHILD: count")] }, { text: "14." }],
        CHILD: [{ calls: [count] }, { text: "7." }],
      },
      { mcpServers: { stock: { server } } },
    );
    expect(session.mcpServers).toEqual([{ name: "stock", status: "connected" }]);
    expect(session.notices).toEqual([]);
    expect(resultsIn(model.requests("MAIN")[1])).toEqual(["pear: 7"]);
    expect(resultsIn(model.requests("CHILD")[1])).toEqual(["pear: 7"]);
    // The server can be used again after the session.
    const again = await play({ MAIN: [{ text: "Hi." }] }, { mcpServers: { stock: { server } } });
    expect(again.session.tools).toContain("mcp__stock__count");
  });

  it("is shared with agents in worktrees", async () => {
    const at = newPlace();
    const git = (...args: string[]) => execFileSync("git", args, { cwd: at.cwd, stdio: "pipe" });
    git("init", "-q", "-b", "main", "--template=");
    git("add", ".");
    git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "first");
    const { model } = await play(
      {
        MAIN: [{ calls: [task("CHILD: count", { isolation: "worktree" })] }, { text: "7." }],
        CHILD: [{ calls: [count] }, { text: "7." }],
      },
      { at, mcpServers: { stock: { server: stockServer() } } },
    );
    expect(resultsIn(model.requests("CHILD")[1])).toEqual(["pear: 7"]);
  });

  it("is reported if it can't be connected", async () => {
    const server = { connect: async () => Promise.reject(new Error("no database")) };
    const { session } = await play({ MAIN: [{ text: "Hi." }] }, { mcpServers: { stock: { server } } });
    expect(session.notices).toEqual(['The MCP server "stock" could not be started: no database.']);
  });

  it("replaces a server with the same name in the settings", async () => {
    const { session } = await play(
      { MAIN: [{ text: "Hi." }] },
      { settings: { mcpServers: { stock: { command: "missing" } } }, mcpServers: { stock: { server: stockServer() } } },
    );
    expect(session.mcpServers).toEqual([{ name: "stock", status: "connected" }]);
  });
});
