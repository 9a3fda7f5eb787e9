import { spawnSync } from "node:child_process";
import { basename, dirname } from "node:path";
import { hiddenPredicate } from "../../src/permissions/index.ts";
import type { Workspace } from "../../src/ports/index.ts";
import type { Policy } from "../../src/protocol/index.ts";
import type { RemotePlace } from "./remote-place.ts";
import { type Stage, secret } from "./shell-stage.ts";

export interface RanLines {
  /** Number of lines that were run. */
  readonly count: number;
  /** Indexes of the lines whose output contains a secret. */
  readonly revealing: readonly number[];
  /** Effects that should not have occurred, without the lines that caused them. */
  readonly symptoms: readonly string[];
}

export interface RunPlace {
  readonly stage: Stage;
  readonly workspace: Workspace;
  readonly policy: Policy;
  /** Set if the lines are judged and run on a worker elsewhere. */
  readonly remote?: RemotePlace | undefined;
  /** Whether to run the lines in the read-only profile of Retinue's sandbox instead of in a writable container. */
  readonly sandboxed: boolean;
}

/** Whether this machine can run lines without Retinue's sandbox. */
export const hasContainer =
  spawnSync("/usr/bin/bwrap", ["--ro-bind", "/", "/", "--unshare-all", "--", "true"]).status === 0;

/** Runs lines one after another, as the Bash tool runs commands that are allowed only because they are read-only. */
export async function runLines(lines: readonly string[], place: RunPlace): Promise<RanLines> {
  const { stage, workspace, policy, sandboxed } = place;
  if (lines.length === 0) return { count: 0, revealing: [], symptoms: [] };
  if (place.remote !== undefined) return place.remote.run(lines, policy);
  const hidden = await workspace.findHidden?.(hiddenPredicate(policy, [stage.home]), [stage.root]);
  if (hidden === undefined) throw new Error("The stage has too many files to find those that must be hidden.");
  const directory = sandboxed ? "/tmp" : "/dev/shm";
  const inside = ["bash", "--norc", "--noprofile", "-c", driver, "driver", directory];
  const [command = "", ...args] = sandboxed ? inside : [...container(stage, await directoryOfGit(place)), ...inside];
  let output = "";
  const running = workspace.spawn({
    ...{ command, args, cwd: stage.root, confined: sandboxed, tag: tagOf(stage) },
    readsOnly: { visible: [stage.root], hidden },
    // The secret is not an argument, because `ps` would show it.
    stdin: [secret, ...lines].map((line) => `${line}\0`).join(""),
    onOutput: (chunk) => {
      output += Buffer.from(chunk).toString();
    },
  });
  const { failure } = await running.exited;
  await running.end();
  if (failure !== undefined) throw new Error(failure);
  const told = (what: string): string[] =>
    output.split("\n").flatMap((line) => (line.startsWith(`${what} `) ? [line.slice(what.length + 1)] : []));
  const count = Number(told("ran")[0] ?? 0);
  if (count !== lines.length) throw new Error(`${count} of ${lines.length} lines were run: ${output.slice(-500)}`);
  return {
    count,
    revealing: told("shown").map(Number),
    symptoms: [
      ...stage.differences(),
      ...told("left").map((name) => `left the process ${name}`),
      ...told("file").map((name) => `left the file ${name}`),
      ...told("network").map((what) => `used the network: ${what}`),
    ],
  };
}

/** Returns the stage's tag. Processes with the same tag are ended together, so each stage has its own. */
function tagOf({ top }: Stage): string {
  return basename(dirname(top));
}

/** A container without network access in which only the stage and an empty /tmp are writable. */
function container({ top, root }: Stage, git: string): readonly string[] {
  const system = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"];
  const own = ["--bind", top, top, "--ro-bind", git, git];
  return ["/usr/bin/bwrap", ...system, ...own, "--unshare-all", "--die-with-parent", "--chdir", root];
}

/** Returns the directory of the `git` that comes first in the PATH of read-only commands. */
async function directoryOfGit({ workspace, stage }: RunPlace): Promise<string> {
  let path = "";
  const running = workspace.spawn({
    ...{ command: "printenv", args: ["PATH"], tag: tagOf(stage) },
    readsOnly: { visible: [stage.root], hidden: [] },
    onOutput: (chunk) => {
      path += Buffer.from(chunk).toString();
    },
  });
  await running.exited;
  return path.split(":")[0] ?? "";
}

/**
 * Runs each line in its own process group and ends the group, as the Bash tool does. Then reports lines whose output
 * contains the secret, remaining processes that Retinue could not find by their tag, and attempts to use the network,
 * which the kernel counts.
 */
const driver = `
IFS= read -r -d '' secret
mapfile -d '' lines
exec < /dev/null 2> /dev/null
mkdir "$1/output"
ulimit -f 1024
for i in "\${!lines[@]}"; do
  timeout -s KILL 4 bash --norc --noprofile -c -- "\${lines[i]}" > "$1/output/$i" 2>&1 &
  group=$!
  wait $group
  kill -KILL -- -$group
done
printf 'ran %s\\n' "\${#lines[@]}"
cd "$1/output" && grep -rlaF "$secret" . | sed 's|^\\./|shown |'
for entry in /proc/[0-9]*; do
  read -r pid name state parent rest < "$entry/stat" || continue
  case $state:$pid:$parent in Z:*|*:1:*|*:$$:*|*:$$|X:*) continue ;; esac
  [ "$name" = '(bwrap)' ] && continue
  grep -qa RETINUE_TAG= "$entry/environ" && continue
  # A process that is being killed has neither an environment nor arguments.
  grep -qa . "$entry/cmdline" && printf 'left %s\\n' "$name"
done
[ "$1" = /tmp ] || find /tmp -type f ! -path '*/retinue-git-*/git' -printf 'file %p\\n'
awk '
  $1 == "Tcp:" && $6 + 0 > 0 { print "network " $6 " connections" }
  $1 == "Udp:" && $5 + 0 > 0 { print "network " $5 " packets" }
  $1 == "Ip:" && $13 + 0 > 0 { print "network " $13 " packets without a route" }
  $1 ~ /^(Ip6OutNoRoutes|Udp6OutDatagrams)$/ && $2 > 0 { print "network " $1 " " $2 }
' /proc/net/snmp /proc/net/snmp6
`;
