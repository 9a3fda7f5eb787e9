import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { createApiServer, messagesOf, type Reply, type Script } from "../../src/testing/index.ts";
import { checkPrograms } from "../docs/programs.ts";
import { repository } from "../docs/repository.ts";

const examples = join(import.meta.dirname, "../../examples");
const names = readdirSync(examples).flatMap((file) => (file.endsWith(".ts") ? [file.slice(0, -3)] : []));
const directory = mkdtempSync(join(tmpdir(), "retinue-examples-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const programs = checkPrograms(
  directory,
  names.map((name) => ({ name, text: readFileSync(join(examples, `${name}.ts`), "utf8") })),
);

it.each(names)("%s compiles", (name) => {
  expect(programs.problems.get(name)).toEqual([]);
});

it("all are listed in README.md", () => {
  const readme = readFileSync(join(examples, "README.md"), "utf8");
  expect(names.filter((name) => !readme.includes(`(${name}.ts)`))).toEqual([]);
});

interface Start {
  readonly files?: Readonly<Record<string, string>>;
  /** Arguments of the program. */
  readonly words?: readonly string[];
}

/** Starts an example in a repository, with a model API server. */
async function start(name: string, script: Script, { files = repository, words = [] }: Start = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "retinue-example-")));
  const cwd = join(base, "shop");
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true });
    writeFileSync(join(cwd, file), content);
  }
  const git = (...args: string[]) => execFileSync("git", args, { cwd, stdio: "pipe" });
  git("init", "-q", "--template=");
  const server = await createApiServer({ script });
  const child = spawn(process.execPath, [programs.fileOf(name), ...words], {
    cwd,
    env: {
      PATH: process.env["PATH"],
      HOME: base,
      PORT: "0",
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_URL: `${server.url}/v1`,
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: `${server.url}/v1`,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill("SIGKILL");
    await server.close();
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  });
  const ended = Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({ code, stdout, stderr }),
  );
  return { server, child, ended };
}

const task = (agent: string) => ({
  tool: "Task",
  input: { description: agent, prompt: `Review as ${agent}.`, subagent_type: agent },
});
const conversation = (part: string, ...replies: Reply[]) => ({
  match: { firstUserContains: part },
  steps: replies.map((reply) => ({ reply })),
});

it("review.ts starts three agents at once and exits with 1 for a blocker", async () => {
  const finding = { file: "src/price.js", line: 5, severity: "blocker", text: "Unknown products are free." };
  const { server, ended } = await start("review", {
    conversations: [
      conversation(
        "Have the agents",
        { content: ["correctness", "security", "tests"].map(task) },
        { content: JSON.stringify({ findings: [finding] }) },
      ),
      ...["correctness", "security", "tests"].map((agent) =>
        conversation(`Review as ${agent}`, { content: "One finding." }),
      ),
    ],
  });
  expect(await ended).toEqual({
    code: 1,
    stdout: "src/price.js:5: blocker: Unknown products are free.\n",
    stderr: "",
  });
  server.assertDone();
});

it("custom-tool.ts reads without approval and asks before it changes something", async () => {
  const { server, ended } = await start("custom-tool", [
    { content: [{ tool: "count", input: { product: "plum" } }] },
    { content: [{ tool: "order", input: { product: "plum", pieces: 5 } }] },
    { content: "I ordered five plums." },
  ]);
  const stdout = 'approve? order {"product":"plum","pieces":5}\nI ordered five plums.\n5\n';
  expect(await ended).toEqual({ code: 0, stdout, stderr: "" });
  server.assertDone();
});

