import { equivalents, type FanOut, fanOut, minimumOf } from "./fan-out.ts";
import type { Figure } from "./figure.ts";
import { seedExample } from "./seed-example.ts";

/** One model for each minimum length of a cached prompt, with the highest acceptable costs in base-price tokens. */
const models = [
  { model: "claude-sonnet-4-5", fresh: 62_000, forked: 75_000 },
  { model: "claude-opus-4-7", fresh: 75_000, forked: 75_000 },
  { model: "claude-haiku-4-5", fresh: 120_000, forked: 100_000 },
];

/**
 * Measures the cost of input, and the share of ideal cache reads that are missed. The test server counts four bytes as
 * one token.
 */
export async function cacheCase(): Promise<Figure[]> {
  const fanOuts: Figure[] = [];
  for (const { model, ...limits } of models) {
    const name = (kind: string) => `main + 8 agents × 5 steps, ${kind}, minimum ${count(minimumOf(model))}`;
    const fresh = await fanOut({ kind: "fresh", model });
    const forked = await fanOut({ kind: "fork", model, flags: ["--fork", "on"] });
    fanOuts.push(...figuresOf(name("fresh"), fresh, limits.fresh), ...figuresOf(name("forked"), forked, limits.forked));
  }
  const instructed = { kind: "fresh", flags: ["--trust"], instructions: 7_000 } as const;
  for (const { model, forked: limit } of models.slice(-1)) {
    const name = `main + 8 agents × 5 steps, fresh, with 7 KB of AGENTS.md, minimum ${count(minimumOf(model))}`;
    fanOuts.push(...figuresOf(name, await fanOut({ ...instructed, model }), limit));
  }
  const { parent, forks } = await seedExample();
  const prefix = forks[1]?.read ?? 0;
  const anew = forks.reduce((sum, { written }) => sum + written, parent.written);
  return [
    ...fanOuts,
    value(
      `3 forks of ${count(prefix)} tokens: tokens written, against ${count(3 * prefix)} if nothing were shared`,
      anew,
      {
        limit: 62_700,
        unit: "tokens",
      },
    ),
    value("share of the first fork's prefix that forks 2 and 3 do not read from the cache", notRead(forks.slice(1)), {
      limit: 0.1,
      unit: "%",
    }),
  ];
}

function figuresOf(name: string, result: FanOut, limit: number): Figure[] {
  return [
    value(`${name}: base-token equivalents (files alone ${count(filesAlone(result))})`, equivalents(result.tokens), {
      limit,
      unit: "tokens",
    }),
    missed(name, result),
  ];
}

function missed(name: string, { tokens: { read, idealRead } }: FanOut): Figure {
  return value(`${name}: share of the ideal cache reads that is missed`, (100 * (idealRead - read)) / idealRead, {
    limit: 1,
    unit: "%",
  });
}

function notRead(forks: readonly { readonly read: number; readonly idealRead: number }[]): number {
  return Math.max(...forks.map(({ read, idealRead }) => (100 * (idealRead - read)) / idealRead));
}

/**
 * Each file is written to the cache once. The agent's later requests read the first file three times, the second twice
 * and the third once.
 */
function filesAlone({ fileTokens }: FanOut): number {
  return Math.round(fileTokens * (1.25 + 0.1 * 1.5));
}

function value(name: string, ours: number, most: Pick<Figure, "limit" | "unit">): Figure {
  return { name, ours: Number(ours.toFixed(2)), baseline: 0, kind: "value", ...most };
}

function count(tokens: number): string {
  return tokens.toLocaleString("en");
}
