import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { createDirectoryWorker } from "../app/index.ts";
import type { ExecuteRequest, WorkerSession, WorkerSessionOptions } from "../ports/index.ts";
import { type Policy, type Settings, textOf } from "../protocol/index.ts";
import { createSessionFiles } from "./index.ts";
import { everything, newPlace, openOn, startNetwork, startServer, startWorker, toolCall } from "./link.test-support.ts";
import type { RemoteWorker } from "./remote-worker.ts";

interface Attacked {
  readonly root: string;
  readonly home: string;
  /** Directory above the workspace, which the server must not reach. */
  readonly outside: string;
  readonly remote: RemoteWorker;
}

const variables = { APP_MODE: "test", SECRET_TOKEN: "s3cret" };

/** Connects a worker whose user has these settings to a malicious server. */
async function attack(settings: Settings = {}): Promise<Attacked> {
  const at = newPlace();
  mkdirSync(at.home, { recursive: true });
  writeFileSync(join(at.home, "settings.json"), JSON.stringify({ sandbox: "off", ...settings }));
  writeFileSync(join(at.root, "secret.txt"), "a secret\n");
  writeFileSync(join(at.root, "plain.txt"), "plain\n");
  writeFileSync(join(dirname(at.root), "outside.txt"), "outside\n");
  const environment = { PATH: process.env["PATH"], HOME: at.home, RETINUE_HOME: at.home, ...variables };
  const server = await startServer();
  const { url } = await startNetwork(server.port);
  const connected = server.next("connected");
  const own = createDirectoryWorker({ name: "box", cwd: at.root, environment, report: () => {} });
  const files = createSessionFiles(own.filesDirectory, "box");
  startWorker({ at, url, ...own, files });
  return { ...at, outside: dirname(at.root), remote: await connected };
}

type Open = Partial<WorkerSessionOptions> & Pick<Attacked, "remote">;
/** Opens a session with a unique id, because a session's processes are found by its id. */
const open = ({ remote, ...options }: Open): Promise<WorkerSession> =>
  openOn(remote, { sessionId: `hostile-${randomUUID()}`, ...options });

let calls = 0;

/** Performs a call that the server claims was approved. */
async function perform(
  session: WorkerSession,
  { tool, input, policy = {}, root }: { tool: string; input: object; policy?: Partial<Policy>; root: string },
) {
  calls += 1;
  const call = toolCall(`c${calls}`, tool, input);
  const grant = { callId: call.callId, inputJson: call.inputJson };
  const roots = { workspaceRoots: ["/"], readableRoots: ["/"] };
  const request: ExecuteRequest = { agentId: "main", call, policy: { ...everything, ...roots, ...policy }, grant };
  const result = await session.executor(root).execute(request, () => {}, new AbortController().signal);
  return { outcome: result.outcome, text: textOf(result.content) };
}

it("a server can't lift the deny rules set by the worker's user", async () => {
  const { remote, root } = await attack({ permissions: { deny: ["Read(secret.txt)", "Bash(curl *)"] } });
  const session = await open({ remote });
  const at = { root, policy: { rules: [{ text: "*", effect: "allow", scope: "managed", form: "compact" }] } } as const;
  const read = (file_path: string) => perform(session, { ...at, tool: "Read", input: { file_path } });
  expect(await read("secret.txt")).toMatchObject({ outcome: "denied", text: expect.stringContaining("secret.txt") });
  expect(await read("plain.txt")).toMatchObject({ outcome: "ok" });
  const run = (command: string) => perform(session, { ...at, tool: "Bash", input: { command } });
  expect(await run("curl https://example.com")).toMatchObject({ outcome: "denied" });
  expect(await run("cat secret.txt")).toMatchObject({ outcome: "denied" });
  expect(await run("echo hello")).toMatchObject({ outcome: "ok", text: "hello" });
  const judged = await session.executor(root).judge(toolCall("j1", "Read", { file_path: "secret.txt" }), everything);
  expect(judged).toMatchObject({ decision: { effect: "deny", rule: "Read(secret.txt)" } });
});

const deny = ["Read(secret.txt)", "Edit(plain.txt)", "Bash(curl *)"];

