import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openAppendFile } from "../../lib/index.ts";
import { projectName, sessionPaths } from "../session-paths.ts";
import type { OpenAppendFile } from "./open-files.ts";
import { messagesOf, notice, notices, type TestPlace, testPlace } from "./session.test-support.ts";
import { createTranscript, openTranscript, type Transcript } from "./transcript.ts";

const agents = ["main", "a1", "a2"];

type Step =
  | { readonly kind: "append"; readonly agent: string; readonly count: number; readonly size: number }
  | { readonly kind: "sync"; readonly agents: readonly string[] }
  | { readonly kind: "reopen" };

function steps(): fc.Arbitrary<Step[]> {
  const agent = fc.constantFrom(...agents);
  const size = fc.oneof({ weight: 9, arbitrary: fc.nat(40) }, { weight: 1, arbitrary: fc.constant(700_000) });
  const append = fc.record({
    kind: fc.constant("append" as const),
    agent,
    count: fc.integer({ min: 1, max: 3 }),
    size,
  });
  const sync = fc.record({ kind: fc.constant("sync" as const), agents: fc.subarray(agents, { minLength: 1 }) });
  const reopen = fc.constant({ kind: "reopen" as const });
  const step = fc.oneof(
    { weight: 6, arbitrary: append },
    { weight: 3, arbitrary: sync },
    { weight: 1, arbitrary: reopen },
  );
  return fc.array(step, { minLength: 3, maxLength: 20 });
}

describe("the write-ahead log", () => {
  it("loses nothing that was synced before a power cut, whatever part of the rest reached the disk", async () => {
    let cuts = 0;
    let promised = 0;
    const property = fc.asyncProperty(
      steps(),
      fc.nat(),
      fc.constantFrom("lost", "part", "zeros"),
      async (list, salt, rest) => {
        const place = testPlace();
        const disk = rememberingDisk();
        const options = { ...place.options(), openFile: disk.open, largestLog: 4_000 };
        let session: Transcript | undefined = await createTranscript(options);
        const appended = new Map<string, string[]>(agents.map((agent) => [agent, []]));
        const safe = new Map<string, number>();
        for (const step of list) {
          if (step.kind === "append") {
            const messages = appended.get(step.agent) ?? [];
            const events = Array.from({ length: step.count }, () =>
              notice(`${messages.length} ${"x".repeat(step.size)}`),
            );
            for (const event of events) messages.push(messagesOf([event])[0] ?? "");
            await session.append(step.agent, events);
          } else if (step.kind === "sync") {
            await Promise.all(step.agents.map((agent) => session?.sync(agent)));
            for (const agent of step.agents) safe.set(agent, appended.get(agent)?.length ?? 0);
          } else if ([...appended.values()].some((messages) => messages.length > 0)) {
            // Simulates a process that dies without closing the session. Without its lock, another process can take over.
            await disk.settle();
            session = undefined;
            rmSync(lockOf(place));
            session = await openTranscript(options);
          }
        }
        const after = cutPower(place, disk, { salt, rest });
        cuts++;
        if ([...safe.values()].every((count) => count === 0)) return;
        const reopened = await openTranscript(after.options());
        for (const [agent, count] of safe) {
          const messages = messagesOf(await reopened.read(agent));
          promised += count;
          expect(messages.slice(0, count)).toEqual(appended.get(agent)?.slice(0, count));
        }
        // Recovering again changes nothing.
        const contents = await Promise.all(agents.map((agent) => reopened.read(agent)));
        rmSync(lockOf(after));
        const third = await openTranscript(after.options());
        expect(await Promise.all(agents.map((agent) => third.read(agent)))).toEqual(contents);
        await third.close();
        await session?.close().catch(() => {});
      },
    );
    await fc.assert(property, { numRuns: 15, endOnFailure: true });
    expect(cuts).toBe(15);
    expect(promised).toBeGreaterThan(25);
  });

  it("restores a file that is missing after a power cut, and reports that once", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", notices(3));
    await session.append("a1", notices(2));
    await Promise.all([session.sync("main"), session.sync("a1")]);
    const paths = pathsOf(place);
    const whole = readFileSync(paths.transcript, "utf8");
    rmSync(paths.transcript);
    rmSync(paths.subagents, { recursive: true });
    rmSync(paths.lock);
    const again = await openTranscript(place.options());
    expect(again.problems.map(({ message }) => message)).toEqual([
      "Lost in a power cut and restored from the write-ahead log: 3 lines.",
      "Lost in a power cut and restored from the write-ahead log: 2 lines.",
    ]);
    expect(readFileSync(paths.transcript, "utf8")).toBe(whole);
    expect(await again.read("a1")).toHaveLength(2);
    await again.close();
    const third = await openTranscript(place.options());
    expect(third.problems).toEqual([]);
    await third.close();
  });

  it("needs only one sync for all waiting callers", async () => {
    const place = testPlace();
    const disk = rememberingDisk();
    const session = await createTranscript({ ...place.options(), openFile: disk.open });
    const many = Array.from({ length: 50 }, (_, index) => `a${index}`);
    await Promise.all(many.map((agent) => session.append(agent, notices(1))));
    await Promise.all(many.map((agent) => session.sync(agent)));
    expect(disk.syncs()).toBe(1);
    await session.sync("a1");
    expect(disk.syncs()).toBe(1);
    await session.close();
  });

  it("ignores entries that are incomplete or belong to no file", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", notices(1));
    await session.close();
    const odd = [
      '{"agent":"../x","line":{"v":1,"id":"1","parentId":null,"type":"a"}}',
      '{"agent":"main","line":{"v":1,"id":"9","parentId":"3","type":"a"}}',
      '{"agent":"main","line":7}',
      "null",
      '{"agent":"main","line":{"v":1,"id":"2","par',
    ];
    writeFileSync(pathsOf(place).wal, odd.join("\n"));
    const again = await openTranscript(place.options());
    expect(await again.read("main")).toHaveLength(1);
    await again.append("main", notices(1));
    await again.sync("main");
    await again.close();
    expect(existsSync(join(place.home, "projects", "x.jsonl"))).toBe(false);
  });
});

