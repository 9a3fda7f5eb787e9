import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AppendError, openAppendFile } from "../../lib/index.ts";
import { needs } from "../../testing/needs.test-support.ts";
import type { Trouble } from "./disk-retry.ts";
import type { OpenAppendFile } from "./open-files.ts";
import { messagesOf, notice, notices, testPlace } from "./session.test-support.ts";
import { createTranscript, openTranscript } from "./transcript.ts";

describe("a full disk", () => {
  it.each(["main", "wal"])(
    "delays writing to the %s file, which then continues without losing or repeating anything",
    async (which) => {
      const place = testPlace();
      const troubles: Trouble[] = [];
      const disk = fullDisk((path) => (path.endsWith("wal.jsonl") ? "wal" : "main") === which);
      const session = await createTranscript({
        ...place.options(),
        openFile: disk.open,
        firstWaitMs: 1,
        onTrouble: (trouble) => {
          troubles.push(trouble);
          disk.free();
        },
      });
      for (let round = 0; round < 5; round++) {
        disk.fill();
        await Promise.all([
          session.append("main", [notice(`${round} a`), notice(`${round} b`)]),
          session.append("main", [notice(`${round} c`)]),
          session.sync("main"),
        ]);
      }
      const expected = [0, 1, 2, 3, 4].flatMap((round) => [`${round} a`, `${round} b`, `${round} c`]);
      expect(messagesOf(await session.read("main"))).toEqual(expected);
      expect(disk.failures()).toBeGreaterThanOrEqual(5);
      expect(troubles.map(({ code }) => code)).toEqual(Array(5).fill("ENOSPC"));
      expect(troubles[0]?.message).toMatch(/No space left on the disk for .*jsonl.*Nothing recorded is lost/);
      await session.close();
      const again = await openTranscript(place.options());
      expect(again.problems).toEqual([]);
      expect(messagesOf(await again.read("main"))).toEqual(expected);
      await again.close();
    },
  );

  it("is reported once, no matter how many agents wait for it", async () => {
    const place = testPlace();
    const troubles: Trouble[] = [];
    const disk = fullDisk(() => true);
    const session = await createTranscript({
      ...place.options(),
      openFile: disk.open,
      firstWaitMs: 1,
      onTrouble: (trouble) => troubles.push(trouble),
    });
    disk.fill();
    const all = Promise.all(["main", "a1", "a2"].map((agent) => session.append(agent, notices(2))));
    await disk.failed(6);
    disk.free();
    await all;
    expect(troubles).toHaveLength(1);
    for (const agent of ["main", "a1", "a2"]) expect(await session.read(agent)).toHaveLength(2);
    await session.close();
  });

  it("does not prevent a session from closing", async () => {
    const place = testPlace();
    const disk = fullDisk(() => true);
    const session = await createTranscript({ ...place.options(), openFile: disk.open, firstWaitMs: 60_000 });
    await session.append("main", [notice("before")]);
    disk.fill();
    const waiting = session.append("main", [notice("never written")]);
    const refused = expect(waiting).rejects.toMatchObject({
      code: "journal_failed",
      message: expect.stringContaining(`No space left on the disk for ${session.path}`),
    });
    await disk.failed(1);
    await session.close();
    await refused;
    const again = await openTranscript(place.options());
    expect(messagesOf(await again.read("main"))).toEqual(["before"]);
    expect(again.problems).toEqual([]);
    await again.close();
  });

  it("makes writes fail immediately once the signal has fired", async () => {
    const disk = fullDisk(() => true);
    const signal = new AbortController();
    const files = { openFile: disk.open, stopWaiting: signal.signal, firstWaitMs: 60_000 };
    const session = await createTranscript({ ...testPlace().options(), ...files });
    disk.fill();
    const refused = expect(session.append("main", notices(1))).rejects.toMatchObject({ code: "journal_failed" });
    await disk.failed(1);
    signal.abort();
    await refused;
    await expect(session.append("a1", notices(1))).rejects.toMatchObject({ code: "journal_failed" });
    await session.close();
  });

  it("delays writing even if the file can't be truncated", needs("/dev/full", existsSync("/dev/full")), async () => {
    const place = testPlace();
    let path = "";
    const session = await createTranscript({
      ...place.options(),
      firstWaitMs: 1,
      onTrouble: () => {
        rmSync(path);
        writeFileSync(path, "");
      },
    });
    path = session.path ?? "";
    symlinkSync("/dev/full", path);
    await session.append("main", notices(2));
    expect(messagesOf(await session.read("main"))).toEqual(["message 1", "message 2"]);
    await session.close();
  });
});

