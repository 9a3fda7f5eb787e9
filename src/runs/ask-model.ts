import { cacheDifference, type WrittenPrompt } from "../conversation/index.ts";
import { userTurn } from "../loop/index.ts";
import type { ModelProgress } from "../ports/index.ts";
import { costOf, type DurableEvent, type ModelOutcome, paidUsage } from "../protocol/index.ts";
import type { BudgetRefusal, Reservation } from "./budget.ts";
import { estimateRequest } from "./estimate-request.ts";
import { endedInBackground } from "./notices.ts";
import type { RunHost } from "./run-host.ts";

/** One request, with what has to be told before it, and its answer. A refusal: the budget leaves nothing to ask with. */
export async function askModel(host: RunHost, turn: number): Promise<BudgetRefusal | undefined> {
  const reservation = await reserve(host);
  if (reservation.refused) return reservation;
  try {
    await callModel(host, turn, reservation);
    return undefined;
  } finally {
    // Whatever went wrong, what was not spent is there for others again.
    reservation.cancel();
  }
}

/** What the request may take at most. */
async function reserve({ services, thread, request, clocks, outlet }: RunHost): Promise<Reservation | BudgetRefusal> {
  const { budget, model } = services;
  const added = budget.needsEstimate ? userTurn(thread.state) : undefined;
  const estimate = budget.needsEstimate
    ? estimateRequest({ head: request.agent.head, last: thread.newestPrompt, added }, model.describe())
    : { tokens: 0 };
  const goOn = clocks.pause();
  return budget.reserveInTurn(estimate, outlet.signal).finally(goOn);
}

async function callModel(host: RunHost, turn: number, reservation: Reservation): Promise<void> {
  const { services, thread, clocks, outlet } = host;
  const { model, clock } = services;
  const prompt = await sealTurn(host, turn);
  const startedAt = clock.monotonic();
  const { emit, over } = listener(host, { turn, prompt });
  const { agentId, requests } = thread;
  const callId = (index: number): string => `${agentId}_${requests}_${index}`;
  clocks.modelAsked();
  const outcome = await model.call({ prompt, callId, signal: outlet.signal }, emit);
  clocks.modelEnded();
  await over();
  const { prices } = model.describe();
  const usage = outcome.ok ? paidUsage(outcome) : outcome.usage;
  const cost = prices && usage ? { costUsd: costOf(usage, prices) } : {};
  if (usage) reservation.settle({ usage, ...cost });
  const milliseconds = Math.round(clock.monotonic() - startedAt);
  await host.record([answerEvent(outcome, { turn, ...cost, milliseconds, fingerprint: prompt.fingerprint() })]);
}

/** Everything said up to here belongs to the request. */
async function sealTurn(host: RunHost, turn: number): Promise<WrittenPrompt> {
  const { services, thread } = host;
  const warning = services.budget.warning();
  await host.record([
    ...(warning === undefined ? [] : warningEvents(warning)),
    ...(await endedInBackground(host)),
    ...reminder(host),
    { type: "model.requested", turn },
  ]);
  const prompt = thread.newestPrompt;
  if (prompt === undefined) throw new Error("a request without a conversation");
  const difference = host.before && cacheDifference(host.before, prompt);
  host.before = undefined;
  if (difference) await host.record([{ type: "cache.missed", ...difference, turn }]);
  return prompt;
}

function warningEvents(warning: string): DurableEvent[] {
  return [
    { type: "notice.raised", code: "budget", message: warning },
    { type: "context.added", cause: "budget", text: `[${warning} Come to an end.]` },
  ];
}

/** In brackets, as all the runtime says. Written with the request that seals it into a user turn. An answer that only paused goes on without a new turn. */
function reminder({ request, thread }: RunHost): DurableEvent[] {
  const { criticalReminder } = request.agent;
  const { calls, said } = thread.state;
  if (criticalReminder === undefined || calls.length + said.length === 0) return [];
  return [{ type: "context.added", cause: "reminder", text: `[${criticalReminder}]` }];
}

/** Hears the model: clocks stand still while a request waits for its permission to leave; `over` when nothing more can come. */
function listener(
  host: RunHost,
  { turn, prompt }: { readonly turn: number; readonly prompt: WrittenPrompt },
): { emit: (progress: ModelProgress) => void; over: () => Promise<void> } {
  const { services, clocks, outlet } = host;
  let retries: Promise<void> = Promise.resolve();
  let goOn: (() => void) | undefined;
  return {
    emit: (progress) => {
      goOn?.();
      goOn = progress.type === "waiting" || progress.type === "retried" ? clocks.pause() : undefined;
      clocks.modelMoved();
      if (progress.type === "waiting") return;
      if (progress.type === "sent") {
        // A run's first connection takes its time to open: what calls need is loaded meanwhile.
        if (host.thread.state.run?.turns === 1) setImmediate(() => services.hands.prepare?.());
        return;
      }
      if (progress.type === "gone") return void prompt.fingerprint();
      if (progress.type !== "retried") outlet.emit({ ...progress, turn });
      else retries = host.record([{ type: "model.retried", turn, retry: progress.retry }]);
    },
    over: () => {
      goOn?.();
      return retries;
    },
  };
}

interface Bill {
  readonly turn: number;
  readonly costUsd?: number;
  readonly milliseconds: number;
  readonly fingerprint: string;
}

function answerEvent(outcome: ModelOutcome, { turn, ...bill }: Bill): DurableEvent {
  if (!outcome.ok) {
    const { error, partial, usage } = outcome;
    return { type: "model.failed", turn, error, partial, ...(usage ? { usage } : {}), ...bill };
  }
  const { message, stopReason, incompleteCalls, usage, lostUsage } = outcome;
  const lost = lostUsage ? { lostUsage } : {};
  return { type: "model.ended", turn, message, stopReason, incompleteCalls, usage, ...lost, ...bill };
}
