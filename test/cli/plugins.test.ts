import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPlace, type Place, retinue, underCommand } from "./command-line.ts";

const manifest = JSON.stringify({ name: "kit", version: "1.2.0", dependencies: { base: "^1" }, outputStyles: "./x" });
const files = {
  ".claude-plugin/plugin.json": manifest,
  "agents/tester.md": "---\nname: tester\ndescription: Tests. Use after changes.\n---\nTest.\n",
  "commands/deploy.md": "Deploy to $ARGUMENTS.\n",
  "hooks/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch stopped"}]}]}}',
};

function writePlugin({ cwd }: Place): string {
  const root = join(cwd, "kit");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

function makeRepository(directory: string): void {
  const git = (...words: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...words], { cwd: directory });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "A plugin");
}

async function listed(place: Place): Promise<{ plugins: { name: string; state: string; root: string }[] }> {
  return JSON.parse((await retinue(["plugins", "list", "--json"], place)).stdout);
}

describe("retinue plugins", () => {
  it("adds a plugin from a directory, initially disabled, and removes it", async () => {
    const place = createPlace();
    const root = writePlugin(place);
    expect((await retinue(["plugins"], place)).stdout).toContain("There are no plugins");

    const added = await retinue(["plugins", "add", "kit"], place);
    expect(added).toMatchObject({ code: 0 });
    expect(added.stdout).toContain("agents/tester.md");
    expect(added.stdout).toContain("touch stopped");
    expect(added.stdout).toContain("It is disabled.");
    const { plugins } = await listed(place);
    expect(plugins).toMatchObject([{ name: "kit", state: "disabled", version: "1.2.0", source: root }]);
    expect((await retinue(["plugins", "add", "kit"], place)).stderr).toContain("already exists");

    const unanswered = await retinue(["plugins", "enable", "kit"], place);
    expect(unanswered).toMatchObject({ code: 2, stdout: expect.stringContaining("agents/tester.md") });
    expect(unanswered.stderr).toContain("retinue plugins enable kit --yes");
    expect(await retinue(["plugins", "enable", "kit", "--yes"], place)).toMatchObject({ code: 0 });
    const table = (await retinue(["plugins", "list"], place)).stdout;
    expect(table).toMatch(/^kit +1\.2\.0 +enabled +1 agent, 1 command, 1 hook event +base /m);
    expect(table).toMatch(
      /notice: Parts of the plugin "kit" that are not supported.*: outputStyles\. \[unsupported_parts\]/,
    );
    await retinue(["plugins", "disable", "kit"], place);
    expect((await listed(place)).plugins).toMatchObject([{ state: "disabled" }]);

    expect(await retinue(["plugins", "remove", "kit"], place)).toMatchObject({ code: 2 });
    expect(existsSync(plugins[0]?.root ?? "")).toBe(true);
    expect(await retinue(["plugins", "remove", "kit", "--yes"], place)).toMatchObject({ code: 0 });
    expect(existsSync(plugins[0]?.root ?? "")).toBe(false);
    expect(existsSync(join(place.cwd, "stopped"))).toBe(false);
  });

  it("adds a plugin from a repository without its history and without running anything from it", async () => {
    const place = createPlace();
    const root = writePlugin(place);
    makeRepository(root);
    const added = await retinue(["plugins", "add", `file://${root}`, "--yes"], place);
    expect(added, added.stderr).toMatchObject({ code: 0 });
    expect((await listed(place)).plugins).toMatchObject([{ name: "kit", state: "enabled" }]);
    expect(existsSync(join(place.home, "plugins/kit/agents/tester.md"))).toBe(true);
    expect(existsSync(join(place.home, "plugins/kit/.git"))).toBe(false);
  });

  it("can't be used by an agent's command to enable a plugin, even if the command removed its tag", async () => {
    const place = createPlace();
    writePlugin(place);
    const run = await retinue(["plugins", "add", "kit", "--yes"], { ...place, ...underCommand('"$@"') });
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining("agent can't enable a plugin") });
    expect((await listed(place)).plugins).toMatchObject([{ name: "kit", state: "disabled" }]);
  });

  it("disables a plugin again if its files change after approval", async () => {
    const place = createPlace();
    writePlugin(place);
    await retinue(["plugins", "add", "kit", "--yes"], place);
    writeFileSync(join(place.home, "plugins/kit/hooks/hooks.json"), "{}");
    const list = await retinue(["plugins", "list"], place);
    expect(list.stdout).toMatch(/^kit +1\.2\.0 +changed/m);
    expect(list.stdout).toContain("retinue plugins enable kit");
  });

  it("says in every run and in doctor that a changed plugin is not used", async () => {
    const place = createPlace();
    writePlugin(place);
    await retinue(["plugins", "add", "kit", "--yes"], place);
    expect((await retinue(["doctor"], place)).stdout).toMatch(/^✓ plugins +1 of 1 enabled$/m);
    writeFileSync(join(place.home, "plugins/kit/hooks/hooks.json"), "{}");
    const message = "The plugin kit has changed since it was approved, so it is disabled.";
    expect((await retinue(["-p", "hello"], place)).stderr).toContain(message);
    const named = await retinue(["-p", "hello", "--agent", "kit:tester"], place);
    expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    const doctor = await retinue(["doctor"], place);
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringMatching(/^✗ plugins .*has changed/m) });
    expect(doctor.stdout).toContain("retinue plugins enable kit");
  });

  it.each([
    "ext::sh -c touch% pwned",
    "http://example.com/a.git",
    "--upload-pack=touch pwned",
    "ssh://-oProxyCommand=touch/pwned",
    "git://example.com/a.git",
  ])("rejects the source %j", async (source) => {
    const place = createPlace();
    const refused = await retinue(["plugins", "add", "--", source], place);
    expect(refused.code).toBe(2);
    expect(existsSync(join(place.cwd, "pwned"))).toBe(false);
    expect(existsSync(join(place.home, "plugins.json"))).toBe(false);
  });

  it("rejects a plugin that contains links, and leaves nothing behind", async () => {
    const place = createPlace();
    symlinkSync("/etc/passwd", join(writePlugin(place), "agents/passwd.md"));
    const refused = await retinue(["plugins", "add", "kit"], place);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain("agents/passwd.md is a link");
    expect(existsSync(join(place.home, "plugins/kit"))).toBe(false);
  });

  it("explains a broken record, and does not change it", async () => {
    const place = createPlace();
    writePlugin(place);
    mkdirSync(place.home);
    writeFileSync(join(place.home, "plugins.json"), "{");
    const problem = `${join(place.home, "plugins.json")}:1: `;
    for (const words of [["list"], ["list", "--json"], ["add", "kit"], ["enable", "kit"]]) {
      const refused = await retinue(["plugins", ...words], place);
      expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(problem) });
      expect(refused.stderr).toContain("Correct the file, or delete it");
    }
    expect(readFileSync(join(place.home, "plugins.json"), "utf8")).toBe("{");
    const run = await retinue(["-p", "hello"], place);
    expect(run.stderr).toContain(`${problem}No plugin is used`);
    const doctor = await retinue(["doctor"], place);
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringMatching(/^✗ plugins .*plugins\.json:1: /m) });
    expect((await retinue(["agents", "list"], place)).stdout).toContain(`${problem}error: No plugin is used`);
  });
});
