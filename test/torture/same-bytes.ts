import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import fc from "fast-check";
import { Thread } from "../../src/runs/index.ts";
import { createTranscript } from "../../src/transcript/index.ts";
import { hashRequest } from "../reliability/hash-request.ts";
import { createPlace, type Place } from "../reliability/place.ts";
import { type RandomConversation, randomConversation } from "../reliability/random-conversation.ts";
import type { Campaign } from "./campaign.ts";

/** A conversation that another process reads from the files yields the same request bytes, except for cache marks. */
export const sameBytes: Campaign = async ({ seed, count }) => {
  const place = createPlace();
  const written: { id: string; hash: string; bytes: number }[] = [];
  for (const [index, conversation] of fc.sample(randomConversation, { seed, numRuns: count }).entries()) {
    written.push({ id: `s${index}`, ...(await write(place, `s${index}`, conversation)) });
  }
  const read = await readInAnotherProcess(
    place,
    written.map(({ id }) => id),
  );
  const wrong = written.filter(({ id, hash }) => read.get(id) !== hash);
  if (wrong.length === 0) place.remove();
  return {
    passed: count - wrong.length,
    run: count,
    firstFailure: wrong[0] && `seed ${seed}: conversation ${wrong[0].id} of ${count} differs; see ${place.root}`,
    work: { bytes: written.reduce((sum, { bytes }) => sum + bytes, 0) },
  };
};

const clock = { now: () => Date.now(), monotonic: () => performance.now() };

async function write({ home, cwd }: Place, sessionId: string, { head, events }: RandomConversation) {
  const session = await createTranscript({ home, cwd, sessionId, clock });
  const thread = new Thread("main", session);
  const hash = await thread.keepHead(head);
  await thread.record([{ type: "session.created", sessionId, cwd, version: "0", serializer: 1 }]);
  await thread.record([{ type: "head.set", hash }]);
  for (const event of events) await thread.record([event]);
  const request = hashRequest(thread);
  await session.close();
  return request;
}

async function readInAnotherProcess({ root, home, cwd }: Place, ids: readonly string[]): Promise<Map<string, string>> {
  const program = join(root, "print-hashes.mjs");
  const entryPoints = [fileURLToPath(import.meta.resolve("../reliability/print-hashes.ts"))];
  // Bundled CommonJS packages load built-in modules with require.
  const js = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  buildSync({ entryPoints, bundle: true, platform: "node", format: "esm", outfile: program, banner: { js } });
  const child = spawn(process.execPath, [program, home, cwd, ...ids], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) text += chunk as string;
  return new Map(
    text
      .trimEnd()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
}
