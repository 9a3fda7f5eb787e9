import { execFile } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync, statfsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { installedPlugins, isPluginProblem } from "../../definitions/index.ts";
import { checkMatcher } from "../../hooks/index.ts";
import {
  describeError,
  errorCode,
  formatBytes,
  homeDirectory,
  maskAddresses,
  misspelledName,
  nearest,
  plural,
} from "../../lib/index.ts";
import { readServerConfig } from "../../mcp/index.ts";
import { listModels, type ProviderChoice, resolveProvider } from "../../model/index.ts";
import type { JsonObject, McpServerUse, ProjectSettings, Settings } from "../../protocol/index.ts";
import { findRipgrep, type Search, searchEngineFor } from "../../tools/index.ts";
import { checkHome } from "../../transcript/index.ts";
import { readProjectSettings, sandboxSettings } from "../../worker/index.ts";
import { createSandbox } from "../../workspace/index.ts";
import { type AgentCatalog, loadAgentCatalog } from "../agents/agent-catalog.ts";
import { hasUnreadAgents, isAbout, seeWhy, settingsProblems, unloadedSummary } from "../agents/agent-diagnostics.ts";
import type { Environment } from "../directories.ts";
import { configuredHooks, definitionHooks } from "../opening/session-hooks.ts";
import { problemText } from "../settings/choose-model.ts";
import { settingPath, settingPlace } from "../settings/setting-place.ts";
import { VERSION } from "../version.ts";
import { ruleProblems } from "./permissions.ts";

/**
 * Result of one check. Never contains a key or a password. `ok`: nothing to do. `warn`: something is missing, disabled or unusual,
 * but Retinue works without it. `fail`: something is broken.
 */
export type Finding = {
  readonly name: string;
  readonly found: string;
} & (
  | { readonly status: "ok"; readonly fix?: undefined }
  /** `fix` explains what to do. */
  | { readonly status: "warn" | "fail"; readonly fix: string }
);

