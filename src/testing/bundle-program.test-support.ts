import { mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { buildSync } from "esbuild";

const bundled = new Map<string, string>();

/**
 * Bundles a TypeScript program into a file for plain Node, once per process, and returns its path. Starting the program
 * through a TypeScript loader would take seconds of processor time. The file is deleted with all other temporary files
 * of the tests.
 */
export function bundleProgram(source: string): string {
  const known = bundled.get(source);
  if (known !== undefined) return known;
  const directory = mkdtempSync(join(tmpdir(), "bundled-program-"));
  symlinkSync(resolve(import.meta.dirname, "../../node_modules"), join(directory, "node_modules"));
  const outfile = join(directory, `${basename(source, ".ts")}.mjs`);
  const target = { bundle: true, platform: "node", format: "esm", packages: "external" } as const;
  buildSync({ entryPoints: [source], outfile, ...target, logLevel: "error" });
  bundled.set(source, outfile);
  return outfile;
}
