// Bundles the compiled library (dist/lib) into a few files (dist/esm), because loading hundreds of modules takes several
// times as long. The types stay in dist/lib. `bundleLibrary` prints a message and returns false if it fails.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { transform } from "esbuild";
import { rolldown } from "rolldown";

/** Entry points of the package, relative to dist/lib and to dist/esm. */
const entries = ["index", "ai-sdk/index", "client/index", "testing/index"];

/** Packages that are small and always loaded. All others stay outside, so that they are loaded only when needed. */
const included = ["eventsource-parser", "unbash"];

export async function bundleLibrary({ root, directory, dependencies }) {
  const library = join(directory, "lib");
  const found = entries.filter((entry) => existsSync(join(library, `${entry}.js`)));
  try {
    const bundle = await rolldown({
      cwd: root,
      input: Object.fromEntries(found.map((entry) => [entry, join(library, `${entry}.js`)])),
      platform: "node",
      external: dependencies.filter((name) => !included.includes(name)).map(withPaths),
      logLevel: "silent",
    });
    // esbuild is not used here, because it would put everything that a module's index.ts exports into the file that is
    // loaded first.
    const { output } = await bundle.generate({ format: "esm", chunkFileNames: "[name]-[hash].js" });
    await bundle.close();
    for (const { fileName, code } of output) await write(join(directory, "esm", fileName), code);
    return true;
  } catch (error) {
    console.error(`build: the library can't be bundled: ${error.message}`);
    return false;
  }
}

async function write(path, text) {
  // Node prints the line of an uncaught error, so a line must not contain the whole library.
  const minified = { minifyWhitespace: true, minifySyntax: true, lineLimit: 120 };
  const { code } = await transform(text, { format: "esm", target: "node20", ...minified });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
}

/** Matches a package and the modules in it. */
function withPaths(name) {
  return new RegExp(`^${name}(/|$)`);
}
