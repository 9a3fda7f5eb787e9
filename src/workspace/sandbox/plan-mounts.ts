import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";
import { isWithin } from "../../lib/index.ts";
import { type GitDirectories, gitDirectories, noRepository } from "./git-directories.ts";
import { entryAt, existing, type Mount, mountAt, orderMounts } from "./mounts.ts";
import { isLink, type WatchedPath, watchPaths } from "./watch-paths.ts";

export interface SandboxPaths {
  /** Absolute real path of the workspace. */
  readonly root: string;
  /** Directory for temporary files of commands, which is also their /tmp. */
  readonly scratch: string;
  readonly userHome: string;
  /** Paths besides the workspace that commands may write to. */
  readonly writable: readonly string[];
  /** Retinue's own paths that contain other sessions. */
  readonly hidden: readonly string[];
  /** Paths that are shown read-only, even if they are below a hidden or writable path. */
  readonly shown: readonly string[];
  /** Retinue's state directory, which is read-only for commands and hidden from those in the read-only profile. */
  readonly state?: string | undefined;
}

export interface SandboxPlan {
  /** Mounts of the sandbox, parents before children. */
  readonly mounts: readonly Mount[];
  /** Paths that need protection but that no mount covers. */
  readonly watched: readonly WatchedPath[];
}

/** Plans the view that confined commands have of the current file system. Skips paths that do not exist. */
export function planMounts(places: SandboxPaths): SandboxPlan {
  const { root, scratch, userHome } = places;
  const inRoot = (name: string): string => join(root, name);
  const guarded = [...criticalNames, ...protectedNames].map(inRoot);
  const covers: Mount[] = [
    ...existing(["/tmp"]).map((path) => ({ path, kind: "private" }) as const),
    ...existing(["/run"]).map((path) => ({ path, kind: "hidden" }) as const),
    ...existing([...secretsOf(userHome), ...places.hidden]).map(hide),
  ];
  const git = findRepository(root, orderMounts(covers));
  const mounts: Mount[] = [
    ...covers,
    ...existing(["/run/current-system", "/run/wrappers"]).map((path) => ({ path, kind: "readOnly" }) as const),
    ...git.covered.map((path) => ({ path, kind: "readOnly" }) as const),
    ...existing([...places.shown, ...(places.state === undefined ? [] : [places.state])]).map(
      (path) => ({ path, kind: "readOnly" }) as const,
    ),
    ...existing([root, scratch, ...places.writable, ...git.writable]).map(
      (path) => ({ path, kind: "writable" }) as const,
    ),
  ];
  // A symlink can't be mounted, but its target can. A target outside the writable directories is already read-only, or
  // even hidden.
  const fixed = existing([...guarded, ...git.readOnly]).filter((path) => isWritable(path, orderMounts(mounts)));
  const obeyed = [...criticalNames.map(inRoot), ...git.obeyed, ...git.forbidden];
  const links = [...git.readOnly, inRoot(".git")].filter((path) => isLink(path) && !obeyed.includes(path));
  return {
    mounts: hideSockets([...mounts, ...fixed.map((path) => ({ path, kind: "readOnly" }) as const)]),
    watched: watchPaths([...obeyed, ...links]),
  };
}

function isWritable(path: string, ordered: readonly Mount[]): boolean {
  return mountAt(path, ordered)?.kind === "writable";
}

/** Settings, definitions and code that Retinue acts on. */
const criticalNames = [".retinue", "retinue-code-cache", ".claude", ".agents", ".mcp.json"];

/** Files that other programs outside the sandbox act on: editor settings, hooks, startup files of shells. */
const protectedNames = [
  ...[".vscode", ".idea", ".husky", ".devcontainer", ".direnv"],
  ...[".envrc", ".gitmodules", ".gitconfig", ".pre-commit-config.yaml", ".npmrc", ".yarnrc", ".yarnrc.yml"],
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv"],
  ...[".zprofile", ".zlogin", ".zlogout", ".inputrc", ".vimrc", ".gdbinit", ".lldbinit"],
  ...[".tool-versions", "rust-toolchain", "rust-toolchain.toml", "mise.toml", ".mise.toml"],
  ...[".config/git", ".config/fish", ".config/autostart", ".local/bin"],
];

/** Returns paths with keys and passwords, whether they exist or not. */
export function secretsOf(userHome: string): readonly string[] {
  return [...homeSecrets.map((name) => join(userHome, name)), ...systemSecrets.filter(isReadable)];
}

