import { expect, it } from "vitest";
import { createMemoryTranscript } from "./memory-transcript.ts";
import { fixedClock, notice, someHead, testPlace } from "./session.test-support.ts";
import { createTranscript, type Transcript } from "./transcript.ts";

it("behaves like a session in files", async () => {
  const place = testPlace();
  const memory = createMemoryTranscript({ sessionId: "s1", clock: fixedClock });
  const files = await createTranscript(place.options());
  expect(await use(memory)).toEqual(await use(files));
  await Promise.all([memory.close(), files.close()]);
  expect(memory.path).toBeUndefined();
  await expect(memory.append("main", [notice("late")])).rejects.toThrow("closed");
});

async function use(session: Transcript): Promise<unknown[]> {
  const hash = await session.saveHead(someHead);
  const answers: unknown[] = [
    session.sessionId,
    await session.append("main", [notice("one"), { type: "head.set", hash }]),
    await session.append("a1", [notice("child")]),
    await session.append("main", []),
    await session.append("main", [notice("two")]),
    hash,
    await session.loadHead(hash),
    await session.loadHead("nothing"),
  ];
  await session.sync("main");
  for (const agent of ["main", "a1", "a2"]) answers.push(await session.read(agent));
  return answers;
}
