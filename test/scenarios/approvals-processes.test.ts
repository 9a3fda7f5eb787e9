import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createApiServer } from "../../src/testing/index.ts";
import { needsTerminals } from "../../src/testing/needs.test-support.ts";
import { runCommandLine, startCommandLine } from "../reliability/command-line.ts";
import { createPlace, readTranscript, sessionIdOf, transcriptPath } from "../reliability/place.ts";

const place = createPlace();
afterAll(() => place.remove());

describe("retinue approvals", () => {
  it(
    "answers a session in another process, even one that was killed while waiting; only the first of two answers is used",
    needsTerminals,
    async () => {
      const server = await createApiServer({
        script: {
          conversations: [
            {
              match: { firstUserContains: "MAIN:" },
              steps: [
                { reply: { content: [{ tool: "Bash", input: { command: "mkdir one" } }] } },
                { reply: { content: [{ tool: "Bash", input: { command: "mkdir two" } }] } },
                { reply: { content: "Made." } },
              ],
            },
          ],
        },
      });
      try {
        const start = (...args: string[]) => startCommandLine({ place, url: server.url, args });
        const first = start("-p", "MAIN: go", "--on-ask", "wait");
        await first.told("retinue approvals answer ask_");
        first.child.kill("SIGKILL");
        await first.ended;
        const [waiting] = JSON.parse(
          (await runCommandLine({ place, url: server.url, args: ["approvals", "list", "--json"] })).stdout,
        );
        expect(waiting).toMatchObject({ isRunning: false, call: { inputJson: '{"command":"mkdir one"}' } });
        const agents = await runCommandLine({
          place,
          url: server.url,
          args: ["approvals", "answer", waiting.requestId, "allow"],
          environment: { RETINUE_CALL_ID: "main_1_0" },
        });
        expect(agents).toMatchObject({ code: 1, stderr: expect.stringContaining("can't answer for a person") });
        /** Answers in its own operating-system session, with the tag for commands removed from the environment. */
        const answerIn = (script: string) =>
          startCommandLine({
            place,
            url: server.url,
            args: ["approvals", "answer", waiting.requestId, "allow"],
            environment: { RETINUE_TAG: "a-command" },
            under: ["setsid", "--wait", "sh", "-c", `unset RETINUE_TAG; ${script}; exit $?`, "sh"],
          }).ended;
        const refused = { code: 1, stderr: expect.stringContaining("can't answer for a person") };
        expect(await answerIn('"$@"')).toMatchObject(refused);
        expect((await answerIn('script -qec "$*" /dev/null')).stdout).toContain("can't answer for a person");
        const answers = await Promise.all([
          start("approvals", "answer", waiting.requestId, "allow").ended,
          start("approvals", "answer", waiting.requestId, "allow").ended,
        ]);
        expect(answers.map(({ code }) => code).sort()).toEqual([0, 1]);
        expect(answers.find(({ code }) => code === 1)?.stderr).toContain("was already answered by");

        const path = transcriptPath(place) ?? "";
        const second = start("-p", "--resume", sessionIdOf(path), "--on-ask", "wait");
        await second.told("mkdir two is waiting for your answer");
        expect(existsSync(join(place.cwd, "one"))).toBe(true);
        const id = /answer (ask_\w+)/.exec(second.stderr())?.[1] ?? "";
        const answer = ["approvals", "answer", id, "deny", "--message", "'One is enough.'"];
        const elsewhere = (...under: string[]) =>
          startCommandLine({ place, url: server.url, args: answer, under: ["setsid", "--wait", ...under] }).ended;
        expect(await elsewhere()).toMatchObject({
          code: 1,
          stderr: expect.stringContaining("comes neither from a terminal nor from the script that started the run"),
        });
        const no = await elsewhere("sh", "-c", 'script -qec "$*" /dev/null', "sh");
        expect(no).toMatchObject({ code: 0, stdout: `${id} denied: Bash mkdir two.\r\n` });
        expect(await second.ended).toMatchObject({ code: 0, stdout: "Made.\n" });
        expect(existsSync(join(place.cwd, "two"))).toBe(false);
        expect((await elsewhere()).stderr).toContain(`${id} was already answered by`);
        const ends = readTranscript(path).filter((line) => line.type === "tool.ended");
        expect(ends.map(({ result }) => result.outcome)).toEqual(["ok", "denied"]);
        expect(JSON.stringify(ends[1]?.result.content)).toContain("One is enough.");
      } finally {
        await server.close();
      }
    },
  );

  it("says which permission mode follows when a plan is approved, and what it allows", async () => {
    const plan = { tool: "ExitPlanMode", input: { plan: "Make one." } };
    const server = await createApiServer({ script: [{ content: [plan] }, { content: "Made." }] });
    const own = createPlace();
    try {
      const start = (...args: string[]) => startCommandLine({ place: own, url: server.url, args });
      const run = start(
        "-p",
        "MAIN: plan",
        "--permission-mode",
        "plan",
        "--on-ask",
        "wait",
        "--output-format",
        "stream-json",
      );
      await run.told("retinue approvals answer ask_");
      const { stdout } = await start("approvals", "list").ended;
      expect(stdout.replace(/\s+/g, " ")).toContain(
        "Plan mode then ends, and the permission mode is default: calls that no rule allows need approval.",
      );
      const [{ requestId }] = JSON.parse((await start("approvals", "list", "--json").ended).stdout);
      expect(await start("approvals", "answer", requestId, "allow").ended).toMatchObject({ code: 0 });
      const ended = await run.ended;
      expect(ended.code).toBe(0);
      const messages = ended.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { permissionMode?: string });
      expect(messages.flatMap(({ permissionMode = [] }) => permissionMode)).toEqual(["plan", "default"]);
    } finally {
      await server.close();
      own.remove();
    }
  });
});
