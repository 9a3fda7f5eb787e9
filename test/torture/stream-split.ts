import { createHash } from "node:crypto";
import { openSession } from "../../src/app/index.ts";
import { createApiServer, type Fault, type Reply } from "../../src/testing/index.ts";
import { createPlace, type Place, readTranscript } from "../reliability/place.ts";
import { type Campaign, runCases } from "./campaign.ts";

const text = "Grüße 👋🏽 漢字 👩‍👩‍👧 \u{10ffff} \ud83d allein \udc4b e\u0301 \u2028 \u0000 “Ende”";

/** Emoji, CJK and lone surrogates in text, thinking, arguments and results. */
const replies: readonly Reply[] = [
  {
    content: [
      { thinking: `Ich denke ${text}` },
      text,
      { tool: "Write", input: { file_path: "ü-漢.txt", content: text } },
      { tool: "Read", input: { file_path: "ü-漢.txt" } },
    ],
    pacing: { chunkCharacters: 3 },
  },
  { content: [text], pacing: { chunkCharacters: 1 } },
];

/** The transcript does not depend on the size of the pieces in which bytes arrive. `count` is the largest size. */
export const streamSplit: Campaign = async (options) => {
  const whole = await transcriptWith(undefined);
  const sizes = Array.from({ length: options.count }, (_, index) => index + 1);
  return runCases(options, sizes, async (bytes) => {
    const split = await transcriptWith({ kind: "split", bytes });
    const violations = split.hash === whole.hash ? [] : [`pieces of ${bytes} bytes give a different transcript`];
    return { violations, work: { lines: split.lines } };
  });
};

async function transcriptWith(fault: Fault | undefined): Promise<{ hash: string; lines: number }> {
  const place = createPlace();
  const server = await createApiServer({ script: replies.map((reply) => ({ ...reply, ...(fault ? { fault } : {}) })) });
  try {
    const session = await openSession({
      home: place.home,
      cwd: place.cwd,
      environment: { PATH: process.env["PATH"], ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "key" },
      permissionMode: "acceptEdits",
    });
    const { outcome } = await session.prompt(`Schreibe ${text}`).result;
    await session.close();
    server.assertDone();
    if (outcome !== "succeeded") throw new Error(`the run's outcome is ${outcome}`);
    return fingerprint(session.transcriptPath ?? "", place);
  } finally {
    await server.close();
    place.remove();
  }
}

/** Hashes a transcript without times, random ids, and values that depend on the place. */
function fingerprint(path: string, place: Place): { hash: string; lines: number } {
  const lines = readTranscript(path);
  const same = JSON.stringify(lines, (key, value: unknown) => {
    if (/^(at|runId|promptId|sessionId|hash|signature|dimensions|fingerprint)$|milliseconds$/i.test(key))
      return undefined;
    return typeof value === "string" ? value.replaceAll(place.root, "ROOT") : value;
  });
  return { hash: createHash("sha256").update(same).digest("hex"), lines: lines.length };
}