/**
 * Finds the workspace's repository. `covered` contains its working tree if the tree is below one of the `covers`. Such
 * a tree must be shown, because git treats files that it can't see as deleted. If the top directory of the tree is
 * itself covered, the tree can't be shown, so its repository is left out.
 */
export function findRepository(
  root: string,
  covers: readonly Mount[],
): GitDirectories & { covered: readonly string[] } {
  const git = gitDirectories(root);
  const cover = git.tree === undefined ? undefined : mountAt(git.tree, covers);
  if (git.tree === undefined || git.tree === root || cover === undefined) return { ...git, covered: [] };
  return cover.path === git.tree ? { ...noRepository, covered: [] } : { ...git, covered: [git.tree] };
}

/** Orders mounts, and hides sockets of other programs that would otherwise be visible. */
export function hideSockets(mounts: readonly Mount[]): readonly Mount[] {
  const ordered = orderMounts(mounts);
  const sockets = existing(openSockets()).filter((path) => isReachable(path, ordered));
  return orderMounts([...ordered, ...sockets.map((path) => ({ path, kind: "hiddenFile" }) as const)]);
}

function isReachable(socket: string, ordered: readonly Mount[]): boolean {
  const kind = mountAt(socket, ordered)?.kind;
  // The sandbox has its own /dev and /proc, but a workspace in /dev/shm is mounted there.
  if (kind === undefined) return !isWithin(socket, "/dev") && !isWithin(socket, "/proc");
  return kind === "writable" || kind === "readOnly";
}

export function hide(path: string): Mount {
  return { path, kind: entryAt(path)?.isDirectory() ? "hidden" : "hiddenFile" };
}

function isReadable(path: string): boolean {
  if (entryAt(path) === undefined) return false;
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Lists the Unix sockets of programs on this machine that accept connections or messages. A read-only file system does
 * not prevent connections to them, and some of these programs (docker, key agents) carry out any request.
 */
function openSockets(): readonly string[] {
  let table: string;
  try {
    table = readFileSync("/proc/net/unix", "utf8");
  } catch {
    return [];
  }
  const paths = table.split("\n").flatMap((line) => {
    const [, flags = "", type = "", path = ""] = /^\S+ \S+ \S+ (\S+) (\S+) \S+ +\d+ (\/.*)$/.exec(line) ?? [];
    const accepts = (Number.parseInt(flags, 16) & ACCEPTS_CONNECTIONS) !== 0 || type === DATAGRAM;
    return accepts ? [path] : [];
  });
  return [...new Set(paths)];
}

const ACCEPTS_CONNECTIONS = 0x10000;
const DATAGRAM = "0002";

/** Paths with keys, tokens, passwords or cookies, relative to the home directory, which commands never see. */
const homeSecrets = [
  // Keys and host passwords.
  ...[".ssh", ".gnupg", ".netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".config/sops", ".config/age"],
  ...[".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli"],
  // Clouds and clusters.
  ...[
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/containers/auth.json",
    ".oci",
    ".aliyun",
    ".fly",
  ],
  ...[".bluemix", ".s3cfg", ".boto", ".mc", ".databrickscfg", ".snowflake", ".wrangler", ".config/.wrangler"],
  ...[".config/doctl", ".config/rclone", ".config/netlify", ".config/configstore", ".config/helm", ".terraform.d"],
  ...[".terraformrc", ".kaggle", ".huggingface", ".cache/huggingface/token", ".config/github-copilot"],
  // Package managers.
  ...[
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
  ],
  ...[".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".composer/auth.json"],
  ...[
    ".config/composer/auth.json",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".bundle/config",
    ".nuget/NuGet",
  ],
  // Keyrings and password managers.
  ...[".local/share/keyrings", ".local/share/kwalletd", ".password-store", ".config/op", ".config/1Password"],
  ...[".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc"],
  // Browsers and messengers.
  ...[
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/vivaldi",
  ],
  ...[".config/microsoft-edge", ".config/opera", ".config/Slack", ".config/discord", ".config/Signal", "snap/firefox"],
  ...["snap/chromium", ".var/app"],
  // Other agents.
  ...[".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".gemini"],
  // Command histories, which often include passwords.
  ...[".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history"],
  ...[".psql_history", ".mysql_history", ".rediscli_history", ".lesshst"],
];

/** System paths with passwords and keys, which root could read. */
const systemSecrets = [
  ...["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/sudoers"],
  ...["/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/krb5.keytab", "/etc/wireguard"],
  ...["/etc/NetworkManager/system-connections", "/etc/letsencrypt", "/etc/kubernetes", "/etc/docker/key.json"],
  ...["/var/lib/docker", "/var/lib/kubelet", "/var/lib/systemd/credential.secret"],
];
