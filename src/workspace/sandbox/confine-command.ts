import { mkdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { isWithin } from "../../lib/index.ts";
import type { ReadOnlyView } from "../../ports/index.ts";
import type { DomainProxy } from "./domain-proxy.ts";
import { explainReadOnly, explainRefusal, explainTemporary } from "./explain-refusal.ts";
import { type Mount, mountArguments, quoted, verifyMounts } from "./mounts.ts";
import { planMounts, type SandboxPaths } from "./plan-mounts.ts";
import { planReadOnly } from "./plan-read-only.ts";
import { limitProcesses, MAX_PROCESSES, type ProcessGroup } from "./process-limit.ts";
import type { SandboxFiles } from "./sandbox-files.ts";
import { type NetworkPrograms, PROXY_PORT, type SharedNetwork } from "./shared-network.ts";
import type { PathWatch, SetAside } from "./watch-paths.ts";

export interface ConfinedRequest {
  readonly root: string;
  readonly cwd: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Runs the command in the read-only profile, with this view of the files. */
  readonly readsOnly?: ReadOnlyView | undefined;
}

export interface ConfinedCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Explains how the sandbox affected the command, and what to do; undefined if it did not. */
  explain(output: string, failed: boolean): string | undefined;
  /** Must be called when the command has finished. Never rejects. */
  ended(): Promise<void>;
}

export interface Confinement extends Omit<SandboxPaths, "root"> {
  readonly domains: readonly string[];
  readonly tell: (message: string) => void;
  /** Maximum number of processes and threads that a command may have. */
  readonly maxProcesses?: number | undefined;
}

export interface WatchedConfinement extends Confinement {
  readonly watch: PathWatch;
}

/** Resources that all confined commands in a session share. */
export interface SandboxResources {
  readonly programs: NetworkPrograms;
  readonly network: SharedNetwork;
  readonly proxy: DomainProxy | undefined;
  readonly separate: readonly string[];
  readonly files: SandboxFiles;
  /** Control group that all commands join; undefined if there is none. */
  readonly group: ProcessGroup | undefined;
}

/** Wraps a command so that it can do only what its profile allows. */
export function confineCommand(
  request: ConfinedRequest,
  resources: SandboxResources,
  confinement: WatchedConfinement,
): ConfinedCommand {
  return request.readsOnly === undefined
    ? confineToWorkspace(request, resources, confinement)
    : confineReadOnly(request, resources, { ...confinement, view: request.readsOnly });
}

/** Lets a command write only to allowed paths and reach only the session's network. */
function confineToWorkspace(
  request: ConfinedRequest,
  resources: SandboxResources,
  { domains, maxProcesses, watch, ...places }: WatchedConfinement,
): ConfinedCommand {
  const { root } = request;
  const { userHome } = places;
  const { network, proxy } = resources;
  let created: readonly SetAside[] = [];
  mkdirSync(places.scratch, { recursive: true, mode: 0o700 });
  const scratch = realpathSync.native(places.scratch);
  const plan = planMounts({ ...places, root, scratch });
  const check = watch.begin(plan.watched, join(dirname(scratch), "created"));
  return {
    ...startIn(request, resources, {
      enter: network.enter,
      mounts: plan.mounts,
      scratch,
      changing: plan.mounts,
      maxProcesses,
    }),
    environment: environmentFor(request.environment, {
      GOCACHE: join(scratch, "go-build"),
      TMPDIR: scratch,
      ...(proxy === undefined ? undefined : proxies),
    }),
    explain: (output, failed) => {
      const facts = { root, scratch, userHome, mounts: plan.mounts, domains, command: request.args.at(-1) ?? "" };
      return explainCreated(created) ?? (failed ? explainRefusal(output, facts) : explainTemporary(facts));
    },
    ended: async () => {
      created = await check();
    },
  };
}

/** Prevents a command from changing files and accessing the network. */
function confineReadOnly(
  request: ConfinedRequest,
  resources: SandboxResources,
  { view, maxProcesses, ...places }: Confinement & { readonly view: ReadOnlyView },
): ConfinedCommand {
  const { root } = request;
  const mounts = planReadOnly({ ...places, root }, { ...view, path: request.environment["PATH"] });
  // Joining the group takes 12 ms and is necessary only for root; the shell's own limit applies to all other users.
  return {
    ...startIn(
      request,
      { ...resources, group: undefined },
      {
        separate: ["--unshare-net"],
        mounts,
        scratch: places.scratch,
        changing: changingMounts(mounts, [root, ...places.writable]),
        maxProcesses,
      },
    ),
    environment: environmentFor(request.environment, { GOCACHE: "/tmp/go-build", TMPDIR: "/tmp" }),
    explain: (output, failed) => explainReadOnly(output, { failed, root, mounts, command: request.args.at(-1) ?? "" }),
    ended: async () => undefined,
  };
}

