import { platform } from "node:os";
import type { EnvironmentFacts, GitState } from "../ports/index.ts";
import { createTrustStore } from "../settings/index.ts";
import { readGitState, repositoryRoot, type Sandbox, type SandboxState } from "../workspace/index.ts";

export interface EnvironmentFactsOptions {
  /** Real path of the workspace. */
  readonly root: string;
  /** State directory. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** True if the user trusts the workspace, so that git may read its configuration. */
  readonly trusted: boolean;
  readonly sandbox: Sandbox;
  /** Domains that commands in the sandbox can reach. */
  readonly domains: readonly string[];
}

/**
 * Creates the facts about the environment of a session's agents. Starts reading the state of the workspace's repository
 * at once.
 */
export function createEnvironmentFacts(options: EnvironmentFactsOptions): EnvironmentFacts {
  const { root, environment, trusted, sandbox, domains } = options;
  const states = new Map<string, Promise<GitState | undefined>>();
  const git = (directory: string): Promise<GitState | undefined> => {
    const known = states.get(directory) ?? stateOf(directory);
    states.set(directory, known);
    return known;
  };
  const mayAskGit = trusted && isRepositoryTrusted(options);
  const stateOf = async (directory: string): Promise<GitState | undefined> => {
    if (repositoryRoot(directory) === undefined) return undefined;
    return mayAskGit ? readGitState(directory, environment) : {};
  };
  void git(root);
  return {
    platform: platform(),
    git,
    commands: async () => describeCommands(await sandbox.expected(), domains),
  };
}

/**
 * Trust in a directory does not extend to a repository whose root is above it. The worktrees of a trusted repository
 * are trusted, too.
 */
function isRepositoryTrusted({ root, home }: EnvironmentFactsOptions): boolean {
  const top = repositoryRoot(root);
  return top === undefined || top === root || createTrustStore({ stateHome: home }).coveredBy(top) !== undefined;
}

function describeCommands(state: SandboxState["kind"], domains: readonly string[]): string {
  if (state === "off") return "they run without a sandbox, with all the user's permissions.";
  if (state === "missing") return "they can't run, because settings require a sandbox and none is available.";
  const network = domains.length === 0 ? "have no network" : `can reach only these hosts: ${domains.join(", ")}`;
  return `they run in a sandbox, write only to the workspace and temporary directories, and ${network}. Approval does not change this.`;
}
