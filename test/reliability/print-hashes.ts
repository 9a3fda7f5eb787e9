import { Thread } from "../../src/runs/index.ts";
import { openTranscript } from "../../src/transcript/index.ts";
import { hashRequest } from "./hash-request.ts";

// A separate program: print-hashes.ts <home> <cwd> <session>... prints a line for each session.
const [home = "", cwd = "", ...ids] = process.argv.slice(2);
const clock = { now: () => Date.now(), monotonic: () => performance.now() };
for (const sessionId of ids) {
  const session = await openTranscript({ home, cwd, sessionId, clock });
  const thread = new Thread("main", session);
  await thread.restore();
  console.log(`${sessionId} ${hashRequest(thread).hash}`);
  await session.close();
}
