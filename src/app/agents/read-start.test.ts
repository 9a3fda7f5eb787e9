import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { checkAgents } from "../commands/check-agents.ts";
import { lintAgents } from "../commands/lint-agents.ts";

const directory = mkdtempSync(join(tmpdir(), "retinue-read-start-"));
const pipe = join(directory, "pipe.md");
execFileSync("mkfifo", [pipe]);
writeFileSync(join(directory, "good.md"), "---\ndescription: Helps. Use when asked.\n---\nHelp.\n");
symlinkSync(join(directory, "pipe.md"), join(directory, "link.md"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const place = { cwd: directory, home: join(directory, "home"), environment: { HOME: directory }, trust: false };

it.each([pipe, join(directory, "link.md")])(
  "checks and lints %s without waiting for it, and says what it is",
  async (file) => {
    const checked = await all(checkAgents([file]));
    expect(checked).toMatchObject([{ loaded: false, diagnostics: [{ code: "unreadable", line: 1 }] }]);
    const { findings } = await lintAgents([file], place);
    expect(findings).toMatchObject([
      { severity: "error", code: "unreadable", message: expect.stringContaining("not a regular file") },
    ]);
  },
);

it("goes on with the others", async () => {
  const checked = await all(checkAgents([directory]));
  expect(checked.map(({ file, loaded }) => [file, loaded])).toEqual([
    ["good.md", true],
    ["link.md", false],
    ["pipe.md", false],
  ]);
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
