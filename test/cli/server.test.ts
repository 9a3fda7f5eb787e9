import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDeferred } from "../../src/lib/index.ts";
import { createPlace, ended, jsonLines, type Place, retinue, serve, startRetinue } from "./command-line.ts";
import { serveSessions } from "./session-server.ts";

const READ = "token-that-reads";
const APPROVE = "token-that-approves";
const tokens = { [READ]: ["read", "prompt"], [APPROVE]: ["read", "prompt", "approve"] } as const;

/** Script for a main agent that waits for a subagent, which waits for approval. */
const asking = {
  conversations: [
    {
      match: { firstUserContains: "MAIN:" },
      steps: [
        {
          reply: {
            content: [
              "I delegate.",
              {
                tool: "Task",
                input: { description: "make a file", prompt: "CHILD: make it", subagent_type: "general-purpose" },
              },
            ],
          },
        },
        { reply: { content: "It is made." } },
      ],
    },
    {
      match: { firstUserContains: "CHILD:" },
      steps: [
        { reply: { content: [{ tool: "Bash", input: { command: "touch made" } }] } },
        { reply: { content: "Done." } },
      ],
    },
  ],
};

/** Resolves when the output of a process contains the text. */
function told(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  let seen = "";
  return new Promise((found, failed) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes) => {
        seen += String(bytes);
        if (seen.includes(text)) found();
      });
    child.on("close", () => failed(new Error(`It ended without "${text}": ${seen}`)));
  });
}

/** Starts a run that needs approval, and a server for its sessions. */
async function startAsking() {
  const place = createPlace();
  const run = startRetinue(["-p", "MAIN: go", "--on-ask", "wait"], { ...place, server: await serve(asking) });
  const result = ended(run);
  run.stdin.end();
  await told(run, "retinue approvals answer ask_");
  const server = await serveSessions({ home: place.home, tokens });
  return { place, result, server };
}

/** State directory of a user without sessions. */
function elsewhere(token: string | undefined, place: Place = createPlace()) {
  return { ...place, environment: token === undefined ? {} : { RETINUE_TOKEN: token } };
}

