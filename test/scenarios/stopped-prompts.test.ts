import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Place, readTranscript, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { hasLines, open, reply, say, task } from "./steering-place.ts";

const bash = (command: string) => reply({ tool: "Bash", input: { command } });

describe("prompts that no agent has received when a session is stopped", () => {
  it.each(["", "/main"])(
    "stay in its queue, are listed, and are sent when it is resumed (stop SESSION%s)",
    async (agent) => {
      const { place, start, run } = await open({ "MAIN:": [bash("sleep 60"), say("Both.")] });
      const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
      await hasLines(place, "tool.started");
      const id = sessionIdOf(transcriptPath(place) ?? "");
      expect((await run("message", id, "And then this.", "--next")).stdout).toContain(
        "will be sent when it is resumed",
      );
      expect((await run("ps")).stdout).toContain("working, 1 prompt waiting");
      const stopped = await run("stop", `${id}${agent}`);
      expect(stopped).toMatchObject({
        code: 0,
        stdout: `Stopped the main agent. 1 prompt stays in the queue. "retinue resume ${id}" sends it, "retinue stop ${id} --withdraw" withdraws it.\n`,
      });
      const { stderr } = await first.ended;
      expect(stderr).toContain(
        `1 prompt in the queue: "retinue resume ${id} --allowed-tools 'Bash(sleep:*)'" sends it.`,
      );
      expect((await run("stop", id)).stdout).toBe(
        `The session is not running, so there is nothing to stop. 1 prompt in the queue. "retinue resume ${id}" sends it, "retinue stop ${id} --withdraw" withdraws it.\n`,
      );
      await run("message", id, "Later.");
      expect((await run("ps")).stdout).toContain("stopped, can be resumed, 2 prompts waiting");
      expect((await run("sessions", "list")).stdout).toContain("stopped, 2 prompts waiting");
      expect(JSON.parse((await run("sessions", "list", "--json")).stdout)).toMatchObject([{ waitingPrompts: 2 }]);
      expect(JSON.parse((await run("ps", "--json")).stdout)).toMatchObject([{ waitingPrompts: 2 }]);

      const resumed = await run("resume", id);
      expect(resumed).toMatchObject({ code: 0, stdout: "Both.\n" });
      expect(resumed.stderr).toContain("Message sent while the session was closed, to the main agent: Later.");
      expect(promptsIn(place)).toEqual(["MAIN: go", "And then this.", "Later."]);
      expect((await run("sessions", "list")).stdout).not.toContain("waiting");
    },
  );

  it("are withdrawn with --withdraw, even if the session is not running", async () => {
    const { place, start, run } = await open({ "MAIN:": [bash("sleep 60"), say("Never.")] });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
    await hasLines(place, "tool.started");
    const id = sessionIdOf(transcriptPath(place) ?? "");
    await run("message", id, "One.", "--next");
    expect((await run("stop", id, "--withdraw")).stdout).toBe("Stopped the main agent. 1 prompt withdrawn.\n");
    await first.ended;
    await run("message", id, "Two.");
    await run("message", id, "Three.");
    expect((await run("ps")).stdout).toContain("2 prompts waiting");
    expect((await run("stop", id, "--withdraw")).stdout).toContain(" 2 prompts withdrawn.\n");
    expect((await run("ps")).stdout).not.toContain("waiting");
    expect(await run("resume", id, "Four.")).toMatchObject({ code: 0 });
    expect(promptsIn(place)).toEqual(["MAIN: go", "Four."]);
  });
});

