import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryTranscript } from "./memory-transcript.ts";
import { fixedClock, notice, testPlace } from "./session.test-support.ts";
import { createTranscript } from "./transcript.ts";

describe.each(["files", "memory"])("results in %s", (where) => {
  const open = (place: ReturnType<typeof testPlace>, id = "s1") =>
    where === "files"
      ? createTranscript(place.options(id))
      : Promise.resolve(createMemoryTranscript({ sessionId: id, clock: fixedClock }));

  it("are read back by the address that saving returned", async () => {
    const session = await open(testPlace());
    const address = await session.results.save("call_1", "whole output 🙂");
    expect(address).toBe("retinue://result/call_1");
    expect(await session.results.read(address)).toBe("whole output 🙂");
    await session.close();
  });

  it("are not found for other sessions, unknown ids or paths", async () => {
    const place = testPlace();
    const [session, other] = await Promise.all([open(place, "s1"), open(place, "s2")]);
    const address = await session.results.save("r1", "text");
    expect(await other.results.read(address)).toBeUndefined();
    for (const odd of [
      "r1",
      "../r1",
      "retinue://result/",
      `${address}/`,
      "retinue://result/../results/r1",
      `${address}\0`,
    ]) {
      expect(await session.results.read(odd)).toBeUndefined();
    }
    await Promise.all([session.close(), other.close()]);
  });

  it("have different addresses for different ids, whatever these are", async () => {
    const session = await open(testPlace());
    const ids = fc.sample(fc.oneof(fc.string(), fc.constantFrom("../x", "..", "a/b", "a b", "a?b")), {
      numRuns: 40,
      seed: 1,
    });
    const unique = [...new Set(ids)];
    const addresses: string[] = [];
    for (const id of unique) addresses.push(await session.results.save(id, `text of ${id}`));
    expect(new Set(addresses).size).toBe(unique.length);
    for (const [index, address] of addresses.entries()) {
      expect(await session.results.read(address)).toBe(`text of ${unique[index]}`);
    }
    await session.close();
  });
});

it("does not follow a link among the results", async () => {
  const place = testPlace();
  const session = await createTranscript(place.options());
  await session.append("main", [notice("x")]);
  await session.results.save("r1", "text");
  writeFileSync(join(place.root, "secret"), "secret");
  const results = join((session.path ?? "").replace(/\.jsonl$/, ""), "results");
  symlinkSync(join(place.root, "secret"), join(results, "r2.txt"));
  expect(readdirSync(results).sort()).toEqual(["r1.txt", "r2.txt"]);
  expect(await session.results.read("retinue://result/r2")).toBeUndefined();
  await session.close();
});
