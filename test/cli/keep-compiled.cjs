// Loaded before the built program (`node --require`) in tests that start many servers and workers: compiling their bundle
// takes longer than everything else that they do. The first server that is stopped saves the compiled code for the others.

const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } = require("node:fs");
const Module = require("node:module");
const { basename, dirname, join, resolve } = require("node:path");
const { Script } = require("node:vm");

const directory = resolve(__dirname, "../../.cache/compiled");
const compile = Module.prototype._compile;

Module.prototype._compile = function (source, path) {
  if (basename(path) !== "serve.cjs") return compile.call(this, source, path);
  const { mtimeMs, size } = statSync(path);
  const file = join(directory, `serve-${size}-${mtimeMs}-${process.version}.cache`);
  const cachedData = readIfPresent(file);
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
  const script = new Script(wrapped, { filename: path, cachedData });
  if (cachedData === undefined) process.once("exit", (code) => code === 0 && save(file, script.createCachedData()));
  script.runInThisContext()(this.exports, Module.createRequire(path), this, path, dirname(path));
};

function readIfPresent(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

function save(file, code) {
  mkdirSync(directory, { recursive: true });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, code);
  for (const old of readdirSync(directory)) if (old.endsWith(".cache")) rmSync(join(directory, old), { force: true });
  renameSync(temporary, file);
}
