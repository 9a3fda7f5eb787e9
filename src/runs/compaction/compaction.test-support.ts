import type { ResolvedAgent } from "../../agents/index.ts";
import { next, sizeOf, userTurn } from "../../loop/index.ts";
import type { Journal, Model, ToolExecutor } from "../../ports/index.ts";
import { type DurableEvent, type Head, type Message, noUsage, type ToolCall } from "../../protocol/index.ts";
import { createMemoryTranscript, openInbox } from "../../transcript/index.ts";
import { createApprovalQueue } from "../approvals/approval-queue.ts";
import type { BudgetLimits } from "../budget/budget.ts";
import { createBudget } from "../budget/create-budget.ts";
import { startClocks } from "../host/clocks.ts";
import type { RunHost } from "../host/run-host.ts";
import { Thread } from "../thread/thread.ts";
import { type CompactionRequest, compactConversation } from "./compaction.ts";
import { type ContextLimits, contextLimits } from "./context-limits.ts";

const clock = { now: () => 0, monotonic: () => performance.now() };

export const testHead: Head = {
  provider: "scripted",
  model: "scripted-1",
  dialect: "anthropic",
  tools: [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }],
  system: "Be brief.",
  systemContext: "",
  userContext: "",
};

const agent: ResolvedAgent = {
  agentType: "main",
  head: testHead,
  policy: { mode: "default", pool: ["Read"], rules: [], workspaceRoots: ["/"], readableRoots: [] },
  maxTurns: 50,
  requestedModel: null,
  modelReason: "test",
};

export interface TestRun {
  readonly host: RunHost;
  readonly limits: ContextLimits;
  readonly events: DurableEvent[];
  readonly stop: () => void;
  compact(request?: Partial<CompactionRequest>): Promise<void>;
  /** Performs operations until the run has nothing left to do. `perform` returns the result of a tool call. */
  drive(perform: (call: ToolCall) => string): Promise<string>;
}

export interface TestPlace {
  readonly journal?: Journal;
  readonly window?: number;
  readonly budget?: BudgetLimits;
}

/** Creates a run with a real journal, thread, budget and clocks. Only its tools are replaced by a function. */
export async function testRun(
  model: Model,
  { journal, window = 4_000, budget = {} }: TestPlace = {},
): Promise<TestRun> {
  const session = journal ?? createMemoryTranscript({ sessionId: "s", clock });
  const thread = new Thread("main", session);
  await thread.restore();
  const abort = new AbortController();
  const events: DurableEvent[] = [];
  const record = async (added: readonly DurableEvent[]): Promise<void> => {
    events.push(...added);
    await thread.record(added);
  };
  const limits = contextLimits({ head: testHead, model: { provider: "scripted", window, maxOutputTokens: 400 } });
  if (limits === undefined) throw new Error("no limits");
  const host: RunHost = {
    services: {
      sessionId: "s",
      version: "0",
      cwd: "/",
      model,
      executor: {} as ToolExecutor,
      approvals: createApprovalQueue({ attended: false, inbox: openInbox({ path: undefined, clock }) }),
      clock,
      budget: createBudget({ limits: budget, clock }),
      limits: { idleMs: 60_000 },
    },
    thread,
    request: { runId: "r", agent, prompt: [] },
    fresh: agent,
    outlet: { emit: () => {}, signal: abort.signal, stop: () => abort.abort(), cause: () => "interrupted" },
    clocks: startClocks({ idleMs: 60_000, clock, onIdle: () => {}, onWall: () => false }),
    startedAt: 0,
    before: undefined,
    acceptance: undefined,
    spawnRefusal: undefined,
    timeRefusal: undefined,
    pause: () => () => {},
    yield: () => async () => {},
    nextInterruption: () => new Promise(() => {}),
    refresh: async () => [],
    renewHead: () => {},
    record,
    endWait: async () => false,
    recordIf: async (allows, added) => (await thread.recordIf(allows, added)) !== undefined,
  };
  const hash = await thread.keepHead(testHead);
  const kind = thread.isNew ? "fresh" : "resume";
  await record([
    ...(hash === thread.headHash ? [] : [{ type: "head.set" as const, hash }]),
    { ...started, kind, runId: `r${thread.state.turn}` },
  ]);
  const test: TestRun = {
    host,
    limits,
    events,
    stop: () => abort.abort(),
    compact: (request = {}) => compactConversation(host, { limits, cause: "full", ...request }),
    drive: async (perform) => {
      for (let operations = 0; operations < 100; operations += 1) {
        const operation = next(thread.state, limits);
        if (operation.kind === "end") return operation.reason;
        if (operation.kind === "compact") await test.compact({ cause: operation.cause });
        else if (operation.kind === "act")
          for (const call of operation.calls) await record([ended(call, perform(call))]);
        else if (operation.kind === "request") await ask(host, operation.turn);
        else throw new Error(`unexpected: ${operation.kind}`);
      }
      throw new Error("the run never ended");
    },
  };
  return test;
}

