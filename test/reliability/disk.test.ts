import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createApiServer } from "../../src/testing/index.ts";
import { needs } from "../../src/testing/needs.test-support.ts";
import { canMount, fill, fullDisk, withSmallDisk } from "../torture/disk.ts";
import { runCommandLine, startCommandLine } from "./command-line.ts";
import { createPlace, type Place, transcriptPath } from "./place.ts";

const mounts = canMount();

it(
  "a run waits while the disk is full, reports that, and continues when there is space",
  needs("the right to mount file systems", mounts),
  async () => {
    const report = await fullDisk({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
    expect(report).toMatchObject({ passed: 1, run: 1, firstFailure: undefined, work: { pauses: 1 } });
  },
);

describe("a run that waits for disk space", needs("the right to mount file systems", mounts), () => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("ends at the first %s, and names the file that could not be written", async (signal, code) => {
    await withSmallDisk("size=2m", async (place, disk) => {
      const server = await createApiServer({
        script: () => {
          fill(join(disk, "filler"));
          // The answer is longer than a page, because a file can still grow within its last page.
          return { content: "An answer that does not fit any more. ".repeat(1_000) };
        },
      });
      const run = startCommandLine({ place, url: server.url, args: ["-p", "Hello?"] });
      await run.told("No space left on the disk");
      run.child.kill(signal);
      const end = await run.ended;
      await server.close();
      expect(end).toMatchObject({ code, signal: null });
      const [waiting = "", ended = ""] = end.stderr.split("\n").filter((line) => line.includes("No space left"));
      expect(waiting).toContain(`No space left on the disk for ${disk}`);
      expect(waiting).toContain("Nothing recorded is lost");
      expect(ended).toContain(`No space left on the disk for ${disk}`);
      expect(end.stderr).toContain("--resume ");
    });
  });
});

describe("the state directory", () => {
  async function run(place: Place) {
    const server = await createApiServer({ script: () => ({ content: "Hello." }) });
    try {
      return await runCommandLine({ place, url: server.url, args: ["-p", "Hello?"] });
    } finally {
      await server.close();
    }
  }

  it("is created if it is missing", async () => {
    const place = createPlace();
    const deep = { ...place, home: join(place.root, "not", "yet", "there") };
    expect(await run(deep)).toMatchObject({ code: 0, stdout: "Hello.\n" });
    expect(existsSync(transcriptPath(deep) ?? "")).toBe(true);
    place.remove();
  });

  it("below a file is rejected with advice, and the file stays unchanged", async () => {
    const place = createPlace();
    const file = join(place.root, "file");
    writeFileSync(file, "mine");
    const { code, stdout, stderr } = await run({ ...place, home: join(file, "home") });
    expect(code).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toContain(file);
    expect(stderr).not.toMatch(/\n\s+at |bug in Retinue/);
    expect(readFileSync(file, "utf8")).toBe("mine");
    place.remove();
  });

  it(
    "on a read-only file system is rejected with a message",
    needs("the right to mount file systems", mounts),
    async () => {
      await withSmallDisk("size=64k,ro", async (place) => {
        const { code, stdout, stderr } = await run(place);
        expect(code).not.toBe(0);
        expect(stdout).toBe("");
        expect(stderr).toMatch(/read-only|EROFS/);
        expect(stderr).not.toMatch(/\n\s+at |bug in Retinue/);
      });
    },
  );
});
