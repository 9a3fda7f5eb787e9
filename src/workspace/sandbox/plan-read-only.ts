import { readdirSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { isWithin } from "../../lib/index.ts";
import type { ReadOnlyView } from "../../ports/index.ts";
import { entryAt, existing, type Mount, mountAt, orderMounts } from "./mounts.ts";
import { findRepository, hide, hideSockets, type SandboxPaths, secretsOf } from "./plan-mounts.ts";

/**
 * Plans the view of a command that is allowed only because it is read-only. The view contains the system, the
 * workspace, its repository and the directories in `view`, all of them read-only. Everything else that belongs to users
 * is hidden.
 */
export function planReadOnly(
  places: SandboxPaths,
  { visible, hidden, path = "" }: ReadOnlyView & { readonly path?: string | undefined },
): readonly Mount[] {
  const { root, userHome } = places;
  const secrets = existing([...secretsOf(userHome), ...places.hidden, ...(places.state ? [places.state] : [])]);
  const isSecret = (each: string): boolean => secrets.some((secret) => isWithin(each, secret));
  const others = otherPlaces();
  const covered = existing([...userPlaces, ...others, userHome]).filter(
    (each) => !isWithin(each, root) && hasContent(each),
  );
  const isCovered = (each: string): boolean => covered.some((cover) => isWithin(each, cover) && each !== cover);
  const covers: readonly Mount[] = [
    ...existing(["/tmp"]).map((each) => ({ path: each, kind: "empty" }) as const),
    ...[...covered, ...secrets].map(hide),
  ];
  const git = findRepository(root, orderMounts(covers));
  const programs = path.split(delimiter).filter(isAbsolute);
  const prefixes = programs.flatMap((program) => others.flatMap((other) => prefixOf(program, other) ?? []));
  const toStart = existing([...toolchains.map((name) => join(userHome, name)), ...programs, ...prefixes]);
  const shown = [
    ...toStart.filter((each) => isCovered(each) && !isSecret(each)),
    ...existing(["/run/current-system", "/run/wrappers", "/home/linuxbrew/.linuxbrew"]),
    ...existing([root, ...git.covered, ...git.writable, ...visible, ...places.shown, ...places.writable]),
  ];
  const isHidden = (each: string): boolean => hidden.some((denied) => isWithin(each, denied));
  return withoutRepeated(
    hideSockets([
      ...covers,
      ...shown.filter((each) => !isHidden(each)).map((each) => ({ path: each, kind: "readOnly" }) as const),
      ...hidden.map(hide),
    ]),
  );
}

/** Lists top-level directories that do not belong to the operating system, such as `/data`. */
function otherPlaces(): readonly string[] {
  const names = namesIn("/").filter((name) => !systemNames.has(name));
  return existing(names.map((name) => `/${name}`)).filter((each) => !systemNames.has(each.split("/")[1] ?? ""));
}

/**
 * Returns the directory in which a program is installed with its libraries: `/software/python/3.12` for
 * `/software/python/3.12/bin`.
 */
function prefixOf(program: string, other: string): string | undefined {
  const prefix = dirname(program);
  return basename(program) === "bin" && isWithin(prefix, other) && prefix !== other ? prefix : undefined;
}

/**
 * Returns true if there is anything to hide at a path. A directory that this process can't list can't be listed by a
 * command either.
 */
function hasContent(path: string): boolean {
  return entryAt(path)?.isDirectory() === true ? namesIn(path).length > 0 : true;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Leaves out paths that are already hidden or visible because of a parent directory. */
function withoutRepeated(ordered: readonly Mount[]): readonly Mount[] {
  const kept: Mount[] = [];
  for (const mount of ordered) {
    const above = mountAt(mount.path, kept)?.kind ?? "readOnly";
    if ((above === "readOnly") !== (mount.kind === "readOnly")) kept.push(mount);
  }
  return kept;
}

/** Directories with files that belong to users and to running programs. */
const userPlaces = [
  "/home",
  "/root",
  "/srv",
  "/mnt",
  "/media",
  "/run",
  "/var/tmp",
  "/var/mail",
  "/var/spool",
  "/var/backups",
  "/var/log",
  "/var/www",
];

/** Names at the top of the file system that belong to the operating system and to installed programs. */
const systemNames: ReadonlySet<string> = new Set([
  ...["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "var", "boot", "efi"],
  ...["dev", "proc", "sys", "run", "tmp", "nix", "gnu", "snap"],
]);

/** Paths below the home directory that programs need to start, and the user's git configuration. */
const toolchains = [
  ...[".nvm", ".volta", ".bun", ".deno", ".nodenv", ".local/share/fnm", ".local/share/pnpm", ".config/fnm"],
  ...[".cargo/bin", ".rustup/toolchains", ".rustup/settings.toml", ".pyenv", ".local/share/uv", ".local/share/pipx"],
  ...[".local/pipx", ".local/lib", ".rbenv", ".rvm", ".goenv", "go/bin", "sdk", ".sdkman", ".jenv", ".asdf"],
  ...[
    ".tool-versions",
    ".local/share/mise",
    ".config/mise",
    ".local/share/rtx",
    ".juliaup",
    ".ghcup",
    ".opam",
    ".dotnet",
  ],
  ...[".nix-profile", ".local/state/nix", ".linuxbrew", ".miniconda3", "miniconda3", "anaconda3", "miniforge3"],
  ...[".gitconfig", ".config/git", ".gitignore", ".gitignore_global", ".gitattributes"],
];
