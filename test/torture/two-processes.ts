import { createApiServer, messagesOf } from "../../src/testing/index.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { runCommandLine, startCommandLine } from "../reliability/command-line.ts";
import { createPlace, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { FORBIDDEN, planWork, workFlags } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/**
 * A process that opens a session in use is refused. After a kill, only one process at a time takes over the
 * session.
 */
export const twoProcesses: Campaign = (options) => runSeeds(options, crowd);

async function crowd(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  const place = createPlace();
  const work = planWork(place, { random, steps: 4 });
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const server = await createApiServer({
    script: async (request, context) => {
      if (messagesOf(request).length > 1) await gate;
      return work(request, context);
    },
  });
  try {
    const start = (...args: string[]) =>
      startCommandLine({ place, url: server.url, args: ["-p", ...args, ...workFlags] });
    const violations: string[] = [];
    const first = start("Do the work.");
    await server.waitForRequest(2);
    const transcript = transcriptPath(place) ?? "";
    const resume = () => start("--resume", sessionIdOf(transcript)).ended;

    const intruder = await runCommandLine({
      place,
      url: server.url,
      args: ["-p", "--resume", sessionIdOf(transcript), ...workFlags],
    });
    const refusal = /in use by process (\d+)/.exec(intruder.stderr);
    if (intruder.code === 0 || refusal?.[1] !== String(first.child.pid))
      violations.push(`no refusal: ${intruder.stderr}`);

    first.child.kill("SIGKILL");
    await first.ended;
    open();
    const all = await Promise.all([resume(), resume(), resume()]);
    // A late process may find that the work is done and there is nothing to resume.
    const wrong = all.filter(
      ({ code, stderr }) => code !== 0 && !/in use by process|has nothing left to do/.test(stderr),
    );
    violations.push(...wrong.map(({ code, stderr }) => `a resume ended with ${code}: ${stderr}`));
    const done = all.filter(({ code }) => code === 0).length;
    if (done === 0) violations.push("no process took the session over");
    const evidence = { place, transcript, requests: server.requests, forbidden: FORBIDDEN, ends: "done" } as const;
    const checked = checkInvariants(evidence);
    violations.push(...checked.violations);
    if (violations.length === 0) place.remove();
    else violations.push(`see ${place.root}`);
    return { violations, work: { refusals: all.length - done + 1, ...checked.work } };
  } finally {
    open();
    await server.close();
  }
}
