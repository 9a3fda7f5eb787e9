// Packs the package, installs it into an empty directory, imports both entry points and runs the command.
//   node scripts/try-package.mjs [VERSION...]   with these versions of Node from the npm registry, such as 20 22 24;
//                                               without any, with the Node that runs this script

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const program = `
import { openSession, VERSION } from "retinue";
import { createScriptedModel } from "retinue/testing";

const model = createScriptedModel([{ text: "Hello." }]);
const session = await openSession({ model, home: false });
const { text } = await session.prompt("Hi").result;
await session.close();
model.assertDone();
if (text !== "Hello.") throw new Error("The scripted model received no request.");
console.log("retinue " + VERSION);
`;

const place = mkdtempSync(join(tmpdir(), "retinue-package-"));
try {
  const versions = process.argv.slice(2);
  const installed = install(pack());
  const nodes = versions.length === 0 ? [process.execPath] : versions.map(download);
  for (const node of nodes) tryWith(node, installed);
} finally {
  rmSync(place, { recursive: true, force: true });
}

/** Packs the package and returns the path of the archive. */
function pack() {
  run("npm", ["pack", "--pack-destination", place], { cwd: root });
  const name = readdirSync(place).find((each) => each.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack did not write a package.");
  return join(place, name);
}

/** Creates a program that uses the package, and returns its directory. */
function install(file) {
  const directory = join(place, "program");
  mkdirSync(directory);
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "program", private: true, type: "module" }));
  writeFileSync(join(directory, "program.js"), program);
  run("npm", ["install", "--no-audit", "--no-fund", file], { cwd: directory });
  return directory;
}

/** Downloads a version of Node and returns the path of its executable. */
function download(version) {
  const directory = join(place, `node-${version}`);
  mkdirSync(directory);
  writeFileSync(join(directory, "package.json"), "{}");
  // The `node` package needs its install script to put the executable in place.
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts=false", `node@${version}`], { cwd: directory });
  return join(directory, "node_modules/node/bin/node");
}

function tryWith(node, directory) {
  const version = run(node, ["--version"], { cwd: directory }).trim();
  const home = mkdtempSync(join(place, "home-"));
  const env = { PATH: process.env.PATH, HOME: home, RETINUE_HOME: join(home, ".retinue") };
  const said = run(node, ["program.js"], { cwd: directory, env }).trim();
  const command = join(directory, "node_modules/retinue/dist/cli.cjs");
  const shown = run(node, [command, "--version"], { cwd: directory, env }).trim();
  const answer = run(node, [command, "-p", "Map this directory", "--quiet"], { cwd: directory, env });
  if (answer.trim() === "") throw new Error(`The command printed no answer with Node ${version}.`);
  console.log(`Node ${version}: the imports (${said}) and the command (${shown}) work.`);
}

function run(file, words, { cwd, env = process.env }) {
  return execFileSync(file, words, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
