// Runs the built program's commands in one process, one after another, because starting a process takes longer than
// most commands. Every command loads the bundle again, so that none sees state that another one left in memory.
// Also runs programs that use the library, which they share.

import { Console } from "node:console";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";

const directory = process.argv[2];
const compiled = readdirSync(directory).find((name) => /^run-.*\.cache$/.test(name));
const cachedData = compiled && readFileSync(join(directory, compiled)).subarray(0, -4);
const codeCache = { file: compiled && join(directory, compiled), keep: () => {} };
const bundles = {
  run: { source: (text) => text, cachedData, start: ({ runCommand }, words) => runCommand(words, codeCache) },
  serve: {
    source: (text) => `(function (exports, require, module, __filename, __dirname) {${text}})`,
    start: ({ serveCommand }, [name, ...words]) => serveCommand(name, words),
  },
};

const end = process.exit.bind(process);
let text = { stdout: "", stderr: "" };
process.on("disconnect", () => end());
process.on("message", (command) => void run(command).then((ended) => process.send(ended)));
// Node's warnings bypass process.stderr.
process.removeAllListeners("warning").on("warning", ({ name, message }) => {
  text.stderr += `(node) ${name}: ${message}\n`;
});

async function run({ words, program, cwd, environment, input }) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  process.chdir(cwd);
  process.exitCode = undefined;
  const listeners = listenersOfProcess();
  text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) replace(name, collect(text, name));
  globalThis.console = new Console(process.stdout, process.stderr);
  replace("stdin", Readable.from(input === "" ? [] : [Buffer.from(input)]));
  const code = await new Promise((exit) => {
    process.exit = exit;
    if (program !== undefined) {
      runProgram(program, exit);
      return;
    }
    const name = ["serve", "worker"].includes(words[0]) ? "serve" : "run";
    bundles[name].start(load(name), words);
  });
  for (const [event, listener] of listenersOfProcess()) {
    if (listeners.some(([, old]) => old === listener)) continue;
    if (event === "exit") listener(code);
    process.off(event, listener);
  }
  return { code: code ?? 0, signal: null, ...text };
}

/** Imports a program. It ends when nothing is left for its event loop to wait for, as it would in a process of its own. */
function runProgram(program, exit) {
  let code = 13;
  process.channel.unref();
  process.once("beforeExit", () => {
    process.channel.ref();
    exit(process.exitCode ?? code);
  });
  import(pathToFileURL(program).href).then(
    () => {
      code = 0;
    },
    (error) => {
      code = 1;
      console.error(error);
    },
  );
}

/** Loads a bundle again, although V8 compiles the bundle only once. */
function load(name) {
  const bundle = bundles[name];
  const file = join(directory, `${name}.cjs`);
  bundle.script ??= new Script(bundle.source(readFileSync(file, "latin1")), {
    filename: `retinue/dist/${name}.cjs`,
    cachedData: bundle.cachedData,
  });
  const module = { exports: {} };
  bundle.script.runInThisContext()(module.exports, createRequire(file), module, file, directory);
  return module.exports;
}

function listenersOfProcess() {
  return process.eventNames().flatMap((event) => process.rawListeners(event).map((listener) => [event, listener]));
}

function replace(name, value) {
  Object.defineProperty(process, name, { value, configurable: true });
}

function collect(parts, name) {
  return new Writable({
    decodeStrings: false,
    write: (chunk, _, done) => {
      parts[name] += chunk;
      done();
    },
  });
}