describe("a request that is open when the session is resumed without a terminal", () => {
  it("stays open, and the commands that resume the session keep it open", async () => {
    const { place, start, run } = await open({
      "MAIN:": [reply(task("ONE: make it.", { name: "first" }), task("TWO: make it.")), say("Made.")],
      "ONE:": [bash("mkdir one"), say("One.")],
      "TWO:": [bash("mkdir two"), say("Two.")],
    });
    const first = start("-p", "MAIN: go", "--on-ask", "wait");
    await first.told("mkdir one from general-purpose is waiting");
    await first.told("mkdir two from general-purpose is waiting");
    first.child.kill("SIGKILL");
    await first.ended;
    const id = sessionIdOf(transcriptPath(place) ?? "");
    const requests = JSON.parse((await run("approvals", "list", "--json")).stdout);
    const [one, two] = ["one", "two"].map((name) =>
      requests.find(({ call }: { call: { inputJson: string } }) => call.inputJson.includes(name)),
    );
    expect((await run("attach", id)).stdout).toContain(`To continue: retinue resume ${id} --on-ask wait\n`);
    expect((await run("approvals", "answer", one.requestId, "allow")).stdout).toContain(
      `It takes effect when the session is resumed: retinue resume ${id} --on-ask wait\n`,
    );
    const second = start("resume", id);
    await second.told(`retinue approvals answer ${two.requestId}`);
    expect(second.stderr()).toContain(
      "1 request for approval is still open from an earlier process, so this session waits for answers. To deny it instead, pass --on-ask deny.",
    );
    expect((await run("approvals", "answer", two.requestId.slice(4, 8), "allow")).code).toBe(0);
    expect(await second.ended).toMatchObject({ code: 0, stdout: "Made.\n" });
    expect(existsSync(join(place.cwd, "two"))).toBe(true);
  });

  it("is denied with --on-ask deny", async () => {
    const { place, start, run } = await open({ "MAIN:": [bash("mkdir one"), say("Denied.")] });
    const first = start("-p", "MAIN: go", "--on-ask", "wait");
    await first.told("mkdir one is waiting");
    first.child.kill("SIGKILL");
    await first.ended;
    const id = sessionIdOf(transcriptPath(place) ?? "");
    expect(await run("resume", id, "--on-ask", "deny")).toMatchObject({ code: 0, stdout: "Denied.\n" });
    expect(existsSync(join(place.cwd, "one"))).toBe(false);
  });

  it("is asked again when the session is resumed with the suggested command, even if it is the last request", async () => {
    const { place, start, run } = await open({ "MAIN:": [bash("mkdir one"), bash("mkdir two"), say("Made.")] });
    const first = start("-p", "MAIN: go", "--on-ask", "wait");
    await first.told("mkdir one is waiting");
    first.child.kill("SIGKILL");
    await first.ended;
    const [{ requestId }] = JSON.parse((await run("approvals", "list", "--json")).stdout);
    const { stdout } = await run("approvals", "answer", requestId, "allow");
    const [, command = ""] = /(retinue resume .*)\n$/.exec(stdout) ?? [];
    const second = start(...command.split(" ").slice(1));
    await second.told("mkdir two is waiting");
    const [next] = JSON.parse((await run("approvals", "list", "--json")).stdout);
    await run("approvals", "answer", next.requestId, "allow");
    expect(await second.ended).toMatchObject({ code: 0, stdout: "Made.\n" });
    expect(existsSync(join(place.cwd, "two"))).toBe(true);
  });
});

describe("an answer to a request", () => {
  it("is refused with a list of candidates if its id or its rule does not match", async () => {
    const { start, run } = await open({ "MAIN:": [bash("mkdir one"), say("Made.")] });
    const first = start("-p", "MAIN: go", "--on-ask", "wait");
    await first.told("mkdir one is waiting");
    const [{ requestId }] = JSON.parse((await run("approvals", "list", "--json")).stdout);
    for (const wrong of ["ask_", "ask_zzzz", "zz"])
      expect(await run("approvals", "answer", wrong, "allow")).toMatchObject({
        code: 2,
        stderr: `retinue: There is no request "${wrong}". Waiting for an answer: ${requestId}.\n`,
      });
    expect(await run("approvals", "answer", requestId, "always", "--pattern", "npm *")).toMatchObject({
      code: 2,
      stderr: `retinue: The rule \`Bash(npm *)\` does not allow the call that ${requestId} asks about: Bash mkdir one. \`Bash(mkdir one)\` or \`Bash(mkdir *)\` does.\n`,
    });
    expect(await run("approvals", "answer", requestId, "always", "--pattern", "Read(a.txt)")).toMatchObject({
      code: 2,
    });
    expect(await run("approvals", "answer", requestId.slice(-5), "always", "--pattern", "mkdir *")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("From now on, Bash(mkdir *) is allowed."),
    });
    expect(await first.ended).toMatchObject({ code: 0, stdout: "Made.\n" });
    expect(await run("approvals", "answer", requestId, "allow")).toMatchObject({ code: 1 });
  });
});