describe("an error that waiting can't resolve", () => {
  it("is reported with advice, and the next append continues with the right number", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", [notice("before")]);
    const directory = (session.path ?? "").replace(/\.jsonl$/, "");
    mkdirSync(join(directory, "subagents", "agent-a1.jsonl"), { recursive: true });
    await expect(session.append("a1", [notice("x")])).rejects.toMatchObject({
      code: "journal_failed",
      fix: expect.any(String),
    });
    rmSync(join(directory, "subagents", "agent-a1.jsonl"), { recursive: true });
    const [line] = await session.append("a1", [notice("x")]);
    expect(line?.id).toBe("1");
    await session.close();
  });

  it("leaves nothing of the failed append behind", async () => {
    const place = testPlace();
    let fail = false;
    const openFile: OpenAppendFile = (path, options) => {
      const file = openAppendFile(path, options);
      return failing(file, (text) => {
        if (!fail) return file.append(text);
        const part = Buffer.from(text).subarray(0, -10);
        appendFileSync(path, part);
        throw new AppendError(path, { bytesWritten: part.length, cause: systemError("EIO") });
      });
    };
    const session = await createTranscript({ ...place.options(), openFile });
    await session.append("main", [notice("one")]);
    const before = readFileSync(session.path ?? "");
    fail = true;
    await expect(session.append("main", [notice("two"), notice("three")])).rejects.toThrow("input/output error");
    expect(readFileSync(session.path ?? "")).toEqual(before);
    fail = false;
    await session.append("main", [notice("four")]);
    expect(messagesOf(await session.read("main"))).toEqual(["one", "four"]);
    await session.sync("main");
    await session.close();
  });

  it("makes every later sync fail, because the system may have dropped the bytes", async () => {
    const place = testPlace();
    let fail = true;
    const openFile: OpenAppendFile = (path, options) => {
      const file = openAppendFile(path, options);
      const sync = () => (fail ? Promise.reject(systemError("EIO")) : file.sync());
      return { ...failing(file, file.append), sync };
    };
    const session = await createTranscript({ ...place.options(), openFile });
    await session.append("main", [notice("one")]);
    await expect(session.sync("main")).rejects.toMatchObject({ code: "journal_failed" });
    fail = false;
    await session.append("main", [notice("two")]);
    await expect(session.sync("main")).rejects.toMatchObject({ code: "journal_failed" });
    await expect(session.close()).rejects.toMatchObject({ code: "journal_failed" });
    const again = await openTranscript(place.options());
    expect(messagesOf(await again.read("main"))).toEqual(["one", "two"]);
    await again.close();
  });
});

type AppendFile = ReturnType<OpenAppendFile>;

function failing(file: AppendFile, append: AppendFile["append"]): AppendFile {
  return {
    path: file.path,
    get size() {
      return file.size;
    },
    append,
    sync: file.sync,
    close: file.close,
  };
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** Creates a disk that, while full, writes half of the bytes and rejects the rest, as real disks do. */
function fullDisk(concerns: (path: string) => boolean) {
  let full = false;
  let count = 0;
  let watchers: (() => void)[] = [];
  const open: OpenAppendFile = (path, options) => {
    const file = openAppendFile(path, options);
    return failing(file, (text) => {
      if (!full || !concerns(path)) return file.append(text);
      const bytes = Buffer.from(text);
      const half = bytes.subarray(0, Math.floor(bytes.length / 2));
      appendFileSync(path, half);
      count += 1;
      for (const watcher of watchers) watcher();
      throw new AppendError(path, { bytesWritten: half.length, cause: systemError("ENOSPC") });
    });
  };
  return {
    open,
    fill: () => {
      full = true;
    },
    free: () => {
      full = false;
    },
    failures: () => count,
    failed: (times: number) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (count < times) return;
          watchers = [];
          resolve();
        };
        watchers.push(look);
        look();
      }),
  };
}
