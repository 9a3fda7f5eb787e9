import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noUsage } from "../../protocol/index.ts";
import type { Budget, BudgetLimits, Reservation } from "./budget.ts";
import { createBudget } from "./create-budget.ts";

function session(limits: BudgetLimits): Budget {
  return createBudget({ limits, clock: { monotonic: () => 0 } });
}

type Step =
  | { readonly do: "reserve"; readonly node: number; readonly tokens: number; readonly usd: number }
  | { readonly do: "settle"; readonly which: number; readonly percent: number }
  | { readonly do: "cancel"; readonly which: number }
  | { readonly do: "child"; readonly node: number; readonly limits: BudgetLimits }
  | { readonly do: "spawn"; readonly node: number };

const small = fc.nat({ max: 50 });
const limits = fc.record(
  { tokens: small, usd: small.map((cents) => cents / 100), turns: fc.nat({ max: 6 }), spawns: fc.nat({ max: 4 }) },
  { requiredKeys: [] },
) as fc.Arbitrary<BudgetLimits>;
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("reserve" as const),
    node: fc.nat(),
    tokens: fc.nat({ max: 20 }),
    usd: fc.nat({ max: 20 }).map((cents) => cents / 100),
  }),
  fc.record({ do: fc.constant("settle" as const), which: fc.nat(), percent: fc.nat({ max: 200 }) }),
  fc.record({ do: fc.constant("cancel" as const), which: fc.nat() }),
  fc.record({ do: fc.constant("child" as const), node: fc.nat(), limits }),
  fc.record({ do: fc.constant("spawn" as const), node: fc.nat() }),
);

/**
 * A simple model of a budget, in which every entry is charged to each ancestor. Costs are in cents, so that sums are
 * exact.
 */
interface Book {
  readonly budget: Budget;
  readonly limits: BudgetLimits;
  readonly parent: Book | undefined;
  tokens: number;
  cents: number;
  turns: number;
  spawns: number;
}

function chainOf(book: Book | undefined): Book[] {
  return book === undefined ? [] : [book, ...chainOf(book.parent)];
}

describe("any tree of budgets, with operations in any order,", () => {
  it("grants exactly the requests that fit into every ancestor's budget, and accounts for all of them", () => {
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 60 }), (rootLimits, steps) => {
        const bookOf = (budget: Budget, own: BudgetLimits, parent?: Book): Book => {
          return { budget, limits: own, parent, tokens: 0, cents: 0, turns: 0, spawns: 0 };
        };
        const books = [bookOf(session(rootLimits), rootLimits)];
        const open: { book: Book; reservation: Reservation; tokens: number; cents: number }[] = [];
        const enterInto = (book: Book, tokens: number, cents: number, turns: number): void => {
          for (const each of chainOf(book)) {
            each.tokens += tokens;
            each.cents += cents;
            each.turns += turns;
          }
        };
        for (const each of steps) {
          if (each.do === "settle" || each.do === "cancel") {
            const [entry] = open.splice(each.which % (open.length || 1), 1);
            if (!entry) continue;
            const { book, reservation, tokens, cents } = entry;
            if (each.do === "cancel") {
              reservation.cancel();
              enterInto(book, -tokens, -cents, -1);
              continue;
            }
            const actual = [
              Math.floor((tokens * each.percent) / 100),
              Math.floor((cents * each.percent) / 100),
            ] as const;
            reservation.settle({ usage: { ...noUsage, inputTokens: actual[0] }, costUsd: actual[1] / 100 });
            enterInto(book, actual[0] - tokens, actual[1] - cents, 0);
            continue;
          }
          const book = books[each.node % books.length] as Book;
          if (each.do === "child") {
            books.push(bookOf(book.budget.child(each.limits, `agent ${books.length}`), each.limits, book));
          } else if (each.do === "spawn") {
            const fits = chainOf(book).every((one) => one.spawns + 1 <= (one.limits.spawns ?? 100));
            expect(book.budget.spawn() === undefined).toBe(fits);
            if (fits) for (const one of chainOf(book)) one.spawns += 1;
          } else {
            const { tokens } = each;
            const cents = Math.round(each.usd * 100);
            const fits = chainOf(book).every(
              (one) =>
                one.tokens + tokens <= (one.limits.tokens ?? Infinity) &&
                one.cents + cents <= Math.round((one.limits.usd ?? Infinity) * 100) &&
                one.turns + 1 <= (one.limits.turns ?? Infinity),
            );
            const answer = book.budget.reserve({ tokens, usd: each.usd });
            expect(answer.refused === undefined).toBe(fits);
            if (answer.refused) continue;
            open.push({ book, reservation: answer, tokens, cents });
            enterInto(book, tokens, cents, 1);
          }
        }
        for (const { reservation } of open) reservation.cancel();
        for (const { book, tokens, cents } of open) enterInto(book, -tokens, -cents, -1);
        for (const { budget, tokens, cents, turns, spawns } of books) {
          expect(budget.spent()).toMatchObject({ tokens, usd: cents / 100, turns, spawns });
          for (const line of Object.values(budget.left())) expect(line.reserved).toBe(0);
        }
      }),
    );
  });
});

