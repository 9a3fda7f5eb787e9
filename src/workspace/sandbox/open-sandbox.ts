import { spawn } from "node:child_process";
import { accessSync, constants, mkdirSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { describeError } from "../../lib/index.ts";
import { type ConfinedCommand, type ConfinedRequest, type Confinement, confineCommand } from "./confine-command.ts";
import { type DomainProxy, openDomainProxy } from "./domain-proxy.ts";
import { mountArguments } from "./mounts.ts";
import { type NetworkPrograms, openSharedNetwork, type SharedNetwork } from "./shared-network.ts";

export interface OpenSandbox {
  /** Returns false if the shared network has ended. */
  isOpen(): boolean;
  confine(request: ConfinedRequest, confinement: Confinement): ConfinedCommand;
  shut(): void;
}

/** Explains why there is no sandbox, and what to do. */
export interface Absence {
  readonly reason: string;
  readonly cure?: string;
}

/** Opens a sandbox and tries it, because installed programs may still not work. */
export async function openSandbox(scratch: string, domains: readonly string[]): Promise<OpenSandbox | Absence> {
  const programs = findPrograms();
  if ("reason" in programs) return programs;
  let proxy: DomainProxy | undefined;
  let network: SharedNetwork | undefined;
  try {
    mkdirSync(scratch, { recursive: true, mode: 0o700 });
    proxy = domains.length === 0 ? undefined : await openDomainProxy(domains);
    network = await openSharedNetwork(programs, proxy?.socket);
    const separate = await chooseSeparation(programs, network);
    const resources = { programs, network, proxy, separate };
    return {
      isOpen: () => resources.network.isOpen,
      confine: (request, confinement) => confineCommand(request, resources, confinement),
      shut: () => {
        resources.network.close();
        resources.proxy?.close();
      },
    };
  } catch (error) {
    network?.close();
    proxy?.close();
    const said = describeError(error).replace(/\.$/, "");
    return {
      reason: `bubblewrap does not work here (${said})`,
      cure: "Enable user namespaces for unprivileged users.",
    };
  }
}

/** Returns why there can be no sandbox on this machine; undefined if all required programs are installed. */
export function missingProgram(): Absence | undefined {
  const programs = findPrograms();
  return "reason" in programs ? programs : undefined;
}

function findPrograms(): NetworkPrograms | Absence {
  if (platform() !== "linux") return { reason: "this system is not supported yet" };
  const bubblewrap = findProgram("bwrap");
  if (bubblewrap === undefined)
    return { reason: "bubblewrap is not installed", cure: "Install it (apt install bubblewrap)." };
  const nsenter = findProgram("nsenter");
  if (nsenter === undefined) return { reason: "nsenter is not installed", cure: "Install util-linux." };
  return { bubblewrap, nsenter };
}

const always = [
  "--die-with-parent",
  "--cap-drop",
  "ALL",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-user",
];
/**
 * Options that separate the sandbox from the system, strictest first. Older versions of bubblewrap support fewer of
 * them.
 */
const separations = [
  [...always, "--unshare-cgroup-try", "--disable-userns"],
  [...always, "--unshare-cgroup-try"],
];

async function chooseSeparation(programs: NetworkPrograms, network: SharedNetwork): Promise<readonly string[]> {
  let failure = "";
  for (const separate of separations) {
    const mounts = mountArguments([], "/");
    const [program = "", ...args] = [...network.enter, programs.bubblewrap, ...separate, ...mounts, "--", "true"];
    const tried = await tryCommand(program, args);
    if (tried === undefined) return separate;
    failure = tried;
  }
  throw new Error(failure);
}

/** Runs a command. Returns its error message; undefined on success. */
function tryCommand(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 10_000 });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => {
      said += part;
    });
    child.once("error", (error) => resolve(describeError(error)));
    child.once("close", (code) => resolve(code === 0 ? undefined : said.trim() || `it exited with code ${code}`));
  });
}

/** System directories for programs. PATH is not used because it may lead into a workspace. */
const directories = ["/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin"];

function findProgram(name: string): string | undefined {
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
