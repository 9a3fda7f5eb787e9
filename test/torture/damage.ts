import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createApiServer } from "../../src/testing/index.ts";
import { runCommandLine } from "../reliability/command-line.ts";
import { createPlace, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { planWork, type Random, workFlags } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/**
 * A damaged session continues, or is refused with a message. No bytes of the session's files
 * are deleted.
 */
export const damage: Campaign = (options) => runSeeds(options, damageAndResume);

async function damageAndResume(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  const place = createPlace();
  const server = await createApiServer({ script: planWork(place, { random, steps: 5 }) });
  try {
    const start = (args: readonly string[]) =>
      runCommandLine({ place, url: server.url, args: ["-p", ...args, ...workFlags] });
    await start(["Do the work.", "--max-turns", String(2 + Math.floor(random() * 4))]);
    const transcript = transcriptPath(place) ?? "";
    const { name, bytes } = mutate(transcript, random);
    const { code, stderr, stdout } = await start(["--resume", sessionIdOf(transcript), "Go on."]);
    const violations: string[] = [];
    const continues = code === 0 && stdout === "All done.\n";
    const isRefused = code !== 0 && stderr.includes("retinue: ") && !/\n\s+at |bug in Retinue/.test(stderr);
    if (!continues && !isRefused) violations.push(`exit code ${code}: ${stderr}`);
    for (const { refusal } of server.requests) {
      // Thinking that followed the damaged part is refused, and the request is sent again without it.
      if (refusal === undefined || /Invalid `(signature|data)` in/.test(refusal)) continue;
      violations.push(`the provider refuses the request: ${refusal}`);
    }
    if (bytes !== undefined && !isKept(transcript, bytes)) violations.push("bytes of the damaged file are gone");
    if (violations.length === 0) place.remove();
    const told = violations.map((text) => `${name}: ${text}; see ${place.root}`);
    return { violations: told, work: { damaged: 1, continued: continues ? 1 : 0, refused: isRefused ? 1 : 0 } };
  } finally {
    await server.close();
  }
}

/**
 * Returns whether the bytes of a damaged file were kept: all of them in the file itself, or an incomplete last line in
 * a separate file.
 */
function isKept(transcript: string, bytes: Buffer): boolean {
  const now = readFileSync(transcript);
  if (now.subarray(0, bytes.length).equals(bytes)) return true;
  const aside = readdirSync(dirname(transcript)).filter((each) => each.startsWith(`${basename(transcript)}.damaged-`));
  return aside.some((each) => {
    const tail = readFileSync(join(dirname(transcript), each));
    const kept = bytes.subarray(0, bytes.length - tail.length);
    return Buffer.concat([kept, tail]).equals(bytes) && now.subarray(0, kept.length).equals(kept);
  });
}

interface Mutation {
  readonly name: string;
  /** Content of the damaged transcript; undefined if another file was damaged. */
  readonly bytes?: Buffer;
}

function mutate(transcript: string, random: Random): Mutation {
  const before = readFileSync(transcript);
  const lines = before.toString("utf8").trimEnd().split("\n");
  const any = (length: number): number => Math.floor(random() * length);
  const at = any(lines.length);
  const ofLines = (changed: readonly string[]): Buffer => Buffer.from(`${changed.join("\n")}\n`);
  const directory = transcript.replace(/\.jsonl$/, "");
  const mutations: Readonly<Record<string, () => Buffer | undefined>> = {
    "cut anywhere": () => before.subarray(0, 1 + any(before.length - 1)),
    "a flipped byte": () => {
      const flipped = Buffer.from(before);
      const position = any(flipped.length);
      flipped[position] = (flipped[position] ?? 0) ^ (1 << any(8));
      return flipped;
    },
    "a lost line": () => ofLines(lines.filter((_, index) => index !== at)),
    "a lost stretch": () => ofLines([...lines.slice(0, at), ...lines.slice(at + 1 + any(6))]),
    "a line twice": () => ofLines(lines.flatMap((line, index) => (index === at ? [line, line] : [line]))),
    "lines in another order": () => ofLines([...lines.slice(at), ...lines.slice(0, at)]),
    "junk between lines": () => ofLines([...lines.slice(0, at), '{"v":1,"junk', "\0\0\0", ...lines.slice(at)]),
    "zeros at the end": () => Buffer.concat([before, Buffer.alloc(4_096)]),
    "an empty file": () => Buffer.alloc(0),
    "a newer version": () => ofLines(lines.map((line) => line.replace('"v":1', '"v":2'))),
    "an unknown event": () =>
      ofLines([
        ...lines,
        JSON.stringify({ v: 1, id: String(lines.length + 1), parentId: String(lines.length), at: 1, type: "x.y" }),
      ]),
    "lost heads": () => {
      rmSync(join(directory, "heads"), { recursive: true, force: true });
      return undefined;
    },
    "junk in the log": () => {
      writeFileSync(join(directory, "wal.jsonl"), '{"agentId":"main"\nnull\n[]\n{"a":1}\n');
      return undefined;
    },
    "an invalid lock": () => {
      if (existsSync(directory)) writeFileSync(join(directory, "lock"), "not a lock");
      return undefined;
    },
  };
  const names = Object.keys(mutations);
  const name = names[any(names.length)] ?? "";
  const bytes = mutations[name]?.();
  if (bytes === undefined) return { name };
  writeFileSync(transcript, bytes);
  return { name, bytes };
}