function pathsOf(place: TestPlace) {
  const { home, cwd, sessionId } = place.options();
  return sessionPaths({ home, project: projectName(cwd), sessionId });
}

function lockOf(place: TestPlace): string {
  return pathsOf(place).lock;
}

/** Creates a disk that remembers how much of each file was synced. */
function rememberingDisk() {
  const synced = new Map<string, number>();
  const underWay = new Set<Promise<void>>();
  let count = 0;
  const open: OpenAppendFile = (path, options) => {
    const file = openAppendFile(path, options);
    synced.set(path, Math.min(synced.get(path) ?? 0, file.size));
    const sync = async () => {
      const { size } = file;
      const done = file.sync();
      underWay.add(done);
      await done;
      underWay.delete(done);
      count += 1;
      synced.set(path, size);
    };
    return {
      path,
      get size() {
        return file.size;
      },
      append: file.append,
      sync,
      close: file.close,
    };
  };
  return { open, synced, syncs: () => count, settle: () => Promise.all(underWay) };
}

/**
 * Copies the state directory as a power cut would leave it: all synced bytes, and as many of the other bytes as `rest`
 * allows.
 */
function cutPower(
  place: TestPlace,
  disk: ReturnType<typeof rememberingDisk>,
  { salt, rest }: { salt: number; rest: "lost" | "part" | "zeros" },
): TestPlace {
  const after = testPlace();
  cpSync(place.home, after.home, { recursive: true });
  const moved: TestPlace = { ...after, cwd: place.cwd, options: (id) => ({ ...after.options(id), cwd: place.cwd }) };
  const paths = pathsOf(place);
  const files = [paths.transcript, paths.wal, ...agents.map((agent) => join(paths.subagents, `agent-${agent}.jsonl`))];
  for (const [index, file] of files.entries()) {
    const copy = file.replace(place.home, after.home);
    if (!existsSync(copy)) continue;
    const { length } = readFileSync(copy);
    const kept = Math.min(disk.synced.get(file) ?? 0, length);
    const survived = rest === "part" ? kept + ((salt + index * 7919) % (length - kept + 1)) : kept;
    if (survived === 0 && rest === "lost" && file !== paths.wal) rmSync(copy);
    else truncateSync(copy, survived);
    if (rest === "zeros") truncateSync(copy, length);
  }
  rmSync(lockOf(moved));
  return moved;
}
