import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DomainProxy } from "./domain-proxy.ts";
import { explainRefusal, explainTemporary } from "./explain-refusal.ts";
import { entryIdentity, mountArguments, verifyMounts } from "./mounts.ts";
import { planMounts, type SandboxPaths, type SandboxPlan } from "./plan-mounts.ts";
import { type NetworkPrograms, PROXY_PORT, type SharedNetwork } from "./shared-network.ts";

export interface ConfinedRequest {
  readonly root: string;
  readonly cwd: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
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

/** Wraps a command so that it can write only to allowed paths and has no network. */
export function confineCommand(
  request: ConfinedRequest,
  { programs, network, proxy, separate }: SandboxResources,
  { tell, domains, ...places }: Confinement,
): ConfinedCommand {
  const { root } = request;
  const { userHome } = places;
  mkdirSync(places.scratch, { recursive: true, mode: 0o700 });
  const scratch = realpathSync.native(places.scratch);
  const plan = planMounts({ ...places, root, scratch });
  const [command = "", ...args] = [
    ...network.enter,
    programs.bubblewrap,
    ...separate,
    ...mountArguments(plan.mounts, scratch),
    ...["--chdir", request.cwd, "--", ...verifyMounts(plan.mounts), request.command, ...request.args],
  ];
  return {
    command,
    args,
    environment: environmentFor(request.environment, { scratch, proxied: proxy !== undefined }),
    explain: (output, failed) => {
      const facts = { root, scratch, userHome, mounts: plan.mounts, domains, command: request.args.at(-1) ?? "" };
      return failed ? explainRefusal(output, facts) : explainTemporary(facts);
    },
    ended: () => checkAfterwards(plan, tell),
  };
}

/** Variables that refer to programs outside the sandbox. */
const outward = [
  ...["SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DOCKER_HOST"],
  ...["DISPLAY", "WAYLAND_DISPLAY", "TMUX", "STY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"],
];

function environmentFor(
  given: Readonly<Record<string, string>>,
  { scratch, proxied }: { readonly scratch: string; readonly proxied: boolean },
): Readonly<Record<string, string>> {
  const dropped = new Set(outward.flatMap((name) => [name, name.toUpperCase()]));
  const kept = Object.fromEntries(Object.entries(given).filter(([name]) => !dropped.has(name)));
  // Go does not build without a directory for its cache.
  return {
    GOCACHE: join(scratch, "go-build"),
    ...kept,
    TMPDIR: scratch,
    RETINUE_SANDBOX: "1",
    ...(proxied ? proxies : undefined),
  };
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
