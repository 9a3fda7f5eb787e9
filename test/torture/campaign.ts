export interface CampaignOptions {
  readonly seed: number;
  readonly count: number;
  /** Time, as in `performance.now()`, after which no run is started. */
  readonly until: number;
}

export interface CampaignReport {
  readonly passed: number;
  readonly run: number;
  /** Description of the first failure, with its seed. */
  readonly firstFailure: string | undefined;
  /** Counts of the work done, so that a campaign in which nothing happened does not look as if it had passed. */
  readonly work: Readonly<Record<string, number>>;
  /** Parts that could not be run here, with the reason. */
  readonly skipped?: readonly string[];
}

export interface Verdict {
  readonly violations: readonly string[];
  readonly work: Readonly<Record<string, number>>;
}

export type Campaign = (options: CampaignOptions) => Promise<CampaignReport>;

/** Does one run for each seed, several at a time. A run that throws has failed. */
export async function runSeeds(
  { seed, count, until }: CampaignOptions,
  one: (seed: number) => Promise<Verdict>,
  { workers = 2 }: { workers?: number } = {},
): Promise<CampaignReport> {
  const work: Record<string, number> = {};
  const failures = new Map<number, string>();
  let next = 0;
  let run = 0;
  const worker = async (): Promise<void> => {
    while (next < count && performance.now() < until) {
      const own = seed + next++;
      const { violations, work: done } = await one(own).catch(asVerdict);
      run += 1;
      if (violations.length > 0) failures.set(own, violations.slice(0, 5).join("; "));
      for (const [name, amount] of Object.entries(done)) work[name] = (work[name] ?? 0) + amount;
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, count) }, worker));
  const [first, ...others] = [...failures.keys()].sort((left, right) => left - right);
  const also = others.length > 0 ? ` (also seeds ${others.slice(0, 20).join(", ")})` : "";
  const firstFailure = first === undefined ? undefined : `seed ${first}: ${failures.get(first)}${also}`;
  return { passed: run - failures.size, run, firstFailure, work };
}

function asVerdict(error: unknown): Verdict {
  return { violations: [error instanceof Error ? (error.stack ?? error.message) : String(error)], work: {} };
}

/** Like `runSeeds`, but does one run for each case in a list. */
export function runCases<Case>(
  { until }: Pick<CampaignOptions, "until">,
  cases: readonly Case[],
  one: (each: Case) => Promise<Verdict>,
): Promise<CampaignReport> {
  return runSeeds({ seed: 0, count: cases.length, until }, (index) => one(cases[index] as Case));
}
