import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../reliability/command-line.ts";
import { type Place, readTranscript, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { hasLines, open, reply, say, task } from "./steering-place.ts";

describe("a session in another process", () => {
  it("can be steered from any terminal: its agents are messaged, moved and stopped, even after the process has ended", async () => {
    const { place, start, run, server } = await open({
      "MAIN:": [reply(task("PART: look.")), say("I go on."), say("It was stopped."), say("Again.")],
      "PART:": [
        reply({ tool: "Bash", input: { command: "sleep 0.2; ls" } }),
        ...Array(200).fill(reply({ tool: "Bash", input: { command: "sleep 0.2; ls" } })),
      ],
    });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)", "--verbose");
    await hasLines(place, "agent.spawned");
    const id = sessionIdOf(transcriptPath(place) ?? "");

    expect(await run("message", `${id}/helper`, "Look", "in", "src.")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("will read the message before its next step."),
    });
    const next = {
      code: 2,
      stderr: expect.stringContaining(
        "--next is only for the main agent. Leave it out: a running subagent reads the message before its next step",
      ),
    };
    expect(await run("message", `${id}/helper`, "Look in test.", "--next")).toMatchObject(next);
    expect(await run("message", `${id}/nobody`, "Hello.")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no agent "nobody" in this session. Its agents are main, '),
    });
    expect(await run("background", `${id}/main`)).toMatchObject({
      code: 2,
      stderr: "retinue: Only subagents can be moved to the background. Usage: retinue background SESSION/AGENT.\n",
    });
    expect(await run("foreground", `${id}/helper`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^retinue: The caller of helper \(a piece of work, a\w+\) is already waiting for it\.\n$/,
      ),
    });
    expect(await run("resume", `${id}/helper`, "--json")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"status": "refused"'),
    });
    expect(await run("background", `${id}/helper`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("is now working in the background"),
    });
    expect(await run("foreground", `${id}/helper`, "--json")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"status": "done"'),
    });
    await expect
      .poll(() => run("ps"))
      .toMatchObject({
        stdout: expect.stringMatching(
          / main +waiting for agents [\s\S]* working \(background, main is waiting for it\) /,
        ),
      });
    expect(JSON.parse((await run("ps", "--json")).stdout)).toMatchObject([{}, { awaitedBy: "main" }]);
    expect(await run("background", `${id}/helper`)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^The main agent is no longer waiting for helper \(.*, a\w+\), which continues in the background\.\n$/,
      ),
    });
    expect((await run("ps")).stdout).toMatch(/ working \(background\) /);
    expect(await run("foreground", `${id}/helper`)).toMatchObject({ code: 0 });
    const asAgent = { place, url: server.url, args: ["stop", id], environment: { RETINUE_CALL_ID: "main_1_0" } };
    expect(await runCommandLine(asAgent)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("A command run by an agent can't steer a session"),
    });
    expect(await run("stop", `${id}/helper`)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Stopped helper \(.*, a\w+\)\./),
    });
    expect(await first.ended).toMatchObject({ code: 0, stdout: "It was stopped.\n" });

    expect(await run("stop", id)).toMatchObject({
      code: 0,
      stdout: "The session is not running, so there is nothing to stop.\n",
    });
    expect(await run("background", `${id}/helper`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`retinue resume ${id}`),
    });
    expect(await run("message", `${id}/helper`, "Look in test.", "--next")).toMatchObject(next);
    const unknown = {
      code: 2,
      stderr: expect.stringMatching(
        /There is no agent "nobody" in this session. Its agents are main, a\w+ \(helper\)\.\n$/,
      ),
    };
    const asJson = await run("background", `${id}/nobody`, "--json");
    expect(asJson).toMatchObject({ code: 2, stderr: "" });
    expect(JSON.parse(asJson.stdout)).toMatchObject({ isRunning: false, status: "refused" });
    expect(await run("message", `${id}/nobody`, "Hello.")).toMatchObject(unknown);
    expect(await run("resume", `${id}/nobody`)).toMatchObject(unknown);
    expect(await run("message", id, "And the tests?")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("will be delivered when it is resumed"),
    });
    const resumed = await run("resume", id, "Go on.", "--json");
    expect(JSON.parse(resumed.stdout)).toMatchObject({ type: "result", result: "Again." });
    expect(await run("resume", id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has nothing left to do"),
    });
    const prompts = readTranscript(transcriptPath(place) ?? "").filter((line) => line.type === "prompt.received");
    expect(prompts.map(({ content }) => content.map((block) => "text" in block && block.text).join())).toEqual([
      "MAIN: go",
      "And the tests?",
      "Go on.",
    ]);
    const heard = server.requests.filter((request) => JSON.stringify(request.body).includes("Look in src."));
    expect(heard.length).toBeGreaterThan(0);
  });
});

