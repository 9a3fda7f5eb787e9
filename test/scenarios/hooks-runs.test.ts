import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject, Line, Settings } from "../../src/protocol/index.ts";
import type { ScriptedStep } from "../../src/testing/index.ts";
import {
  asAfterKill,
  lastWords,
  newPlace,
  open,
  type Place,
  read,
  task,
  transcriptsIn,
  walk,
} from "./delegation-place.ts";

const hooks = (entries: Record<string, readonly string[]>): Settings => ({
  hooks: Object.fromEntries(
    Object.entries(entries).map(([event, commands]) => [event, commands.map((command) => ({ command }))]),
  ) as JsonObject,
});
/** A hook command that appends its input as one line of JSON. */
const log = "cat >> told.jsonl";
const toldIn = ({ cwd }: Pick<Place, "cwd">): JsonObject[] => {
  const path = join(cwd, "told.jsonl");
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter(Boolean).map((line) => JSON.parse(line) as JsonObject);
};
const namesIn = (place: Pick<Place, "cwd">): unknown[] => toldIn(place).map((each) => each["hook_event_name"]);

const child = (...steps: readonly ScriptedStep[]) => ({
  MAIN: [{ calls: [task("CHILD: work")] }, { text: "Done." }],
  CHILD: steps,
});
const pair = hooks({ SubagentStart: [log], SubagentStop: [log] });

describe("hooks in settings", () => {
  it("see every agent's calls, and which agent made them", async () => {
    const walked = await walk(child({ calls: [read] }, { text: "Read." }), { settings: hooks({ PreToolUse: [log] }) });
    const [first, second] = toldIn(walked);
    expect(first).toMatchObject({
      tool_name: "Task",
      agent_id: "main",
      agent_type: "main",
      parent_agent_id: null,
      depth: 0,
    });
    expect(second).toMatchObject({
      tool_name: "Read",
      agent_type: "general-purpose",
      parent_agent_id: "main",
      depth: 1,
      session_id: walked.sessionId,
    });
    expect(existsSync(String(second?.["transcript_path"]))).toBe(true);
    expect(String(second?.["transcript_path"])).toContain(String(second?.["agent_id"]));
  });

  it("apply only to the session's main agent if they are Stop hooks", async () => {
    const walked = await walk(child({ text: "Done." }), { settings: hooks({ Stop: [log] }) });
    expect(toldIn(walked)).toMatchObject([{ hook_event_name: "Stop", agent_id: "main", stop_hook_active: false }]);
  });
});

describe("hooks in a definition", () => {
  const agents = {
    careful: {
      description: "Works carefully. Use it when care is needed.",
      prompt: "Be careful.",
      hooks: {
        PreToolUse: [{ matcher: "Read", hooks: [{ type: "command", command: "echo 'not by me' >&2; exit 2" }] }],
        Stop: [{ type: "command", command: log }],
      },
    },
  };

  it("apply to that agent and to no other", async () => {
    const walked = await walk(
      {
        MAIN: [
          { calls: [task("CAREFUL: work", { subagent_type: "careful" }), task("OTHER: work")] },
          { text: "Done." },
        ],
        CAREFUL: [{ calls: [read] }, { text: "I could not." }],
        OTHER: [{ calls: [read] }, { text: "I could." }],
      },
      { agents },
    );
    expect(lastWords(walked.model.requests("OTHER")[1])).not.toContain("not by me");
    const refused = walked.model.requests("CAREFUL")[1]?.at(-1);
    expect(JSON.stringify(refused)).toContain("not by me");
    expect(toldIn(walked)).toMatchObject([{ hook_event_name: "Stop", agent_type: "careful", depth: 1 }]);
  });

  it("also apply to the session's main agent, without a warning", async () => {
    const { session } = await open({ MAIN: [{ calls: [read] }, { text: "No." }] }, { agents, agent: "careful" });
    const run = session.prompt("MAIN: do it.");
    const { facts } = await run.result;
    await session.close();
    expect(facts.denied).toMatchObject([{ tool: "Read" }]);
    expect(session.notices.join("\n")).not.toContain("hooks");
    expect(namesIn(session)).toEqual(["Stop"]);
  });
});

