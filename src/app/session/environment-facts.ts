import { platform } from "node:os";
import type { EnvironmentFacts, GitState } from "../../ports/index.ts";
import { createTrustStore } from "../../settings/index.ts";
import { readGitState, repositoryRoot, type Sandbox, type SandboxState } from "../../workspace/index.ts";
import type { SessionContext } from "./session-context.ts";
import { sandboxSettings } from "./session-tools.ts";

export interface EnvironmentFactsOptions {
  readonly context: SessionContext;
  /** True if the user trusts the workspace, so that git may read its configuration. */
  readonly trusted: boolean;
  readonly sandbox: Sandbox;
}

/**
 * Creates the facts about the environment of a session's agents. Starts reading the state of the workspace's repository
 * at once.
 */
export function createEnvironmentFacts(options: EnvironmentFactsOptions): EnvironmentFacts {
  const { context, trusted, sandbox } = options;
  const { allowedDomains = [] } = sandboxSettings(context.settings).network ?? {};
  const states = new Map<string, Promise<GitState | undefined>>();
  const git = (directory: string): Promise<GitState | undefined> => {
    const known = states.get(directory) ?? stateOf(directory);
    states.set(directory, known);
    return known;
  };
  const mayAskGit = trusted && isRepositoryTrusted(context);
  const stateOf = async (directory: string): Promise<GitState | undefined> => {
    if (repositoryRoot(directory) === undefined) return undefined;
    return mayAskGit ? readGitState(directory, context.environment) : {};
  };
  void git(context.cwd);
  return {
    platform: platform(),
    git,
    commands: async () => describeCommands(await sandbox.expected(), allowedDomains),
  };
}

/**
 * Trust in a directory does not extend to a repository whose root is above it. The worktrees of a trusted repository
 * are trusted, too.
 */
function isRepositoryTrusted({ cwd, home }: SessionContext): boolean {
  const root = repositoryRoot(cwd);
  return root === undefined || root === cwd || createTrustStore({ stateHome: home }).coveredBy(root) !== undefined;
}

function describeCommands(state: SandboxState["kind"], domains: readonly string[]): string {
  if (state === "off") return "they run without a sandbox, with all the user's permissions.";
  if (state === "missing") return "they can't run, because settings require a sandbox and none is available.";
  const network = domains.length === 0 ? "have no network" : `can reach only these hosts: ${domains.join(", ")}`;
  return `they run in a sandbox, write only to the workspace and temporary directories, and ${network}. Approval does not change this.`;
}
