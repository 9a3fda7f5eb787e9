import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newSessionId } from "../../lib/index.ts";
import type { ApprovalQuestion, Policy } from "../../protocol/index.ts";
import { createMemoryTranscript } from "../../transcript/index.ts";
import { createLocalWorker } from "../../worker/index.ts";
import { openApprovals, openSessionInbox } from "./session-approvals.ts";
import { createOwnContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";
import { openWorker } from "./session-tools.ts";

const rule = "Bash(npm test)";
const question: ApprovalQuestion = {
  requestId: "ask_1",
  sessionId: newSessionId(),
  kind: "call",
  agentId: "main",
  agentType: "main",
  path: [],
  call: { callId: "c1", name: "Bash", inputJson: '{"command":"npm test"}' },
  inputHash: "hash",
  decision: { effect: "ask", rule: "default", scope: "builtin", reason: "" },
  always: [rule],
};

const bypass = (cwd: string): Policy => ({
  mode: "bypassPermissions",
  pool: ["Bash"],
  rules: [],
  workspaceRoots: [cwd],
  readableRoots: [],
});

it.each([undefined, () => undefined])(
  "saves a rule for the project, whether or not messages are shown",
  async (show) => {
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), "retinue-approvals-")));
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
    const options: SessionOptions = {
      cwd,
      home: join(cwd, "home"),
      environment: { HOME: join(cwd, "user") },
      approvals: { ask: async () => ({ answer: "allow", by: "test", always: { rule, for: "project" } }) },
      ...(show ? { onTrouble: show } : {}),
    };
    const own = createOwnContext(options);
    const { home, environment, clock } = own;
    const report = () => undefined;
    const local = createLocalWorker({ root: cwd, home, state: home, environment, clock, version: "0", report });
    const context = { ...own, cwd, facts: local.describe() };
    const transcript = createMemoryTranscript({ sessionId: question.sessionId, clock: context.clock });
    const worker = await openWorker(options, { context, transcript, worker: local });
    const executor = worker.executor(cwd);
    onTestFinished(async () => {
      await executor.close();
      await worker.close();
      rmSync(join(tmpdir(), `retinue-${question.sessionId}`), { recursive: true, force: true });
    });
    // The rule is saved while a command is running, and must not be mistaken for a file that the command wrote.
    const line = "touch begun; until [ -e stop ]; do sleep 0.01; done";
    const call = { callId: "c1", name: "Bash", inputJson: JSON.stringify({ command: line }) };
    const { signal } = new AbortController();
    const command = executor.execute({ agentId: "main", call, policy: bypass(cwd) }, () => undefined, signal);
    while (!existsSync(join(cwd, "begun"))) await new Promise(setImmediate);
    const queue = openApprovals(options, context, {
      inbox: openSessionInbox(options, context, transcript),
      worker,
    });
    await queue.ask(question, { signal, onOpen: async () => undefined, settledBy: async () => undefined });
    await queue.close();
    writeFileSync(join(cwd, "stop"), "");
    expect(await command).toMatchObject({ outcome: "ok" });
    const settings = JSON.parse(readFileSync(join(cwd, ".retinue/settings.local.json"), "utf8"));
    expect(settings).toEqual({ permissions: { allow: [rule] } });
  },
);
