import { mkdtempSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import ts from "typescript";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { root } from "./temporary-house.ts";

interface LockedPackage {
  resolved?: string;
  hasInstallScript?: boolean;
  dev?: boolean;
  optionalDependencies?: Record<string, string>;
}

const read = async (name: string) => JSON.parse(await readFile(join(root, name), "utf8"));

describe("the package", () => {
  it("locks packages without naming a registry", async () => {
    const { packages } = (await read("package-lock.json")) as { packages: Record<string, LockedPackage> };
    const locked = Object.entries(packages).filter(([name]) => name !== "");
    expect(locked.length).toBeGreaterThan(50);
    expect(locked.filter(([, each]) => each.resolved !== undefined)).toEqual([]);
  });

  it("needs no install script", async () => {
    const { packages } = (await read("package-lock.json")) as { packages: Record<string, LockedPackage> };
    const scripted = Object.entries(packages).filter(([, each]) => each.hasInstallScript);
    // esbuild's install script only checks its binary, and users never install esbuild.
    expect(scripted.map(([name]) => name)).toEqual(["node_modules/esbuild"]);
    expect(scripted.every(([, each]) => each.dev)).toBe(true);
    // With ignore-scripts, npm pack would skip prepack, and the package would not contain dist.
    expect(await readFile(join(root, ".npmrc"), "utf8")).not.toContain("ignore-scripts");
  });

  it("locks the binaries for every platform, not only the current one", async () => {
    const { packages } = (await read("package-lock.json")) as { packages: Record<string, LockedPackage> };
    const wanted = Object.values(packages).flatMap((each) => Object.keys(each.optionalDependencies ?? {}));
    expect(wanted).toContain("@vscode/ripgrep-darwin-arm64");
    // If a binary is missing, `npm ci` rejects the whole lock file.
    const locked = Object.keys(packages).map((path) => path.split("node_modules/").at(-1));
    expect(wanted.filter((name) => !locked.includes(name))).toEqual([]);
  });

  it("runs nothing when it is installed, and is built before it is packed", async () => {
    const { scripts } = (await read("package.json")) as { scripts: Record<string, string> };
    expect(Object.keys(scripts).filter((name) => /^(pre|post)|^(install|prepare)/.test(name))).toEqual(["prepack"]);
    expect(scripts["prepack"]).toBe("node scripts/build.mjs --if-stale");
  });

  it("passes publint's strict checks", async () => {
    // The home directory, where npm has its cache by default, may be read-only.
    vi.stubEnv("npm_config_cache", mkdtempSync(join(tmpdir(), "npm-cache-")));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { messages, pkg } = await publint({ pkgDir: root, pack: "npm", strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  it.each(["Node16", "NodeNext", "Bundler"] as const)("has types for every entry point (%s)", async (kind) => {
    const { exports } = (await read("package.json")) as { exports: Record<string, { types: string } | string> };
    const options = { moduleResolution: ts.ModuleResolutionKind[kind] };
    for (const [path, target] of Object.entries(exports)) {
      if (typeof target === "string") continue;
      const { resolvedModule } = ts.resolveModuleName(join("retinue", path), join(root, "x.ts"), options, ts.sys);
      expect(resolvedModule?.resolvedFileName).toBe(join(root, target.types));
    }
  });

  it("contains no paths from this machine and no registry", async () => {
    const files = await sourceFiles();
    expect(files.length).toBeGreaterThan(10);
    const found: string[] = [];
    for (const name of files) {
      const text = await readFile(join(root, name), "utf8");
      if (text.includes(root) || /https?:\/\/[^\s/"'`]*registry/.test(text)) found.push(name);
    }
    expect(found).toEqual([]);
    expect(await readFile(join(root, ".npmrc"), "utf8")).not.toMatch(/registry\s*=/);
  });
});

async function sourceFiles(): Promise<string[]> {
  const made = /^(node_modules|dist|\.dist-.*|\.git|\.cache|coverage)$/;
  const top = (await readdir(root, { withFileTypes: true })).filter((entry) => !made.test(entry.name));
  const files = top.filter((entry) => entry.isFile()).map((entry) => entry.name);
  for (const folder of top.filter((entry) => entry.isDirectory())) {
    const entries = await readdir(join(root, folder.name), { recursive: true, withFileTypes: true });
    for (const entry of entries) if (entry.isFile()) files.push(relative(root, join(entry.parentPath, entry.name)));
  }
  return files;
}
