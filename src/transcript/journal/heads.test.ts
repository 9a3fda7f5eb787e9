import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { notice, someHead, testPlace } from "./session.test-support.ts";
import { createTranscript, openTranscript } from "./transcript.ts";

describe("heads", () => {
  it("are stored once under the hash of their JSON, and read back in a new session object", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    const hash = await session.saveHead(someHead);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await session.saveHead({ ...someHead })).toBe(hash);
    const other = await session.saveHead({ ...someHead, system: "Be long." });
    expect(other).not.toBe(hash);
    await session.append("main", [{ type: "head.set", hash }]);
    await session.sync("main");
    await session.close();
    const again = await openTranscript(place.options());
    expect(await again.loadHead(hash)).toEqual(someHead);
    expect(JSON.stringify(await again.loadHead(hash))).toBe(JSON.stringify(someHead));
    await again.close();
  });

  it("are not found if their hash is unknown or invalid or their file is damaged, and saving repairs the file", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", [notice("x")]);
    const hash = await session.saveHead(someHead);
    const directory = join((session.path ?? "").replace(/\.jsonl$/, ""), "heads");
    expect(readdirSync(directory)).toEqual([`${hash}.json`]);
    writeFileSync(join(directory, `${hash}.json`), readFileSync(join(directory, `${hash}.json`)).subarray(0, 20));
    expect(await session.loadHead(hash)).toBeUndefined();
    expect(await session.loadHead("0".repeat(64))).toBeUndefined();
    expect(await session.loadHead("../lock")).toBeUndefined();
    await session.close();
    const again = await openTranscript(place.options());
    expect(await again.saveHead(someHead)).toBe(hash);
    expect(await again.loadHead(hash)).toEqual(someHead);
    await again.close();
    expect(existsSync(join(directory, `${hash}.json`))).toBe(true);
  });
});