describe("a session that is steered from another terminal", () => {
  it("prints one line for each command that it carries out", async () => {
    const working = reply({ tool: "Bash", input: { command: "sleep 0.2; ls" } });
    const { place, start, run } = await open({
      "MAIN:": [reply(task("PART: look.")), say("I go on."), say("Told."), say("It was stopped.")],
      "PART:": Array(200).fill(working),
    });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
    await hasLines(place, "agent.spawned");
    const id = sessionIdOf(transcriptPath(place) ?? "");
    const [{ agentId }] = JSON.parse((await run("ps", "--json")).stdout).slice(1);
    const agent = `helper (a piece of work, ${agentId})`;
    await run("message", `${id}/helper`, `Look in src.\n${"And on. ".repeat(40)}`);
    await first.told(`retinue: Message from another terminal to ${agent}: Look in src. And on. And on.`);
    await run("background", `${id}/helper`);
    await first.told(`retinue: Another terminal moved ${agent} to the background.\n`);
    await run("background", `${id}/helper`);
    await hasLines(place, "model.ended", 2);
    await run("foreground", `${id}/helper`);
    await first.told(`retinue: Another terminal moved ${agent} to the foreground: the main agent will wait for it.\n`);
    await run("message", id, "Be brief.");
    await first.told("retinue: Message from another terminal to the main agent: Be brief.\n");
    await run("stop", `${id}/helper`);
    await first.told(`retinue: Another terminal is stopping ${agent}.\n`);
    expect((await first.ended).code).toBe(0);
    const lines = first.stderr().split("\n");
    expect(lines.filter((line) => line.includes("to the background"))).toHaveLength(1);
    expect(
      Math.max(...lines.filter((line) => line.includes("another terminal")).map(({ length }) => length)),
    ).toBeLessThan(200);
  });

  it("says before it ends that another terminal is stopping it", async () => {
    const { place, start, run } = await open({ "MAIN:": [reply({ tool: "Bash", input: { command: "sleep 60" } })] });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
    await hasLines(place, "tool.started");
    expect(await run("stop", sessionIdOf(transcriptPath(place) ?? ""))).toMatchObject({ code: 0 });
    const { stderr } = await first.ended;
    expect(stderr).toMatch(/^retinue: Another terminal is stopping all agents\.\n/);
  });
});

describe("a command to a session that does not answer", () => {
  it("stays recorded if the user presses Ctrl+C, and the output says so", async () => {
    const { place, start } = await open({
      "MAIN:": [reply({ tool: "Bash", input: { command: "sleep 1" } }), say("Read it.")],
    });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
    await hasLines(place, "tool.started");
    first.child.kill("SIGSTOP");
    const id = sessionIdOf(transcriptPath(place) ?? "");
    const interrupted = async (...args: string[]) => {
      const before = inboxLines(place);
      const command = start(...args);
      while (inboxLines(place) === before) await new Promise((resolve) => setTimeout(resolve, 20));
      command.child.kill("SIGINT");
      return command.ended;
    };
    expect(await interrupted("message", id, "Be brief.")).toEqual({
      code: 130,
      signal: null,
      stdout: "",
      stderr:
        "retinue: Interrupted before the session answered. The message is recorded. The session will read it as soon as it responds, or when it is resumed.\n",
    });
    const stopping = await interrupted("background", `${id}/helper`, "--json");
    expect(stopping).toMatchObject({ code: 130, stderr: "" });
    expect(JSON.parse(stopping.stdout)).toEqual({
      sessionId: id,
      isRunning: true,
      status: "recorded",
      message:
        "Interrupted before the session answered. The command is recorded. The session will carry it out as soon as it responds, unless it ends first.",
    });
    first.child.kill("SIGCONT");
    expect(await first.ended).toMatchObject({ code: 0, stdout: "Read it.\n" });
    expect(first.stderr()).toContain("Message from another terminal to the main agent: Be brief.");
  });
});

describe("an approval given after the process was killed", () => {
  it("lets a background agent continue when the session is resumed, and its parent is notified", async () => {
    const { place, start, run } = await open({
      "MAIN:": [
        reply(task("PART: make it.", { run_in_background: true })),
        say("Waiting."),
        say("Still waiting."),
        say("It is made."),
      ],
      "PART:": [reply({ tool: "Bash", input: { command: "mkdir made" } }), say("Made it.")],
    });
    const first = start("-p", "MAIN: go", "--on-ask", "wait");
    await first.told("retinue approvals answer ask_");
    await hasLines(place, "model.ended", 2);
    first.child.kill("SIGKILL");
    await first.ended;
    const [waiting] = JSON.parse((await run("approvals", "list", "--json")).stdout);
    expect((await run("approvals", "answer", waiting.requestId, "allow")).code).toBe(0);
    const id = sessionIdOf(transcriptPath(place) ?? "");
    expect(await run("resume", id)).toMatchObject({ code: 0, stdout: "It is made.\n" });
    expect(existsSync(join(place.cwd, "made"))).toBe(true);
    const lines = readTranscript(transcriptPath(place) ?? "");
    expect(lines.filter((line) => line.type === "agent.resumed")).toMatchObject([{ by: "approval" }]);
    const notices = lines.flatMap((line) => (line.type === "notices.delivered" ? line.notices : []));
    expect(notices).toMatchObject([{ outcome: "succeeded" }]);
  });
});

describe("an unanswered request when the process is killed", () => {
  it("is asked again under the same id when the session is resumed", async () => {
    const { place, start, run } = await open({
      "MAIN:": [
        reply(task("PART: make it.", { run_in_background: true })),
        say("Waiting."),
        say("Wait."),
        say("Done."),
      ],
      "PART:": [reply({ tool: "Bash", input: { command: "mkdir made" } }), say("Made it.")],
    });
    const first = start("-p", "MAIN: go", "--on-ask", "wait");
    await first.told("retinue approvals answer ask_");
    const request = /answer (ask_\w+)/.exec(first.stderr())?.[1] ?? "";
    await hasLines(place, "model.ended", 2);
    first.child.kill("SIGKILL");
    await first.ended;
    const second = start("resume", sessionIdOf(transcriptPath(place) ?? ""), "--on-ask", "wait");
    await second.told(`retinue approvals answer ${request}`);
    expect((await run("approvals", "answer", request, "allow")).code).toBe(0);
    expect(await second.ended).toMatchObject({ code: 0, stdout: "Done.\n" });
    expect(existsSync(join(place.cwd, "made"))).toBe(true);
  });
});

/** Returns the number of lines in the inbox of the place's only session. */
function inboxLines(place: Place): number {
  const path = join(transcriptPath(place)?.replace(/\.jsonl$/, "") ?? "", "inbox.jsonl");
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").length : 0;
}
