import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { platform } from "node:os";
import { basename, join } from "node:path";
import { workspaceDirectory } from "../../app/index.ts";
import { describeError, isRecord, writeAtomically } from "../../lib/index.ts";
import type { WorkerPort } from "../../ports/index.ts";
import type { SessionId, WorkerInfo } from "../../protocol/index.ts";
import { problem } from "../http/problem.ts";
import type { NewWorker, WorkerHub } from "../server-options.ts";

/** A directory whose sessions are served: on this machine, or on a worker. */
export interface Project {
  /** Name of the worker that owns the directory. */
  readonly name: string;
  /** Real path of the directory on its machine. */
  readonly root: string;
  /**
   * State directory with its sessions' files. Each worker has its own state directory, because workers' directories may
   * have the same path.
   */
  readonly home: string;
  /** True if the directory is on a worker that connects to this server. */
  readonly isRemote: boolean;
  /** Identifies a worker's machine. */
  readonly machine?: string | undefined;
}

export interface ProjectsOptions {
  /** The server's state directory. */
  readonly home: string;
  /** Directories on this machine. */
  readonly directories: readonly string[];
  readonly hub?: WorkerHub | undefined;
  readonly report: (message: string) => void;
}

/** The directories on this machine, and those of all workers that have ever connected. */
export class Projects {
  /** Directories on this machine. The first one is the default for new sessions. */
  readonly local: readonly Project[];
  private readonly remote = new Map<string, Project>();
  /** Machines of the workers that have connected, by name. */
  private readonly machines = new Map<string, string>();
  private readonly options: ProjectsOptions;

  /** Throws a `UserError` if a directory does not exist. */
  constructor(options: ProjectsOptions) {
    this.options = options;
    this.local = namedProjects(options.directories, options.home);
    for (const project of readRemote(options.home)) this.remote.set(project.name, project);
    options.hub?.guard((worker) => this.whyRefused(worker));
  }

  /** Returns why a worker can't use its name: another directory's sessions are stored under that name. */
  private whyRefused({ name, root, machine }: NewWorker): string | undefined {
    const owner = this.all().find((project) => project.name === name);
    const isOwner = owner?.isRemote && owner.root === root && owner.machine === machine;
    if (owner === undefined || isOwner) {
      this.machines.set(name, machine);
      return undefined;
    }
    return `The name "${name}" belongs to ${owner.isRemote ? "another worker" : "one of the server's directories"}`;
  }

  all(): readonly Project[] {
    return [...this.local, ...this.remote.values()];
  }

  /** Adds the directory of a worker that has connected. */
  add(name: string, root: string): Project {
    const known = this.remote.get(name);
    const machine = this.machines.get(name);
    if (known?.root === root && known.machine === machine) return known;
    const project = remoteProject(this.options.home, { name, root, machine });
    this.remote.set(name, project);
    mkdirSync(project.home, { recursive: true, mode: 0o700 });
    void writeAtomically(join(project.home, WORKER_FILE), `${JSON.stringify({ name, root, machine })}\n`).catch(
      (error) => this.options.report(`The record of worker ${name} could not be saved: ${describeError(error)}`),
    );
    return project;
  }

  /** Finds the directory that a new session works in. Throws an `HttpProblem` if no directory matches. */
  choose(name: string | undefined): Project {
    const [first] = this.local;
    const found = name === undefined ? first : this.all().find((project) => project.name === name);
    if (found !== undefined) return found;
    throw problem("unknown_worker", `There is no worker ${name ?? ""}. GET /worker lists the workers.`);
  }

  /**
   * Returns a directory's worker; undefined for a directory on this machine. Throws an `HttpProblem` if the worker is
   * not connected.
   */
  workerOf({ name, isRemote }: Project): WorkerPort | undefined {
    if (!isRemote) return undefined;
    const worker = this.options.hub?.workers().find((each) => each.name === name);
    if (worker !== undefined && worker.state !== "lost") return worker;
    throw problem("worker_lost", workerLost({ name }));
  }

  /** Like `workerOf`, but for a new session, which does not wait for a worker that has just lost its connection. */
  connectedWorker(project: Project): WorkerPort | undefined {
    const worker = this.workerOf(project);
    if (worker === undefined || this.stateOf(project.name) === "connected") return worker;
    throw problem("worker_lost", workerLost(project));
  }

  /**
   * Makes the worker of a deleted session delete the session's files. A worker that is not connected does so later by
   * itself.
   */
  forget({ name, isRemote }: Project, sessionId: SessionId): void {
    const worker = isRemote ? this.options.hub?.workers().find((each) => each.name === name) : undefined;
    void worker?.forget(sessionId).catch(() => undefined);
  }

  /**
   * Cancels calls that earlier servers started: those that the session is waiting for now, and those that it begins to
   * wait for before the promise settles.
   */
  cancelRecalled({ name, isRemote }: Project, sessionId: SessionId, until: Promise<unknown>): void {
    const worker = isRemote ? this.options.hub?.workers().find((each) => each.name === name) : undefined;
    worker?.cancelRecalled(sessionId, until);
  }

  isAvailable(project: Project): boolean {
    return !project.isRemote || this.stateOf(project.name) !== "lost";
  }

  /** Lists the directories on this machine, then all workers. */
  list(): readonly WorkerInfo[] {
    return this.all().map(({ name, root, isRemote }): WorkerInfo => {
      if (!isRemote) return { name, root, platform: platform(), state: "connected" };
      const worker = this.options.hub?.workers().find((each) => each.name === name);
      return { name, root, platform: worker?.describe().platform ?? "unknown", state: worker?.state ?? "lost" };
    });
  }

  private stateOf(name: string): WorkerInfo["state"] {
    return this.options.hub?.workers().find((worker) => worker.name === name)?.state ?? "lost";
  }
}

export function workerLost({ name }: Pick<Project, "name">): string {
  return `The worker ${name} is not connected. Start it on its machine with "retinue worker"; its sessions then continue.`;
}

/** Resolves the directories to serve, and gives each a unique name. */
function namedProjects(directories: readonly string[], home: string): readonly Project[] {
  const roots = [...new Set(directories.map(workspaceDirectory))];
  const names = new Set<string>();
  return roots.map((root) => {
    const base = basename(root).replace(/[^\w.-]+/g, "-") || "root";
    let name = base;
    for (let count = 2; names.has(name); count += 1) name = `${base}-${count}`;
    names.add(name);
    return { name, root, home, isRemote: false };
  });
}

const WORKER_FILE = "worker.json";

function remoteProject(home: string, worker: Pick<Project, "name" | "root" | "machine">): Project {
  return { ...worker, home: join(home, "remote", encodeURIComponent(worker.name)), isRemote: true };
}

/** Reads the workers that have connected to earlier servers, so that their sessions are listed. */
function readRemote(home: string): readonly Project[] {
  const directory = join(home, "remote");
  let names: readonly string[];
  try {
    names = readdirSync(directory);
  } catch {
    return [];
  }
  return names.flatMap((folder): readonly Project[] => {
    try {
      const value: unknown = JSON.parse(readFileSync(join(directory, folder, WORKER_FILE), "utf8"));
      if (!isRecord(value)) return [];
      const { name, root, machine } = value;
      const isSound = [name, root, machine].every((each) => typeof each === "string");
      return isSound ? [remoteProject(home, { name, root, machine } as NewWorker)] : [];
    } catch {
      return [];
    }
  });
}
