import { spawnSync } from "node:child_process";
import { type ApiServer, createApiServer } from "../../src/testing/index.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { type Ended, runCommandLine, startCommandLine } from "../reliability/command-line.ts";
import { createPlace, isDone, type Place, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { FORBIDDEN, planWork, workFlags } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/**
 * The n-th write to the transcript or its log, and two more after it, fail. With a full disk, the run
 * continues when there is space. With a broken disk, the run ends with a message and can be resumed. The seed chooses n
 * and the error.
 */
export const writeErrors: Campaign = async (options) => {
  if (spawnSync("strace", ["-V"]).status !== 0) {
    const skipped = ["write errors: strace is not installed"];
    return { passed: 0, run: 0, firstFailure: undefined, work: {}, skipped };
  }
  return runSeeds(options, (seed) => {
    const which = (seed - 1) % (2 * writes);
    return failWrite(1 + Math.floor(which / 2), which % 2 === 0 ? "ENOSPC" : "EIO");
  });
};

const steps = 4;
/** Approximate number of writes that a resumed process makes. */
const writes = 40;

async function failWrite(nth: number, error: "ENOSPC" | "EIO"): Promise<Verdict> {
  const place = createPlace();
  const server = await createApiServer({ script: planWork(place, { random: () => 0.45, steps }) });
  try {
    await live(place, server, { words: ["--max-turns", "1"] });
    const struck = await live(place, server, { under: failing(nth, error, place) });
    const violations: string[] = [];
    const waited = struck.stderr.includes("Nothing recorded is lost");
    if (error === "ENOSPC" && struck.code !== 0) violations.push(`a full disk ended the run: ${struck.stderr}`);
    if (struck.code !== 0 && !/retinue: .*(EIO|can't be)/.test(struck.stderr)) violations.push(`said ${struck.stderr}`);
    if (/bug in Retinue|\n\s+at /.test(struck.stderr)) violations.push(`a bug: ${struck.stderr}`);
    if (!isDone(place)) {
      const last = await live(place, server, {});
      if (last.code !== 0) violations.push(`the resume ended with exit code ${last.code}: ${last.stderr}`);
    }
    const transcript = transcriptPath(place) ?? "";
    const evidence = { place, transcript, requests: server.requests, forbidden: FORBIDDEN, ends: "done" } as const;
    const checked = checkInvariants(evidence);
    violations.push(...checked.violations);
    if (violations.length === 0) place.remove();
    const told = violations.map((text) => `${error} at write ${nth}: ${text}; see ${place.root}`);
    return { violations: told, work: { waits: waited ? 1 : 0, ends: struck.code === 0 ? 0 : 1, ...checked.work } };
  } finally {
    await server.close();
  }
}

function failing(nth: number, error: string, place: Place): string[] {
  const transcript = transcriptPath(place) ?? "";
  const paths = ["-P", transcript, "-P", `${transcript.replace(/\.jsonl$/, "")}/wal.jsonl`];
  const inject = `inject=write:error=${error}:when=${nth}..${nth + 2}`;
  return ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=write", ...paths, "-e", inject];
}

interface Life {
  readonly words?: readonly string[];
  readonly under?: readonly string[];
}

function live(place: Place, server: ApiServer, { words = [], under = [] }: Life): Promise<Ended> {
  const transcript = transcriptPath(place);
  const task = transcript === undefined ? ["Do the work."] : ["--resume", sessionIdOf(transcript)];
  const options = { place, url: server.url, args: ["-p", ...task, ...words, ...workFlags] };
  return under.length > 0 ? startCommandLine({ ...options, under }).ended : runCommandLine(options);
}
