import { mkdirSync, readdirSync, readFileSync, symlinkSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { messagesOf, type RecordedRequest } from "../../src/testing/index.ts";
import { createPlace, ended, resultOf, retinue, retinueProcess, serve, startRetinue } from "./command-line.ts";

/** Removes cache marks, which move with the end of the conversation. All other bytes must stay the same. */
function withoutMarks({ rawBody }: RecordedRequest): string {
  return rawBody.toString("utf8").replace(/,"cache_control":\{[^}]*\}/g, "");
}

/** Returns the request without the characters that close the list of messages and the object. */
function opening(request: RecordedRequest): string {
  return withoutMarks(request).replace(/\][^\]]*$/, "");
}

describe("resuming a session", () => {
  it("continues the latest session with exactly the bytes that it has sent before", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "a.txt"), "hello\n");
    const server = await serve([
      { content: ["Looking.", { tool: "Read", input: { file_path: "a.txt" } }] },
      { content: "It says hello." },
      { content: "Bye." },
    ]);
    const first = await retinueProcess(["-p", "What does it say?"], { ...place, server });
    expect(first.code).toBe(0);
    const second = await retinueProcess(["-p", "Thanks", "--continue"], { ...place, server });
    expect(second).toMatchObject({ code: 0, stdout: "Bye.\n", stderr: "" });
    const [, before, after] = server.requests;
    if (!before || !after) throw new Error("three requests were expected");
    expect(opening(before).length).toBeGreaterThan(1_000);
    expect(withoutMarks(after).startsWith(opening(before))).toBe(true);
    expect(messagesOf(after).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    server.assertDone();
  });

  it("names the transcript that is empty or has an unreadable line", async () => {
    const place = createPlace();
    const { session_id } = resultOf(await retinue(["-p", "Hello", "--output-format", "json"], place));
    const projects = join(place.home, "projects");
    const path = join(projects, readdirSync(projects)[0] ?? "", `${session_id}.jsonl`);
    writeFileSync(path, `${readFileSync(path, "utf8")}broken\n`);
    const number = readFileSync(path, "utf8").split("\n").length - 1;
    const damaged = await retinue(["-p", "Hello", "--resume", session_id], place);
    expect(damaged.stderr).toContain(`${path}:${number}: Line ${number} can't be read`);
    writeFileSync(path, "");
    expect((await retinue(["sessions", "show", session_id], place)).stdout).toContain("! The transcript is empty.");
    const emptied = await retinue(["-p", "Hello", "--resume", session_id], place);
    expect(emptied.stderr).toContain(`${path}:1: The transcript is empty.`);
  });

  it("accepts the start or the end of an id, and rejects text that matches no session or several", async () => {
    const place = createPlace();
    const server = await serve([{ content: "1" }, { content: "2" }, { content: "3" }, { content: "4" }]);
    const json = ["--output-format", "json"];
    const one = resultOf(await retinue(["-p", "one", ...json], { ...place, server }));
    const two = resultOf(await retinue(["-p", "two", ...json], { ...place, server }));
    const common = sharedBeginning(one.session_id, two.session_id);

    const ambiguous = await retinue(["-p", "go", "--resume", common], { ...place, server });
    expect(ambiguous.code).toBe(2);
    expect(ambiguous.stderr).toContain(one.session_id);
    expect(ambiguous.stderr).toContain(two.session_id);
    expect(ambiguous.stderr).toContain("a longer part of the id");

    const none = await retinue(["-p", "go", "--resume", "zzz"], { ...place, server });
    expect(none.code).toBe(2);
    expect(none.stderr).toContain(two.session_id);

    const unique = one.session_id.slice(0, common.length + 1);
    const resumed = resultOf(await retinue(["-p", "go", "--resume", unique, ...json], { ...place, server }));
    expect(resumed).toMatchObject({ session_id: one.session_id, result: "3" });
    const end = two.session_id.slice(-6);
    const again = resultOf(await retinue(["-p", "go", "--resume", end, ...json], { ...place, server }));
    expect(again).toMatchObject({ session_id: two.session_id, result: "4" });
    server.assertDone();
  });

  it("refuses to work in a directory other than the session's", async () => {
    const place = createPlace();
    const server = await serve([{ content: "1" }, { content: "2" }]);
    const first = resultOf(await retinue(["-p", "one", "--output-format", "json"], { ...place, server }));
    const elsewhere = join(place.cwd, "below");
    mkdirSync(elsewhere);
    const refused = await retinue(["-p", "go", "--resume", first.session_id], { ...place, cwd: elsewhere, server });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`--cwd '${place.cwd}'`);
    const empty = await retinue(["-p", "go", "--continue"], { ...place, cwd: elsewhere, server });
    expect(empty.code).toBe(2);
    const link = join(place.home, "link");
    symlinkSync(place.cwd, link);
    const words = ["-p", "go", "--resume", first.session_id, "--cwd", link];
    expect(await retinue(words, { ...place, cwd: elsewhere, server })).toMatchObject({ code: 0, stdout: "2\n" });
  });

  it("continues without a new prompt after the turn limit, which results in exit code 3", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "a.txt"), "hello\n");
    const server = await serve([
      { content: [{ tool: "Read", input: { file_path: "a.txt" } }] },
      { when: { toolResultContains: "hello" }, reply: { content: "It says hello." } },
    ]);
    const run = await retinue(["-p", "Read", "--max-turns", "1"], { ...place, server });
    expect(run.code).toBe(3);
    expect(run.stderr).toContain("--resume");
    const resumed = await retinue(["-p", "--continue"], { ...place, server });
    expect(resumed).toMatchObject({ code: 0, stdout: "It says hello.\n" });
    const nothing = await retinue(["-p", "--continue"], { ...place, server });
    expect(nothing.code).toBe(2);
    expect(nothing.stderr).toContain("has nothing left to do");
  });

  it("tells the model that a command's outcome is unknown after the process was killed", async () => {
    const place = createPlace();
    const command = "echo once >> log; echo $$ > pid; mv pid ready; exec sleep 60";
    const server = await serve([
      { content: [{ tool: "Bash", input: { command } }] },
      { when: { toolResultContains: "unknown" }, reply: { content: "I will look." } },
    ]);
    const words = ["-p", "Run it", "--permission-mode", "bypassPermissions"];
    const child = startRetinue(words, { ...place, server });
    child.stdin.end();
    const death = ended(child);
    await fileAppears(place.cwd, "ready");
    const orphan = Number(readFileSync(join(place.cwd, "ready"), "utf8"));
    onTestFinished(() => endIfAlive(orphan));
    child.kill("SIGKILL");
    expect((await death).signal).toBe("SIGKILL");
    const shown = await retinue(["sessions", "show", "01"], place);
    expect(shown.stdout).toMatch(
      /── cut off: the process ended before the run did\n {3}To continue: retinue resume 01\w+\n/,
    );

    const json = ["--output-format", "json", "--permission-mode", "bypassPermissions"];
    const resumed = await retinue(["-p", "--continue", ...json], { ...place, server });
    expect(resumed.code).toBe(0);
    expect(resultOf(resumed)).toMatchObject({ result: "I will look." });
    expect(readFileSync(join(place.cwd, "log"), "utf8")).toBe("once\n");
    server.assertDone();
  });
});

function sharedBeginning(left: string, right: string): string {
  let length = 0;
  while (left[length] === right[length]) length += 1;
  return left.slice(0, length);
}

function endIfAlive(processId: number): void {
  try {
    process.kill(processId, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

function fileAppears(directory: string, name: string): Promise<void> {
  return new Promise<void>((settle) => {
    const watcher = watch(directory, () => look());
    const look = (): void => {
      if (!readdirSync(directory).includes(name)) return;
      watcher.close();
      settle();
    };
    look();
  });
}
