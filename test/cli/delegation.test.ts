import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../../src/testing/index.ts";
import {
  createPlaceWithSettings,
  ended,
  jsonLines,
  type Place,
  resultOf,
  retinue,
  serve,
  startRetinue,
} from "./command-line.ts";

const hang = { kind: "hang" } as const;
const bash = { tool: "Bash", input: { command: "touch made" } };
const task = (prompt: string, more: Record<string, unknown> = {}) => ({
  tool: "Task",
  input: { description: "read the notes", prompt, subagent_type: "general-purpose", ...more },
});

/** Returns a script with one conversation for each agent, recognized by the first word of its prompt. */
function cast(
  parts: Readonly<Record<string, Extract<Script, { conversations: unknown }>["conversations"][0]["steps"]>>,
) {
  return {
    conversations: Object.entries(parts).map(([name, steps]) => ({ match: { firstUserContains: `${name}:` }, steps })),
  };
}

const reading = cast({
  MAIN: [
    { reply: { content: [task("CHILD: read notes.txt")], usage: { inputTokens: 100, outputTokens: 10 } } },
    { reply: { content: "It says alpha.", usage: { inputTokens: 200, outputTokens: 10 } } },
  ],
  CHILD: [
    { reply: { content: ["I read.", { tool: "Read", input: { file_path: "notes.txt" } }] } },
    { reply: { content: [bash] } },
    { reply: { content: "alpha" } },
  ],
});

function placeWithNotes(): Place {
  const place = createPlaceWithSettings();
  writeFileSync(join(place.cwd, "notes.txt"), "alpha\n");
  return place;
}

interface AgentObject {
  readonly id: string;
  readonly costUsd: number;
  readonly [key: string]: unknown;
}

function agentsOf(run: Parameters<typeof resultOf>[0]): readonly AgentObject[] {
  return (resultOf(run) as unknown as { agents: readonly AgentObject[] }).agents;
}