it.each([
  "tee plain.txt <<< x",
  "sed -i s/p/q/ plain.txt",
  "cp secret.txt z; cat z",
  "tar cf - secret.txt",
  "ln secret.txt hard; cat hard",
  "cat $(echo secret.txt)",
  "cat $(echo secre)t.txt",
  "cp -r . ../copy",
  "name=secret; cp $name.txt z",
  "mkdir d; mv d e; touch e/x",
  `curl\${IFS}--version`,
  "$(echo curl) --version",
  "eval curl --version",
])("a server can't approve %s, which may evade a deny rule set by the worker's user", async (command) => {
  for (const ask of [[], ["Bash"], ["Bash(tee:*)", "Edit(z)", "Read(z)"]]) {
    const { remote, root } = await attack({ permissions: { deny, ask } });
    const session = await open({ remote });
    expect(await perform(session, { root, tool: "Bash", input: { command } })).toMatchObject({ outcome: "denied" });
    expect(readFileSync(join(root, "plain.txt"), "utf8")).toBe("plain\n");
  }
});

it.each(["touch made", "npm --version", "echo hello > made", "git init -q .", "mkdir d && touch d/x"])(
  "a server can approve %s, even though there are deny rules",
  async (command) => {
    const { remote, root } = await attack({ permissions: { deny } });
    const session = await open({ remote });
    expect(await perform(session, { root, tool: "Bash", input: { command } })).toMatchObject({ outcome: "ok" });
  },
);

it("rules that the worker's user adds apply to open sessions, and no call is allowed while they are invalid", async () => {
  const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: "touch own" }] }] };
  const { remote, root, home } = await attack({ hooks });
  const session = await open({ remote });
  const read = () => perform(session, { root, tool: "Read", input: { file_path: "secret.txt" } });
  expect(await read()).toMatchObject({ outcome: "ok" });
  const settings = join(home, "settings.json");
  writeFileSync(settings, JSON.stringify({ sandbox: "off", permissions: { deny: ["Read(secret.txt)"] } }));
  expect(await read()).toMatchObject({ outcome: "denied", text: expect.stringContaining("secret.txt") });
  const hook = { agentId: "main", stdin: "{}", seconds: 10, command: "touch own" };
  expect(await session.runHook(hook, new AbortController().signal)).toMatchObject({ ended: false });
  expect(existsSync(join(root, "own"))).toBe(false);
  writeFileSync(settings, "{");
  expect(await read()).toMatchObject({ outcome: "denied", text: expect.stringContaining("settings.json") });
  const judged = await session.executor(root).judge(toolCall("j1", "Read", { file_path: "plain.txt" }), everything);
  expect(judged).toMatchObject({ kind: "invalid", message: expect.stringContaining("settings.json") });
  writeFileSync(settings, "{}");
  expect(await read()).toMatchObject({ outcome: "ok" });
});

it("a server can't use files outside the directories that the worker was given", async () => {
  const { remote, root, outside } = await attack();
  const session = await open({ remote });
  symlinkSync(outside, join(root, "link"));
  for (const file_path of [join(outside, "outside.txt"), "../outside.txt", "link/outside.txt", "/etc/hostname"]) {
    const read = await perform(session, { root, tool: "Read", input: { file_path } });
    expect(read, file_path).toMatchObject({ outcome: "denied", text: expect.stringContaining("this worker") });
  }
  const written = join(outside, "written.txt");
  const write = await perform(session, { root, tool: "Write", input: { file_path: written, content: "x" } });
  expect(write.outcome).toBe("denied");
  expect(existsSync(written)).toBe(false);
  const elsewhere = await perform(session, { root: outside, tool: "Read", input: { file_path: "outside.txt" } });
  expect(elsewhere).toMatchObject({ outcome: "error" });
  expect(elsewhere.text).toContain(`${outside} is not one of this worker's directories`);
  const edit = await perform(session, { root, tool: "Write", input: { file_path: "new.txt", content: "new" } });
  expect(edit.outcome).toBe("ok");
});

