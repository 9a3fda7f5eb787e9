import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { commandEnvironment, pathOutside, readOnlyEnvironment } from "./command-environment.ts";

describe("commandEnvironment", () => {
  it.each([
    ...["DATABASE_URL", "MYSQL_PWD", "SLACK_WEBHOOK", "SESSION_COOKIE", "SENTRY_DSN", "REDIS_URL", "PGPASSWORD"],
    ...["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "KUBECONFIG", "DOCKER_HOST", "NETRC"],
    ...["NODE_OPTIONS", "LD_PRELOAD", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND"],
    ...["GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "MANPAGER"],
    ...["LC_X_TOKEN", "LC_SECRET", "XDG_API_KEY", "XDG_ANYTHING", "lc_password", "LC_ALL_KEY"],
    ...["CC", "RUSTC_WRAPPER", "MAKEFLAGS", "NPM_CONFIG__AUTHTOKEN", "npm_config_//host/:_authToken", "ANYTHING_ELSE"],
  ])("leaves out %s", (name) => {
    expect(commandEnvironment({ [name]: "value" })).not.toHaveProperty([name]);
  });

  it.each([
    ...["PATH", "HOME", "USER", "SHELL", "LANG", "LC_ALL", "TERM", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "CI", "NVM_DIR"],
    ...["CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX"],
    ...["LC_CTYPE", "LC_MESSAGES", "LC_TIME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP"],
    ...["ANDROID_HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "GIT_AUTHOR_NAME", "http_proxy", "NO_PROXY", "GOPROXY"],
  ])("keeps %s", (name) => {
    expect(commandEnvironment({ [name]: "/value" })[name]).toBe("/value");
  });

  it("keeps variables with addresses only if they contain no passwords", () => {
    const given = {
      HTTPS_PROXY: "http://proxy:3128",
      http_proxy: "http://user:pw@proxy:3128",
      ALL_PROXY: "user:pw@proxy:3128",
      GOPROXY: "https://goproxy.io,https://token@private.example",
    };
    expect(Object.keys(commandEnvironment(given)).filter((name) => name in given)).toEqual(["HTTPS_PROXY"]);
  });

  it("keeps variables named in the settings, except those that make shells run code", () => {
    const given = { DATABASE_URL: "d", APP_ONE: "1", APP_TOKEN: "2", OTHER: "3", BASH_ENV: "x", SHELLOPTS: "y" };
    const names = ["DATABASE_URL", "APP_*", "BASH_ENV", "SHELL*"];
    expect(commandEnvironment(given, names)).toMatchObject({ DATABASE_URL: "d", APP_ONE: "1", APP_TOKEN: "2" });
    const passed = Object.keys(commandEnvironment(given, names));
    for (const name of ["OTHER", "BASH_ENV", "SHELLOPTS"]) expect(passed).not.toContain(name);
  });

  it("disables pagers and prompts, and removes relative directories from PATH", () => {
    expect(commandEnvironment({ PATH: "./bin:/bin", PAGER: "less" })).toMatchObject({
      PATH: "/bin",
      PAGER: "cat",
      GIT_TERMINAL_PROMPT: "0",
    });
  });
});

describe("pathOutside", () => {
  it("removes all directories in the workspace, under any name", () => {
    const top = realpathSync(mkdtempSync(join(tmpdir(), "path-")));
    onTestFinished(() => rmSync(top, { recursive: true, force: true }));
    for (const name of ["ws/.venv/bin", "ws-other/bin"]) mkdirSync(join(top, name), { recursive: true });
    symlinkSync(join(top, "ws/.venv"), join(top, "link"));
    const path = ["ws/.venv/bin", "ws/missing", "ws-other/../ws/.venv/bin", "link/bin", "ws-other/bin", "missing"];
    const given = [...path.map((name) => `${top}/${name}`), "/usr/bin"].join(":");
    expect(pathOutside(given, [join(top, "ws")])).toBe(`${top}/ws-other/bin:${top}/missing:/usr/bin`);
    expect(pathOutside("/home/u/.asdf/shims/:/usr/bin:/home/u/.local/share/mise/shims", [])).toBe("/usr/bin");
    expect(pathOutside(`${top}/ws/bin`, [join(top, "ws")])).toBe("/usr/local/bin:/usr/bin:/bin");
  });
});

describe("readOnlyEnvironment", () => {
  it("prevents npm from writing a cache or logs and from looking for a newer version", () => {
    const given = { PATH: "/bin", npm_config_update_notifier: "true", NPM_CONFIG_CACHE: "/c", DATABASE_URL: "d" };
    const environment = readOnlyEnvironment(given);
    expect(environment).toMatchObject({ PATH: "/bin", npm_config_logs_max: "0", npm_config_update_notifier: "false" });
    expect(environment).not.toHaveProperty("NPM_CONFIG_CACHE");
    expect(environment).not.toHaveProperty("DATABASE_URL");
  });

  it("prevents npm from creating directories that a project's .npmrc names", () => {
    const directory = mkdtempSync(join(tmpdir(), "npm-"));
    writeFileSync(join(directory, "package.json"), '{"name": "x", "version": "1.0.0"}');
    writeFileSync(join(directory, ".npmrc"), "cache=made\nlogs-dir=logs\nlogs-max=9\ntiming=true\noffline=false\n");
    const env = { ...readOnlyEnvironment({ PATH: process.env["PATH"], HOME: join(directory, "home") }) };
    const output = execFileSync("npm", ["ls", "--json"], { cwd: directory, env, encoding: "utf8" });
    expect(JSON.parse(output)).toMatchObject({ name: "x" });
    expect(readdirSync(directory).sort()).toEqual([".npmrc", "package.json"]);
    rmSync(directory, { recursive: true });
  });
});

it("keeps git from using a directory of the working tree that looks like a repository, with hooks from a clone", () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-environment-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  execFileSync("git", ["init", "-q", root]);
  execFileSync("git", ["init", "-q", "--bare", join(root, "sub")]);
  const where = (cwd: string) =>
    execFileSync("git", ["rev-parse", "--git-dir"], { cwd, env: commandEnvironment(process.env), stdio: "pipe" });
  expect(String(where(root))).toBe(".git\n");
  expect(() => where(join(root, "sub"))).toThrow("bareRepository");
});
