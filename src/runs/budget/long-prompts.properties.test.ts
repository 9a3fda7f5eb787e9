import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chargeOf, foldUnderWay, type UnderWay } from "../../loop/index.ts";
import {
  type CacheLifetime,
  type DurableEvent,
  type Line,
  noUsage,
  type Prices,
  type Usage,
} from "../../protocol/index.ts";
import type { Budget, BudgetLimits, Reservation } from "./budget.ts";
import { createBudget } from "./create-budget.ts";
import { estimateRequest, reservedSpend } from "./estimate-request.ts";
import { createRequestBill, type RequestBill } from "./request-bill.ts";
import { spendingIn, sumSpending } from "./spending.ts";

const LENGTH = 100_000;
const prices: Prices = {
  ...{ input: 0.1, output: 0.5, cacheRead: 0.01, cacheWrite: 0.125 },
  longPrompts: [{ above: LENGTH, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 }],
};
const model = {
  provider: "p",
  model: "m",
  dialect: "anthropic" as const,
  window: 1e6,
  maxOutputTokens: 32_000,
  prices,
};

/** Returns the provider's price of one attempt, in dollars, without Retinue's own computation. */
function priceOf({ inputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens = 0, outputTokens }: Usage) {
  const times = inputTokens + cacheReadTokens + cacheWriteTokens > LENGTH ? 5 : 1;
  const writes = (cacheWriteTokens - cacheWrite1hTokens) * 0.125 + cacheWrite1hTokens * 0.2;
  return (times * (inputTokens * 0.1 + cacheReadTokens * 0.01 + writes + outputTokens * 0.5)) / 1e6;
}

const percent = fc.nat({ max: 100 });
const request = fc.record({
  agent: fc.nat(),
  prompt: fc.oneof(fc.integer({ min: LENGTH - 5, max: LENGTH + 5 }), fc.integer({ min: 500, max: 3 * LENGTH })),
  /** Percentage by which the estimate exceeds the prompt. */
  above: fc.constantFrom(0, 0, 10, 80),
  longest: fc.integer({ min: 1_024, max: 32_000 }),
});
const step = fc.oneof(
  { weight: 6, arbitrary: request.map((wanted) => ({ do: "request" as const, ...wanted })) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("end" as const, "end" as const, "lose" as const),
      which: fc.nat(),
      output: percent,
      read: percent,
      written: percent,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const) }) },
);
const dollars = fc.integer({ min: 2, max: 200 }).map((cents) => cents / 100);
const setting = fc.record({
  usd: dollars,
  agents: fc.array(fc.option(dollars, { nil: undefined }), { minLength: 1, maxLength: 8 }),
  lifetime: fc.constantFrom<CacheLifetime>("5m", "1h"),
  steps: fc.array(step, { minLength: 30, maxLength: 60 }),
});

interface Open {
  readonly agent: number;
  readonly reservation: Reservation;
  readonly bill: RequestBill;
  readonly prompt: number;
  maxTokens: number;
  lost: Usage[];
}

