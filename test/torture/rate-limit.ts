import { createApiServer, type ReplyFunction } from "../../src/testing/index.ts";
import { checkFamily } from "../reliability/check-family.ts";
import { startCommandLine } from "../reliability/command-line.ts";
import { planFamily } from "../reliability/family.ts";
import { createPlace, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

const children = 40;
const perWindow = 5;
const windowMs = 1_000;

/** Ways in which the server says when to retry: exactly, in whole seconds, or not at all. */
const ways = ["milliseconds", "seconds", "nothing"] as const;
type Way = (typeof ways)[number];

/**
 * 40 agents use a server that accepts 5 requests per second. All must finish. If the server says when to retry, it
 * may refuse on average one request per second after the first burst. A limiter test with virtual time checks that no
 * second has two refusals.
 */
export const rateLimit: Campaign = (options) => runSeeds(options, oneFamily, { workers: 1 });

async function oneFamily(seed: number): Promise<Verdict> {
  const way = ways[seed % ways.length] ?? "nothing";
  const place = createPlace();
  const windows: number[] = [];
  const family = planFamily({ random: seededRandom(seed), children, steps: 1, background: 0 });
  const server = await createApiServer({ script: limited(family, { way, windows }), seed });
  try {
    const startedAt = performance.now();
    const args = ["-p", "Do the work.", "--allowed-tools", "Bash", "--output-format", "stream-json"];
    const { code, stderr } = await startCommandLine({ place, url: server.url, args }).ended;
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const violations = code === 0 ? [] : [`exit code ${code}: ${stderr}`];
    const served = server.requests.filter(({ status }) => status === 200);
    const transcript = transcriptPath(place) ?? "";
    violations.push(...checkFamily({ place, transcript, requests: served, ends: "done" }).violations);
    const refusals = Array.from(windows, (refused = 0) => refused);
    const later = afterBurst(refusals);
    const more = later.filter((refused) => refused > 1).length;
    if (sum(refusals) === 0) violations.push("nothing was refused");
    if (sum(later) > later.length && way !== "nothing") violations.push(`refused too often: ${refusals.join(" ")}`);
    place.remove();
    const work = { agents: children, served: served.length, "refused at first": sum(refusals) - sum(later) };
    return {
      violations: violations.map((text) => `told ${way}: ${text}`),
      work: {
        ...work,
        "windows after the burst": later.length,
        "refused in these windows": sum(later),
        [way === "nothing" ? "windows with several refusals, without a retry time" : "windows with several refusals"]:
          more,
        seconds,
      },
    };
  } finally {
    await server.close();
  }
}

/**
 * Skips the first burst, when the agents do not know the limit yet. On a busy machine, this burst lasts several
 * windows.
 */
function afterBurst(refusals: readonly number[]): readonly number[] {
  const first = refusals.findIndex((refused) => refused > 0);
  const isOver = refusals.findIndex((refused, window) => window > first && refused <= 1);
  return isOver < 0 ? [] : refusals.slice(isOver);
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

/** Limits the rate of a script, and counts the refusals of each window in `windows`. */
function limited(script: ReplyFunction, { way, windows }: { way: Way; windows: number[] }): ReplyFunction {
  const startedAt = performance.now();
  let window = -1;
  let taken = 0;
  return (request, context) => {
    const elapsed = performance.now() - startedAt;
    const now = Math.floor(elapsed / windowMs);
    if (now !== window) taken = 0;
    window = now;
    taken += 1;
    if (taken <= perWindow) return script(request, context);
    windows[now] = (windows[now] ?? 0) + 1;
    const left = Math.ceil((now + 1) * windowMs - elapsed);
    const retryAfter = { milliseconds: { milliseconds: left }, seconds: { seconds: 1 }, nothing: undefined }[way];
    return { content: "", fault: { kind: "status", status: 429, ...(retryAfter ? { retryAfter } : {}) } };
  };
}
