import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findRipgrep } from "./find-ripgrep.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rg-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const unknown = { platform: "plan9", arch: "x64" };

it("uses the configured program, then the package's, then the one on the PATH", () => {
  const mine = join(directory, "rg");
  writeFileSync(mine, "#!/bin/sh\n", { mode: 0o755 });
  expect(findRipgrep({ RETINUE_RIPGREP: mine })).toEqual({ program: mine });
  expect(findRipgrep({ PATH: directory })).toEqual({ program: expect.stringMatching(/ripgrep-.*[\\/]bin[\\/]rg/) });
  expect(findRipgrep({ PATH: directory }, unknown)).toEqual({ program: mine });
});

it("says what is missing and what to do", () => {
  const gone = join(directory, "gone");
  expect(findRipgrep({ RETINUE_RIPGREP: gone })).toEqual({
    missing: `RETINUE_RIPGREP is set to ${gone}, which is not an executable file`,
    fix: "Correct or unset RETINUE_RIPGREP.",
  });
  expect(findRipgrep({ PATH: directory }, unknown)).toEqual({
    missing: expect.stringContaining("@vscode/ripgrep-plan9-x64"),
    fix: expect.stringContaining("npm"),
  });
});
