import { mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isLinux, needs } from "../../testing/needs.test-support.ts";
import { createOpenFiles } from "./open-files.ts";

it("a session never has more files open than allowed, even for a moment", needs("Linux", isLinux), async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "retinue-open-")));
  const files = createOpenFiles(undefined, 3);
  for (let index = 0; index < 50; index++) {
    files.open({ path: join(directory, `${index}.jsonl`), isNew: true }).append("{}\n");
    expect(openBelow(directory)).toBeLessThanOrEqual(3);
  }
  await files.closeAll();
  expect(openBelow(directory)).toBe(0);
  rmSync(directory, { recursive: true });
});

function openBelow(directory: string): number {
  return readdirSync("/proc/self/fd").filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(directory);
    } catch {
      return false;
    }
  }).length;
}
