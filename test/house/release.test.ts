import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHouse, type House } from "./temporary-house.ts";

const changelog = "# Changelog\n\n## Unreleased\n\n### Fixed\n\n- A thing.\n\n## 0.1.0 (2026-01-01)\n\n- The first.\n";

/** Creates a repository whose tests end with the given exit code. */
async function createRepository({ tests = 0, changes = changelog } = {}) {
  const manifest = { name: "house", version: "0.1.9", scripts: { test: `node -e "process.exit(${tests})"` } };
  const house = await createHouse({
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "package-lock.json": JSON.stringify({ name: "house", version: "0.1.9", lockfileVersion: 3, packages: {} }),
    "src/app/version.ts": 'export const VERSION = "0.1.9";\n',
    "CHANGELOG.md": changes,
    ".gitignore": "node_modules\n",
  });
  onTestFinished(() => house.remove());
  const git = (...words: readonly string[]): string =>
    execFileSync("git", words, { cwd: house.directory, encoding: "utf8" }).trim();
  git("init", "--quiet");
  git("config", "user.name", "Tester");
  git("config", "user.email", "tester@example.com");
  git("add", "--all");
  git("commit", "--quiet", "--message", "first");
  return { house, git, read: (name: string) => readFileSync(join(house.directory, name), "utf8") };
}

async function expectRefusal(house: House, says: RegExp, ...words: readonly string[]): Promise<void> {
  const { code, stderr } = await house.run("release.mjs", ...words);
  expect(stderr).toMatch(says);
  expect(code).toBe(1);
}

describe("scripts/release.mjs", () => {
  it("sets the version, dates the changelog, commits and tags, and says what is left to do", async () => {
    const { house, git, read } = await createRepository();
    const run = await house.run("release.mjs", "minor");
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/git push --follow-tags\n +npm publish/) });
    expect(JSON.parse(read("package.json"))).toMatchObject({ version: "0.2.0" });
    expect(JSON.parse(read("package-lock.json"))).toMatchObject({ version: "0.2.0" });
    expect(read("src/app/version.ts")).toBe('export const VERSION = "0.2.0";\n');
    expect(read("CHANGELOG.md")).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## 0\.2\.0 \(\d{4}-\d\d-\d\d\)\n\n### Fixed\n\n- A thing\.\n\n## 0\.1\.0 /,
    );
    expect(git("status", "--porcelain")).toBe("");
    expect(git("log", "-1", "--format=%s")).toBe("chore: release 0.2.0");
    expect(git("tag", "--points-at", "HEAD")).toBe("v0.2.0");
  });

  it("releases the current version if it has no tag yet, even if the changelog names it already", async () => {
    const { house, git, read } = await createRepository({ changes: "# Changelog\n\n## 0.1.9\n\n- The first.\n" });
    expect(await house.run("release.mjs", "0.1.9")).toMatchObject({ code: 0 });
    expect(JSON.parse(read("package.json"))).toMatchObject({ version: "0.1.9" });
    expect(read("CHANGELOG.md")).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## 0\.1\.9 \(\d{4}-\d\d-\d\d\)\n\n- The first\.\n$/,
    );
    expect(git("tag", "--points-at", "HEAD")).toBe("v0.1.9");
    await expectRefusal(house, /tag v0\.1\.9 already exists/, "0.1.9");
  });

  it("changes nothing with --dry-run, or if the tests fail", async () => {
    const dry = await createRepository();
    expect(await dry.house.run("release.mjs", "0.1.10", "--dry-run")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("ready for v0.1.10"),
    });
    const failing = await createRepository({ tests: 1 });
    await expectRefusal(failing.house, /"npm test" failed/, "patch");
    for (const { git } of [dry, failing]) {
      expect([git("status", "--porcelain"), git("tag"), git("log", "--format=%s")]).toEqual(["", "", "first"]);
    }
  });

  it("rejects uncommitted changes, a version that is invalid or too low, and an empty changelog", async () => {
    const { house, git } = await createRepository();
    await expectRefusal(house, /"next" is not a version/, "next");
    await expectRefusal(house, /0\.1\.8 is lower/, "0.1.8");
    await expectRefusal(house, /Usage: /);
    git("tag", "v0.2.0");
    await expectRefusal(house, /tag v0\.2\.0 already exists/, "minor");
    await house.write({ "new.txt": "" });
    await expectRefusal(house, /uncommitted changes.*\n.*new\.txt/, "patch");
    const empty = await createRepository({ changes: "# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- One.\n" });
    await expectRefusal(empty.house, /no changes below "## Unreleased"/, "patch");
  });
});
