import { realpathSync } from "node:fs";
import { isNetworkRepository, isWithin } from "../lib/index.ts";
import type { GitRepository } from "../protocol/index.ts";
import { mayFetchSubmodules, remoteFiles, runningTodo } from "./git-programs.ts";
import { askGit, type Environment } from "./worktrees/git.ts";

/**
 * Asks git which repository and which remotes it would use in a directory, and compares the repository with the
 * workspace's own. The commands that are used for this run no programs from the repository.
 */
export async function readGitRepository(
  directory: string,
  { root, environment }: { readonly root: string; readonly environment: Environment },
): Promise<GitRepository> {
  const ask = async (cwd: string, highest: number, ...args: readonly string[]) => {
    const { code, output } = await askGit(args, { environment, cwd }, { limitMs: LIMIT_MS });
    return code === null || code > highest ? undefined : output.toString("utf8");
  };
  /** Returns the common git directory, the top directory of the working tree and the tree's own git directory. */
  const placeIn = async (cwd: string): Promise<readonly string[] | undefined> => {
    const asked = ["--git-common-dir", "--show-toplevel", "--git-dir"];
    const lines = await ask(cwd, 128, "rev-parse", "--path-format=absolute", ...asked);
    return lines?.split("\n").slice(0, -1);
  };
  const [own, place, settings] = await Promise.all([
    placeIn(root),
    placeIn(directory),
    ask(directory, 1, "config", "--null", "--get-regexp", "^(remote|branch|url)\\."),
  ]);
  const detour = await findDetour({ directory, root, own, place, placeIn });
  if (detour !== undefined || settings === undefined) return { ...noRemotes, detour: detour ?? UNREADABLE };
  const [common, topDirectory, gitDirectory] = place ?? [];
  const named = common && remoteFiles(common)[0];
  if (named) return { ...noRemotes, detour: `git would use the remote that ${named} names` };
  const fetchesSubmodules = topDirectory !== undefined && mayFetchSubmodules(topDirectory);
  return { ...remotesIn(settings), fetchesSubmodules, todo: gitDirectory && runningTodo(gitDirectory) };
}

/** If a configuration file is a pipe, git waits for a writer. */
const LIMIT_MS = 5_000;
const UNREADABLE = "git could not read the configuration of the repository";
const noRemotes: GitRepository = { remotes: [], localRemotes: [], usualRemotes: [] };

interface Places {
  readonly directory: string;
  readonly root: string;
  readonly own: readonly string[] | undefined;
  readonly place: readonly string[] | undefined;
  readonly placeIn: (cwd: string) => Promise<readonly string[] | undefined>;
}

/** Returns the reason why git would leave the workspace's repository or its working tree. */
async function findDetour({ directory, root, own, place, placeIn }: Places): Promise<string | undefined> {
  if (own === undefined || place === undefined) return UNREADABLE;
  const [repository, top, , ...more] = place;
  if (own[0] !== repository) return "git would work in another repository, which has its own settings and hooks";
  if (repository === undefined) return undefined;
  if (top === undefined || more.length > 0) return UNREADABLE;
  if (isWithin(top, root)) return undefined;
  // The workspace may be a part of the working tree. Otherwise, `core.worktree` names any other directory.
  const isAround = isWithin(realpathSync.native(directory), top) && (await placeIn(top))?.[0] === repository;
  return isAround ? undefined : `core.worktree leads to ${top}, outside the workspace`;
}

function remotesIn(settings: string): GitRepository {
  const addresses = new Map<string, string[]>();
  const usual = new Set<string>();
  for (const entry of settings.split("\0").slice(0, -1)) {
    const [, key = "", value = ""] = /^([^\n]*)\n?(.*)$/s.exec(entry) ?? [];
    const [section = ""] = key.split(".", 1);
    const setting = key.slice(key.lastIndexOf(".") + 1);
    const name = key.slice(section.length + 1, -setting.length - 1);
    if (section === "url" && !isNetworkRepository(name))
      return { ...noRemotes, detour: `git would replace addresses with ${name}` };
    if (section === "remote" && name !== "") {
      const known = addresses.get(name) ?? [];
      if (/^(push)?url$/.test(setting)) known.push(value);
      // Another program may reach the remote.
      if (setting === "vcs") known.push("");
      addresses.set(name, known);
    }
    const isUsual = section === "branch" ? /^(push)?remote$/.test(setting) : key === "remote.pushdefault";
    // A dot is this repository itself.
    if (isUsual && value !== ".") usual.add(value);
  }
  const names = [...addresses.keys()];
  const remotes = names.filter(
    (name) => addresses.get(name)?.length && addresses.get(name)?.every(isNetworkRepository),
  );
  const defaults = addresses.has("origin") ? ["origin"] : names;
  const localRemotes = names.filter((name) => !remotes.includes(name));
  return { remotes, localRemotes, usualRemotes: [...usual, ...defaults] };
}
