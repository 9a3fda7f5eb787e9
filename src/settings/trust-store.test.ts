import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { describe, expect, it, onTestFinished } from "vitest";
import { UserError } from "../lib/index.ts";
import { createTrustStore } from "./index.ts";

function directory(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-trust-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

describe("createTrustStore", () => {
  it("keeps directories across processes until they are removed", async () => {
    const stateHome = join(directory(), "state");
    const store = createTrustStore({ stateHome, now: () => new Date(0) });
    expect(store.isTrusted("/a")).toBe(false);
    await store.add("/a");
    await createTrustStore({ stateHome }).add("/b");
    await store.add("/a", [{ kind: "hooks", name: "f", hash: "1" }]);
    const again = createTrustStore({ stateHome });
    expect(again.list().map(({ path }) => path)).toEqual(["/a", "/b"]);
    expect(again.list()[0]).toEqual({
      path: "/a",
      since: "1970-01-01T00:00:00.000Z",
      approvals: [{ kind: "hooks", name: "f", hash: "1" }],
    });
    expect(await again.remove("/a")).toBe(true);
    expect(await again.remove("/a")).toBe(false);
    expect(createTrustStore({ stateHome }).isTrusted("/a")).toBe(false);
    expect(statSync(join(stateHome, "trust.json")).mode & 0o777).toBe(0o600);
  });

  it("trusts everything below a directory, but nothing above or next to it, and is case-sensitive", async () => {
    const store = createTrustStore({ stateHome: directory() });
    await store.add("/x/project");
    for (const path of ["/x/project", "/x/project/nested", "/x/project/a/b/c"]) {
      expect(store.isTrusted(path)).toBe(true);
    }
    expect(store.coveredBy("/x/project/a/b/c")).toBe("/x/project");
    expect(store.coveredBy("/x")).toBeUndefined();
    for (const path of ["/", "/x", "/x/Project", "/x/project2", "/x/project2/nested", "relative"]) {
      expect(store.isTrusted(path)).toBe(false);
    }
  });

  it.each(["directory", "file", "link to nowhere"])(
    "does not trust a nested repository whose .git is a %s until it is added too",
    async (kind) => {
      const root = directory();
      const inner = join(root, "vendor/inner");
      mkdirSync(join(inner, "deep"), { recursive: true });
      if (kind === "directory") mkdirSync(join(inner, ".git"));
      if (kind === "file") writeFileSync(join(inner, ".git"), "gitdir: ../../.git/modules/inner");
      if (kind === "link to nowhere") symlinkSync("nowhere", join(inner, ".git"));
      const store = createTrustStore({ stateHome: join(root, "state") });
      await store.add(root);
      expect(["vendor", "vendor/inner", "vendor/inner/deep"].map((path) => store.isTrusted(join(root, path)))).toEqual([
        true,
        false,
        false,
      ]);
      await store.add(inner);
      expect(store.isTrusted(join(inner, "deep"))).toBe(true);
    },
  );

  it("applies approvals only to the exact path", async () => {
    const store = createTrustStore({ stateHome: directory() });
    await store.add("/a", [{ kind: "hooks", name: "f", hash: "1" }]);
    expect(store.isTrusted("/a/b")).toBe(true);
    expect(store.approvedHash("/a/b", { kind: "hooks", name: "f" })).toBeUndefined();
  });

  it("does not extend trust through git metadata, or through a link that replaces a trusted directory", async () => {
    const root = directory();
    const [trusted, other] = [join(root, "trusted"), join(root, "other")];
    mkdirSync(trusted);
    mkdirSync(join(other, ".git"), { recursive: true });
    writeFileSync(join(other, ".git/commondir"), `${trusted}/.git\n`);
    const store = createTrustStore({ stateHome: join(root, "state") });
    await store.add(realpathSync(trusted));
    expect(store.isTrusted(realpathSync(other))).toBe(false);
    renameSync(trusted, join(root, "moved"));
    symlinkSync(other, trusted);
    expect(store.isTrusted(realpathSync(trusted))).toBe(false);
  });

  it("binds approvals to a hash", async () => {
    const store = createTrustStore({ stateHome: directory() });
    const item = { kind: "mcp", name: "server" };
    await store.approve("/a", { ...item, hash: "0" });
    expect(store.approvedHash("/a", item)).toBe("0");
    expect(store.isTrusted("/a")).toBe(false);
    expect(store.list()).toEqual([]);
    await store.add("/a");
    expect(store.approvedHash("/a", item)).toBeUndefined();
    await store.approve("/a", { ...item, hash: "1" });
    await store.approve("/a", { ...item, hash: "2" });
    expect(store.approvedHash("/a", item)).toBe("2");
    expect(store.approvedHash("/a", { ...item, kind: "hooks" })).toBeUndefined();
    expect(store.approvedHash("/b", item)).toBeUndefined();
    await store.approve("/b", { ...item, hash: "3" });
    expect(await store.remove("/b")).toBe(false);
    expect(store.approvedHash("/b", item)).toBeUndefined();
  });

  it.each([
    "{",
    "",
    "[]",
    '{"version": 2, "trusted": []}',
    '{"version": 1, "trusted": ["/a"]}',
    '{"version": 1, "trusted": [], "approved": ["/a"]}',
    '{"version": 1, "trusted": [{"path": "/a", "since": "", "approvals": [1]}]}',
    '{"version": 1, "trusted": [], "trusted": [{"path": "/a", "since": "", "approvals": []}]}',
  ])("trusts nothing, reports the problem, and does not overwrite %s", async (text) => {
    const stateHome = directory();
    const file = join(stateHome, "trust.json");
    writeFileSync(file, text);
    const store = createTrustStore({ stateHome });
    expect(store.isTrusted("/a")).toBe(false);
    expect(store.problem).toContain(file);
    await expect(store.add("/b")).rejects.toThrowError(file);
    await expect(store.remove("/a")).rejects.toThrowError(file);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("names the file and the system's error if it can't write", async () => {
    const root = directory();
    writeFileSync(join(root, "file"), "");
    const stateHome = join(root, "file", "state");
    const error = await createTrustStore({ stateHome })
      .add("/a")
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({ code: "trust", exitCode: 2 });
    expect(String(error)).toContain(`${join(stateHome, "trust.json")} can't be written`);
    expect(String(error)).toContain("ENOTDIR");
  });

  it("loses nothing when several processes add to trust.json at once", async () => {
    const root = directory();
    const program = join(root, "add-trust.mjs");
    buildSync({
      entryPoints: [join(import.meta.dirname, "add-trust.test-support.ts")],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: program,
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    const stateHome = join(root, "state");
    const adders = ["a", "b", "c", "d"].map((name) =>
      spawn(process.execPath, [program, stateHome, name, "5"], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    await Promise.all(adders.map((adder) => once(adder.stdout, "data")));
    const ended = adders.map((adder) => once(adder, "exit"));
    for (const adder of adders) adder.stdin.end();
    expect(await Promise.all(ended)).toEqual(adders.map(() => [0, null]));
    const paths = createTrustStore({ stateHome })
      .list()
      .map(({ path }) => path);
    expect(paths.sort()).toEqual(["a", "b", "c", "d"].flatMap((name) => [0, 1, 2, 3, 4].map((i) => `/${name}/${i}`)));
    expect(readdirSync(stateHome)).toEqual(["trust.json"]);
  });
});
