import { execFile } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { describeError, errorCode, formatBytes } from "../lib/index.ts";
import type { Settings } from "../protocol/index.ts";
import { createSandbox } from "../workspace/index.ts";
import type { Environment } from "./places.ts";
import { sandboxSettings } from "./sandbox-options.ts";

/** One thing that was looked at. Never holds a key. */
export interface Finding {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly found: string;
  readonly cure?: string;
}

export function examineNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isEnough = major > 20 || (major === 20 && minor >= 19);
  if (isEnough) return { name: "node", status: "ok", found: version };
  return { name: "node", status: "fail", found: version, cure: "Install Node.js 20.19 or newer." };
}

export interface ProgramCheck {
  readonly environment: Environment;
  readonly without: string;
  readonly install: string;
}

export async function examineProgram(name: string, { environment, without, install }: ProgramCheck): Promise<Finding> {
  const program = onPath(name, environment);
  if (program === undefined) return { name, status: "warn", found: `not found. ${without}`, cure: install };
  const version = await firstLine(program);
  if (version !== undefined) return { name, status: "ok", found: `${version} (${program})` };
  return { name, status: "warn", found: `${program} does not run. ${without}`, cure: install };
}

function firstLine(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ["--version"], { timeout: 5_000 }, (error, output) => {
      resolve(error ? undefined : output.split("\n")[0]?.trim());
    });
  });
}

function onPath(name: string, environment: Environment): string | undefined {
  const directories = (environment["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return directories.map((directory) => usable(join(directory, name))).find((path) => path !== undefined);
}

function usable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

/** Runs a command in it: that a program is installed does not mean that it works. */
export async function examineSandbox(settings: Settings): Promise<Finding> {
  const name = "sandbox";
  const { mode, network: { allowedDomains: domains = [] } = {} } = sandboxSettings(settings);
  const scratch = mkdtempSync(join(tmpdir(), "retinue-doctor-"));
  const places = { scratch, userHome: homedir(), writable: [], hidden: [], shown: [] };
  const sandbox = createSandbox({ ...places, mode, domains, tell: () => undefined });
  const state = await sandbox.ready();
  await sandbox.close();
  rmSync(scratch, { recursive: true, force: true });
  if (state.kind === "on") {
    const reach = domains.length === 0 ? "no network" : `network to ${domains.join(", ")} only`;
    return { name, status: "ok", found: `on: commands write only in the workspace and have ${reach}` };
  }
  const cure = state.cure === undefined ? {} : { cure: state.cure };
  if (mode === "off") return { name, status: "ok", found: "off: the settings switch it off" };
  if (state.kind === "missing")
    return { name, status: "fail", found: `required by the settings, but ${state.reason}`, ...cure };
  return { name, status: "warn", found: `off: ${state.reason}. Commands run with all your rights`, ...cure };
}

const SCARCE = 200 * 1024 * 1024;
const TOO_LITTLE = 10 * 1024 * 1024;

/** Of the file system that sessions are kept on. */
export function examineDisk(directory: string): Finding {
  const name = "disk";
  try {
    const { bavail, bsize } = statfsSync(directory);
    const free = bavail * bsize;
    const found = `${formatBytes(free)} free for ${directory}`;
    if (free >= SCARCE) return { name, status: "ok", found };
    const cure = 'Make space: "retinue sessions delete" removes old sessions.';
    return { name, status: free < TOO_LITTLE ? "fail" : "warn", found, cure };
  } catch (error) {
    if (errorCode(error) === "ENOENT" && dirname(directory) !== directory) return examineDisk(dirname(directory));
    return { name, status: "warn", found: describeError(error) };
  }
}
