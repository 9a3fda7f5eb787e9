import { expect, it } from "vitest";
import { createMemoryTranscript } from "./memory-transcript.ts";
import { fixedClock, notice, someHead, testPlace } from "./session.test-support.ts";
import { createTranscript, type Transcript } from "./transcript.ts";

it("a session in memory behaves like a session in files", async () => {
  const place = testPlace();
  const memory = createMemoryTranscript({ sessionId: "s1", clock: fixedClock });
  const files = await createTranscript(place.options());
  expect(await use(memory)).toEqual(await use(files));
  await Promise.all([memory.close(), files.close()]);
  expect(memory.path).toBeUndefined();
  await expect(memory.append("main", [notice("late")])).rejects.toThrow("closed");
});

it("a session in memory continues numbering after the lines that it is given", async () => {
  const first = createMemoryTranscript({ sessionId: "s1", clock: fixedClock });
  await first.append("main", [notice("one"), notice("two")]);
  await first.append("a1", [notice("child")]);
  const lines = new Map([
    ["main", await first.read("main")],
    ["a1", await first.read("a1")],
  ]);
  const again = createMemoryTranscript({ sessionId: "s1", clock: fixedClock, lines });
  expect(await again.agents()).toEqual(["a1"]);
  expect(await again.append("main", [notice("three")])).toMatchObject([{ id: "3", parentId: "2", seq: 4 }]);
  expect(await again.append("a1", [notice("more")])).toMatchObject([{ id: "2", parentId: "1", seq: 5 }]);
  expect(await again.read("main")).toHaveLength(3);
  expect(lines.get("main")).toHaveLength(2);
  const updates = [];
  await again.close();
  for await (const { seq } of again.feed.read({ after: 1 })) updates.push(seq);
  expect(updates).toEqual([2, 3, 4, 5]);
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
