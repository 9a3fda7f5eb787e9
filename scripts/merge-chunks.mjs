// A file costs more to load than its text, and text more than what V8 made of it before: what one part of the program
// always needs together becomes one script, and the build keeps its compiled form beside it (code-cache.mjs). Every
// chunk that went into a script stays as a line that hands on its names, for the parts that load it later.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/**
 * `outputs` by name relative to `directory`, with what each imports and exports. Each group is made of its `entries`,
 * source files that are loaded by import(), and all they need that no group before has.
 */
export async function mergeChunks(outputs, { directory, groups }) {
  const home = new Map();
  for (const { name, entries } of groups) {
    for (const chunk of loadedWith(entries, outputs)) if (!home.has(chunk)) home.set(chunk, name);
  }
  const parts = [...home].map(([chunk, group], index) => ({ chunk, group, prefix: `_${index}_` }));
  const exportsOf = ({ chunk, prefix }) => outputs.get(chunk).exports.map((name) => ({ name, as: `${prefix}${name}` }));
  for (const { name } of groups) {
    const own = parts.filter(({ group }) => group === name);
    await writeScript(name, { directory, parts: own, exportsOf, others: parts.filter(({ group }) => group !== name) });
    const names = own.flatMap((part) => exportsOf(part).map(({ as }) => as));
    const before = groups
      .slice(
        0,
        groups.findIndex((group) => group.name === name),
      )
      .map((group) => group.name);
    writeFileSync(join(directory, `chunks/${name}.js`), loader(name, { names, before }));
  }
  for (const part of parts) {
    const list = exportsOf(part).map(({ name, as }) => `${as} as ${name}`);
    writeFileSync(join(directory, part.chunk), `export{${list.join(",")}}from"./${part.group}.js";\n`);
  }
}

function loadedWith(entries, outputs) {
  const isEntry = ({ entryPoint }) => entries.includes(entryPoint);
  const reached = new Set([...outputs].filter(([, output]) => isEntry(output)).map(([name]) => name));
  if (reached.size !== entries.length) throw new Error(`Not all of these are loaded by import(): ${entries}`);
  for (const name of reached) {
    for (const { kind, path } of outputs.get(name)?.imports ?? []) {
      if (kind === "import-statement" && outputs.has(path)) reached.add(path);
    }
  }
  return reached;
}

async function writeScript(name, { directory, parts, others, exportsOf }) {
  const lines = parts.map((part) => `export { ${renamed(exportsOf(part))} } from "./${part.chunk}";`);
  const { outputFiles } = await build({
    stdin: { contents: lines.join("\n"), resolveDir: directory, sourcefile: `${name}.js` },
    outfile: join(directory, `chunks/${name}.cjs`),
    write: false,
    absWorkingDir: directory,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    define: { "import.meta": "$meta" },
    // A module is strict by itself, a script is not. The names are such as nobody has inside.
    banner: { js: '(function(module,require,$load,$meta){"use strict";' },
    footer: { js: "})" },
    plugins: [handsOn(others, exportsOf), staysOutside(parts)],
    minifyWhitespace: true,
    logLevel: "warning",
  });
  writeFileSync(join(directory, `chunks/${name}.cjs`), asPlainScript(outputFiles[0].text));
}

/** Without import(), which a script may do only as an experiment, and in ASCII, which V8 reads faster. */
function asPlainScript(text) {
  return text
    .replaceAll(/\bimport\((?="[^"]+"\))/g, "$load(")
    .replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const renamed = (names) => names.map(({ name, as }) => `${name} as ${as}`).join(", ");

/** Chunks that are no part of this script are loaded by import() as before. */
function staysOutside(parts) {
  return {
    name: "stays-outside",
    setup({ onResolve }) {
      onResolve({ filter: /.*/ }, ({ kind, path }) => {
        const inside = kind === "import-statement" && parts.some(({ chunk }) => sameFile(chunk, path));
        return inside ? undefined : { path, external: true };
      });
    },
  };
}

/** What a chunk of another script exports is taken from that script. */
function handsOn(others, exportsOf) {
  const namespace = "hands-on";
  return {
    name: namespace,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ kind, path }) => {
        const part = others.find(({ chunk }) => sameFile(chunk, path));
        return part && kind === "import-statement" ? { path: part.chunk, namespace } : undefined;
      });
      onLoad({ filter: /.*/, namespace }, ({ path }) => {
        const part = others.find(({ chunk }) => chunk === path);
        const names = exportsOf(part).map(({ name, as }) => `${as} as ${name}`);
        return { contents: `export { ${names.join(", ")} } from "script:${part.group}";` };
      });
    },
  };
}

const sameFile = (chunk, path) => chunk.split("/").at(-1) === path.split("/").at(-1);

function loader(name, { names, before }) {
  return `import{readFileSync}from"node:fs";import{Script}from"node:vm";
${before.map((other, index) => `import*as g${index} from"./${other}.js";`).join("")}
const file=import.meta.dirname+"/${name}.cjs";let cachedData;
try{cachedData=readFileSync(import.meta.dirname+"/${name}-"+process.versions.v8+"-"+process.arch+".cache")}catch{}
const script=new Script(readFileSync(file,"latin1"),{filename:file,cachedData});
const groups={${before.map((other, index) => `"script:${other}":g${index}`).join(",")}};
const module={exports:{}};script.runInThisContext()(module,(name)=>groups[name],(path)=>import(path),import.meta);
const e=module.exports;export const ${names.map((each) => `${each}=e.${each}`).join(",")};
`;
}