describe("any number of requests with responses that can be shorter", () => {
  const request = fc.record({ input: fc.nat({ max: 40 }), longest: fc.integer({ min: 10, max: 60 }), node: fc.nat() });

  it("never spend more than a limit, and are shortened only if no other request is in progress", async () => {
    const tree = fc.record({ session: fc.nat({ max: 200 }), agents: fc.array(fc.nat({ max: 150 }), { maxLength: 4 }) });
    const events = fc.array(fc.record({ request, settles: fc.nat({ max: 3 }), share: fc.nat({ max: 100 }) }), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(tree, events, async (limits, all) => {
        const root = session({ tokens: limits.session });
        const nodes = [root, ...limits.agents.map((tokens, index) => root.child({ tokens }, `agent ${index}`))];
        const open: { readonly reservation: Reservation; readonly input: number }[] = [];
        const waiting: Promise<void>[] = [];
        const settle = (share: number): void => {
          const first = open.shift();
          if (!first) return;
          const output = Math.floor((first.reservation.answerTokens * share) / 100);
          first.reservation.settle({ usage: { ...noUsage, inputTokens: first.input, outputTokens: output } });
        };
        for (const { request: wanted, settles, share } of all) {
          const { input, longest } = wanted;
          const estimate = { tokens: input + longest, answer: { tokens: longest, least: 5, usdPerToken: 0 } };
          const budget = nodes[wanted.node % nodes.length] as Budget;
          const before = open.length;
          let isImmediate = true;
          const enter = budget.reserveInTurn(estimate, new AbortController().signal).then((answer) => {
            if (answer.refused) return;
            expect(answer.answerTokens).toBeLessThanOrEqual(longest);
            expect(answer.answerTokens).toBeGreaterThanOrEqual(5);
            const isShort = answer.answerTokens < longest;
            const isByOwnLimit = budget !== root;
            if (isShort && isImmediate && !isByOwnLimit) expect(before).toBe(0);
            open.push({ reservation: answer, input });
          });
          waiting.push(enter);
          await new Promise(setImmediate);
          isImmediate = false;
          for (let count = 0; count < settles; count += 1) settle(share);
          await new Promise(setImmediate);
        }
        while (open.length > 0) {
          settle(100);
          await new Promise(setImmediate);
        }
        await Promise.all(waiting);
        for (const budget of nodes) {
          const { tokens: line } = budget.left();
          expect(line?.reserved).toBe(0);
        }
        expect(root.spent().tokens).toBeLessThanOrEqual(limits.session);
        for (const [index, limit] of limits.agents.entries())
          expect(nodes[index + 1]?.spent().tokens).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

interface Job {
  readonly concurrent: number;
  /** Whether the agent's parent waits for it. */
  readonly foreground: boolean;
  readonly aborted: boolean;
  readonly jobs: readonly Job[];
}

function jobOf(depth: number): fc.Arbitrary<Job> {
  return fc.record({
    concurrent: fc.constantFrom(1, 2, 3, Infinity),
    foreground: fc.boolean(),
    aborted: fc.boolean(),
    jobs: depth === 0 ? fc.constant([]) : fc.array(jobOf(depth - 1), { maxLength: 4 }),
  });
}

/** Number of agents working below one agent, counted by the test itself. */
interface Floor {
  readonly limit: number;
  working: number;
}

describe("any tree of agents that start and wait for agents", () => {
  it("finishes, and never has more running agents than any limit allows", async () => {
    await fc.assert(
      fc.asyncProperty(jobOf(3), async (main) => {
        let [started, finished, tooMany] = [0, 0, 0];

        async function startAll(budget: Budget, jobs: readonly Job[], floors: readonly Floor[]): Promise<void> {
          const runs = jobs.map((job) => run(budget.child({ concurrent: job.concurrent }, "worker"), job, floors));
          const waitedFor = runs.filter((_, index) => jobs[index]?.foreground);
          if (waitedFor.length === 0) return;
          const takeBack = budget.lend();
          const [, ...outer] = floors;
          count(outer, -1);
          await Promise.all(waitedFor);
          await takeBack(new AbortController().signal);
          count(outer, 1);
        }

        async function run(budget: Budget, job: Job, floors: readonly Floor[]): Promise<void> {
          started += 1;
          const controller = new AbortController();
          if (job.aborted) setImmediate(() => controller.abort());
          const leave = await budget.enter(controller.signal);
          if (!controller.signal.aborted) {
            count(floors, 1);
            await startAll(budget, job.jobs, [{ limit: job.concurrent, working: 0 }, ...floors]);
            await Promise.resolve();
            count(floors, -1);
          }
          leave();
          finished += 1;
        }

        function count(floors: readonly Floor[], change: 1 | -1): void {
          for (const floor of floors) {
            floor.working += change;
            if (floor.working > floor.limit) tooMany += 1;
          }
        }

        const root = session({ concurrent: main.concurrent });
        void startAll(root, main.jobs, [{ limit: main.concurrent, working: 0 }]);
        for (let turn = 0; turn < 100 && finished < started; turn += 1) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect({ finished, tooMany }).toEqual({ finished: started, tooMany: 0 });
        expect(root.left().concurrent?.used ?? 0).toBe(0);
      }),
    );
  });
});
