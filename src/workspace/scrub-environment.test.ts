import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scrubEnvironment } from "./scrub-environment.ts";

describe("scrubEnvironment", () => {
  it("drops secrets by name, in upper or lower case", () => {
    const names = [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_AUTH_TOKEN",
      "OPENAI_API_KEY",
      "AWS_SECRET_ACCESS_KEY",
      "AWS_SESSION_TOKEN",
      "github_token",
      "DB_PASSWORD",
      "MYSQL_PASSWD",
      "GOOGLE_APPLICATION_CREDENTIALS",
      "SMTP_PASS",
      "AZURE_DEVOPS_EXT_PAT",
    ];
    const scrubbed = scrubEnvironment(Object.fromEntries(names.map((name) => [name, "s3cret"])));
    expect(Object.values(scrubbed)).not.toContain("s3cret");
  });

  it.each([
    ["node_modules/.bin:/usr/bin::./bin:.:/bin:", "/usr/bin:/bin"],
    [".", "/usr/local/bin:/usr/bin:/bin"],
  ])("keeps no directories in the workspace on the PATH: %s", (PATH, left) => {
    expect(scrubEnvironment({ PATH })["PATH"]).toBe(left);
  });

  it("keeps variables that programs need", () => {
    const needed = {
      PATH: "/bin",
      HOME: "/h",
      LANG: "C.UTF-8",
      TERM: "dumb",
      SSH_AUTH_SOCK: "/s",
      EDITOR: "vi",
      PWD: "/",
    };
    const scrubbed = scrubEnvironment({ ...needed, GONE: undefined });
    expect(scrubbed).toMatchObject({ ...needed, GIT_PAGER: "cat", GIT_OPTIONAL_LOCKS: "0", NO_COLOR: "1" });
    expect(scrubbed).not.toHaveProperty("GONE");
  });

  it("drops variables that run code in every shell, and overrides pagers", () => {
    const scrubbed = scrubEnvironment({ BASH_ENV: "/x", ENV: "/x", "BASH_FUNC_git%%": "() { :; }", PAGER: "less" });
    for (const name of ["BASH_ENV", "ENV", "BASH_FUNC_git%%"]) expect(scrubbed).not.toHaveProperty(name);
    expect(scrubbed["PAGER"]).toBe("cat");
  });

  it("prevents git from running programs that the repository's or the user's configuration names", () => {
    const place = mkdtempSync(join(tmpdir(), "retinue-git-"));
    const mark = join(place, "ran");
    writeFileSync(join(place, "monitor.sh"), `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    const git = (environment: NodeJS.ProcessEnv, ...args: string[]) =>
      spawnSync("git", args, { cwd: place, env: environment, encoding: "utf8" });
    git(process.env, "init", "-q");
    git(process.env, "config", "core.fsmonitor", "./monitor.sh");
    git(process.env, "status");
    expect(existsSync(mark)).toBe(true);
    rmSync(mark);
    const own = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "user.name", GIT_CONFIG_VALUE_0: "Somebody" };
    const scrubbed = scrubEnvironment({ ...process.env, ...own });
    expect(git(scrubbed, "status").status).toBe(0);
    expect(existsSync(mark)).toBe(false);
    expect(git(scrubbed, "config", "user.name").stdout).toBe("Somebody\n");
  });
});
