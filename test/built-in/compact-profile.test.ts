import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession } from "../../src/app/index.ts";
import type { EventOf } from "../../src/protocol/index.ts";
import { createCast } from "../../src/testing/index.ts";

const custom = "---\nname: poet\ndescription: Writes verse. Use when asked.\n---\nYou rhyme.\n";

/** Starts one subagent of each type, in one session with `"profile": "compact"`. */
async function start(types: readonly string[]) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-compact-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const [cwd, agents] = [join(root, "work"), join(root, ".agents/agents")];
  for (const directory of [cwd, agents]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(agents, "poet.md"), custom);
  const call = (type: string) => ({
    name: "Task",
    input: { description: "work", prompt: `CHILD ${type}: work`, subagent_type: type },
  });
  const cast = createCast({
    MAIN: [{ calls: types.map(call) }, { text: "Done." }],
    CHILD: types.map(() => ({ text: "Did." })),
  });
  const tools = new Map<string, readonly string[]>();
  const model: typeof cast = {
    ...cast,
    call: (request, emit) => {
      const [first] = request.prompt.messages();
      const [, type] = /CHILD (\S+):/.exec(JSON.stringify(first)) ?? [];
      if (type !== undefined) tools.set(type, request.prompt.head.tools.map(({ name }) => name).sort());
      return cast.call(request, emit);
    },
  };
  const environment = { HOME: root, PATH: process.env["PATH"] ?? "" };
  const settings = { profile: "compact" } as const;
  const session = await openSession({ trusted: false, cwd, home: join(root, "state"), environment, settings, model });
  onTestFinished(() => session.close());
  const run = session.prompt("MAIN: go.");
  const started = new Map<string, EventOf<"run.started">>();
  for await (const update of run) {
    if (update.type !== "subagent.event" || update.event.type !== "run.started") continue;
    started.set(update.event.agentType, update.event);
  }
  return { session, tools, started };
}

describe("the compact profile", () => {
  it("has two built-in agents with tight limits, and applies limits to all others", async () => {
    const { session, tools, started } = await start(["explore", "general-purpose", "poet"]);
    expect(session.agents).toEqual(["explore", "general", "poet"]);
    expect(tools.get("explore")).toEqual(["Glob", "Grep", "LS", "Read", "WebFetch"]);
    expect(tools.get("general-purpose")).toEqual(expect.arrayContaining(["Bash", "Edit", "Read", "Write"]));
    const turns = [...started].map(([name, { maxTurns }]) => [name, maxTurns]);
    expect(Object.fromEntries(turns)).toEqual({ explore: 15, general: 20, poet: 10 });
  });
});
