import { join } from "node:path";
import { buildSync } from "esbuild";

/** Makes a program of one of this room's test-support files that plain Node starts quickly. Gives its path. */
export function bundle(name: string, directory: string): string {
  const outfile = join(directory, `${name}.mjs`);
  buildSync({
    entryPoints: [join(import.meta.dirname, `${name}.test-support.ts`)],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
    // CommonJS packages inside ask for built-in modules by require.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  return outfile;
}
