import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawnSync } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ApiServer, Reply } from "../../src/testing/index.ts";
import { createPlace, ended, serve, startRetinue } from "./command-line.ts";

/** Whether util-linux's `script`, which starts a program in a new terminal, is installed. Others have other options. */
const hasTerminals = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") ?? false;
if (!hasTerminals) console.warn("SKIPPED: terminal keys, because util-linux's `script` is not installed.");

const task = (name: string) => ({
  tool: "Task",
  input: { description: `look at ${name}`, prompt: `CHILD: ${name}`, subagent_type: "general-purpose" },
});

interface Scene {
  readonly server: ApiServer;
  /** Lets the agents answer. */
  readonly answer: () => void;
}

/** Starts a server whose agents do not answer until the test calls `answer`. */
async function scene(): Promise<Scene> {
  let answer = () => {};
  const gate = new Promise<void>((open) => {
    answer = open;
  });
  onTestFinished(answer);
  const child = async (): Promise<Reply> => {
    await gate;
    return { content: "Seen." };
  };
  const server = await serve({
    conversations: [
      { match: { firstUserContains: "CHILD:" }, steps: [{ reply: child, times: "always" }] },
      {
        match: { firstUserContains: "MAIN:" },
        steps: [
          { reply: { content: [task("one"), task("two")] } },
          { reply: { content: "They work." }, times: "always" },
        ],
      },
    ],
  });
  return { server, answer };
}

/** Starts Retinue in a terminal, and prints the terminal's settings after it has ended. */
function startOnTerminal(server: ApiServer): ChildProcessWithoutNullStreams {
  const environment = { TERM: "xterm", SHELL: "/bin/sh" };
  // `script` takes its command as a single argument.
  const command = 'trap : INT; $(printf "%q " "$@"); code=\\$?; stty -a; exit \\$code';
  const through = ["bash", "-c", `script -qe /dev/null -c "${command}"`, "bash"];
  return startRetinue(["-p", "MAIN: go"], { ...createPlace(), server, environment, through });
}

async function until(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  let seen = "";
  await new Promise<void>((found) => {
    child.stdout.on("data", (bytes) => {
      seen += String(bytes);
      if (seen.includes(text)) found();
    });
  });
}

describe.skipIf(!hasTerminals)("on a terminal", () => {
  it("Ctrl+B moves the agents that are waited for to the background, and they go on", async () => {
    const { server, answer } = await scene();
    const child = startOnTerminal(server);
    const end = ended(child);
    await until(child, "Ctrl+B: background");
    child.stdin.write("\u0002");
    await until(child, "Moved to the background: 2 agents.");
    await server.waitForRequest(4);
    answer();
    const { code, stdout } = await end;
    expect(code).toBe(0);
    expect(stdout).toContain("look at one (background)");
    expect(stdout).toContain("They work.");
    expect(stdout).toMatch(/^isig icanon .*\becho /m);
  });

  it("Ctrl+C interrupts while keys are read, and the terminal is as it was", async () => {
    const { server } = await scene();
    const child = startOnTerminal(server);
    const end = ended(child);
    await until(child, "Ctrl+B: background");
    child.stdin.write("\u0003");
    const { code, stdout } = await end;
    expect(code).toBe(130);
    expect(stdout).toContain("Interrupting the main agent and 2 agents that it is waiting for.");
    expect(stdout).toMatch(/^isig icanon .*\becho /m);
  });
});
