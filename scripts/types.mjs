// `npm run check`: the types of everything. To write the library down takes little after that, and in a build of its
// own as long again; so it is left in dist/ for `build.mjs --checked`.

import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import ts from "typescript";
import { hashInputs, readStamp } from "./stamp.mjs";
import { writeDist } from "./write-dist.mjs";

const root = resolve(import.meta.dirname, "..");
process.exitCode = (await main()) ? 0 : 1;

async function main() {
  const hash = hashInputs(root);
  const everything = readConfig("tsconfig.json");
  const out = join(root, "dist");
  const program = ts.createProgram({
    rootNames: everything.fileNames,
    options: { ...everything.options, noEmit: false, declaration: true, rootDir: root, outDir: out },
    configFileParsingDiagnostics: everything.errors,
  });
  if (!isFree(problemsOf(program))) return false;
  if (!existsSync(join(root, "src/index.ts")) || readStamp(out).lib === hash) return true;

  const source = join(out, "src");
  const files = readConfig("tsconfig.build.json").fileNames.map((name) => program.getSourceFile(name));
  return writeDist({
    root,
    parts: ["lib"],
    hash,
    make(made) {
      const write = (file, text) => ts.sys.writeFile(join(made, "lib", relative(source, file)), text);
      return isFree(files.flatMap((file) => program.emit(file, write).diagnostics));
    },
  });
}

function readConfig(name) {
  const { config, error } = ts.readConfigFile(join(root, name), ts.sys.readFile);
  if (error) isFree([error]);
  return ts.parseJsonConfigFileContent(config ?? {}, ts.sys, root, undefined, join(root, name));
}

/** As tsc does: what has no syntax has no types, and so on. */
function problemsOf(program) {
  const kinds = [
    () => program.getConfigFileParsingDiagnostics(),
    () => program.getSyntacticDiagnostics(),
    () => [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()],
    () => program.getSemanticDiagnostics(),
  ];
  for (const kind of kinds) {
    const problems = kind();
    if (problems.length > 0) return problems;
  }
  return [];
}

function isFree(problems) {
  const host = {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (name) => name,
    getNewLine: () => "\n",
  };
  const told = ts.sortAndDeduplicateDiagnostics(problems);
  if (told.length > 0) console.error(ts.formatDiagnosticsWithColorAndContext(told, host));
  return told.length === 0;
}
