// Part of `npm run check`: checks the types of all files, except those of the web view. With --web, checks only those:
// the web view runs in browsers, so it is checked with their types instead of those of Node. Emitting the library takes
// much less time than a separate build, so this also stores the library for `build.mjs --checked`.

import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import ts from "typescript";
import { checkedDirectory, hashInputs } from "./stamp.mjs";

const root = resolve(import.meta.dirname, "..");
process.exitCode = (process.argv.includes("--web") ? checkWeb() : checkAll()) ? 0 : 1;

function checkAll() {
  const hash = hashInputs(root, "lib");
  const everything = readConfig("tsconfig.json");
  const program = ts.createProgram({
    rootNames: everything.fileNames,
    options: { ...everything.options, noEmit: false, declaration: true, rootDir: root, outDir: join(root, "dist") },
    configFileParsingDiagnostics: everything.errors,
  });
  if (!isFree(problemsOf(program))) return false;
  return !existsSync(join(root, "src/index.ts")) || leaveLibrary(program, hash);
}

function checkWeb() {
  if (!existsSync(join(root, "src/web"))) return true;
  const { fileNames, options, errors } = readConfig("tsconfig.web.json");
  return isFree(problemsOf(ts.createProgram({ rootNames: fileNames, options, configFileParsingDiagnostics: errors })));
}

function leaveLibrary(program, hash) {
  const made = mkdtempSync(join(root, ".dist-"));
  const source = join(root, "dist/src");
  const write = (file, text) => ts.sys.writeFile(join(made, "lib", relative(source, file)), text);
  try {
    const files = readConfig("tsconfig.build.json").fileNames.map((name) => program.getSourceFile(name));
    if (!isFree(files.flatMap((file) => program.emit(file, write).diagnostics))) return false;
    writeFileSync(join(made, ".stamp"), JSON.stringify({ lib: hash }));
    const place = join(root, checkedDirectory);
    rmSync(place, { recursive: true, force: true });
    renameSync(made, place);
    return true;
  } catch (error) {
    // Another type check finished first, and its output is equally good.
    if (error.code === "ENOTEMPTY" || error.code === "EEXIST") return true;
    throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function readConfig(name) {
  const { config, error } = ts.readConfigFile(join(root, name), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent(config ?? {}, ts.sys, root, undefined, join(root, name));
  return error ? { ...parsed, errors: [error, ...parsed.errors] } : parsed;
}

/**
 * Returns only problems of the first kind found, as tsc does: types are checked only if the syntax is valid, and so on.
 */
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