export interface InstallationOptions {
  /** State directory. */
  readonly home: string;
  /** Real path of the workspace. */
  readonly cwd: string;
  readonly environment: Environment;
  readonly settingsFile?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

/** Checks everything that a session needs. Sends one short request to the provider, if there is one. */
export async function checkInstallation(options: InstallationOptions): Promise<readonly Finding[]> {
  const { home, environment } = options;
  const loaded = readSettings(options);
  const { settings } = loaded;
  const choice = chooseProvider(options, settings);
  const catalog = await loadAgentCatalog({ home, cwd: options.cwd, environment, trust: false });
  const [connection, git, bash, sandbox] = await Promise.all([
    checkConnection(choice),
    checkProgram("git", { environment, without: "History and diffs are not available.", install: "Install git." }),
    checkProgram("bash", { environment, without: "sh runs commands instead.", install: "Install bash." }),
    checkSandbox(settings),
  ]);
  const findings: readonly Finding[] = [
    { name: "retinue", status: "ok", found: VERSION },
    checkNode(process.versions.node),
    ...checkSettings(loaded, home),
    checkTrust(loaded),
    ...checkAgentFiles(catalog),
    ...checkPlugins(home),
    ...checkHooks(loaded, catalog),
    ...checkServers(loaded, { catalog, environment }),
    checkProvider(choice, loaded),
    ...connection,
    checkRipgrep(environment),
    checkSearch(settings, { environment, choice }),
    git,
    bash,
    sandbox,
    ...checkUser(),
    checkState(home),
    checkDisk(home),
  ];
  return findings.map(withoutPasswords);
}

function withoutPasswords(finding: Finding): Finding {
  const found = maskAddresses(finding.found);
  return finding.status === "ok" ? { ...finding, found } : { ...finding, found, fix: maskAddresses(finding.fix) };
}

function readSettings({ home, cwd, environment, settingsFile }: InstallationOptions): ProjectSettings {
  return readProjectSettings({ home, cwd, environment, trust: false, file: settingsFile });
}

function checkSettings(loaded: ProjectSettings, home: string): readonly Finding[] {
  const { problems, notices, files, untrusted } = loaded;
  const name = "settings";
  const aboutTrust = untrusted.join("; ");
  const others = [
    ...notices.filter((notice) => aboutTrust === "" || !notice.includes(aboutTrust)),
    ...ruleProblems(loaded),
  ];
  const found = files.length === 0 ? `none at ${join(home, "settings.json")}; the defaults apply` : files.join(", ");
  if (problems.length + others.length === 0) return [{ name, status: "ok", found }];
  return [
    ...problems.map(
      (found): Finding => ({ name, status: "fail", found, fix: "Correct the file. Until then, no run can start." }),
    ),
    ...others.map((found): Finding => ({ name, status: "warn", found, fix: "Correct the file." })),
  ];
}

function checkTrust({ trusted, untrusted }: ProjectSettings): Finding {
  const name = "trust";
  if (untrusted.length > 0) {
    const fix = 'Review them, then run "retinue trust add".';
    return { name, status: "warn", found: `off, because this directory is not trusted: ${untrusted.join("; ")}`, fix };
  }
  const found = trusted
    ? "this directory is trusted"
    : "this directory is not trusted, and nothing in it requires trust";
  return { name, status: "ok", found };
}

function checkAgentFiles(loaded: AgentCatalog): readonly Finding[] {
  const name = "agents";
  const { catalog, diagnostics, snapshot } = loaded;
  const own = catalog.agents.filter(({ definition }) => definition.source !== "built-in");
  const doubtful = own.filter(({ definition }) =>
    diagnostics.some((each) => each.severity === "warning" && isAbout(each, definition)),
  );
  const unloaded = unloadedSummary(loaded);
  const names = doubtful.map(({ definition }) => definition.name).join(", ");
  const problems = [
    ...(unloaded === undefined ? [] : [unloaded]),
    ...(doubtful.length === 0 ? [] : [`${plural(doubtful.length, "agent")} may not do what you expect: ${names}`]),
  ];
  const unused = settingsProblems(loaded).map(
    ({ file, message, fix = "Correct the file." }): Finding => ({
      name,
      status: "warn",
      found: `${file}: ${message}`,
      fix: fix,
    }),
  );
  const findings = [...problems.map((found): Finding => ({ name, status: "warn", found, fix: seeWhy })), ...unused];
  if (findings.length > 0) return findings;
  const unread = hasUnreadAgents(snapshot) ? "; this directory's own were not read, because it is not trusted" : "";
  const count = own.length === 0 ? "only the built-in ones" : `${own.length} besides the built-in ones`;
  return [{ name, status: "ok", found: `${count}${unread}` }];
}

/** Checks installed plugins. Returns an empty list if no plugins are installed. */
function checkPlugins(home: string): readonly Finding[] {
  const name = "plugins";
  const { plugins, problem } = installedPlugins(home);
  const problems = [...(problem === undefined ? [] : [problem]), ...plugins.flatMap((each) => each.diagnostics)];
  const findings = problems.filter(isPluginProblem).map(({ file, line, message, ...problem }): Finding => {
    const { fix = 'Correct the file, or remove the plugin with "retinue plugins remove".' } = problem;
    return { name, status: "fail", found: `${file}:${line}: ${message}`, fix };
  });
  if (findings.length > 0 || plugins.length === 0) return findings;
  const enabled = plugins.filter(({ state }) => state === "enabled").length;
  return [{ name, status: "ok", found: `${enabled} of ${plugins.length} enabled` }];
}

/** Checks the matchers of all hooks. Returns an empty list if there are no hooks. */
function checkHooks({ settings, origins }: ProjectSettings, { catalog, snapshot }: AgentCatalog): readonly Finding[] {
  const name = "hooks";
  const agents = catalog.agents.map(({ definition }) => definition.name);
  const configured = configuredHooks({ settingsOrigins: origins }, settings, snapshot.plugins);
  const checked = [
    ...configured.hooks.map((hook) => ({ hook, owner: undefined })),
    ...catalog.agents.flatMap(({ definition }) =>
      definitionHooks(definition, settings).map((hook) => ({ hook, owner: definition.name })),
    ),
  ];
  const findings = [
    ...snapshot.plugins.notices.map((found): Finding => ({ name, status: "warn", found, fix: "Correct the file." })),
    ...checked.flatMap(({ hook, owner }) =>
      checkMatcher(hook, { agents, owner }).map(({ message, fix }): Finding => {
        const place = hook.kind === "command" && hook.where !== undefined ? `${hook.where}: ` : "";
        return { name, status: "warn", found: `${place}${message}`, fix: fix };
      }),
    ),
  ];
  if (findings.length > 0 || checked.length === 0) return findings;
  return [{ name, status: "ok", found: `${checked.length} configured` }];
}

/** Checks the configurations of MCP servers without starting them. Returns an empty list if there are no servers. */
function checkServers(
  { settings, origins }: ProjectSettings,
  {
    catalog: { catalog, snapshot },
    environment,
  }: { readonly catalog: AgentCatalog; readonly environment: Environment },
): readonly Finding[] {
  const name = "mcp";
  const { mcpServers: ofPlugins, serverPlaces } = snapshot.plugins;
  const all = Object.entries({ ...ofPlugins, ...settings.mcpServers });
  const configured = all
    .filter(([, config]) => config["disabled"] !== true)
    .map(([server, config]): McpServerUse => {
      const where = settingPlace(settingPath("mcpServers", server), origins) ?? serverPlaces?.[server];
      return { name: server, config, where };
    });
  const names = configured.map((each) => each.name);
  const ofAgents = catalog.agents.flatMap(({ definition }) => definition.mcpServers ?? []);
  const servers = [...configured, ...ofAgents];
  const findings = servers.flatMap(({ name: server, config, where }): Finding[] => {
    const problem = config === undefined ? missingServer(server, names) : serverProblem(config, environment);
    if (problem === undefined) return [];
    const found = `${where === undefined ? "" : `${where}: `}The MCP server "${server}" can't be used: ${problem.found}.`;
    return [{ name, status: "warn", found, fix: problem.fix }];
  });
  if (findings.length > 0 || servers.length === 0) return findings;
  return [{ name, status: "ok", found: `${plural(servers.length, "server")} configured, not started by this check` }];
}

interface ServerProblem {
  readonly found: string;
  readonly fix: string;
}

/** Describes the problem if an agent refers to a server by name, but no server with this name is configured. */
function missingServer(name: string, configured: readonly string[]): ServerProblem | undefined {
  if (configured.includes(name)) return undefined;
  const meant = misspelledName(name, configured);
  const fix =
    meant === undefined
      ? "Configure it under `mcpServers` in the settings or in .mcp.json."
      : `Did you mean "${meant}"?`;
  return { found: "it is not configured", fix };
}

function serverProblem(written: JsonObject, environment: Environment): ServerProblem | undefined {
  const config = readServerConfig(written, environment);
  if (typeof config === "string") return { found: config, fix: "Correct the configuration." };
  if (config.type !== "stdio") return undefined;
  const { command, env } = config;
  const isPath = command.includes("/");
  // A relative path depends on the directory in which the server starts.
  const isFound = isPath ? !isAbsolute(command) || usable(command) : onPath(command, { ...environment, ...env });
  if (isFound) return undefined;
  const found = isPath ? `${command} is not a program` : `there is no program "${command}" in PATH`;
  return { found, fix: "Install the program, or correct the command." };
}

function chooseProvider({ environment, provider, model }: InstallationOptions, settings: Settings): ProviderChoice {
  return resolveProvider({ settings, environment, flags: { provider, model } });
}

function checkProvider(choice: ProviderChoice, { origins }: ProjectSettings): Finding {
  const name = "provider";
  if (choice.kind === "problem") {
    const fix = "Or choose another provider or model, with --provider and --model or in the settings.";
    return { name, status: "fail", found: problemText(choice, origins), fix };
  }
  if (choice.kind === "offline") {
    const fix =
      "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or use a local server: --provider ollama --model NAME.";
    return { name, status: "warn", found: "the embedded offline model, which is not a language model", fix };
  }
  const { provider, model, reason } = choice;
  const key = provider.keyVariable === undefined ? "no key" : `key from ${provider.keyVariable}`;
  return { name, status: "ok", found: `${provider.name}, model ${model} (${reason}; ${key})` };
}

async function checkConnection(choice: ProviderChoice): Promise<Finding[]> {
  if (choice.kind !== "wire") return [];
  const name = "connection";
  const { provider, model } = choice;
  const { host } = new URL(provider.baseUrl);
  const list = await listModels(provider);
  if (!list.ok) {
    return [{ name, status: "fail", found: list.message, fix: `Check the network, the key and ${provider.baseUrl}.` }];
  }
  if (list.models.includes(model))
    return [{ name, status: "ok", found: `${host} responds and lists the model ${model}` }];
  const near = nearest(model, list.models, 3);
  const guess = near.length > 0 ? `Did you mean ${near.join(" or ")}? ` : "";
  const fix = `${guess}Choose another model with --model. Available: ${list.models.join(", ") || "none"}.`;
  return [{ name, status: "warn", found: `${host} responds, but does not list the model ${model}`, fix }];
}

function checkRipgrep(environment: Environment): Finding {
  const name = "ripgrep";
  const location = findRipgrep(environment);
  if ("program" in location) return { name, status: "ok", found: location.program };
  return { name, status: "fail", found: `Grep and Glob can't search: ${location.missing}`, fix: location.fix };
}

function checkSearch(
  settings: Settings,
  { environment, choice }: { readonly environment: Environment; readonly choice: ProviderChoice },
): Finding {
  const name = "search";
  const ownSearch = choice.kind === "wire" && choice.provider.name === "anthropic";
  const search = searchEngineFor(settings.search, environment, ownSearch ? { anthropic: unused } : {});
  if ("engine" in search) return { name, status: "ok", found: settings.search?.engine ?? "the provider's own" };
  if (settings.search !== undefined) {
    const fix = "Fix `search` in your settings, or ignore this if agents do not need to search the web.";
    return { name, status: "warn", found: search.absent, fix };
  }
  const fix =
    "Optional: set `search.engine` in the settings to `searxng` (with `baseUrl`), `brave` (with a key) or `anthropic`.";
  return { name, status: "warn", found: "not configured: agents can't search the web", fix };
}

/** Placeholder for the provider's search, which is never called here. */
const unused: Search = async () => ({ ok: false, message: "" });

function checkState(home: string): Finding {
  const check = checkHome(home);
  if (!check.ok)
    return { name: "state", status: "fail", found: `sessions can't be stored in ${home}`, fix: check.message };
  const { mode, uid } = statSync(home);
  const owner = process.getuid?.() ?? uid;
  // Settings there decide what runs.
  if (uid !== owner) {
    const fix = "Run Retinue as the owner, or set RETINUE_HOME to a directory of your own.";
    return { name: "state", status: "warn", found: `${home} belongs to another user`, fix };
  }
  if ((mode & 0o022) !== 0) {
    const fix = `Run: chmod go-w ${home}`;
    return { name: "state", status: "warn", found: `other users can change the files in ${home}`, fix };
  }
  return { name: "state", status: "ok", found: `${home} is writable` };
}

function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isEnough = major > 20 || (major === 20 && minor >= 19);
  if (isEnough) return { name: "node", status: "ok", found: version };
  return { name: "node", status: "fail", found: version, fix: "Install Node.js 20.19 or newer." };
}

