import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newSessionId } from "../../lib/index.ts";
import type { ApprovalQuestion } from "../../protocol/index.ts";
import { createMemoryTranscript } from "../../transcript/index.ts";
import { openApprovals, openSessionInbox } from "./session-approvals.ts";
import { createSessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";
import { createSessionSandbox } from "./session-tools.ts";

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

it.each([undefined, () => undefined])(
  "keeps a rule for the project, whether or not messages are shown",
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
    const context = createSessionContext(options);
    const transcript = createMemoryTranscript({ cwd, sessionId: question.sessionId, clock: context.clock });
    const sandbox = createSessionSandbox(context, transcript);
    onTestFinished(async () => {
      await sandbox.close();
      rmSync(join(tmpdir(), `retinue-${question.sessionId}`), { recursive: true, force: true });
    });
    // The rule is kept while a command runs, which must not make it look like a file of that command.
    const isOn = (await sandbox.ready()).kind === "on";
    const request = { root: cwd, cwd, command: "true", args: [], environment: {} };
    const command = isOn ? sandbox.confine(request) : undefined;
    const queue = await openApprovals(options, context, {
      inbox: openSessionInbox(options, context, transcript),
      sandbox,
    });
    const { signal } = new AbortController();
    await queue.ask(question, { signal, onOpen: async () => undefined, settledBy: async () => undefined });
    await queue.close();
    await command?.ended();
    const settings = JSON.parse(readFileSync(join(cwd, ".retinue/settings.local.json"), "utf8"));
    expect(settings).toEqual({ permissions: { allow: [rule] } });
  },
);
