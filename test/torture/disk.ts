import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createApiServer } from "../../src/testing/index.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { startCommandLine } from "../reliability/command-line.ts";
import { createPlace, type Place, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { FORBIDDEN, planWork, workFlags } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/** The disk with the state directory fills up during some request, and has free space again later. */
export const fullDisk: Campaign = async (options) => {
  if (!canMount()) {
    const skipped = ["full disks: a small file system can't be mounted here (this needs root on Linux)"];
    return { passed: 0, run: 0, firstFailure: undefined, work: {}, skipped };
  }
  return runSeeds(options, fillAndFree);
};

async function fillAndFree(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  return withSmallDisk("size=2m", async (place, disk) => {
    const steps = 8;
    const fullAt = 1 + Math.floor(random() * 4);
    const filler = join(disk, "filler");
    const work = planWork(place, { random, steps });
    const server = await createApiServer({
      script: async (request, context) => {
        if (context.count === fullAt) fill(filler);
        return work(request, context);
      },
    });
    try {
      const run = startCommandLine({ place, url: server.url, args: ["-p", "Do the work.", ...workFlags] });
      const told = await run.told("No space left on the disk").then(
        () => true,
        () => false,
      );
      rmSync(filler, { force: true });
      const { code, stderr } = await run.ended;
      const violations = code === 0 ? [] : [`exit code ${code}: ${stderr}`];
      if (!told) violations.push("the user was not told that the disk is full");
      const transcript = transcriptPath(place) ?? "";
      const evidence = { place, transcript, requests: server.requests, forbidden: FORBIDDEN, ends: "done" } as const;
      const checked = checkInvariants(evidence);
      violations.push(...checked.violations);
      return { violations, work: { pauses: told ? 1 : 0, ...checked.work } };
    } finally {
      await server.close();
    }
  });
}

/** Fills the disk to the last byte. A transcript can still grow within its last page. */
export function fill(path: string): void {
  const descriptor = openSync(path, "w");
  for (const size of [65_536, 4_096, 1]) {
    const bytes = Buffer.alloc(size);
    try {
      while (writeSync(descriptor, bytes) > 0);
    } catch {
      // There is no more space for pieces of this size.
    }
  }
  closeSync(descriptor);
}

/** Uses a temporary place whose state directory is on a separate, small file system. */
export async function withSmallDisk<T>(
  options: string,
  use: (place: Place, disk: string) => Promise<T>,
  { home = "home" }: { home?: string } = {},
): Promise<T> {
  const place = createPlace();
  const disk = join(place.root, "disk");
  mkdirSync(disk);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", disk]);
  if (mounted.status !== 0) throw new Error(`mount: ${mounted.stderr}`);
  try {
    return await use({ ...place, home: join(disk, home) }, disk);
  } finally {
    spawnSync("umount", ["-l", disk]);
    place.remove();
  }
}

export function canMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const place = createPlace();
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", place.cwd]).status === 0;
  if (mounted) spawnSync("umount", [place.cwd]);
  place.remove();
  return mounted;
}
