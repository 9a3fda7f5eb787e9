import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Transcript } from "../../ports/index.ts";
import { createMemoryTranscript } from "./memory-transcript.ts";
import { fixedClock, notice, testPlace } from "./session.test-support.ts";
import { createTranscript } from "./transcript.ts";

async function textAt({ results }: Transcript, address: string): Promise<string | undefined> {
  const chunks = await results.read(address);
  if (chunks === undefined) return undefined;
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

describe.each(["files", "memory"])("results in %s", (where) => {
  const open = (place: ReturnType<typeof testPlace>, id = "s1") =>
    where === "files"
      ? createTranscript(place.options(id))
      : Promise.resolve(createMemoryTranscript({ sessionId: id, clock: fixedClock }));

  it("can be read at the address that saving returned", async () => {
    const session = await open(testPlace());
    const address = await session.results.save("call_1", "whole output 🙂");
    expect(address).toBe("retinue://result/call_1");
    expect(await textAt(session, address)).toBe("whole output 🙂");
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
      "retinue://output/r1",
    ]) {
      expect(await session.results.read(odd)).toBeUndefined();
    }
    await Promise.all([session.close(), other.close()]);
  });

  it("can be saved from a file, which stays unchanged", async () => {
    const place = testPlace();
    const session = await open(place);
    const path = join(place.root, "output.txt");
    const text = "ä line of output\n".repeat(100_000);
    writeFileSync(path, text, { mode: 0o644 });
    const address = await session.results.saveFile("call_2", path);
    writeFileSync(path, "changed");
    expect(await textAt(session, address)).toBe(text);
    await expect(session.results.saveFile("call_3", join(place.root, "missing"))).rejects.toThrow();
    await session.close();
  });

  it("have different addresses for different ids", async () => {
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
      expect(await textAt(session, address)).toBe(`text of ${unique[index]}`);
    }
    await session.close();
  });
});

const filesOf = ({ path = "" }: Transcript): string => path.replace(/\.jsonl$/, "");

it("results are private, and output that an earlier version saved beside them is found", async () => {
  const place = testPlace();
  const session = await createTranscript(place.options());
  const path = join(place.root, "output.txt");
  writeFileSync(path, "text", { mode: 0o644 });
  await session.results.saveFile("r1", path);
  expect(statSync(join(filesOf(session), "results/r1.txt")).mode & 0o777).toBe(0o600);
  writeFileSync(join(filesOf(session), "c7.txt"), "seq 1 20000");
  expect(await textAt(session, "retinue://result/c7")).toBe("seq 1 20000");
  await session.close();
});

it("only regular files are read", async () => {
  const session = await createTranscript(testPlace().options());
  const results = join(filesOf(session), "results");
  mkdirSync(join(results, "d.txt"), { recursive: true });
  execFileSync("mkfifo", [join(results, "p.txt")]);
  for (const name of ["d", "p"]) expect(await session.results.read(`retinue://result/${name}`)).toBeUndefined();
  await session.close();
});

it("a session in memory keeps the start of a huge file, and says so", async () => {
  const place = testPlace();
  const session = createMemoryTranscript({ sessionId: "s1", clock: fixedClock });
  const path = join(place.root, "huge.txt");
  writeFileSync(path, Buffer.alloc(40 * 1024 * 1024, "x"));
  const text = (await textAt(session, await session.results.saveFile("r1", path))) ?? "";
  expect(text.length).toBeLessThan(34 * 1024 * 1024);
  expect(text.slice(-200)).toMatch(/xxx\n\[Only the first 32.0 MB of 40.0 MB were kept/);
  await expect(session.results.saveFile("r2", path, { whole: true })).rejects.toThrow("too large");
});

it("a symlink in the results directory is not followed", async () => {
  const place = testPlace();
  const session = await createTranscript(place.options());
  await session.append("main", [notice("x")]);
  await session.results.save("r1", "text");
  writeFileSync(join(place.root, "secret"), "secret");
  const results = join(filesOf(session), "results");
  symlinkSync(join(place.root, "secret"), join(results, "r2.txt"));
  expect(readdirSync(results).sort()).toEqual(["r1.txt", "r2.txt"]);
  expect(await session.results.read("retinue://result/r2")).toBeUndefined();
  await session.close();
});

it("a symlink in the results directory is replaced, and its target is not changed", async () => {
  const place = testPlace();
  const session = await createTranscript(place.options());
  await session.results.save("r1", "text");
  const target = join(place.root, "target");
  writeFileSync(target, "before");
  const results = join(filesOf(session), "results");
  for (const name of ["r2", "r3", "r4"]) symlinkSync(target, join(results, `${name}.txt`));
  symlinkSync(join(place.root, "missing"), join(results, "r5.txt"));
  const from = join(place.root, "from");
  writeFileSync(from, "from a file", { mode: 0o644 });
  await session.results.save("r2", "new");
  await session.results.save("r3", Buffer.from("bytes"));
  await session.results.saveFile("r4", from);
  await session.results.saveFile("r5", from);
  expect(readFileSync(target, "utf8")).toBe("before");
  expect(readdirSync(place.root)).not.toContain("missing");
  const texts = await Promise.all(["r2", "r3", "r4", "r5"].map((id) => textAt(session, `retinue://result/${id}`)));
  expect(texts).toEqual(["new", "bytes", "from a file", "from a file"]);
  for (const name of readdirSync(results)) expect(statSync(join(results, name)).mode & 0o777).toBe(0o600);
  await session.results.save("r2", "newer");
  expect(await textAt(session, "retinue://result/r2")).toBe("newer");
  await session.close();
});
