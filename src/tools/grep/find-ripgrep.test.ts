import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findRipgrep } from "./find-ripgrep.ts";

it("takes the named program, then the package's", () => {
  const directory = mkdtempSync(join(tmpdir(), "rg-"));
  const mine = join(directory, "my-rg");
  writeFileSync(mine, "#!/bin/sh\n", { mode: 0o755 });
  expect(findRipgrep({ RETINUE_RIPGREP: mine })).toBe(mine);
  expect(findRipgrep({ RETINUE_RIPGREP: join(directory, "gone") })).toBeUndefined();
  expect(findRipgrep({})).toMatch(/ripgrep-.*[\\/]bin[\\/]rg/);
  rmSync(directory, { recursive: true });
});
