import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isWithin } from "../../lib/index.ts";
import type { ReadOnlyView } from "../../ports/index.ts";
import type { DomainProxy } from "./domain-proxy.ts";
import { explainReadOnly } from "./explain-read-only.ts";
import { explainRefusal, explainTemporary } from "./explain-refusal.ts";
import { entryIdentity, type Mount, mountArguments, verifyMounts } from "./mounts.ts";
import { planMounts, type SandboxPaths, type SandboxPlan } from "./plan-mounts.ts";
import { planReadOnly } from "./plan-read-only.ts";
import { type NetworkPrograms, PROXY_PORT, type SharedNetwork } from "./shared-network.ts";

export interface ConfinedRequest {
  readonly root: string;
  readonly cwd: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Runs the command in the read-only profile, with this view. */
  readonly readsOnly?: ReadOnlyView | undefined;
}

export interface ConfinedCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Explains whether the sandbox caused the failure, and what to do. */
  explain(output: string, failed: boolean): string | undefined;
  /** Must be called when the command has ended. */
  ended(): void;
}

export interface Confinement extends Omit<SandboxPaths, "root"> {
  readonly domains: readonly string[];
  readonly tell: (message: string) => void;
}

/** Resources that all confined commands of a session share. */
export interface SandboxResources {
  readonly programs: NetworkPrograms;
  readonly network: SharedNetwork;
  readonly proxy: DomainProxy | undefined;
  readonly separate: readonly string[];
}

/** Wraps a command so that it can do only what its profile allows. */
export function confineCommand(
  request: ConfinedRequest,
  resources: SandboxResources,
  confinement: Confinement,
): ConfinedCommand {
  return request.readsOnly === undefined
    ? confineToWorkspace(request, resources, confinement)
    : confineReadOnly(request, resources, { ...confinement, view: request.readsOnly });
}

/** Lets a command write only to allowed paths and reach only the network of the session. */
function confineToWorkspace(
  request: ConfinedRequest,
  { programs, network, proxy, separate }: SandboxResources,
  { tell, domains, ...places }: Confinement,
): ConfinedCommand {
  const { root } = request;
  const { userHome } = places;
  mkdirSync(places.scratch, { recursive: true, mode: 0o700 });
  const scratch = realpathSync.native(places.scratch);
  const plan = planMounts({ ...places, root, scratch });
  return {
    ...asProgram([
      ...[...network.enter, programs.bubblewrap, ...separate],
      ...inMounts(request, { mounts: plan.mounts, scratch, changing: plan.mounts }),
    ]),
    environment: environmentFor(request.environment, {
      GOCACHE: join(scratch, "go-build"),
      TMPDIR: scratch,
      ...(proxy === undefined ? undefined : proxies),
    }),
    explain: (output, failed) => {
      const facts = { root, scratch, userHome, mounts: plan.mounts, domains, command: request.args.at(-1) ?? "" };
      return failed ? explainRefusal(output, facts) : explainTemporary(facts);
    },
    ended: () => checkAfterwards(plan, tell),
  };
}

/** Lets a command change nothing and reach nothing. */
function confineReadOnly(
  request: ConfinedRequest,
  { programs, separate }: SandboxResources,
  { view, ...places }: Confinement & { readonly view: ReadOnlyView },
): ConfinedCommand {
  const { root } = request;
  const mounts = planReadOnly({ ...places, root }, { ...view, path: request.environment["PATH"] });
  return {
    ...asProgram([
      ...[programs.bubblewrap, ...separate, "--unshare-net"],
      ...inMounts(request, {
        mounts,
        scratch: places.scratch,
        changing: changingMounts(mounts, [root, ...places.writable]),
      }),
    ]),
    environment: environmentFor(request.environment, { GOCACHE: "/tmp/go-build", TMPDIR: "/tmp" }),
    explain: (output, failed) => explainReadOnly(output, { failed, root, mounts, command: request.args.at(-1) ?? "" }),
    ended: () => undefined,
  };
}

function asProgram([command = "", ...args]: readonly string[]): Pick<ConfinedCommand, "command" | "args"> {
  return { command, args };
}

function inMounts(
  { cwd, command, args }: ConfinedRequest,
  { mounts, scratch, changing }: MountedView,
): readonly string[] {
  return [...mountArguments(mounts, scratch), "--chdir", cwd, "--", ...verifyMounts(changing), command, ...args];
}

interface MountedView {
  readonly mounts: readonly Mount[];
  readonly scratch: string;
  /** Mounts that another command could replace with a symlink at the last moment. */
  readonly changing: readonly Mount[];
}

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
  // Go does not build without a directory for its cache.
  return { GOCACHE, ...kept, ...own, RETINUE_SANDBOX: "1" };
}

const address = `http://127.0.0.1:${PROXY_PORT}`;
const local = "localhost,127.0.0.1,::1";
const proxies = {
  ...{ http_proxy: address, https_proxy: address, HTTP_PROXY: address, HTTPS_PROXY: address },
  ...{ no_proxy: local, NO_PROXY: local },
};

/** Checks for protected paths that a command created, since mounts protect only existing paths. Removes or reports them. */
function checkAfterwards({ absent, forbidden }: SandboxPlan, tell: (message: string) => void): void {
  for (const path of forbidden.filter((each) => entryIdentity(each) !== undefined)) {
    rmSync(path, { recursive: true, force: true });
    tell(`A command created ${path}, which could make git run arbitrary programs. It was removed.`);
  }
  const made = absent.filter((path) => entryIdentity(path) !== undefined);
  if (made.length === 0) return;
  tell(
    `While a command ran, ${made.join(", ")} was created. Review it, because programs outside the sandbox act on it.`,
  );
}