describe("a run with subagents", () => {
  it("lists the subagents in its result with their usage, and adds up the cost", async () => {
    const server = await serve(reading);
    const run = await retinue(["-p", "MAIN: go", "--output-format", "json"], { ...placeWithNotes(), server });
    expect(run.code).toBe(0);
    const [agent, ...others] = agentsOf(run);
    expect(others).toEqual([]);
    expect(agent).toMatchObject({
      id: expect.stringMatching(/^a[0-9a-z]{12}$/),
      type: "general-purpose",
      description: "read the notes",
      parent: "main",
      background: false,
      outcome: "succeeded",
      reason: "done",
      turns: 3,
      toolCalls: 2,
      usage: { input_tokens: expect.any(Number) },
      denied: [{ tool: "Bash", reason: expect.stringMatching(/\S/) }],
    });
    const { total_cost_usd: total, usage } = resultOf(run) as unknown as { total_cost_usd: number; usage: unknown };
    expect(usage).toMatchObject({ input_tokens: 300 });
    expect(agent?.costUsd).toBeGreaterThan(0);
    expect(total).toBeGreaterThan(agent?.costUsd ?? 0);
  });

  it("streams the subagents' steps with the calls that started them, and their text only if requested", async () => {
    const words = ["-p", "MAIN: go", "--output-format", "stream-json"];
    const run = await retinue(words, { ...placeWithNotes(), server: await serve(reading) });
    const lines = jsonLines(run);
    const told = lines.map(({ type, subtype, parent_tool_use_id: parent }) => {
      return `${parent ? "> " : ""}${subtype ? `${type}/${subtype}` : type}`;
    });
    expect(told).toEqual([
      "system/init",
      "assistant",
      "system/task_started",
      "> assistant",
      "> user",
      "system/task_progress",
      "> assistant",
      "system/permission_denied",
      "> user",
      "system/task_progress",
      "system/task_updated",
      "system/task_notification",
      "user",
      "assistant",
      "result/success",
    ]);
    const { content } = (lines[1] as { message: { content: { type: string; id: string }[] } }).message;
    const call = content.find(({ type }) => type === "tool_use")?.id;
    const inside = lines.filter((line) => typeof line["parent_tool_use_id"] === "string");
    expect(new Set(inside.map((line) => line["parent_tool_use_id"]))).toEqual(new Set([call]));
    expect(JSON.stringify(inside)).not.toContain("I read.");
    const [id] = agentsOf(run).map((agent) => agent.id);
    const of = (subtype: string) => lines.find((line) => line["subtype"] === subtype);
    expect(of("task_started")).toMatchObject({
      task_id: id,
      tool_use_id: call,
      description: "read the notes",
      task_type: "local_agent",
      is_backgrounded: false,
      spawn_depth: 1,
    });
    expect(of("permission_denied")).toMatchObject({ agent_id: id, tool_name: "Bash" });
    expect(of("task_progress")).toMatchObject({ task_id: id, usage: { tool_uses: 1 } });
    expect(of("task_updated")).toMatchObject({
      task_id: id,
      patch: { status: "completed", end_time: expect.any(Number) },
    });
    expect(of("task_notification")).toMatchObject({ task_id: id, status: "completed", usage: { tool_uses: 2 } });

    const whole = await retinue([...words, "--forward-subagent-text"], {
      ...placeWithNotes(),
      server: await serve(reading),
    });
    const said = jsonLines(whole).filter((line) => typeof line["parent_tool_use_id"] === "string");
    expect(JSON.stringify(said)).toContain("I read.");
  });

  it("results in exit code 3 if a limit cut a subagent, and names the subagent", async () => {
    const server = await serve(
      cast({
        MAIN: [{ reply: { content: [task("CHILD: read", { max_turns: 1 })] } }, { reply: { content: "Half." } }],
        CHILD: [{ reply: { content: [{ tool: "Read", input: { file_path: "notes.txt" } }] }, times: "always" }],
      }),
    );
    const run = await retinue(["-p", "MAIN: go", "--output-format", "json"], { ...placeWithNotes(), server });
    expect(run.code).toBe(3);
    expect(resultOf(run)).toMatchObject({ outcome: "succeeded" });
    expect(agentsOf(run)).toEqual([expect.objectContaining({ outcome: "incomplete", reason: "max_turns" })]);
    expect(run.stderr).toContain("was cut short after 1 turn: it reached its turn limit.");
  });

  it("reports how each agent ended only with --verbose", async () => {
    const quiet = await retinue(["-p", "MAIN: go"], { ...placeWithNotes(), server: await serve(reading) });
    expect(quiet).toMatchObject({ code: 0, stdout: "It says alpha.\n" });
    // Standard error contains only the denial, because no approver is available.
    expect(quiet.stderr).toMatch(
      /^retinue: Bash touch made was denied: no approver is available\. .*--on-ask wait\.\n$/,
    );
    const loud = await retinue(["-p", "MAIN: go", "--verbose"], { ...placeWithNotes(), server: await serve(reading) });
    expect(loud.stderr).toMatch(/^ {2}✓ general-purpose read the notes · succeeded · 2 calls/m);
  });
});

describe("limits that include subagents", () => {
  it.each([
    ["--max-tokens", "3000"],
    ["--max-cost", "0.0001"],
  ])("such as %s end the run as incomplete", async (...limit) => {
    const server = await serve(() => ({ content: [{ tool: "Read", input: { file_path: "notes.txt" } }] }));
    const run = await retinue(["-p", "MAIN: go", "--output-format", "json", ...limit], { ...placeWithNotes(), server });
    expect(run.code).toBe(3);
    expect(resultOf(run)).toMatchObject({ outcome: "incomplete", reason: "budget", subtype: "error_max_budget_usd" });
  });

  it("include --max-spawns, which prevents the run from starting more agents", async () => {
    const server = await serve(
      cast({
        MAIN: [{ reply: { content: [task("CHILD: a"), task("CHILD: b")] } }, { reply: { content: "One." } }],
        CHILD: [{ reply: { content: "alpha" }, times: "always" }],
      }),
    );
    const words = ["-p", "MAIN: go", "--output-format", "json", "--max-spawns", "1"];
    const run = await retinue(words, { ...placeWithNotes(), server });
    expect(agentsOf(run)).toHaveLength(1);
  });
});