it("web-chat.ts streams answers, one session per visitor", async () => {
  const { child, ended } = await start("web-chat", (request) => ({
    content: `Answer ${messagesOf(request).filter(({ role }) => role === "user").length}`,
  }));
  const [first] = await once(child.stdout, "data");
  const port = /port: (\d+)/.exec(String(first))?.[1];
  const post = async (visitor: string) =>
    (await fetch(`http://127.0.0.1:${port}/chat?visitor=${visitor}`, { method: "POST", body: "Hello" })).text();
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain("<form>");
  expect(await post("ana")).toBe("Answer 1\n");
  expect(await post("ana")).toBe("Answer 2\n");
  expect(await post("bob")).toBe("Answer 1\n");
  const empty = await fetch(`http://127.0.0.1:${port}/chat?visitor=ana`, { method: "POST", body: "" });
  expect([empty.status, await empty.text()]).toEqual([400, "Write a message first."]);
  expect(await post("ana")).toBe("Answer 3\n");
  child.kill("SIGTERM");
  expect((await ended).stderr).toBe("");
});

it("fork-fan-out.ts lets forks read the cache", async () => {
  const fork = (description: string) => ({ tool: "Task", input: { description, prompt: `Fork: ${description}.` } });
  const { ended } = await start("fork-fan-out", (request) => {
    const said = messagesOf(request);
    const last = said.at(-1)?.text ?? "";
    if (last.includes("Fork: ")) return { content: "None." };
    if (last.includes("Start two forks")) return { content: [fork("missing tests"), fork("possible bugs")] };
    return { content: said.at(-1)?.toolResults.length ? "No problems." : "Read." };
  });
  const { stdout, stderr } = await ended;
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^No problems\.\nfork missing tests: \d{2,3} % .*\nfork possible bugs: \d{2,3} % .*\n$/);
});

it("ai-sdk.ts plans with one model and works with another", async () => {
  const edit = { file_path: "src/price.js", old_string: "?? 0", new_string: "?? null" };
  const { server, ended } = await start("ai-sdk", {
    conversations: [
      {
        match: { wire: "anthropic" },
        steps: [
          { reply: { content: [{ thinking: "Look." }, { tool: "Read", input: { file_path: "src/price.js" } }] } },
          { when: { afterTool: "Read" }, reply: { content: "Throw in priceOf." } },
        ],
      },
      {
        match: { wire: "responses" },
        steps: [
          { reply: { content: [{ thinking: "Now." }, { tool: "Edit", input: edit }] } },
          { when: { afterTool: "Edit" }, reply: { content: "Done." } },
        ],
      },
    ],
  });
  expect(await ended).toEqual({
    code: 0,
    stdout: "Plan: Throw in priceOf.\nsucceeded Done. src/price.js\n",
    stderr: "",
  });
  server.assertDone();
});

it("extract.ts extracts data from 100 files", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`invoices/${String(index).padStart(3, "0")}.txt`, `Total: ${index}`]),
  );
  const { ended } = await start(
    "extract",
    (request) => {
      const said = messagesOf(request);
      const number = Number(/invoices\/(\d+)\.txt/.exec(said[0]?.text ?? "")?.[1]);
      // One of the models never gives a valid answer.
      return { content: number === 13 ? "Unreadable." : JSON.stringify({ customer: "c", total: number }) };
    },
    { files },
  );
  const { stdout, code } = await ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^total 4937, 1 problems, \$0\.\d\d\n013\.txt: The answer does not match/);
}, 60_000);

it("extract.ts stays within its budget, and reports every file that it could not pay for", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `${String(index).padStart(3, "0")}.txt`);
  const usage = { inputTokens: 15_000, outputTokens: 10 };
  const { ended } = await start("extract", () => ({ content: JSON.stringify({ customer: "c", total: 1 }), usage }), {
    files: Object.fromEntries(names.map((name) => [`invoices/${name}`, "Total: 1"])),
    words: ["invoices", "0.25"],
  });
  const { stdout } = await ended;
  const [, total = "", problems = "", cost = ""] = /^total (\d+), (\d+) problems, \$([\d.]+)\n/.exec(stdout) ?? [];
  expect(Number(cost)).toBeLessThanOrEqual(0.25);
  expect(Number(total)).toBeGreaterThan(0);
  expect(Number(problems)).toBeGreaterThan(0);
  expect(Number(total) + Number(problems)).toBe(20);
}, 60_000);