async function ask({ services, thread, outlet, record }: RunHost, turn: number): Promise<void> {
  await record([{ type: "model.requested", turn }]);
  const prompt = thread.newestPrompt;
  if (prompt === undefined) throw new Error("no prompt");
  const callId = (index: number): string => `c${turn}_${index}`;
  const outcome = await services.model.call({ prompt, maxTokens: 400, callId, signal: outlet.signal }, () => {});
  await record([
    outcome.ok
      ? { type: "model.ended", turn, ...withoutOk(outcome), milliseconds: 1 }
      : { type: "model.failed", turn, error: outcome.error, partial: [], milliseconds: 1 },
  ]);
}

function withoutOk<T extends { ok: true }>({ ok: _, ...rest }: T): Omit<T, "ok"> {
  return rest;
}

/** Makes a model report its usage, as a provider does. */
export function counting(model: Model): Model {
  return {
    describe: () => model.describe(),
    call: async (request, emit) => {
      const outcome = await model.call(request, emit);
      if (!outcome.ok) return outcome;
      const sizes = request.prompt.messages().map(sizeOf);
      const inputTokens = sizes.reduce((sum, size) => sum + size, 0);
      return { ...outcome, usage: { ...noUsage, inputTokens, outputTokens: sizeOf(outcome.message) } };
    },
  };
}

/** Lists the problems for which a provider would reject these messages. */
export function wireProblems(messages: readonly Message[]): string[] {
  const problems: string[] = [];
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1];
    if (message.role === (before?.role ?? "assistant")) problems.push(`${index}: two ${message.role} turns in a row`);
    const calls = before?.role === "assistant" ? idsIn(before, "tool_call") : [];
    const results = idsIn(message, "tool_result");
    if (message.role === "user" && calls.join() !== results.join())
      problems.push(`${index}: calls ${calls.join()} have results ${results.join()}`);
  }
  if (messages.at(-1)?.role === "assistant") problems.push("the last turn is not the user's");
  return problems;
}

/** Returns the messages of the next request. */
export function comingMessages({ host: { thread } }: TestRun): readonly Message[] {
  const turn = userTurn(thread.state);
  return [...(thread.conversation?.messages() ?? []), ...(turn ? [turn] : [])];
}

export function said(text: string): DurableEvent {
  return { type: "prompt.received", content: [{ type: "text", text }], from: "person" };
}

export function ended({ callId, name }: ToolCall, text: string): DurableEvent {
  return {
    type: "tool.ended",
    callId,
    name,
    result: { outcome: "ok", content: [{ type: "text", text }] },
    milliseconds: 1,
  };
}

function idsIn(message: Message, type: "tool_call" | "tool_result"): string[] {
  return message.content.flatMap((block) =>
    (block.type === "tool_call" || block.type === "tool_result") && block.type === type ? [block.callId] : [],
  );
}

const started = {
  type: "run.started" as const,
  agentId: "main",
  agentType: "main",
  requestedModel: null,
  provider: "scripted",
  model: "scripted-1",
  modelReason: "test",
  permissionMode: "default" as const,
  maxTurns: 50,
};
