import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import type { Line } from "../../src/protocol/index.ts";
import { createApiServer, type Script } from "../../src/testing/index.ts";
import { startCommandLine } from "../reliability/command-line.ts";
import { createPlace, type Place, readTranscript, sessionIdOf, transcriptPath } from "../reliability/place.ts";

const places: Place[] = [];
afterAll(() => {
  for (const place of places) place.remove();
});

/**
 * An agent that does not exist until its MCP server has started. The first time, the server never finishes starting.
 */
const agents = JSON.stringify({
  served: {
    description: "Has a server. Use when something must be served.",
    prompt: "Serve.",
    mcpServers: {
      slow: { command: "sh", args: ["-c", "if [ -e begun ]; then exit 1; fi; touch begun; exec sleep 60"] },
    },
  },
});

const script = (more: Record<string, unknown>): Script => ({
  conversations: [
    {
      match: { firstUserContains: "MAIN:" },
      steps: [
        { reply: { content: [{ tool: "Task", input: { description: "serve", prompt: "CHILD: serve", ...more } }] } },
        { reply: { content: "All is served." } },
        { reply: { content: "Told." } },
      ],
    },
    { match: { firstUserContains: "CHILD:" }, steps: [{ reply: { content: "Served." } }] },
  ],
});

interface Life {
  readonly transcript: readonly Line[];
  readonly code: number | null;
}

/** Kills the process between `tool.started` and `agent.spawned`, then resumes the session and runs it to the end. */
async function killBeforeSpawn(more: Record<string, unknown>): Promise<Life> {
  const place = createPlace();
  places.push(place);
  const server = await createApiServer({ script: script({ subagent_type: "served", ...more }) });
  try {
    const live = (...words: string[]) =>
      startCommandLine({ place, url: server.url, args: ["-p", ...words, "--agents", agents] });
    const first = live("MAIN: go");
    while (!existsSync(join(place.cwd, "begun")) && first.child.exitCode === null) await wait(5);
    first.child.kill("SIGKILL");
    await first.ended;
    const path = transcriptPath(place) ?? "";
    expect(readTranscript(path).at(-1)?.type).toBe("tool.started");
    const { code } = await live("--resume", sessionIdOf(path)).ended;
    return { transcript: readTranscript(path), code };
  } finally {
    await server.close();
  }
}

const of = <Type extends Line["type"]>(lines: readonly Line[], type: Type): Extract<Line, { type: Type }>[] =>
  lines.filter((line): line is Extract<Line, { type: Type }> => line.type === type);

describe("a session killed after a delegation began and before the agent existed", () => {
  it("creates the agent when it is resumed, and no outcome is reported as unknown", async () => {
    const { transcript, code } = await killBeforeSpawn({});
    expect(code).toBe(0);
    expect(of(transcript, "tool.started")).toHaveLength(1);
    expect(of(transcript, "agent.spawned")).toHaveLength(1);
    const [ended, ...others] = of(transcript, "tool.ended");
    expect(others).toEqual([]);
    expect(ended?.result.outcome).toBe("ok");
    expect(JSON.stringify(ended?.result.content)).toContain("Served.");
  });

  it("starts the agent in the background if that was requested", async () => {
    const { transcript, code } = await killBeforeSpawn({ run_in_background: true });
    expect(code).toBe(0);
    expect(of(transcript, "tool.ended")).toMatchObject([{ result: { outcome: "ok", facts: { launched: {} } } }]);
    const [told, ...others] = of(transcript, "notices.delivered");
    expect(others).toEqual([]);
    expect(told?.text).toContain("Served.");
  });
});
