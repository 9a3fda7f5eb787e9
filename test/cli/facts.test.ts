import { describe, expect, it } from "vitest";
import type { ApiServer, Step } from "../../src/testing/index.ts";
import { messagesOf } from "../../src/testing/index.ts";
import { createPlaceWithSettings, ended, type Place, resultOf, retinue, serve, startRetinue } from "./command-line.ts";

const says = (content: string, more: Partial<Step> = {}): Step => ({ reply: { content }, ...more });
const calls = (...all: (readonly [tool: string, input: object])[]): Step => ({
  reply: { content: all.map(([tool, input]) => ({ tool, input })) },
});
const write = ["Write", { file_path: "a.txt", content: "text\n" }] as const;
const count = ["Bash", { command: "node -e 0" }] as const;
/** Never answers the first request. A process that is resumed gets the answer. */
const hangs = (step: Step): Step => ({ ...step, faults: [{ kind: "hang" }] });
const task = (more: object = {}) =>
  calls(["Task", { description: "a piece of work", prompt: "CHILD", subagent_type: "general-purpose", ...more }]);

function play(main: readonly Step[], child: readonly Step[]): Promise<ApiServer> {
  const conversations = [
    { match: { firstUserContains: "CHILD" }, steps: child },
    { match: { firstUserContains: "MAIN" }, steps: main },
  ];
  return serve({ conversations });
}

const options = ["--permission-mode", "bypassPermissions", "--output-format", "json"];

/** Kills the process with its last request unanswered, then resumes the session. Returns the result of the resumption. */
async function killAndResume(requests: number, place: Place, server: ApiServer, format = options) {
  const killed = startRetinue(["-p", "MAIN: go", ...options], { ...place, server });
  killed.stdin.end();
  const end = ended(killed);
  await server.waitForRequest(requests);
  killed.kill("SIGKILL");
  await end;
  return retinue(["-p", "--continue", ...format], { ...place, server });
}

/** Returns the requests of an agent as lists of messages. `part` is a part of its first message. */
function requestsOf({ requests }: ApiServer, part: string) {
  return requests.map(messagesOf).filter(([first]) => JSON.stringify(first).includes(part));
}

const lastMessage = (server: ApiServer, part: string): string =>
  JSON.stringify(requestsOf(server, part).at(-1)?.at(-1));

describe("after kill -9 and --continue,", () => {
  it("a subagent's report names the files and commands from before, and the result its task", async () => {
    const place = createPlaceWithSettings();
    const server = await play([task(), says("Well.")], [calls(write, count), hangs(says("Done."))]);
    const resumed = await killAndResume(3, place, server);
    expect(resumed.code).toBe(0);
    const report = lastMessage(server, "MAIN");
    expect(report).toMatch(/\[2 tool calls; .*changed: a\.txt; ran: \\+"node -e 0\\+" \(exit 0\)/);
    expect(resultOf(resumed)).toMatchObject({
      facts: { filesChanged: ["a.txt"] },
      agents: [
        {
          description: "a piece of work",
          tool_use_id: "main_1_0",
          filesChanged: ["a.txt"],
          commands: [{ command: "node -e 0", exitCode: 0 }],
        },
      ],
    });
  });

  it("the main agent's result names the files and commands from before", async () => {
    const place = createPlaceWithSettings();
    const server = await play([calls(write, count), hangs(says("Done."))], []);
    const resumed = await killAndResume(2, place, server);
    expect(resultOf(resumed).facts).toMatchObject({
      toolCalls: { Write: 1, Bash: 1 },
      filesChanged: ["a.txt"],
      commands: [{ command: "node -e 0", exitCode: 0 }],
    });
  });

  it("a subagent has only the turns that are left of its call's max_turns", async () => {
    const place = createPlaceWithSettings();
    const more = Array.from({ length: 9 }, () => calls(count));
    const server = await play([task({ max_turns: 5 }), says("Well.")], [calls(count), hangs(calls(count)), ...more]);
    const resumed = await killAndResume(3, place, server);
    expect(requestsOf(server, "CHILD")).toHaveLength(5);
    expect(resumed.code).toBe(3);
    const report = lastMessage(server, "MAIN");
    expect(report).toContain("Ended early (max_turns). Stopped after 5 turns, the limit for this run.");
    const last = lastMessage(server, "CHILD");
    expect(last).toContain("This is the last of your 5 turns");
  });

  it("stream-json and the progress name a subagent's task", async () => {
    const place = createPlaceWithSettings();
    const server = await play([task(), says("Well.")], [hangs(says("Done."))]);
    const format = ["--output-format", "stream-json", "--verbose"];
    const resumed = await killAndResume(2, place, server, format);
    expect(resumed.stdout).toMatch(/"task_started"[^\n]*"description":"a piece of work"/);
  });
});

describe("a background agent", () => {
  it("has its files in the result, and in its own entry", async () => {
    const place = createPlaceWithSettings();
    const server = await play(
      [task({ run_in_background: true }), says("I wait."), says("Well.")],
      [calls(write), says("Done.")],
    );
    const run = await retinue(["-p", "MAIN: go", ...options], { ...place, server });
    expect(resultOf(run)).toMatchObject({
      facts: { filesChanged: ["a.txt"] },
      agents: [{ background: true, filesChanged: ["a.txt"], commands: [] }],
    });
  });
});
