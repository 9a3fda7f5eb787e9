/** Facts about the place where agents work. They are told to each agent at the start of its conversation. */
export interface EnvironmentFacts {
  /** For example `linux`. */
  readonly platform: string;
  /** How commands are run: sandbox and network, in whole sentences. Never rejects. */
  commands(): Promise<string>;
  /** Returns undefined if the directory is not in a git repository. Reads each directory once. Never rejects. */
  git(directory: string): Promise<GitState | undefined>;
}

/** State of a working tree. Empty if git was not asked, because the directory is not trusted, or if it failed. */
export interface GitState {
  /** Branch, or the commit of a detached head. */
  readonly branch?: string | undefined;
  /** Changed files, as in `git status --short`; at most the first 20. */
  readonly changes?: readonly string[] | undefined;
  /** Number of all changed files. */
  readonly changed?: number | undefined;
}
