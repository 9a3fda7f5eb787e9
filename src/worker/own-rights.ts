import { isDeepStrictEqual } from "node:util";
import { UserError } from "../lib/index.ts";
import type { HookInvocation, WorkerPort, WorkerSessionOptions } from "../ports/index.ts";
import {
  type McpServerUse,
  type Policy,
  type ProjectSettings,
  type ProjectSnapshot,
  type Rule,
  readHookEntries,
  type SandboxMode,
  type Settings,
} from "../protocol/index.ts";
import { passedVariables, sandboxSettings } from "./command-settings.ts";

/** Rights that the files on a worker's machine grant in its workspace, regardless of what a server asks for. */
export interface OwnRights {
  readonly loaded: ProjectSettings;
  readonly snapshot: ProjectSnapshot;
}

/** Reads the rights that a worker's user grants. Throws a `UserError` if a settings file is invalid. */
export async function readOwnRights(worker: WorkerPort): Promise<OwnRights> {
  const loaded = await readValidSettings(worker);
  const { additionalDirectories } = loaded.settings.permissions ?? {};
  const request = { trusted: loaded.trusted, trust: false, required: true, additionalDirectories };
  const answer = await worker.snapshot(request);
  if (!answer.changed) throw new Error("A snapshot was requested, but none was returned.");
  return { loaded, snapshot: answer.snapshot };
}

/** Reads the rights again if the settings have changed; otherwise returns `rights`. Throws like `readOwnRights`. */
export async function refreshRights(rights: OwnRights, worker: WorkerPort): Promise<OwnRights> {
  const loaded = await readValidSettings(worker);
  return isDeepStrictEqual(loaded, rights.loaded) ? rights : readOwnRights(worker);
}

/** Reads the settings of a worker's workspace. Throws a `UserError` if a file is invalid, because it may contain rules. */
export async function readValidSettings(
  worker: Pick<WorkerPort, "settings" | "describe">,
  flags?: Settings | undefined,
): Promise<ProjectSettings> {
  const loaded = await worker.settings({ trust: false, flags });
  const [problem] = loaded.problems;
  if (problem === undefined) return loaded;
  const { root } = worker.describe();
  throw new UserError(`The settings for ${root} can't be used: ${problem}`, { code: "settings", exitCode: 2 });
}

/** Returns true if a hook's command is in the settings, an enabled plugin or an agent on the worker's machine. */
export function isOwnHook({ command, args, pluginRoot }: HookInvocation, { loaded, snapshot }: OwnRights): boolean {
  const hooks: readonly Pick<HookInvocation, "command" | "args" | "pluginRoot">[] = [
    ...readHookEntries(loaded.settings.hooks ?? {}).hooks,
    ...snapshot.plugins.hooks,
    ...snapshot.agents.flatMap(({ definition }) => definition.hooks ?? []),
  ];
  return hooks.some(
    (hook) =>
      hook.command === command && hook.pluginRoot === pluginRoot && isDeepStrictEqual(hook.args ?? [], args ?? []),
  );
}

/** Returns true if an MCP server is configured in the same way on the worker's machine. */
export function isOwnServer({ name, config }: McpServerUse, { loaded, snapshot }: OwnRights): boolean {
  const configured = { ...snapshot.plugins.mcpServers, ...loaded.settings.mcpServers };
  const inAgents = snapshot.agents.flatMap(({ definition }) => definition.mcpServers ?? []);
  const own = [...Object.entries(configured).map(([key, value]) => ({ name: key, config: value })), ...inAgents];
  return own.some((each) => each.name === name && isDeepStrictEqual(each.config, config));
}

/** Returns a session's options, limited to what the worker's settings allow. */
export function limitOptions(asked: WorkerSessionOptions, { loaded }: OwnRights): WorkerSessionOptions {
  const { settings, trusted } = loaded;
  return {
    ...asked,
    sandbox: strictestSandbox(asked.sandbox, sandboxSettings(settings)),
    passedVariables: passedVariables(settings),
    variables: settings.env,
    trusted: asked.trusted && trusted,
  };
}

type Sandbox = WorkerSessionOptions["sandbox"];

function strictestSandbox(asked: Sandbox, own: Sandbox): Sandbox {
  const strictness: readonly SandboxMode[] = ["off", "auto", "require"];
  const isStricter = strictness.indexOf(asked.mode) > strictness.indexOf(own.mode);
  const domains = own.network?.allowedDomains ?? [];
  const directories = own.filesystem?.allowWrite ?? [];
  return {
    mode: isStricter ? asked.mode : own.mode,
    network: { allowedDomains: inBoth(asked.network?.allowedDomains, domains) },
    filesystem: { allowWrite: inBoth(asked.filesystem?.allowWrite, directories) },
  };
}

function inBoth(asked: readonly string[] = [], own: readonly string[]): readonly string[] {
  return asked.filter((each) => own.includes(each));
}

/** Directories that a session's tools can use. */
export interface UsableDirectories {
  /** The workspace, additional directories and worktrees. */
  readonly roots: readonly string[];
  readonly readable: readonly string[];
  /** Agents' memory directories. */
  readonly memories: readonly string[];
}

/** Returns the policy of the worker's machine. A server can't allow what this policy denies. */
export function ownPolicy({ loaded }: OwnRights, { roots, readable, memories }: UsableDirectories): Policy {
  const { defaultMode } = loaded.settings.permissions ?? {};
  return {
    // In other modes, the user can approve calls that no rule denies. The server reports which calls were approved.
    mode: defaultMode === "dontAsk" ? "dontAsk" : "default",
    pool: [],
    rules: [...loaded.rules, ...memories.flatMap(memoryRules)],
    workspaceRoots: roots,
    readableRoots: readable,
    confined: true,
  };
}

function memoryRules(directory: string): readonly Rule[] {
  const escaped = directory.replace(/[*?[\\]/g, "\\$&");
  return ["Read", "Edit"].map((tool) => ({ text: `${tool}(/${escaped}/**)`, effect: "allow", scope: "user" }));
}
