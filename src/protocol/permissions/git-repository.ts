/** The repository that git finds in a directory, as far as decisions on git commands depend on it. */
export interface GitRepository {
  /** Explains why git would work outside the workspace's own repository or its files; undefined if it would not. */
  readonly detour?: string | undefined;
  /** Names of the remotes all of whose addresses are on the network. */
  readonly remotes: readonly string[];
  /** Names of the other remotes, which may be directories on this machine. */
  readonly localRemotes: readonly string[];
  /** Names or addresses of remotes that git may use if a command names none. */
  readonly usualRemotes: readonly string[];
  /** True if `.gitmodules` makes git fetch in submodules, too. */
  readonly fetchesSubmodules?: boolean | undefined;
  /** A file with the commands that an unfinished rebase would run when it is continued. */
  readonly todo?: string | undefined;
}