interface ProgramCheck {
  readonly environment: Environment;
  readonly without: string;
  readonly install: string;
}

async function checkProgram(name: string, { environment, without, install }: ProgramCheck): Promise<Finding> {
  const program = onPath(name, environment);
  if (program === undefined) return { name, status: "warn", found: `not found. ${without}`, fix: install };
  const version = await firstLine(program);
  if (version !== undefined) return { name, status: "ok", found: `${version} (${program})` };
  return { name, status: "warn", found: `${program} can't be run. ${without}`, fix: install };
}

function firstLine(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ["--version"], { timeout: 5_000 }, (error, output) => {
      resolve(error ? undefined : output.split("\n")[0]?.trim());
    });
  });
}

function onPath(name: string, environment: Environment): string | undefined {
  const directories = (environment["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return directories.map((directory) => usable(join(directory, name))).find((path) => path !== undefined);
}

function usable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

/** Tries out the sandbox, because the programs that it needs may be installed but not working. */
async function checkSandbox(settings: Settings): Promise<Finding> {
  const name = "sandbox";
  const { mode, network: { allowedDomains: domains = [] } = {} } = sandboxSettings(settings);
  const scratch = mkdtempSync(join(tmpdir(), "retinue-doctor-"));
  const paths = { scratch, userHome: homeDirectory(), writable: [], hidden: [], shown: [] };
  const sandbox = createSandbox({ ...paths, mode, domains, tell: () => undefined });
  const state = await sandbox.ready();
  await sandbox.close();
  rmSync(scratch, { recursive: true, force: true });
  if (state.kind === "on") {
    const reach = domains.length === 0 ? "no network" : `network to ${domains.join(", ")} only`;
    return { name, status: "ok", found: `on: commands can write only in the workspace and have ${reach}` };
  }
  const { fix = "Allow only commands that you trust, or run Retinue in a container." } = state;
  if (mode === "off") {
    const found = "off in your settings: commands run with all your permissions";
    return {
      name,
      status: "warn",
      found,
      fix: 'To turn the sandbox on, remove the "sandbox" setting that turns it off.',
    };
  }
  if (state.kind === "missing")
    return { name, status: "fail", found: `required by settings, but ${state.reason}`, fix };
  return {
    name,
    status: "warn",
    found: `off: ${state.reason}. Commands run with all your permissions, and more of them need approval.`,
    fix,
  };
}

/** Warns if the user is root, because the sandbox then isolates commands from the system less strictly. */
function checkUser(): readonly Finding[] {
  if (process.getuid?.() !== 0) return [];
  const found = "root: a command that leaves the sandbox, or runs without one, can change the whole system";
  return [{ name: "user", status: "warn", found, fix: "Run Retinue as an ordinary user." }];
}

const LOW_SPACE = 200 * 1024 * 1024;
const NO_SPACE = 10 * 1024 * 1024;

/** Checks the file system of the state directory. */
function checkDisk(directory: string): Finding {
  const name = "disk";
  try {
    const { bavail, bsize } = statfsSync(directory);
    const free = bavail * bsize;
    const found = `${formatBytes(free)} free for ${directory}`;
    if (free >= LOW_SPACE) return { name, status: "ok", found };
    const fix = 'Free some space: "retinue sessions delete" removes old sessions.';
    return { name, status: free < NO_SPACE ? "fail" : "warn", found, fix };
  } catch (error) {
    if (errorCode(error) === "ENOENT" && dirname(directory) !== directory) return checkDisk(dirname(directory));
    const fix = "Check that the state directory can be read.";
    return { name, status: "warn", found: `The free space is unknown: ${describeError(error)}`, fix };
  }
}
