import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { createTrustStore } from "../../src/settings/index.ts";
import { type ApiServer, type Conversation, createApiServer, type ReplyPart } from "../../src/testing/index.ts";
import { needsTerminals } from "../../src/testing/needs.test-support.ts";
import { type Ended, type Place, retinue, type StartOptions, startRetinue } from "./command-line.ts";

/**
 * Copies to the clipboard, sets the title, adds a link, clears and moves, with control characters as bytes and in UTF-8,
 * and changes the direction of text.
 */
const HOSTILE = [
  "\u001b]52;c;aGk=\u0007",
  "\u001b]0;title\u001b\\",
  "\u001b]8;;http://x.test\u0007link\u001b]8;;\u0007",
  "\u001b[2J\u001b[77A\u001b[97;41m\u001b[?1337h",
  "\u001bP+q544e\u001b\\\u001b_x\u001b\\\u001bc",
  "\u009b31m\u009d0;title\u009c\u0090x\u009c\u0085",
  "\u202e\u2066\u200f\u061c\u2029",
  "a\rb\bc\u007f\u000b\u000c\u0000d",
].join("hostile");
/** The same without characters that file names can't contain. */
const NAME = HOSTILE.replaceAll("\0", "").replaceAll("/", "");

function place(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-hostile-")));
  const cwd = join(root, NAME);
  mkdirSync(join(cwd, ".agents/agents"), { recursive: true });
  const home = join(root, "home");
  mkdirSync(home);
  const quoted = JSON.stringify(HOSTILE);
  const agent = (name: string, fields: string) =>
    writeFileSync(join(cwd, ".agents/agents", name), `---\n${fields}\n---\n${HOSTILE}\n`);
  agent("good.md", `name: good\ndescription: ${quoted}\ncolor: ${quoted}`);
  agent("bad.md", `name: ${quoted}\ndescription: ${quoted}`);
  agent(`${NAME}.md`, `description: ${quoted}\nmodel: ${quoted}`);
  agent("tools.md", `name: tools\ndescription: ${quoted}\ntools: [${quoted}]\nmodel: ${quoted}`);
  mkdirSync(join(cwd, ".agents/skills/s"), { recursive: true });
  writeFileSync(join(cwd, ".agents/skills/s/SKILL.md"), `---\nname: ${quoted}\ndescription: ${quoted}\n---\nx\n`);
  mkdirSync(join(cwd, ".retinue"));
  const settings = {
    [HOSTILE]: 1,
    effort: "low",
    env: { [HOSTILE]: HOSTILE },
    permissions: { allow: [`Bash(${HOSTILE})`, HOSTILE], deny: [`Read(${HOSTILE})`], additionalDirectories: [HOSTILE] },
    hooks: {
      PostToolUse: [{ matcher: `${HOSTILE}(`, hooks: [{ type: "command", command: `echo '${HOSTILE}' >&2; exit 1` }] }],
    },
    mcpServers: { [HOSTILE]: { command: HOSTILE }, other: { url: HOSTILE } },
    agents: { [HOSTILE]: { description: HOSTILE, model: HOSTILE } },
  };
  writeFileSync(join(cwd, ".retinue/settings.json"), JSON.stringify(settings));
  writeFileSync(join(home, "settings.json"), JSON.stringify({ sandbox: "off", permissions: { allow: ["Bash"] } }));
  writeFileSync(join(cwd, NAME), HOSTILE);
  return { cwd, home };
}

/** Returns the first characters in a text that a terminal could obey, with their surroundings; undefined if there are none. */
function controlsIn(text: string): string | undefined {
  const at = text.search(/[^\n\t\P{Cc}]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u);
  return at === -1 ? undefined : JSON.stringify(text.slice(Math.max(0, at - 60), at + 40));
}

const call = (tool: string, input: object): ReplyPart => ({ tool, input });

/** The model's answers, which use hostile text wherever a model can write text. */
const conversations: Conversation[] = [
  { match: { firstUserContains: "PART:" }, steps: [{ reply: { content: HOSTILE }, times: "always" }] },
  {
    steps: [
      {
        reply: {
          content: [
            { thinking: HOSTILE },
            HOSTILE,
            call("Bash", { command: "cat *", description: HOSTILE }),
            call("Read", { file_path: NAME }),
            call("Glob", { pattern: "**" }),
            call("Grep", { pattern: "hostile", path: HOSTILE }),
            call("TodoWrite", { todos: [{ content: HOSTILE, activeForm: HOSTILE, status: "in_progress" }] }),
            call("Write", { file_path: NAME, content: HOSTILE }),
            call(HOSTILE.slice(0, 40), { [HOSTILE]: HOSTILE }),
            call("Task", { description: HOSTILE, prompt: `PART: ${HOSTILE}`, subagent_type: "good" }),
            call("Task", { description: HOSTILE, prompt: "PART:", subagent_type: "good", name: HOSTILE }),
            call("Task", { description: HOSTILE, prompt: `PART: ${HOSTILE}`, subagent_type: HOSTILE }),
          ],
        },
      },
      { reply: { content: `${HOSTILE} DONE` } },
      { reply: { content: "", fault: { kind: "status", status: 400, message: HOSTILE } }, times: "always" },
    ],
  },
];

const ARGUMENT = HOSTILE.replaceAll("\0", "");
const allowed = ["--allowed-tools", "Read,Glob,Grep,Write,Task"];

let at: Place;
let api: ApiServer;
let options: StartOptions;

beforeAll(async () => {
  at = place();
  api = await createApiServer({ script: { conversations } });
  options = { ...at, server: api, environment: { RETINUE_DEBUG: "1" } };
  await createTrustStore({ stateHome: at.home }).add(at.cwd);
});

