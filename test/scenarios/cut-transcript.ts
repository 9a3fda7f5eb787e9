import type { Transcript } from "../../src/ports/index.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";

/** Returns a transcript with the lines up to the start of a call, as if the process had been killed at that point. */
export async function cutAtStart(transcript: Transcript): Promise<Transcript> {
  const cut = createMemoryTranscript({ sessionId: transcript.sessionId });
  const lines = await transcript.read("main");
  for (const line of lines.slice(0, lines.findIndex(({ type }) => type === "tool.started") + 1)) {
    const head = line.type === "head.set" ? await transcript.loadHead(line.hash) : undefined;
    if (head) await cut.saveHead(head);
    const { v: _, id: _id, parentId: _parent, at: _at, seq: _seq, ...event } = line;
    await cut.append("main", [event]);
  }
  return cut;
}
