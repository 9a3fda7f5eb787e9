import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isRoot, needs } from "../testing/needs.test-support.ts";
import { checkHome } from "./home-directory.ts";
import { testPlace } from "./journal/session.test-support.ts";

describe("the state directory", () => {
  it("is created if it is missing, for its owner only", () => {
    const home = join(testPlace().root, "deep", "home");
    expect(checkHome(home)).toEqual({ ok: true, created: true });
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(checkHome(home)).toEqual({ ok: true, created: false });
  });

  it("is rejected with advice if it is a file, or below one", () => {
    const file = join(testPlace().root, "file");
    writeFileSync(file, "");
    for (const home of [file, join(file, "below")]) {
      const check = checkHome(home);
      expect(check).toMatchObject({ ok: false, message: expect.stringMatching(/RETINUE_HOME/) });
      expect(check).toMatchObject({ message: expect.stringContaining("not a directory") });
    }
    expect(existsSync(file)).toBe(true);
  });

  it("is rejected if there is a file where the sessions should be", () => {
    const { home } = testPlace();
    mkdirSync(home);
    writeFileSync(join(home, "projects"), "");
    expect(checkHome(home)).toMatchObject({ ok: false, code: "ENOTDIR" });
  });

  it("is rejected with advice if it is not writable", needs("a user other than root", !isRoot), () => {
    const { home } = testPlace();
    mkdirSync(home);
    chmodSync(home, 0o500);
    expect(checkHome(home)).toMatchObject({ ok: false, code: "EACCES", message: expect.stringContaining("chmod") });
    chmodSync(home, 0o700);
  });

  it("is rejected on a file system that supports no directories", needs("/proc", existsSync("/proc/self/fd")), () => {
    expect(checkHome("/proc/self/retinue")).toMatchObject({
      ok: false,
      message: expect.stringContaining("RETINUE_HOME"),
    });
  });
});
