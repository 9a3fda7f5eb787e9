// A file costs more to load than its text: what one part of the program always needs together becomes one file. Every
// chunk that went into it stays as a line that hands on its names, for the parts that load it later.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/**
 * `outputs` by name relative to `directory`, with what each imports and exports; `entry` is the source file that is
 * loaded by import(). Answers the names of all files there are then.
 */
export async function mergeChunks(outputs, { directory, entry }) {
  const first = [...outputs].find(([, output]) => output.entryPoint === entry)?.[0];
  if (first === undefined) return [...outputs.keys()];
  const merged = loadedWith(first, outputs);
  const names = merged.map((chunk, index) => ({ chunk, names: outputs.get(chunk).exports, prefix: `_${index}_` }));
  const contents = names.map(({ chunk, names, prefix }) => {
    const list = names.map((name) => `${name} as ${prefix}${name}`);
    return `export { ${list.join(", ")} } from "./${chunk}";`;
  });
  const kept = [...outputs.keys()].filter((name) => !merged.includes(name));
  await build({
    stdin: { contents: contents.join("\n"), resolveDir: directory, sourcefile: "core.js" },
    outfile: join(directory, "chunks/core.js"),
    absWorkingDir: directory,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    plugins: [staysOutside(kept)],
    minifyWhitespace: true,
    logLevel: "warning",
  });
  for (const { chunk, names: exported, prefix } of names) {
    const list = exported.map((name) => `${prefix}${name} as ${name}`);
    writeFileSync(join(directory, chunk), `export{${list.join(",")}}from"./core.js";\n`);
  }
  return [...outputs.keys(), "chunks/core.js"];
}

function loadedWith(first, outputs) {
  const reached = new Set([first]);
  for (const name of reached) {
    for (const { kind, path } of outputs.get(name)?.imports ?? []) {
      if (kind === "import-statement" && outputs.has(path)) reached.add(path);
    }
  }
  return [...reached];
}

function staysOutside(kept) {
  return {
    name: "stays-outside",
    setup({ onResolve }) {
      onResolve({ filter: /.*/ }, ({ path }) => {
        const name = path.split("/").at(-1);
        const outside = !path.startsWith(".") || kept.some((chunk) => chunk.endsWith(`/${name}`));
        return outside ? { path, external: true } : undefined;
      });
    },
  };
}
