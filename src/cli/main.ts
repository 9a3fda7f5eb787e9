#!/usr/bin/env node
// The `retinue` program. Selects an entry point by the first argument. Each entry point is a complete bundle next to
// this one, so that a process loads only what it needs, and nothing twice.

import { createRequire } from "node:module";
import { join } from "node:path";
import { stateDirectory } from "../app/index.ts";
import { servingCommands } from "./serving-commands.ts";
import { leaveOnSignal } from "./stop-signals.ts";

const argv = process.argv.slice(2);
const load = createRequire(import.meta.filename);
const serving = servingCommands.find((name) => name === argv[0]);

if (asksOnlyForText(argv)) {
  const { printText } = load("./help.cjs") as typeof import("./help/print-text.ts");
  printText(argv);
} else if (serving !== undefined) {
  const { serveCommand } = load("./serve.cjs") as typeof import("./serve-command.ts");
  void serveCommand(serving, argv.slice(1));
} else {
  void run();
}

async function run(): Promise<void> {
  // Loading takes a while. A program that interrupts a run meanwhile still gets a result.
  const leaving =
    argv[0]?.startsWith("-") && argv.some((word) => word === "-p" || word === "--print") ? leaveOnSignal() : undefined;
  const { loadCompiled } = await import("./code-cache.ts");
  const { exports, codeCache } = loadCompiled(join(import.meta.dirname, "run.cjs"), knownStateDirectory());
  await (exports as typeof import("./run-command.ts")).runCommand(argv, codeCache, leaving);
}

/** Returns undefined if the environment is invalid. The command reports why. */
function knownStateDirectory(): string | undefined {
  try {
    return stateDirectory(process.env);
  } catch {
    return undefined;
  }
}

function asksOnlyForText([first, ...rest]: readonly string[]): boolean {
  if (first === "--help" || first === "-h") return true;
  return (first === "--version" || first === "-V") && rest.length === 0;
}
