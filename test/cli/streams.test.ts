import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { messagesOf } from "../../src/testing/index.ts";
import { isLinux, needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, ended, retinueProcess, serve, startRetinue } from "./command-line.ts";

describe("the command line", () => {
  it.each([
    ["alone", ["-p"], "Only this\n", "Only this"],
    ["after the words of the argument", ["-p", "Review this"], "diff --git\n", "Review this\n\ndiff --git"],
  ])("accepts the prompt on standard input %s", async (_, words, input, prompt) => {
    const place = createPlace();
    const server = await serve([{ content: "ok" }]);
    expect(await retinueProcess(words, { ...place, server, input })).toMatchObject({ code: 0, stdout: "ok\n" });
    const [request] = server.requests;
    if (!request) throw new Error("a request was expected");
    expect(JSON.stringify(messagesOf(request).at(-1))).toContain(JSON.stringify(prompt).slice(1, -1));
  });

  it("treats words after -- as the prompt, whatever they begin with", async () => {
    const place = createPlace();
    const server = await serve([{ content: "ok" }]);
    const run = await retinueProcess(["-p", "--", "--help", "me"], { ...place, server });
    expect(run).toMatchObject({ code: 0, stdout: "ok\n" });
  });

  it.each(["text", "json", "stream-json"])(
    "delivers a long answer completely to a slow reader (%s)",
    async (format) => {
      const place = createPlace();
      const text = "0123456789abcdef".repeat(40_000);
      const server = await serve([{ content: text, pacing: { chunkCharacters: 64_000 } }]);
      const child = startRetinue(["-p", "Go", "--output-format", format], { ...place, server });
      child.stdin.end();
      let received = "";
      let reads = 0;
      for await (const chunk of child.stdout.setEncoding("utf8")) {
        received += chunk;
        if (reads++ < 5) await pause(20);
      }
      if (format === "text") expect(received).toBe(`${text}\n`);
      else expect(JSON.parse(received.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ result: text });
    },
  );

  it("prints no error if the reader closes the output", async () => {
    const place = createPlace();
    const server = await serve([{ content: "x".repeat(500_000), pacing: { chunkCharacters: 64_000 } }]);
    const child = startRetinue(["-p", "Go"], { ...place, server });
    child.stdin.end();
    child.stdout.destroy();
    const run = await ended(child);
    expect(run).toMatchObject({ code: 0, stderr: "" });
  });

  it("reports that a run was stopped because the reader closed its stream", async () => {
    const place = createPlace();
    const list = { content: [{ tool: "LS", input: { path: "." } }] };
    const server = await serve([{ reply: list, times: "always" }]);
    const child = startRetinue(["-p", "Go", "--output-format", "stream-json"], { ...place, server });
    child.stdin.end();
    child.stdout.once("data", () => child.stdout.destroy());
    const run = await ended(child);
    expect(run.stderr).toMatch(/^retinue: Standard output was closed by its reader, so the run was stopped\./);
    expect(run.stderr).toContain("To continue: retinue -p --resume");
    expect(run.code).toBe(130);
  });

  it("does not report success if the answer could not be written", needs("Linux", isLinux), async () => {
    const place = createPlace();
    const server = await serve([{ content: "Hello." }]);
    const through = ["sh", "-c", 'exec "$@" > /dev/full', "sh"];
    const run = await retinueProcess(["-p", "Go"], { ...place, server, through });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^retinue: The output can't be written: No space left on the disk/);
  });

  it.each(["--help", "--version", "help"])(
    "says that the output of %s could not be written",
    needs("Linux", isLinux),
    async (word) => {
      const through = ["sh", "-c", 'exec "$@" > /dev/full', "sh"];
      const { code, stderr } = await retinueProcess([word], { ...createPlace(), through });
      expect(stderr).toMatch(/^retinue: The output can't be written: No space left on the disk.*\n$/);
      expect(code).toBe(1);
    },
  );

  it("shows no progress without a terminal, unless requested", async () => {
    const place = createPlace();
    const server = await serve([
      { content: [{ tool: "LS", input: { path: "." } }] },
      { content: "ok" },
      { content: [{ tool: "LS", input: { path: "." } }] },
      { content: "ok" },
    ]);
    expect((await retinueProcess(["-p", "Go"], { ...place, server })).stderr).toBe("");
    expect((await retinueProcess(["-p", "Go", "--verbose"], { ...place, server })).stderr).toMatch(/^✓ LS \. · .+\n$/);
  });
});