describe("a subagent", () => {
  it("that was stopped can be resumed with the command that attach suggests", async () => {
    const { place, start, run } = await open({
      "MAIN:": [reply(task("PART: look.")), say("It was stopped."), say("Waiting."), say("It is done.")],
      "PART:": [bash("sleep 60"), say("Done.")],
    });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
    await hasLines(place, "agent.spawned");
    const id = sessionIdOf(transcriptPath(place) ?? "");
    await expect
      .poll(() => run("ps"), { timeout: 30_000 })
      .toMatchObject({ stdout: expect.stringContaining("Bash sleep 60") });
    await run("stop", `${id}/helper`);
    expect(await first.ended).toMatchObject({ code: 0 });
    for (const words of [
      ["attach", `${id}/helper`],
      ["background", `${id}/helper`],
    ]) {
      const { stdout, stderr } = await run(...words);
      expect(`${stdout}${stderr}`).toMatch(new RegExp(`retinue resume ${id}/a\\w+\\n$`));
    }
    const [, command = ""] = /(retinue resume \S+)\n$/.exec((await run("attach", `${id}/helper`)).stdout) ?? [];
    const resumed = await run(...command.split(" ").slice(1));
    expect(resumed).toMatchObject({ code: 0, stdout: "It is done.\n" });
    expect((await run("attach", `${id}/helper`)).stdout).not.toContain("To continue");
    const again = await run("background", `${id}/helper`);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/ retinue resume \S+ "…"\n$/) });
  });

  it("that is resumed by a message after its process was killed is not reported as failed", async () => {
    const { place, start, server, run } = await open({
      "MAIN:": [
        reply(task("PART: look.", { run_in_background: true })),
        say("Waiting."),
        say("Still."),
        say("It is done."),
      ],
      "PART:": [bash("sleep 60"), say("Done.")],
    });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
    await expect
      .poll(() => run("ps"), { timeout: 30_000 })
      .toMatchObject({ stdout: expect.stringContaining("Bash sleep 60") });
    await hasLines(place, "model.ended", 2);
    first.child.kill("SIGKILL");
    await first.ended;
    const id = sessionIdOf(transcriptPath(place) ?? "");
    await run("message", `${id}/helper`, "Go on.");
    expect(await run("resume", id)).toMatchObject({ code: 0, stdout: "It is done.\n" });
    const notices = readTranscript(transcriptPath(place) ?? "").flatMap((line) =>
      line.type === "notices.delivered" ? line.notices : [],
    );
    expect(notices).toMatchObject([{ outcome: "succeeded" }]);
    expect(JSON.stringify(server.requests.map(({ body }) => body))).not.toContain("failed (process_lost)");
  });
});

describe("a run that gets SIGQUIT", () => {
  it("says how to continue", async () => {
    const { place, start } = await open({ "MAIN:": [bash("sleep 60")] });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)");
    await hasLines(place, "tool.started");
    first.child.kill("SIGQUIT");
    expect(await first.ended).toMatchObject({
      code: 131,
      stderr: expect.stringContaining("To continue: retinue -p --resume"),
    });
  });
});

describe("stream-json", () => {
  it("has a line for a command from another terminal", async () => {
    const { place, start, run } = await open({ "MAIN:": [bash("sleep 60")] });
    const first = start("-p", "MAIN: go", "--allowed-tools", "Bash(sleep:*)", "--output-format", "stream-json");
    await hasLines(place, "tool.started");
    await run("stop", sessionIdOf(transcriptPath(place) ?? ""));
    const lines = (await first.ended).stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ subtype }) => subtype === "notice")).toMatchObject([
      { message: "Another terminal is stopping all agents." },
    ]);
    expect(lines.at(-1)).toMatchObject({ type: "result" });
  });
});

/** Returns the prompts that the main agent has received. */
function promptsIn(place: Place): readonly string[] {
  const lines = readTranscript(transcriptPath(place) ?? "");
  return lines.flatMap((line) =>
    line.type === "prompt.received" ? [line.content.map((block) => ("text" in block ? block.text : "")).join()] : [],
  );
}