describe("a Stop hook", () => {
  it("keeps the agent running and gives it the hook's reason", async () => {
    const command = `grep -q '"stop_hook_active":false' && { echo 'tests fail' >&2; exit 2; }; exit 0`;
    const walked = await walk(
      { MAIN: [{ text: "Done." }, { text: "Now done." }] },
      { settings: hooks({ Stop: [command] }) },
    );
    walked.model.assertDone();
    expect(lastWords(walked.model.requests("MAIN")[1])).toContain("tests fail");
    expect(walked.result).toMatchObject({ outcome: "succeeded", text: "Now done." });
  });

  it("can't keep the agent running forever", async () => {
    const steps = Array.from({ length: 9 }, (_, index) => ({ text: `Done ${index}.` }));
    const walked = await walk({ MAIN: steps }, { settings: hooks({ Stop: ["exit 2"] }) });
    walked.model.assertDone();
    expect(walked.result).toMatchObject({ outcome: "succeeded", text: "Done 8." });
    expect(walked.updates).toContainEqual(
      expect.objectContaining({ type: "notice.raised", message: expect.stringContaining("8 times") }),
    );
  });

  it("lets the agent end if it only returns text, which is not delivered later", async () => {
    const command = `echo '{"hookSpecificOutput": {"additionalContext": "well done"}}'`;
    const walked = await walk({ MAIN: [{ text: "Done." }] }, { settings: hooks({ Stop: [command] }) });
    walked.model.assertDone();
    expect(walked.result).toMatchObject({ outcome: "succeeded", turns: 1 });
  });

  it("lets the agent end if the hook fails", async () => {
    const walked = await walk({ MAIN: [{ text: "Done." }] }, { settings: hooks({ Stop: ["exit 1"] }) });
    expect(walked.result.outcome).toBe("succeeded");
  });
});