interface Start {
  /** Command prefix that makes the sandbox enter a network. */
  readonly enter?: readonly string[];
  /** Additional options that isolate the command from the system. */
  readonly separate?: readonly string[];
  readonly mounts: readonly Mount[];
  readonly scratch: string;
  /** Mounts that another command could replace with a symlink at the last moment. */
  readonly changing: readonly Mount[];
  readonly maxProcesses: number | undefined;
}

/** Returns the program that starts a command in the sandbox. */
function startIn(
  { cwd, command, args }: ConfinedRequest,
  { programs, separate, files, group }: SandboxResources,
  start: Start,
): Pick<ConfinedCommand, "command" | "args"> {
  const { scratch, maxProcesses = MAX_PROCESSES } = start;
  const { emptyFile } = files;
  const inside = [limitProcesses(maxProcesses), verifyMounts(start.changing), 'exec "$@"'];
  return {
    ...launcher(files, group),
    args: [
      ...launcher(files, group).args,
      ...(start.enter ?? []),
      ...[programs.bubblewrap, ...separate, ...(start.separate ?? [])],
      ...[...mountArguments(start.mounts, { scratch, emptyFile }), "--chdir", cwd],
      ...["--", "/bin/sh", "-c", inside.join("\n"), "sh", command, ...args],
    ],
  };
}

/** Returns a program that opens the filter for bubblewrap, joins the group and then runs its arguments. */
export function launcher(
  { filter }: SandboxFiles,
  group: ProcessGroup | undefined,
): Pick<ConfinedCommand, "command" | "args"> {
  const script = [
    filter && `exec ${FILTER_DESCRIPTOR}<${quoted(filter)}`,
    group && `echo $$ 2>/dev/null >${quoted(group.members)}`,
    'exec "$@"',
  ];
  return { command: "/bin/sh", args: ["-c", script.filter(Boolean).join("\n"), "sh"] };
}

/** File descriptor through which bubblewrap reads the system call filter. */
export const FILTER_DESCRIPTOR = 3;

function changingMounts(mounts: readonly Mount[], writable: readonly string[]): readonly Mount[] {
  return mounts.filter(({ path }) => writable.some((place) => path !== place && isWithin(path, place)));
}

/** Variables that refer to programs outside the sandbox. */
const outward = [
  ...["SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DOCKER_HOST"],
  ...["DISPLAY", "WAYLAND_DISPLAY", "TMUX", "STY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"],
];

function environmentFor(
  given: Readonly<Record<string, string>>,
  { GOCACHE, ...own }: { readonly GOCACHE: string; readonly TMPDIR: string } & Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const dropped = new Set(outward.flatMap((name) => [name, name.toUpperCase()]));
  const kept = Object.fromEntries(Object.entries(given).filter(([name]) => !dropped.has(name)));
  // Go can't build without a cache directory.
  return { GOCACHE, ...kept, ...own, RETINUE_SANDBOX: "1" };
}

const address = `http://127.0.0.1:${PROXY_PORT}`;
const local = "localhost,127.0.0.1,::1";
const proxies = {
  ...{ http_proxy: address, https_proxy: address, HTTP_PROXY: address, HTTPS_PROXY: address },
  ...{ no_proxy: local, NO_PROXY: local },
};

function explainCreated(created: readonly SetAside[]): string | undefined {
  if (created.length === 0) return undefined;
  const moved = created.flatMap(({ path, to }) => (to === undefined ? [] : [`${path} (now ${to})`]));
  const left = created.flatMap(({ path, to }) => (to === undefined ? [path] : []));
  return [
    "Sandbox: commands must not create paths that Retinue or git acts on.",
    ...(moved.length === 0 ? [] : [`These were moved aside: ${moved.join(", ")}.`]),
    ...(left.length === 0 ? [] : [`These could not be moved aside, so delete them: ${left.join(", ")}.`]),
    "Create them with Write or Edit, which ask for approval.",
  ].join(" ");
}
