import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { platform } from "node:os";
import { describeError } from "../../lib/index.ts";
import {
  type ConfinedCommand,
  type ConfinedRequest,
  type Confinement,
  confineCommand,
  FILTER_DESCRIPTOR,
  launcher,
  type WatchedConfinement,
} from "./confine-command.ts";
import { type DomainProxy, openDomainProxy } from "./domain-proxy.ts";
import { mountArguments } from "./mounts.ts";
import { MAX_PROCESSES, openProcessGroup, type ProcessGroup } from "./process-limit.ts";
import { createSandboxFiles, type SandboxFiles } from "./sandbox-files.ts";
import { type NetworkPrograms, openSharedNetwork, type SharedNetwork } from "./shared-network.ts";

export interface OpenSandbox {
  /** Returns false if the shared network is gone, or if the sandbox's files were removed. */
  isOpen(): boolean;
  confine(request: ConfinedRequest, confinement: WatchedConfinement): ConfinedCommand;
  shut(): void;
}

/** Explains why there is no sandbox, and what to do. */
export interface Absence {
  readonly reason: string;
  readonly fix?: string;
}

/** Opens a sandbox and tests it, because the required programs may be installed but not work. */
export async function openSandbox({ scratch, domains, maxProcesses }: Confinement): Promise<OpenSandbox | Absence> {
  const programs = findPrograms();
  if ("reason" in programs) return programs;
  let proxy: DomainProxy | undefined;
  let network: SharedNetwork | undefined;
  let files: SandboxFiles | undefined;
  let group: ProcessGroup | undefined;
  const shut = (): void => {
    network?.close();
    proxy?.close();
    files?.remove();
    group?.remove();
  };
  try {
    mkdirSync(scratch, { recursive: true, mode: 0o700 });
    proxy = domains.length === 0 ? undefined : await openDomainProxy(domains);
    network = await openSharedNetwork(programs, proxy?.socket);
    files = createSandboxFiles();
    group = openProcessGroup(maxProcesses ?? MAX_PROCESSES);
    const opened = { programs, network, proxy, files, group };
    const resources = { ...opened, separate: await chooseSeparation(opened) };
    return {
      isOpen: () => opened.network.isOpen && opened.files.exist,
      confine: (request, confinement) => confineCommand(request, resources, confinement),
      shut,
    };
  } catch (error) {
    shut();
    const said = describeError(error).replace(/\.$/, "");
    return {
      reason: `bubblewrap does not work here (${said})`,
      fix: "Enable user namespaces for unprivileged users.",
    };
  }
}

/** Explains why there can't be a sandbox on this machine; undefined if all required programs are installed. */
export function missingProgram(): Absence | undefined {
  const programs = findPrograms();
  return "reason" in programs ? programs : undefined;
}

function findPrograms(): NetworkPrograms | Absence {
  if (platform() !== "linux") return { reason: "this system is not supported yet" };
  const bubblewrap = findProgram("bwrap");
  if (bubblewrap === undefined)
    return { reason: "bubblewrap is not installed", fix: "Install it (apt install bubblewrap)." };
  const nsenter = findProgram("nsenter");
  if (nsenter === undefined) return { reason: "nsenter is not installed", fix: "Install util-linux." };
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
 * Options that isolate the sandbox from the system, strictest first. Older versions of bubblewrap do not support all
 * options.
 */
function separations(filter: string | undefined): readonly (readonly string[])[] {
  const filtered = filter === undefined ? [] : ["--seccomp", String(FILTER_DESCRIPTOR)];
  return [
    [...always, "--unshare-cgroup-try", "--disable-userns", ...filtered],
    [...always, "--unshare-cgroup-try", ...filtered],
    [...always, "--unshare-cgroup-try"],
  ];
}

interface Trial {
  readonly programs: NetworkPrograms;
  readonly network: SharedNetwork;
  readonly files: SandboxFiles;
  readonly group: ProcessGroup | undefined;
}

async function chooseSeparation({ programs, network, files, group }: Trial): Promise<readonly string[]> {
  let failure = "";
  const { command, args } = launcher(files, group);
  const mounts = mountArguments([], { scratch: "/", emptyFile: files.emptyFile });
  for (const separate of separations(files.filter)) {
    const tried = await tryCommand(command, [
      ...[...args, ...network.enter, programs.bubblewrap],
      ...[...separate, ...mounts, "--", "true"],
    ]);
    if (tried === undefined) return separate;
    failure = tried;
  }
  throw new Error(failure);
}

/** Runs a command and returns its error message, or undefined if the command succeeded. */
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
  return directories.map((directory) => `${directory}/${name}`).find(isExecutable);
}

function isExecutable(path: string): boolean {
  // Every agent's environment depends on this, and an exception for each missing file would be slow.
  if (!existsSync(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
