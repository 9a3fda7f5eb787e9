import { afterEach, describe, expect, it } from "vitest";
import { createHouse, type House } from "./temporary-house.ts";

let house: House;
afterEach(() => house.remove());

describe("scripts/check.mjs", { timeout: 120_000 }, () => {
  it("fails if one check fails, shows why, and still runs the others", async () => {
    house = await createHouse({
      "src/lib/index.ts": 'export const wrong: number = "a";\n',
      "src/lib/dead.ts": "export const dead = 1;\n",
      "src/loop/index.ts": 'import { wrong } from "../lib/index.ts"\nexport { wrong };\n',
    });
    const { code, stdout, stderr } = await house.run("check.mjs");
    expect(code).toBe(1);
    expect(stderr).toContain("FAILED  types");
    expect(stderr).toContain("TS2322");
    expect(stderr).toContain("FAILED  unused");
    expect(stderr).toContain("src/lib/dead.ts");
    expect(stderr).toContain("FAILED  style");
    expect(stdout).toContain("ok      layers");
    expect(stdout).toContain("ok      generated");
    expect(stderr).toMatch(/check failed: /);
  });
});