describe("Ctrl+C with agents", () => {
  it("stops foreground and background agents, and lists them", async () => {
    const place = placeWithNotes();
    const server = await serve(
      cast({
        MAIN: [{ reply: { content: [task("ONE: wait"), task("TWO: wait", { run_in_background: true })] } }],
        ONE: [{ reply: { content: "never", fault: hang }, times: "always" }],
        TWO: [{ reply: { content: "never", fault: hang }, times: "always" }],
      }),
    );
    const child = startRetinue(["-p", "MAIN: go", "--output-format", "stream-json"], { ...place, server });
    child.stdin.end();
    const end = ended(child);
    await server.waitForRequest(3);
    child.kill("SIGINT");
    const run = await end;
    expect(run.code).toBe(130);
    expect(resultOf(run)).toMatchObject({ outcome: "stopped", reason: "interrupted" });
    expect(agentsOf(run).map(({ outcome }) => outcome)).toEqual(["stopped", "stopped"]);
    expect(jsonLines(run).filter(({ subtype }) => subtype === "task_notification")).toEqual([
      expect.objectContaining({ status: "stopped", output_file: "" }),
      expect.objectContaining({ status: "stopped", output_file: expect.stringMatching(/\.output$/) }),
    ]);
    expect(run.stderr).toContain(
      "Interrupting the main agent and 1 agent that it is waiting for; 1 agent in the background ends with the program.",
    );
    expect(run.stderr).toContain("2 agents stopped together with the main agent.");
    expect(run.stderr).toContain("Nothing is left running.");
  });
});

describe("retinue sessions with subagents", () => {
  it("shows the tree of agents, shows and exports one of them, and deletes all with their session", async () => {
    const place = placeWithNotes();
    const run = await retinue(["-p", "MAIN: go", "--output-format", "json"], {
      ...place,
      server: await serve(reading),
    });
    const { session_id: session } = resultOf(run);
    const [agent] = agentsOf(run);
    const id = agent?.id ?? "";

    const show = await retinue(["sessions", "show", session], place);
    expect(show.stdout).toContain(`→ general-purpose ${id} · read the notes`);
    expect(show.stdout).toMatch(
      new RegExp(`Agents\\n {2}✓ general-purpose ${id} · read the notes · succeeded · 3 turns · [\\d,]+ tokens · \\$`),
    );

    for (const words of [[`${session}/${id.slice(0, 6)}`], [session, "--agent", id]]) {
      const one = await retinue(["sessions", "show", ...words], place);
      expect(one.stdout).toContain("CHILD: read notes.txt");
      expect(one.stdout).toMatch(/• Read notes\.txt · ok/);
      expect(one.stdout).not.toContain("MAIN:");
    }
    const wrong = await retinue(["sessions", "show", `${session}/zzz`], place);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(id);

    const exported = jsonLines(await retinue(["sessions", "export", session.slice(0, 20)], place));
    expect(exported[0]).toMatchObject({ agent: "main", type: "session.created" });
    expect(exported.at(-1)).toMatchObject({ agent: id, type: "run.cleaned" });

    const [{ path } = { path: "" }] = JSON.parse(
      (await retinue(["sessions", "list", "--json"], place)).stdout,
    ) as readonly { path: string }[];
    const file = join(path.replace(/\.jsonl$/, ""), "subagents", `agent-${id}.jsonl`);
    expect(existsSync(file)).toBe(true);
    await retinue(["sessions", "delete", session, "--yes"], place);
    expect(existsSync(file)).toBe(false);
  });
});