it("a server can't change files that rules protect by restoring earlier contents", async () => {
  const { remote, root, outside } = await attack({ permissions: { deny: ["Edit(secret.txt)"] } });
  const session = await open({ remote });
  const content = Buffer.from("changed").toString("base64");
  const restore = (path: string, text: string) =>
    session.restoreFile({ path, content, expect: createHash("sha256").update(text).digest("hex") });
  expect(await restore(join(root, "secret.txt"), "a secret\n")).toMatchObject({ ok: false });
  expect(await restore(join(outside, "outside.txt"), "outside\n")).toMatchObject({ ok: false });
  expect(await restore(join(root, "plain.txt"), "another text")).toEqual({
    ok: false,
    message: "it has been changed since",
  });
  expect(await restore(join(root, "plain.txt"), "plain\n")).toEqual({ ok: true });
  const texts = ["secret.txt", "../outside.txt", "plain.txt"].map((name) => readFileSync(join(root, name), "utf8"));
  expect(texts).toEqual(["a secret\n", "outside\n", "changed"]);
});

it("a server can use an additional directory that the worker was given, and no other", async () => {
  const other = newPlace();
  writeFileSync(join(other.root, "note.txt"), "a note\n");
  const { remote, root, outside } = await attack({ permissions: { additionalDirectories: [other.root] } });
  const session = await open({ remote });
  const read = (file_path: string) => perform(session, { root, tool: "Read", input: { file_path } });
  expect(await read(join(other.root, "note.txt"))).toMatchObject({ outcome: "ok" });
  const answer = await remote.snapshot({ required: true, additionalDirectories: [other.root, outside] });
  expect(answer).toMatchObject({ snapshot: { additionalDirectories: [other.root] } });
});

it("a server can't turn off or widen the worker's sandbox", async () => {
  const { remote } = await attack({ sandbox: { mode: "require", network: { allowedDomains: ["example.com"] } } });
  const network = { allowedDomains: ["example.com", "evil.example"] };
  const session = await open({ remote, sandbox: { mode: "off", network, filesystem: { allowWrite: ["/"] } } });
  const commands = await session.environment.commands();
  expect(commands).toMatch(/run in a sandbox|require a sandbox/);
  expect(commands).not.toContain("evil.example");
});

it("a server can't run commands as hooks or MCP servers, unless they are the worker's own", async () => {
  const own = { PreToolUse: [{ hooks: [{ type: "command", command: "touch own" }] }] };
  const mcpServers = { mine: { command: "sh", args: ["-c", "touch mine"] } };
  const { remote, root } = await attack({ hooks: own, mcpServers });
  const session = await open({ remote });
  const { signal } = new AbortController();
  const hook = { agentId: "main", stdin: "{}", seconds: 10 };
  const refused = await session.runHook({ ...hook, command: "touch hooked" }, signal);
  expect(refused).toMatchObject({ ended: false, failure: expect.stringContaining("not a hook in this worker") });
  expect(await session.runHook({ ...hook, command: "touch own" }, signal)).toMatchObject({ ended: true, code: 0 });
  const uses = [
    { name: "evil", config: { command: "sh", args: ["-c", "touch evil"] } },
    { name: "mine", config: mcpServers.mine },
  ];
  const offer = await session.connectServers({ uses, names: ["evil", "mine"], owner: "main", root }, signal);
  expect(offer.servers.map(({ name }) => name).sort()).toEqual(["evil", "mine"]);
  expect(offer.problems.join()).toContain(`"evil" is not configured on this worker`);
  expect(["hooked", "own", "evil", "mine"].map((name) => existsSync(join(root, name)))).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

it("commands get the variables that the worker's settings name, not those that the server names", async () => {
  const { remote, root } = await attack({ env: { PROJECT_COLOR: "green" }, environment: { pass: ["APP_MODE"] } });
  const session = await open({ remote, passedVariables: ["SECRET_TOKEN"] });
  const command = 'echo "$PROJECT_COLOR $APP_MODE $SECRET_TOKEN"';
  expect(await perform(session, { root, tool: "Bash", input: { command } })).toMatchObject({ text: "green test" });
});

it("a server can't get keys, or read other files as settings", async () => {
  const headers = { authorization: "k3y" };
  const { remote, outside, home } = await attack({ env: { MY_KEY: "k3y" }, providers: { mine: { headers } } });
  writeFileSync(join(outside, "other.json"), '{"maxTurns": 3}');
  const settings = await remote.settings({ trust: true, file: join(outside, "other.json") });
  expect(JSON.stringify(settings)).not.toContain("k3y");
  expect(settings).toMatchObject({ trust: false, trusted: false, settings: { sandbox: "off" } });
  mkdirSync(join(outside, ".retinue/agent-memory/x"), { recursive: true });
  writeFileSync(join(outside, ".retinue/agent-memory/x/MEMORY.md"), "remembered\n");
  const memory = await remote.openMemory({ scope: "project", agent: "x", projectRoot: outside });
  expect(memory).toMatchObject({ ok: false });
  mkdirSync(join(home, ".claude/agents"), { recursive: true });
  const text = "---\nname: x\ndescription: Remembers. Use it in tests.\nmemory: user\n---\nRemember.\n";
  writeFileSync(join(home, ".claude/agents/x.md"), text);
  expect(await remote.openMemory({ scope: "user", agent: "x" })).toMatchObject({
    ok: true,
    directory: join(home, "agent-memory/x"),
  });
});

it("a server can't use the memory of an agent that is not defined on the worker's machine", async () => {
  const { remote, root, home } = await attack({ permissions: { defaultMode: "dontAsk" } });
  const directory = join(home, "agent-memory/private");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "MEMORY.md"), "private notes\n");
  expect(await remote.openMemory({ scope: "user", agent: "private" })).toEqual({
    ok: false,
    problem: 'no agent "private" on the worker\'s machine has such a memory',
  });
  const session = await open({ remote });
  const file_path = join(directory, "MEMORY.md");
  expect(await perform(session, { root, tool: "Read", input: { file_path } })).toMatchObject({ outcome: "denied" });
});

