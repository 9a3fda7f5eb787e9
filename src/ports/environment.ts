/** Facts about the environment in which agents work. Each agent gets them at the start of its conversation. */
export interface EnvironmentFacts {
  /** Operating system, such as `linux`. */
  readonly platform: string;
  /** Describes the sandbox and the network access of commands, in complete sentences. Never rejects. */
  commands(): Promise<string>;
  /**
   * Returns the state of the git repository. Undefined if the directory is not in a repository. Each directory is read
   * only once. Never rejects.
   */
  git(directory: string): Promise<GitState | undefined>;
}

/** State of a git working tree. Empty if git failed, or was not run because the directory is not trusted. */
export interface GitState {
  /** Name of the branch, or the commit of a detached HEAD. */
  readonly branch?: string | undefined;
  /** The first changed files, as in `git status --short`; at most 20. */
  readonly changes?: readonly string[] | undefined;
  /** Total number of changed files. */
  readonly changed?: number | undefined;
}

export interface Clock {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /** Returns monotonic time in milliseconds, for measuring durations and waiting. */
  monotonic(): number;
}
