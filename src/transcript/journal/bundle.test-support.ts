import { join } from "node:path";
import { buildSync } from "esbuild";

/** Bundles a test-support file from this folder into a program that Node starts quickly. Returns its path. */
export function bundle(name: string, directory: string): string {
  const outfile = join(directory, `${name}.mjs`);
  buildSync({
    entryPoints: [join(import.meta.dirname, `${name}.test-support.ts`)],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
    // Bundled CommonJS packages load built-in modules with require.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  return outfile;
}