describe("a Stop hook in a definition", () => {
  const agents = {
    careful: {
      description: "Works carefully. Use it when care is needed.",
      prompt: "Be careful.",
      hooks: { Stop: [{ type: "command", command: `${log}; echo 'not yet' >&2; exit 2` }] },
    },
  };
  const careful = (more: Record<string, unknown> = {}) => task("CHILD: work", { subagent_type: "careful", ...more });

  it.each([
    ["a model failure", { error: { code: "server", message: "Down." } }, "model_error"],
    ["its turn limit", { calls: [read] }, "max_turns"],
  ] as const)("runs if the run ends because of %s, and can't continue the run", async (_, step, reason) => {
    const parts = {
      MAIN: [{ calls: [careful({ max_turns: 1 })] }, { text: "Done." }],
      CHILD: [step as ScriptedStep],
    };
    const walked = await walk(parts, { agents });
    expect(toldIn(walked)).toMatchObject([{ hook_event_name: "Stop", reason, agent_type: "careful" }]);
    const [lines = []] = transcriptsIn(walked, walked.sessionId).values();
    expect(lines).toContainEqual(expect.objectContaining({ type: "hooks.ran", event: "Stop", decision: "deny" }));
    expect(lines).toContainEqual(
      expect.objectContaining({ type: "notice.raised", message: expect.stringMatching(/had ended \(.*not yet/) }),
    );
    expect(lines.filter(({ type }) => type === "run.ended")).toHaveLength(1);
  });

  it("runs after a run was interrupted or stopped", async () => {
    for (const cause of ["interrupted", "stopped"] as const) {
      const { session, ...at } = await open(
        { MAIN: [{ calls: [careful()] }], CHILD: [{ calls: [read] }, { hangs: true }] },
        { agents },
      );
      const run = session.prompt("MAIN: do it.");
      for await (const update of run) {
        if (update.type !== "subagent.event" || update.event.type !== "model.ended") continue;
        if (cause === "interrupted") run.stop(cause);
        else await session.subagents.stop(update.agentId);
        if (cause === "stopped") run.stop("interrupted");
      }
      await session.close();
      expect(toldIn(at)).toMatchObject([{ hook_event_name: "Stop", reason: cause, outcome: "stopped" }]);
    }
  });

  it("runs again with the reason max_turns if it continued an agent that has no turns left", async () => {
    const parts = { MAIN: [{ calls: [careful({ max_turns: 1 })] }, { text: "Done." }], CHILD: [{ text: "Ready." }] };
    const walked = await walk(parts, { agents });
    expect(toldIn(walked).map(({ reason }) => reason)).toEqual(["done", "max_turns"]);
  });

  it("does not run for a rejected prompt, because no run began", async () => {
    const settings = hooks({ UserPromptSubmit: [`echo '{"decision":"block"}'`], Stop: [log] });
    const walked = await walk({ MAIN: [] }, { settings });
    expect(walked.result.reason).toBe("refused");
    expect(toldIn(walked)).toEqual([]);
  });
});

describe("SubagentStart and SubagentStop hooks", () => {
  const reasonsIn = (place: Place): unknown[] => toldIn(place).map((each) => each["reason"]);

  it("run once each, with the same run id, and the second one gets the outcome", async () => {
    const walked = await walk(child({ text: "Report." }), { settings: pair });
    const [start, stop, ...more] = toldIn(walked);
    expect(more).toEqual([]);
    expect(start).toMatchObject({ hook_event_name: "SubagentStart", agent_type: "general-purpose", depth: 1 });
    expect(stop).toMatchObject({
      hook_event_name: "SubagentStop",
      run_id: start?.["run_id"],
      agent_id: start?.["agent_id"],
      outcome: "succeeded",
      reason: "done",
      last_assistant_message: "Report.",
    });
    const path = String(stop?.["agent_transcript_path"]);
    expect(path).toMatch(new RegExp(`/subagents/agent-${stop?.["agent_id"]}\\.jsonl$`));
    expect(readFileSync(path, "utf8")).toContain("Report.");
    expect(stop?.["transcript_path"]).toBe(path);
    expect(start).not.toHaveProperty("agent_transcript_path");
  });

  it.each([
    ["a model failure", { error: { code: "server", message: "Down." } }, "model_error"],
    ["its turn limit", { calls: [read] }, "max_turns"],
  ] as const)("run if the agent ends because of %s", async (_, step, reason) => {
    const parts = {
      MAIN: [{ calls: [task("CHILD: work", { max_turns: 1 })] }, { text: "Done." }],
      CHILD: [step as ScriptedStep],
    };
    expect(reasonsIn(await walk(parts, { settings: pair }))).toEqual([undefined, reason]);
  });

  it("run if the agent is stopped, even during a hook before a call", async () => {
    for (const settings of [
      pair,
      { hooks: { ...pair.hooks, PreToolUse: [{ matcher: "Read", command: "sleep 60" }] } },
    ]) {
      const { session, ...at } = await open(child({ calls: [read] }, { hangs: true }), {
        settings: settings as Settings,
      });
      const run = session.prompt("MAIN: do it.");
      for await (const update of run) {
        const type = update.type === "subagent.event" ? update.event.type : undefined;
        if (type === "model.ended") run.stop("interrupted");
      }
      await session.close();
      expect(reasonsIn(at)).toEqual([undefined, "interrupted"]);
    }
  });

  it("run for each of several agents, and for a background agent", async () => {
    const walked = await walk(
      {
        MAIN: [
          { calls: [task("ONE: work"), task("TWO: work", { run_in_background: true })] },
          { text: "Waiting." },
          { text: "Done." },
        ],
        ONE: [{ text: "one" }],
        TWO: [{ text: "two" }],
      },
      { settings: pair },
    );
    const told = toldIn(walked);
    const runs = (name: string) =>
      told
        .filter((each) => each["hook_event_name"] === name)
        .map((each) => each["run_id"])
        .toSorted();
    expect(runs("SubagentStart")).toHaveLength(2);
    expect(runs("SubagentStop")).toEqual(runs("SubagentStart"));
  });

  it("run again when the agent is resumed", async () => {
    const id = (words: string): string => / id=\\?"(a\w+)/.exec(words)?.[1] ?? "";
    const walked = await walk(
      {
        MAIN: [
          { calls: [task("CHILD: work")] },
          (messages) => ({ calls: [task("more", { resume: id(JSON.stringify(messages)) })] }),
          { text: "Done." },
        ],
        CHILD: [{ text: "one" }, { text: "two" }],
      },
      { settings: pair },
    );
    walked.model.assertDone();
    expect(namesIn(walked)).toEqual(["SubagentStart", "SubagentStop", "SubagentStart", "SubagentStop"]);
    expect(new Set(toldIn(walked).map((each) => each["agent_id"])).size).toBe(1);
    expect(new Set(toldIn(walked).map((each) => each["run_id"])).size).toBe(2);
  });

  it("are selected by matchers for agent types", async () => {
    const settings = {
      hooks: {
        SubagentStart: [{ matcher: "Explore|db", command: log }],
        SubagentStop: [{ matcher: "general-.*", command: log }],
      },
    };
    expect(namesIn(await walk(child({ text: "Report." }), { settings }))).toEqual(["SubagentStop"]);
  });

  it("can add text for the agent", async () => {
    const walked = await walk(child({ text: "Report." }), {
      settings: hooks({ SubagentStart: ["echo 'mind the budget'"] }),
    });
    expect(JSON.stringify(walked.model.requests("CHILD")[0])).toContain("mind the budget");
  });

  // Settings can contain SubagentStart hooks, but definitions can't.
  const { SubagentStart: _, ...stopHooks } = pair.hooks as Record<string, unknown>;
  it.each([
    ["settings", { settings: pair }],
    [
      "its definition",
      { agents: { "general-purpose": { description: "Works.", prompt: "Work.", hooks: stopHooks as JsonObject } } },
    ],
  ])("run exactly once, in the next process, if the agent's process was killed: hooks from %s", async (_, given) => {
    const { session, ...at } = await open(child({ hangs: true }), given);
    const run = session.prompt("MAIN: do it.");
    const begun = (async () => {
      for await (const update of run)
        if (update.type === "subagent.event" && update.event.type === "model.requested") return;
    })();
    await begun;
    const left = asAfterKill(at);
    run.stop("interrupted");
    await session.close();
    // Hooks that the first process ran itself do not matter here.
    writeFileSync(join(at.cwd, "told.jsonl"), "");
    for (const expected of [["SubagentStop"], ["SubagentStop"]]) {
      const next = await open({}, { at: left, ...given, resume: session.id });
      await next.session.close();
      expect(namesIn(at)).toEqual(expected);
    }
    expect(reasonsIn(at)).toEqual(["process_lost"]);
    const [[, lines = []] = []] = transcriptsIn(left, session.id);
    const types = lines.map((line: Line) => (line.type === "hooks.started" ? `${line.type} ${line.event}` : line.type));
    const told = types.filter((type) => type !== "run.cleaned");
    expect(told.slice(-3)).toEqual(["run.ended", "hooks.started SubagentStop", "hooks.ran"]);
  });
});

describe("a session", () => {
  it("runs hooks for its start, its prompts and its end", async () => {
    const settings = hooks({ SessionStart: [log], UserPromptSubmit: [log], SessionEnd: [log] });
    const at = newPlace();
    const { session } = await open({ MAIN: [{ text: "One." }, { text: "Two." }] }, { at, settings });
    await session.prompt("MAIN: first").result;
    await session.prompt("second").result;
    await session.close();
    expect(toldIn(at)).toMatchObject([
      { hook_event_name: "SessionStart", source: "startup" },
      { hook_event_name: "UserPromptSubmit", prompt: "MAIN: first" },
      { hook_event_name: "UserPromptSubmit", prompt: "second" },
      { hook_event_name: "SessionEnd", reason: "exit" },
    ]);
    const again = await open({ MAIN: [{ text: "Three." }] }, { at, settings, resume: session.id });
    await again.session.prompt("third").result;
    await again.session.close();
    expect(toldIn(at)[4]).toMatchObject({ hook_event_name: "SessionStart", source: "resume" });
  });

  it("puts its hooks' text before the user's", async () => {
    const settings = hooks({ SessionStart: ["echo 'on branch main'"], UserPromptSubmit: ["echo 'it is Monday'"] });
    const walked = await walk({ MAIN: [{ text: "Hi." }] }, { settings });
    const [first] = walked.model.requests("MAIN");
    expect(lastWords(first)).toMatch(/on branch main.*it is Monday.*MAIN: do it\./s);
  });

  it("can reject a prompt, which is then not part of the conversation", async () => {
    const guard = `grep -q secret && echo '{"decision":"block","reason":"there is a secret in it"}'; exit 0`;
    const { session, model } = await open(
      { MAIN: [{ text: "Hi." }] },
      { settings: hooks({ UserPromptSubmit: [guard] }) },
    );
    const refused = await session.prompt("MAIN: the secret is damson").result;
    expect(refused).toMatchObject({
      outcome: "failed",
      reason: "refused",
      message: expect.stringContaining("a secret in it"),
    });
    const { outcome } = await session.prompt("MAIN: hello").result;
    await session.close();
    expect(outcome).toBe("succeeded");
    expect(JSON.stringify(model.requests("MAIN"))).not.toContain("damson");
  });

  it("runs hooks before it is compacted", async () => {
    const overflow = { error: { code: "context_overflow", message: "Too long." } } as const;
    const parts = { MAIN: [{ calls: [read] }, overflow, { text: "Done." }] };
    const walked = await walk(parts, { settings: hooks({ PreCompact: [log] }) });
    expect(walked.updates.filter(({ type }) => type === "conversation.compacted")).toHaveLength(1);
    expect(toldIn(walked)).toMatchObject([{ hook_event_name: "PreCompact", trigger: "auto" }]);
  });
});
