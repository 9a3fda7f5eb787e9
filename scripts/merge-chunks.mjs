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
  if (groups.length === 0) return;
  const home = new Map();
  for (const { name, entries } of groups) {
    for (const chunk of loadedWith(entries, outputs)) if (!home.has(chunk)) home.set(chunk, name);
  }
  const parts = [...home].map(([chunk, group], index) => ({ chunk, group, prefix: `_${index}_` }));
  const exportsOf = ({ chunk, prefix }) => outputs.get(chunk).exports.map((name) => ({ name, as: `${prefix}${name}` }));
  for (const { name } of groups) {
    const own = parts.filter(({ group }) => group === name);
    const others = parts.filter(({ group }) => group !== name);
    await writeScript(name, { directory, parts: own, others, exportsOf });
  }
  const asked = parts.filter(({ chunk }) => outputs.get(chunk).entryPoint !== undefined);
  const entries = asked.map((part) => [
    fileOf(part.chunk),
    [part.group, exportsOf(part).map(({ name, as }) => [name, as])],
  ]);
  writeFileSync(join(directory, "chunks/scripts.js"), loader(Object.fromEntries(entries)));
  for (const part of parts) {
    const names = exportsOf(part).map(({ name, as }) => `const _${name}=s.${as};export{_${name} as ${name}};`);
    const line = `import{script}from"./scripts.js";const s=script("${part.group}");${names.join("")}\n`;
    writeFileSync(join(directory, part.chunk), line);
  }
}

const fileOf = (path) => path.split("/").at(-1);

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
        const inside = kind === "import-statement" && parts.some(({ chunk }) => fileOf(chunk) === fileOf(path));
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
        const part = others.find(({ chunk }) => fileOf(chunk) === fileOf(path));
        return part && kind === "import-statement" ? { path: part.chunk, namespace } : undefined;
      });
      onLoad({ filter: /.*/, namespace }, ({ path }) => {
        const part = others.find(({ chunk }) => chunk === path);
        const names = exportsOf(part).map(({ name, as }) => `${as} as ${name}`);
        return { contents: `export { ${names.join(", ")} } from "${part.group}";` };
      });
    },
  };
}

/**
 * The module that runs scripts, each once. What they ask for by import() and is in a script is there without a file of
 * its own; the module system would take milliseconds for it.
 */
function loader(entries) {
  return `import{readFileSync}from"node:fs";import{Script}from"node:vm";
const here=import.meta.dirname+"/",entries=${JSON.stringify(entries)},run={};
export function script(name){return run[name]??=evaluate(name)}
function evaluate(name){
const filename=here+name+".cjs",module={exports:{}};let cachedData;
try{cachedData=readFileSync(here+name+"-"+process.versions.v8+"-"+process.arch+".cache")}catch{}
new Script(readFileSync(filename,"latin1"),{filename,cachedData}).runInThisContext()(module,script,load,import.meta);
return module.exports}
async function load(path){
const entry=entries[path.slice(2)];if(entry===undefined)return import(path);
const exported=script(entry[0]);return Object.fromEntries(entry[1].map(([name,as])=>[name,exported[as]]))}
`;
}