afterAll(async () => {
  await api.close();
  rmSync(join(at.home, ".."), { recursive: true, force: true, maxRetries: 5 });
});

it("no command prints control characters from models, tools, files, settings and arguments", async () => {
  const found: Record<string, string | undefined> = {};
  const run = async (...words: readonly string[]): Promise<Ended> => {
    const done = await retinue(words, options);
    // Without a terminal, the answer is printed as it is.
    found[words.map((word) => word.replace(ARGUMENT, "HOSTILE")).join(" ")] =
      words[0] === "-p" ? controlsIn(done.stderr) : controlsIn(done.stdout + done.stderr);
    return done;
  };
  await run("trust", "add");
  const first = await run("-p", `MAIN ${ARGUMENT}`, "--verbose", ...allowed);
  expect(first.stderr).toContain("hostile");
  expect(first.stdout).toBe(`${HOSTILE} DONE\n`);
  expect((await run("-p", "again", "--continue", "--verbose")).code).not.toBe(0);
  const [{ id }] = JSON.parse((await retinue(["sessions", "list", "--json"], options)).stdout);
  const commands = `trust list|sessions list|sessions list --all|sessions show ${id}|ps|ps --all|agents list|agents show good
    |agents check|agents lint|permissions list|config show --origin|doctor|worktrees list|cache|approvals list|plugins list
    |schedule list|attach ${id} --from start|message ${id} x|resume ${id} x|stop ${id}`;
  for (const command of commands.split(/\s*\|/)) await run(...command.split(" "));
  expect((await run("sessions", "show", id)).stdout).toContain("hostile");
  for (const words of [
    "agents show",
    "agents explain good",
    "sessions show",
    "sessions delete",
    "plugins add",
    "-p x --agent",
  ])
    await run(...words.split(" "), ARGUMENT);
  await run("-p", "x", "--settings", ARGUMENT);
  await run("-p", "x", "--output-format", ARGUMENT);
  await run(ARGUMENT, "--x");
  expect(Object.entries(found).filter(([, controls]) => controls !== undefined)).toEqual([]);
});

it("a server's errors and names are printed without control characters", async () => {
  let answer = { status: 200, type: "application/json", body: "" };
  const server = createServer((_, response) => {
    response.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const session = Object.fromEntries(
    ["id", "cwd", "title", "state", "detail", "model", "worker", "outcome", "reason", "turns"].map((key) => [
      key,
      HOSTILE,
    ]),
  );
  const json = (value: unknown, status = 200) => ({ status, type: "application/json", body: JSON.stringify(value) });
  const answers = [
    json([session]),
    json([{ ...session, state: "idle", createdAt: 1, updatedAt: 1 }]),
    json({ code: HOSTILE, detail: HOSTILE }, 422),
    json({ code: HOSTILE, detail: HOSTILE }, 401),
    json({ [HOSTILE]: HOSTILE }),
    json([null, HOSTILE]),
    { status: 500, type: "text/html", body: HOSTILE },
    { status: 200, type: "application/json", body: HOSTILE },
  ];
  const found: unknown[] = [];
  for (answer of answers)
    for (const words of [
      "sessions list",
      "sessions show s1",
      "ps",
      "approvals list",
      "approvals answer r1 allow",
      "attach s1",
    ]) {
      const all = { ...options, environment: { RETINUE_TOKEN: "x".repeat(40) } };
      const { stdout, stderr } = await retinue([...words.split(" "), "--server", url], all);
      const controls = controlsIn(stdout + stderr);
      if (controls !== undefined) found.push([words, controls]);
      if (stderr.includes("bug in Retinue")) found.push([words, answer.body, stderr]);
    }
  expect(found).toEqual([]);
});

/** Sequences in the hostile text that the program itself never prints. */
const sequences = ["\u001b]", "\u001bP", "\u001b_", "\u001bc", "\u001b[77A", "\u001b[97;41m", "\u001b[?1337h"];

it.each<[string, readonly string[], string?]>([
  ["-p", ["-p", "MAIN", "--verbose", ...allowed]],
  ["-p with JSON", ["-p", "MAIN", "--output-format", "stream-json", ...allowed]],
  ["an export", ["sessions", "export"]],
  ["diagnostics as JSON", ["agents", "check", "--jsonl"]],
  ["the terminal interface", allowed, "MAIN"],
  ["the terminal interface without redrawing", ["--plain", ...allowed], "MAIN"],
])("a terminal gets no control characters from hostile text: %s", needsTerminals, async (_, words, prompt) => {
  const own = await createApiServer({ script: { conversations } });
  onTestFinished(() => own.close());
  const session =
    words[0] === "sessions" ? [JSON.parse((await retinue(["sessions", "list", "--json"], options)).stdout)[0].id] : [];
  const command = 'stty cols 200 rows 50; $(printf "%q " "$@")';
  const child = startRetinue([...words, ...session], {
    ...at,
    server: own,
    environment: { TERM: "xterm-256color", SHELL: "/bin/sh" },
    through: ["bash", "-c", `script -qe /dev/null -c "${command}"`, "bash"],
  });
  child.stdin.on("error", () => undefined);
  let shown = "";
  let isPrompted = prompt === undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    if (!isPrompted && /[›>] /.test(shown)) {
      isPrompted = true;
      child.stdin.write(`${prompt}\r`);
    }
    if (prompt !== undefined && /DONE/.test(shown)) child.stdin.write("\u0004");
  });
  await once(child, "close");
  expect(shown).toContain("hostile");
  expect(sequences.filter((each) => shown.includes(each))).toEqual([]);
  expect(/[\u0080-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.exec(shown)).toBeNull();
});