describe("the command line with --server", () => {
  it("exits immediately on Ctrl+C, and says that the command was sent", async () => {
    const session = { id: "ses_1", cwd: "/w", state: "running", createdAt: 1, updatedAt: 1, turns: 1, approvals: 0 };
    const commanded = createDeferred<void>();
    const silent = createServer((request, response) => {
      if (request.method === "GET") response.end(JSON.stringify([session]));
      else commanded.resolve();
    });
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const stopping = startRetinue(["stop", session.id, "--server", url], elsewhere(READ));
    const result = ended(stopping);
    await commanded.promise;
    stopping.kill("SIGINT");
    expect(await result).toMatchObject({
      code: 130,
      stderr: expect.stringContaining("Interrupted before the server answered. The command was sent"),
    });
  });

  it("prints a server's answer without control sequences", async () => {
    const session = { id: "ses_1", cwd: "/w", state: "running", createdAt: 1, updatedAt: 1, turns: 1, approvals: 0 };
    const message = "Done.\u001b]0;title\u0007\u001b[2J\u202e";
    const hostile = createServer((request, response) => {
      const receipt = { commandId: "c1", status: "done", message };
      response.end(JSON.stringify(request.method === "GET" ? [session] : receipt));
    });
    hostile.listen(0, "127.0.0.1");
    await once(hostile, "listening");
    onTestFinished(() => {
      hostile.closeAllConnections();
      hostile.close();
    });
    const url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
    for (const words of [
      ["stop", session.id],
      ["message", session.id, "hello"],
    ]) {
      const { stdout, stderr } = await retinue([...words, "--server", url], elsewhere(READ));
      expect(stdout + stderr).toBe("Done.\n");
    }
  });

  it("prints the same output as on the sessions' own machine, follows sessions, and answers requests", async () => {
    const { place, result, server } = await startAsking();
    const there = elsewhere(APPROVE);
    const option = ["--server", server.url];
    const rows = JSON.parse((await retinue(["ps", "--json"], place)).stdout) as {
      sessionId: string;
      agentId: string;
    }[];
    const [main, child] = rows;
    const id = main?.sessionId ?? "";
    const same = async (...words: string[]) => {
      const [here, far] = [await retinue(words, place), await retinue([...words, ...option], there)];
      expect(far.stderr).toBe(here.stderr);
      return [here.stdout, far.stdout] as const;
    };
    for (const words of [
      ["ps", "--json"],
      ["approvals", "list", "--json"],
      ["sessions", "show", id, "--json"],
    ]) {
      const [here, far] = await same(...words);
      expect(far).toBe(here);
    }
    const withoutTimes = (text: string) => text.replace(/\d+ (m?s|min)\b|\d+\.\d+ s/g, "TIME").replace(/ +/g, " ");
    for (const words of [
      ["sessions", "show", `${id}/${child?.agentId}`],
      ["ps", "--all"],
      ["sessions", "list", "--all"],
    ]) {
      const [here, far] = await same(...words);
      expect(withoutTimes(far)).toBe(withoutTimes(here));
    }
    const [list, farList] = (await same("sessions", "list", "--json", "--all")).map((text) => JSON.parse(text)[0]);
    expect(farList).toEqual({ ...list, project: undefined, path: undefined });
    const [shown, farShown] = await same("sessions", "show", id);
    expect(shown.startsWith(farShown)).toBe(true);

    const attached = startRetinue(["attach", ...option], there);
    const all = ended(attached);
    const attachedJson = startRetinue(["attach", id.slice(-6), "--json", "--from", "start", ...option], there);
    const json = ended(attachedJson);
    await Promise.all([told(attached, "is waiting for your answer"), told(attachedJson, "approval.requested")]);
    const left = startRetinue(["attach", id, ...option], there);
    const leaving = ended(left);
    await told(left, "is waiting for your answer");
    left.kill("SIGINT");
    const again = `To follow it again: retinue attach ${id} --server ${server.url}\n`;
    expect(await leaving).toMatchObject({ code: 130, stdout: expect.stringContaining(again) });
    server.cut();
    await told(attached, "The connection is back.");
    const request = /ask_\w+/.exec((await retinue(["approvals", "list", ...option], there)).stdout)?.[0] ?? "";
    const refused = await retinue(["approvals", "answer", request, "allow", ...option], elsewhere(READ));
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("does not have the approve scope") });
    const message = await retinue(["message", `${id}/${child?.agentId}`, "Look", "first", "--json", ...option], there);
    expect(JSON.parse(message.stdout)).toMatchObject({ sessionId: id, isRunning: true, status: "done" });
    expect(await retinue(["approvals", "answer", request, "allow", ...option], there)).toMatchObject({
      code: 0,
      stdout: `${request} allowed: Bash touch made.\n`,
    });
    expect(await result).toMatchObject({ code: 0, stdout: "It is made.\n" });
    const { stdout } = await all;
    expect(stdout).toContain(`--server ${server.url}`);
    expect(stdout).toMatch(/✓ general-purpose make a file · succeeded · 1 call .*\n✓ Task make a file · .*\n/);
    expect(stdout.endsWith(`\nretinue: The session ${id} has ended: succeeded.\n`)).toBe(true);
    const local = await retinue(["attach", id, "--json", "--from", "start"], place);
    expect(jsonLines(await json)).toEqual(jsonLines(local));
  });

  it("finds the token of the same user's server, which can't approve calls, and says what to do without a token", async () => {
    const { place, result, server } = await startAsking();
    const option = ["--server", server.url.replace("127.0.0.1", "localhost")];
    const own = elsewhere(undefined);
    const failed = async (words: readonly string[], there = own) => (await retinue(words, there)).stderr;
    const fix = "Set RETINUE_TOKEN to the token in the link that `retinue serve` printed.";
    expect(await failed(["ps", ...option])).toBe(
      `retinue: There is no token for the server ${server.url.replace("127.0.0.1", "localhost")}. ${fix}\n`,
    );
    mkdirSync(own.home, { recursive: true });
    writeFileSync(join(own.home, "server.json"), JSON.stringify({ url: server.url, pid: 1, token: READ }));
    const waiting = JSON.parse((await retinue(["approvals", "list", "--json", ...option], own)).stdout) as {
      requestId: string;
    }[];
    expect(waiting).toHaveLength(1);
    expect(await failed(["approvals", "answer", waiting[0]?.requestId ?? "", "deny", ...option])).toBe(
      `retinue: The token that this command found for the server does not allow that. ${fix}\n`,
    );
    expect(await failed(["ps", ...option], elsewhere("old"))).toContain(`does not accept the token. ${fix}`);
    expect(await failed(["ps", "--server", "ftp://x"], own)).toContain('--server can\'t be "ftp://x"');
    expect(await failed(["ps", "--server", "http://127.0.0.1:9"], elsewhere(READ))).toContain("can't be reached");
    expect(await failed(["resume", "x", "--model", "y", ...option])).toContain("No session id");
    const [row] = JSON.parse((await retinue(["ps", "--json", ...option], own)).stdout) as { sessionId: string }[];
    expect(await failed(["resume", row?.sessionId ?? "", "--model", "y", ...option])).toContain(
      "--model can't be used with --server",
    );
    expect(await retinue(["stop", row?.sessionId ?? "", ...option], own)).toMatchObject({ code: 0, stderr: "" });
    await result;
    expect(await failed(["attach"], elsewhere(undefined, place))).toContain("No session is running.");
  });
});