describe("any mix of short and long prompts of several agents, with repeated requests and crashes,", () => {
  it("costs no more than the limits of the session and of each agent, and exactly what is recorded", async () => {
    await fc.assert(
      fc.asyncProperty(setting, async ({ usd, agents, lifetime, steps }) => {
        const transcripts: Line[][] = agents.map(() => []);
        const billed = agents.map(() => 0);
        let isExact = true;
        let { root, nodes } = budgets();
        let open: Open[] = [];

        /** Creates the budgets as a new process does, from the transcripts. */
        function budgets(): { readonly root: Budget; readonly nodes: readonly Budget[] } {
          const create = (limits: BudgetLimits) => createBudget({ limits, clock: { monotonic: () => 0 } });
          const session = create({ usd });
          session.restore(sumSpending(transcripts.map(spendingIn)));
          const children = agents.map((limit, index) => {
            const child = session.child(limit === undefined ? {} : { usd: limit }, `agent ${index}`);
            child.restore(sumSpending([spendingIn(transcripts[index] ?? [])]));
            return child;
          });
          return { root: session, nodes: children };
        }

        /** Charges the requests that were in progress, as an agent does when it is resumed. */
        function chargeLost(): void {
          for (const [agent, lines] of transcripts.entries()) {
            const underWay = lines.reduce<readonly UnderWay[]>(foldUnderWay, []);
            if (underWay.length > 0) record(agent, { type: "spend.recorded", ...chargeOf(underWay), estimated: true });
          }
        }

        const record = (agent: number, event: DurableEvent): void => {
          transcripts[agent]?.push({ v: 1, id: "1", parentId: null, at: 0, ...event });
        };
        const charge = (agent: number, usage: Usage): void => {
          billed[agent] = (billed[agent] ?? 0) + priceOf(usage);
        };
        const attempt = (
          { prompt, maxTokens }: Open,
          part: { output: number; read: number; written: number },
        ): Usage => {
          const cacheReadTokens = Math.floor((prompt * part.read) / 100);
          const cacheWriteTokens = Math.floor(((prompt - cacheReadTokens) * part.written) / 100);
          return {
            inputTokens: prompt - cacheReadTokens - cacheWriteTokens,
            cacheReadTokens,
            cacheWriteTokens,
            cacheWrite1hTokens: lifetime === "1h" ? cacheWriteTokens : undefined,
            outputTokens: Math.floor((maxTokens * part.output) / 100),
          };
        };

        for (const each of steps) {
          if (each.do === "request") {
            const agent = each.agent % agents.length;
            // An agent sends one request at a time.
            if (open.some((other) => other.agent === agent)) continue;
            const inputTokens = Math.ceil(each.prompt * (1 + each.above / 100));
            const planned = { inputTokens, maxTokens: each.longest, cacheLifetime: lifetime };
            const estimate = estimateRequest(planned, model);
            const reservation = nodes[agent]?.reserve(estimate);
            if (reservation === undefined || reservation.refused) continue;
            const { answerTokens: maxTokens } = reservation;
            record(agent, { type: "model.requested", turn: 1, reserved: reservedSpend(estimate, reservation) });
            const bill = createRequestBill(prices);
            open.push({ agent, reservation, bill, prompt: each.prompt, maxTokens, lost: [] });
          } else if (each.do === "crash") {
            // The provider may charge all of a response that nobody received.
            for (const sent of open) charge(sent.agent, attempt(sent, { output: 100, read: 0, written: 100 }));
            if (open.length > 0) isExact = false;
            open = [];
            chargeLost();
            ({ root, nodes } = budgets());
          } else {
            const sent = open[each.which % open.length];
            if (sent === undefined) continue;
            const usage = attempt(sent, each);
            charge(sent.agent, usage);
            if (each.do === "lose") await lose(sent, usage);
            else end(sent, usage);
          }
          const total = billed.reduce((sum, cost) => sum + cost, 0);
          expect(total).toBeLessThanOrEqual(usd + ROUNDING);
          for (const [index, limit = usd] of agents.entries())
            expect(billed[index]).toBeLessThanOrEqual(limit + ROUNDING);
          expect(root.spent().usd).toBeGreaterThanOrEqual(total - ROUNDING);
          if (isExact) expect(root.spent().usd).toBeLessThanOrEqual(total + ROUNDING);
        }

        function end(sent: Open, usage: Usage): void {
          const message = { role: "assistant" as const, content: [] };
          const lostUsage = sent.lost.length === 0 ? undefined : sum(sent.lost);
          const answer = { message, stopReason: "end_turn" as const, incompleteCalls: 0, usage, lostUsage };
          const total = sent.bill.total({ ok: true, ...answer });
          if (total) sent.reservation.settle(total);
          record(sent.agent, { type: "model.ended", turn: 1, ...answer, costUsd: total?.costUsd, milliseconds: 0 });
          open = open.filter((other) => other !== sent);
        }

        async function lose(sent: Open, usage: Usage): Promise<void> {
          const lost = sent.bill.addLost(usage);
          sent.lost = [...sent.lost, usage];
          const retry = { attempt: 1, maxAttempts: 2, delayMs: 0, status: null, error: "broken" };
          record(sent.agent, { type: "model.retried", turn: 1, retry, ...lost });
          const next = await sent.reservation.repeat(lost, AbortSignal.abort());
          if (typeof next === "number") {
            sent.maxTokens = next;
            return;
          }
          const error = { code: "budget" as const, message: "no room" };
          const failed = { error, partial: [], usage: sum(sent.lost) };
          const total = sent.bill.total({ ok: false, ...failed });
          if (total) sent.reservation.settle(total);
          record(sent.agent, { type: "model.failed", turn: 1, ...failed, costUsd: total?.costUsd, milliseconds: 0 });
          open = open.filter((other) => other !== sent);
        }
      }),
    );
  });
});

/** Dollars are counted in billionths. */
const ROUNDING = 1e-6;

function sum(usages: readonly Usage[]): Usage {
  const of = (count: keyof Usage): number => usages.reduce((all, usage) => all + (usage[count] ?? 0), 0);
  return {
    ...noUsage,
    inputTokens: of("inputTokens"),
    cacheReadTokens: of("cacheReadTokens"),
    cacheWriteTokens: of("cacheWriteTokens"),
    cacheWrite1hTokens: of("cacheWrite1hTokens"),
    outputTokens: of("outputTokens"),
  };
}
