import { execFile } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, it } from "vitest";

it("works from a bundle, where names and files are others than in the source", async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "bundle-")));
  const entry = `
    import { searchInThread } from ${JSON.stringify(join(import.meta.dirname, "thread-search.ts"))};
    const compile = () => "takes a name that the thread uses too";
    const request = { directory: ${JSON.stringify(directory)}, mode: "content", pattern: "need.e", ignoreCase: false,
      multiline: false, before: 0, after: 0, glob: "*.txt" };
    const onHit = (hit) => { console.log(JSON.stringify([hit.path, hit.line, hit.text])); return true; };
    const end = await searchInThread(request, { onHit, signal: new AbortController().signal });
    console.log(JSON.stringify(end), compile().length);
  `;
  writeFileSync(join(directory, "hay.txt"), "one\nneedle\n");
  const outfile = join(directory, "bundle.mjs");
  for (const minify of [false, true]) {
    const stdin = { contents: entry, resolveDir: import.meta.dirname, loader: "ts" as const };
    await build({ stdin, outfile, bundle: true, platform: "node", format: "esm", target: "node20", minify });
    const { stdout } = await promisify(execFile)(process.execPath, [outfile]);
    expect(stdout).toBe('["hay.txt",2,"needle"]\n{"ok":true} 37\n');
  }
  rmSync(directory, { recursive: true });
});
