// Bundles the compiled library (dist/lib) into a few files (dist/esm), because loading hundreds of modules takes several
// times as long. The types stay in dist/lib. `bundleLibrary` prints a message and returns false if it fails.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Entry points of the package, relative to dist/lib and to dist/esm. */
const entries = ["index", "client/index", "testing/index"];

/** Packages that are small and always loaded. All others stay outside, so that they are loaded when they are needed. */
const included = ["eventsource-parser", "unbash"];

export async function bundleLibrary({ root, directory, dependencies }) {
  const library = join(directory, "lib");
  const found = entries.filter((entry) => existsSync(join(library, `${entry}.js`)));
  const { errors } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(found.map((entry) => [entry, join(library, `${entry}.js`)])),
    outdir: join(directory, "esm"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: dependencies.filter((name) => !included.includes(name)),
    minifyWhitespace: true,
    minifySyntax: true,
    // Node prints the line of an uncaught error, so a line must not contain the whole library.
    lineLimit: 120,
    logLevel: "error",
  }).catch((error) => ({ errors: error.errors ?? [error] }));
  return errors.length === 0;
}