it("a server can't trust the worker's directory, or keep rules there", async () => {
  const { remote, root } = await attack();
  mkdirSync(join(root, ".agents/agents"), { recursive: true });
  const agent = "---\nname: helper\ndescription: Helps. Use it.\n---\nHelp.\n";
  writeFileSync(join(root, ".agents/agents/helper.md"), agent);
  const answer = await remote.snapshot({ required: true, trusted: true, trust: true });
  expect(answer).toMatchObject({ changed: true, snapshot: { agents: [] } });
  const session = await open({ remote });
  expect(await session.keepRule("Bash")).toContain("Bash applies in this session only");
  expect(existsSync(join(root, ".retinue"))).toBe(false);
});

it("if the worker's user allows only calls that rules allow, the server's approvals have no effect", async () => {
  const { remote, root } = await attack({ permissions: { defaultMode: "dontAsk", allow: ["Bash(echo *)"] } });
  const session = await open({ remote });
  const rules = [{ text: "Bash", effect: "allow", scope: "session" }] as const;
  const run = (command: string) => perform(session, { root, tool: "Bash", input: { command }, policy: { rules } });
  expect(await run("echo hello")).toMatchObject({ outcome: "ok" });
  expect(await run("touch made")).toMatchObject({ outcome: "denied" });
  expect(existsSync(join(root, "made"))).toBe(false);
});

it("a server can't use the bypassPermissions mode if the worker's user disabled it", async () => {
  const { remote, root } = await attack({ permissions: { disableBypassPermissionsMode: "disable" } });
  const session = await open({ remote });
  const judged = await session.executor(root).judge(toolCall("j1", "Bash", { command: "touch made" }), everything);
  expect(judged).toMatchObject({ decision: { effect: "ask" } });
});

it("a server can't reach files outside the worker's directories with ids or worktrees", async () => {
  const { remote, outside, root, home } = await attack();
  await expect(open({ remote, sessionId: "../../x" })).rejects.toThrow("is not a valid session id");
  await expect(remote.sweep("")).rejects.toThrow("is not a valid session id");
  const session = await open({ remote });
  const request = { agentId: "../../../escaped", cwd: root, scratch: false, now: 0 };
  expect(await session.openWorktree(request)).toMatchObject({ ok: false });
  expect(await session.openWorktree({ ...request, agentId: "a1", cwd: outside })).toMatchObject({
    ok: false,
    message: expect.stringContaining(`${outside} is not one of this worker's directories`),
  });
  expect(readFileSync(join(home, "settings.json"), "utf8")).toContain("off");
});

it("invalid settings on the worker are reported, because they may contain rules", async () => {
  const { remote, home, root } = await attack();
  writeFileSync(join(home, "settings.json"), '{"permissions": {"deny": ["Bash"');
  await expect(open({ remote })).rejects.toThrow(`The settings for ${root} can't be used: `);
});
