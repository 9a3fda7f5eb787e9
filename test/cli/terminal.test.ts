import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ApiServer, Reply } from "../../src/testing/index.ts";
import { needsTerminals } from "../../src/testing/needs.test-support.ts";
import {
  createPlace,
  type Ended,
  ended,
  type Place,
  retinue,
  serve,
  startRetinue,
  underCommand,
} from "./command-line.ts";

const task = (name: string) => ({
  tool: "Task",
  input: { description: `look at ${name}`, prompt: `CHILD: ${name}`, subagent_type: "general-purpose" },
});

interface Scene {
  readonly server: ApiServer;
  /** Makes the agents answer. */
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

interface OnTerminal {
  readonly end: Promise<Ended>;
  /** Waits until the terminal shows the text, after the text that was waited for last. */
  until(text: string): Promise<void>;
  /** Types all keys at once. */
  type(keys: string): void;
}

interface TerminalOptions extends Partial<Place> {
  readonly words?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly through?: readonly string[];
}

/** Starts Retinue in a terminal, and prints the terminal's settings after it has ended. */
function startOnTerminal(server: ApiServer, options: TerminalOptions = {}): OnTerminal {
  const { words = ["-p", "MAIN: go"], through: before = [] } = options;
  const environment = { TERM: "xterm", SHELL: "/bin/sh", ...options.environment };
  // `script` takes its command as a single argument.
  const command = 'trap : INT; $(printf "%q " "$@"); code=\\$?; stty -a; exit \\$code';
  const through = [...before, "bash", "-c", `script -qe /dev/null -c "${command}"`, "bash"];
  const child = startRetinue(words, { ...createPlace(), ...options, server, environment, through });
  return { end: ended(child), until: reader(child), type: (keys) => child.stdin.write(keys) };
}

function reader(child: ChildProcessWithoutNullStreams): (text: string) => Promise<void> {
  let unread = "";
  let hasEnded = false;
  let check = () => {};
  child.stdout.on("data", (bytes) => {
    unread += String(bytes);
    check();
  });
  child.on("close", () => {
    hasEnded = true;
    check();
  });
  return (text) =>
    new Promise((found, fail) => {
      check = () => {
        const at = unread.indexOf(text);
        if (at < 0 && hasEnded) fail(new Error(`The terminal shows no ${JSON.stringify(text)}, but: ${unread}`));
        if (at < 0) return;
        unread = unread.slice(at + text.length);
        check = () => {};
        found();
      };
      check();
    });
}

describe("on a terminal", needsTerminals, () => {
  it("Ctrl+B moves the foreground agents to the background, and they continue", async () => {
    const { server, answer } = await scene();
    const { end, until, type } = startOnTerminal(server);
    await until("Ctrl+B: background");
    type("\u0002");
    await until("Moved to the background: 2 agents.");
    await server.waitForRequest(4);
    answer();
    const { code, stdout } = await end;
    expect(code).toBe(0);
    expect(stdout).toContain("look at one (background)");
    expect(stdout).toContain("They work.");
    expect(stdout).toMatch(/^isig icanon .*\becho /m);
  });

  it("Ctrl+C interrupts the run while keys are being read, and restores the terminal", async () => {
    const { server } = await scene();
    const { end, until, type } = startOnTerminal(server);
    await until("Ctrl+B: background");
    type("\u0003");
    const { code, stdout } = await end;
    expect(code).toBe(130);
    expect(stdout).toContain("Interrupting the main agent and 2 agents that it is waiting for.");
    expect(stdout).toMatch(/^isig icanon .*\becho /m);
  });
});

const bash = (command: string) => ({ tool: "Bash", input: { command } });
const keys = "y once";
const lineEnd = "\r";

/** Returns the results that the model has received, oldest first. */
function results(server: ApiServer): readonly string[] {
  const body = server.requests.at(-1)?.body as { readonly messages: readonly { readonly content: unknown }[] };
  const blocks = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return blocks
    .filter(({ type }) => type === "tool_result")
    .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
}

describe("a call that needs approval", needsTerminals, () => {
  it("is shown in full on the terminal, and the user can allow it once, deny it, edit it, or always allow it", async () => {
    const replies = [
      bash("touch once\necho 'a\u202eb'"),
      bash("touch never"),
      bash("touch wrong"),
      bash("touch always"),
      bash("touch always"),
    ].map((call) => ({ reply: { content: [call] } }));
    const server = await serve([...replies, { reply: { content: "Done." } }]);
    const place = createPlace();
    const { end, until, type } = startOnTerminal(server, place);
    await until("main asks for approval (ask_");
    await until("Bash touch once↵\r\n        echo 'a\\u{202e}b'");
    await until("No rule allows this command");
    await until(keys);
    type("y");
    await until("Allowed.");

    await until(keys);
    type("n");
    await until("Why?");
    type("Not on\nFridays");
    await until("Not on↵Fridays");
    type(lineEnd);
    await until("Denied.");

    await until(keys);
    type("e");
    await until("touch wrong");
    for (const _ of "wrong") type("\u007f");
    type("edited ");
    await until("edited ");
    type(lineEnd);
    // A trailing space can't be seen, so the command is shown again before it runs.
    await until("Bash touch edited␠");
    await until(keys);
    type("y");
    await until("Allowed as edited.");

    await until("a always");
    type("a");
    await until("1. Bash(touch always)");
    await until("Esc: back");
    type("1");
    await until("Rule to add: Bash(touch always)");
    await until("s for this session");
    type("s");
    await until("From now on, Bash(touch always) is allowed.");
    const { code, stdout } = await end;
    expect(stdout).toContain("Done.");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^isig icanon .*\becho /m);
    const files = ["once", "never", "wrong", "edited", "always"].filter((name) => existsSync(join(place.cwd, name)));
    expect(files).toEqual(["once", "edited", "always"]);
    expect(results(server)[1]).toContain("Not on\nFridays");
  });

  it("is not answered by keys typed before the question was shown", async () => {
    let answer = () => {};
    const gate = new Promise<void>((open) => {
      answer = open;
    });
    const call = async (): Promise<Reply> => {
      await gate;
      return { content: [bash("touch x")] };
    };
    const server = await serve([{ reply: call }, { reply: { content: "Done." } }]);
    const place = createPlace();
    const { end, until, type } = startOnTerminal(server, place);
    await server.waitForRequest(1);
    type("y");
    answer();
    await until("asks for approval");
    type("y");
    await until(keys);
    type("n");
    await until("Why?");
    type(lineEnd);
    const { code } = await end;
    expect(code).toBe(0);
    expect(existsSync(join(place.cwd, "x"))).toBe(false);
    expect(results(server)).toEqual([expect.stringContaining("The user denied this call.")]);
  });

  it("waits for its turn, can be answered in another terminal, and is withdrawn by Ctrl+C", async () => {
    const child = (name: string) => ({
      match: { firstUserContains: `CHILD: ${name}` },
      steps: [{ reply: { content: [bash(`touch ${name}`)] } }, { reply: { content: "Seen." } }],
    });
    const main = { match: { firstUserContains: "MAIN:" }, steps: [{ reply: { content: [task("one"), task("two")] } }] };
    const server = await serve({ conversations: [child("one"), child("two"), main] });
    const place = createPlace();
    const { end, until, type } = startOnTerminal(server, place);
    await until("main › general-purpose (a");
    await until("1 more waiting");
    const listed = JSON.parse((await retinue(["approvals", "list", "--json"], place)).stdout);
    const [first] = listed as { requestId: string; call: { inputJson: string } }[];
    const other = startOnTerminal(server, { ...place, words: ["approvals", "answer", first?.requestId ?? "", "deny"] });
    expect((await other.end).code).toBe(0);
    await until("Denied by ");
    await until("general-purpose (a");
    await until(keys);
    type("\u0003");
    const { code, stdout } = await end;
    expect(code).toBe(130);
    expect(stdout).toContain("Withdrawn: the run was stopped.");
    expect(stdout).toMatch(/^isig icanon .*\becho /m);
    const left = await retinue(["approvals", "list"], place);
    expect(left.stdout).toBe("No requests are waiting for approval.\n");
  });

  it("can be a question, which is answered with numbers or text", async () => {
    const options = [{ label: "npm" }, { label: "pnpm" }, { label: "yarn" }];
    const questions = [
      { question: "Which one?", header: "One", options },
      { question: "Which ones?", header: "Several", options, multiSelect: true },
      { question: "Anything else?", header: "Else", options },
    ];
    const server = await serve([
      { reply: { content: [{ tool: "AskUserQuestion", input: { questions } }] } },
      { reply: { content: "Done." } },
    ]);
    const { end, until, type } = startOnTerminal(server);
    await until("2. pnpm");
    for (const text of ["7", "2", "1,3", "Use Deno"]) {
      await until("the agent decides): ");
      type(text);
      await until(text);
      type(lineEnd);
      if (text === "7") await until('"7" is not an option for the question "Which one?".');
    }
    await until("Answered.");
    expect((await end).code).toBe(0);
    expect(results(server)).toEqual([
      "Which one?\npnpm\n\nWhich ones?\nnpm\nyarn\n\nAnything else?\nUse Deno (in the user's own words)",
    ]);
  });

  it.each([
    ["the user chose to deny", { words: ["-p", "MAIN: go", "--on-ask", "deny"] }],
    ["CI is set", { environment: { CI: "true" } }],
    ["an agent started the run", underCommand('"$@"')],
  ])("is denied if %s", async (_, options) => {
    const server = await serve([{ reply: { content: [bash("touch x")] } }, { reply: { content: "Done." } }]);
    const { code, stdout } = await startOnTerminal(server, options).end;
    expect(code).toBe(0);
    expect(stdout).toContain("Bash touch x was denied: no approver is available.");
  });
});

it("--on-ask ask needs a terminal", async () => {
  const { code, stderr } = await retinue(["-p", "go", "--on-ask", "ask"], createPlace());
  expect(code).toBe(2);
  expect(stderr).toContain("--on-ask ask needs a terminal for standard input and standard error");
});
