import { existsSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import {
  amongAgents,
  builtInAgents,
  type CheckedFile,
  checkMarkdownFile,
  lintAgent,
  type Override,
  projectLevels,
  readAgentFile,
  readAgentJson,
} from "../../definitions/index.ts";
import { homeDirectory, isWithin } from "../../lib/index.ts";
import { type AgentDefinition, type Diagnostic, isSameAgent, UNAPPROVED } from "../../protocol/index.ts";
import { type ProjectSettingsOptions, readProjectSettings } from "../../worker/index.ts";
import {
  type AgentCatalog,
  type CatalogAgent,
  type CatalogOptions,
  loadAgentCatalog,
} from "../agents/agent-catalog.ts";
import { definitionFindings, isAbout, missingSkills, unknownAgent } from "../agents/agent-diagnostics.ts";
import type { Environment } from "../directories.ts";
import { isSkill, type MarkdownFile, markdownFiles, readDefinition } from "./markdown-files.ts";

export interface AgentCheck extends CheckedFile {
  /** Path relative to the given directory. If several directories were given, it begins with the directory's name. */
  readonly file: string;
  /** Absolute path. */
  readonly path: string;
  /** True if the file is meant to be a definition but does not load. */
  readonly failed: boolean;
  /** True if no run reads the file, because another directory takes precedence. */
  readonly hidden?: boolean | undefined;
}

/**
 * Checks the given Markdown files, and all Markdown files in the given directories. `shown` formats the paths in
 * messages. Throws a `UserError` if a path does not exist.
 */
export async function* checkAgents(
  paths: readonly string[],
  shown: (path: string) => string = (path) => path,
): AsyncGenerator<AgentCheck> {
  for (const given of paths) {
    const names = new Map<string, string>();
    for (const found of markdownFiles(given, paths.length > 1 ? given.replace(/(?<!\/)\/+$/, "") : "")) {
      const path = resolve(found.path);
      const checked = withDuplicate(await checkFile(found), { path, names, shown });
      // A file that was given explicitly must be an agent; in a directory, a file without frontmatter may be any text.
      const mayBeText = found.file !== given && checked.kind === "agent";
      const isText = mayBeText && checked.diagnostics.some(({ code }) => code === "no_frontmatter");
      const isOff = checked.diagnostics.some(({ code }) => code === "disabled");
      const diagnostics = isText ? textFindings(checked.diagnostics, path) : checked.diagnostics;
      yield { file: found.file, path, ...checked, diagnostics, failed: !checked.loaded && !isText && !isOff };
    }
  }
}

/**
 * Returns the findings about a file without frontmatter. Outside an agents directory they are only notices, because the
 * file is probably not meant to be an agent.
 */
function textFindings(diagnostics: readonly Diagnostic[], path: string): readonly Diagnostic[] {
  const isForAgents = /[/\\]\.(agents|claude)[/\\]agents[/\\]/.test(path);
  return amongAgents(diagnostics, path).map((each) => (isForAgents ? each : { ...each, severity: "notice" }));
}

const HIDDEN = "hidden_by_directory";

interface NamesSoFar {
  readonly path: string;
  /** Paths of the definitions found so far, keyed by kind and name. */
  readonly names: Map<string, string>;
  readonly shown: (path: string) => string;
}

/** Adds a warning if an earlier file in the same directory has the same name. */
function withDuplicate(checked: CheckedFile, { path, names, shown }: NamesSoFar): CheckedFile {
  const { kind, name, loaded } = checked;
  if (!loaded || name === null) return checked;
  const key = `${kind} ${name}`;
  const other = names.get(key);
  if (other === undefined) {
    names.set(key, path);
    return checked;
  }
  const duplicate: Diagnostic = {
    severity: "warning",
    file: path,
    line: 1,
    code: "duplicate_name",
    message: `${shown(other)} also defines the ${kind} "${name}". If two files in a directory define the same name, the first by path is used.`,
    fix: "Rename or remove one of the two.",
  };
  return { ...checked, diagnostics: [...checked.diagnostics, duplicate] };
}

/**
 * Adds problems that depend on the whole workspace: hooks and MCP servers that the user has not approved, and files
 * that no run reads because another directory takes precedence.
 */
export async function* withWorkspace(
  checks: AsyncGenerator<AgentCheck>,
  options: Pick<CatalogOptions, "home" | "cwd" | "environment">,
): AsyncGenerator<AgentCheck> {
  const { diagnostics } = await loadAgentCatalog({ ...options, trust: false });
  const ifTrusted = await loadAgentCatalog({ ...options, trust: true });
  const about = [
    ...diagnostics.filter(({ code }) => code === UNAPPROVED),
    ...ifTrusted.diagnostics.filter(({ code }) => code === HIDDEN),
  ];
  for await (const checked of checks) {
    const found = about.filter(({ file }) => file === checked.path);
    const hidden = found.some(({ code }) => code === HIDDEN);
    yield found.length === 0 ? checked : { ...checked, hidden, diagnostics: [...checked.diagnostics, ...found] };
  }
}

/**
 * Checks the agents in a workspace's settings, whether or not it is trusted. Only reads the files and does not apply
 * them.
 */
export function* checkSettingsAgents(options: Omit<ProjectSettingsOptions, "trust">): Generator<AgentCheck> {
  const { agents: settings, problems } = readProjectSettings({ ...options, trust: true });
  yield* problems.flatMap(invalidAgent);
  for (const { file = "settings", source, agents, lines } of settings.definitions) {
    for (const { definition, diagnostics, written } of readAgentJson(agents, { file, source, lines }).agents) {
      const loaded = definition !== undefined;
      const { name = null, description = null } = definition ?? {};
      const isOff = diagnostics.some(({ code }) => code === "disabled");
      const failed = !loaded && !isOff;
      const found = [...diagnostics, ...(definition ? definitionFindings(definition) : [])];
      yield { file, path: file, kind: "agent", loaded, failed, name, description, ...written, diagnostics: found };
    }
  }
}

/** Converts the message about an invalid value under `agents` in a settings file to a result. */
function invalidAgent(problem: string): AgentCheck[] {
  const [, file, line, message] = /^(.+?):(\d+): (agents\b.*)$/s.exec(problem) ?? [];
  if (file === undefined || message === undefined) return [];
  const diagnostic: Diagnostic = { severity: "error", file, line: Number(line), code: "invalid_settings", message };
  return [{ ...unread, kind: "agent", file, path: file, failed: true, diagnostics: [diagnostic] }];
}

/** Shortens an absolute path for messages: relative to `cwd` within its project, with `~` within the home directory. */
export function shownPath(path: string, { cwd, environment }: { cwd: string; environment: Environment }): string {
  if (!isAbsolute(path)) return path;
  const home = homeDirectory(environment);
  if (isWithin(path, projectLevels({ cwd, home }).root)) return relative(cwd, path);
  return isWithin(path, home) ? join("~", relative(home, path)) : path;
}

/** Returns the existing directories that contain the project's and the user's definitions. */
export function definitionDirectories({ cwd, environment }: { cwd: string; environment: Environment }): string[] {
  const home = homeDirectory(environment);
  const bases = new Set([...projectLevels({ cwd, home }).nearestFirst, home]);
  return [...bases]
    .flatMap((base) => subdirectories.map((names) => join(base, ...names)))
    .filter((directory) => existsSync(directory));
}

const subdirectories = [
  [".agents", "agents"],
  [".claude", "agents"],
  [".agents", "skills"],
  [".claude", "skills"],
];

async function checkFile({ path, file, problem }: MarkdownFile): Promise<CheckedFile> {
  const read = problem === undefined ? readDefinition(path, file) : { problem };
  if ("bytes" in read) {
    const request = { bytes: read.bytes, file: resolve(path), source: "project" } as const;
    const { definition, ...checked } = await checkMarkdownFile(request);
    return { ...checked, diagnostics: [...checked.diagnostics, ...(definition ? definitionFindings(definition) : [])] };
  }
  return { ...unread, kind: isSkill(path) ? "skill" : "agent", diagnostics: [read.problem] };
}

const unread = {
  loaded: false,
  name: null,
  description: null,
  tools: null,
  disallowedTools: null,
  model: null,
} as const;

export interface LintReport {
  /** Number of agents that were checked. */
  readonly agents: number;
  readonly findings: readonly Diagnostic[];
  /** Files that were not read because the directory is not trusted. */
  readonly off: readonly string[];
}

/** Lints agents given by names, files or directories; without targets, lints every agent that is not built in. */
export async function lintAgents(targets: readonly string[], options: CatalogOptions): Promise<LintReport> {
  const paths = targets.filter((target) => existsSync(target));
  const names = targets.filter((target) => !paths.includes(target));
  const files = paths.flatMap((path) => [...markdownFiles(path)].filter((file) => !isSkill(file.path)));
  const linted = await Promise.all(files.map((file) => lintFile(file, { isGiven: paths.includes(file.path) })));
  const fromFiles = linted.filter((each) => each !== undefined);
  if (paths.length > 0 && names.length === 0) {
    return { agents: fromFiles.length, findings: fromFiles.flat(), off: [] };
  }
  const loaded = await loadAgentCatalog(options);
  const chosen = names.length > 0 ? names.map((name) => findAgent(name, loaded)) : ownAgents(loaded);
  const findings = [...fromFiles.flat(), ...chosen.flatMap((agent) => lintLoaded(agent, loaded))];
  const unloaded = names.length > 0 ? [] : loaded.diagnostics.filter(({ severity }) => severity === "error");
  return {
    agents: fromFiles.length + chosen.length,
    findings: [...unloaded, ...findings],
    off: names.length > 0 ? [] : loaded.snapshot.off,
  };
}

/** Lints one file. Returns undefined if the file does not contain an agent. */
async function lintFile(
  { path, file, problem }: MarkdownFile,
  { isGiven }: { isGiven: boolean },
): Promise<Diagnostic[] | undefined> {
  const read = problem === undefined ? readDefinition(path, file) : { problem };
  if ("problem" in read) return [read.problem];
  const { bytes } = read;
  const { definition, body, diagnostics } = await readAgentFile({ bytes, file: resolve(path), source: "project" });
  if (!isGiven && diagnostics.some(({ code }) => code === "no_frontmatter")) return undefined;
  const lint =
    definition === undefined ? [] : [...lintAgent({ definition, body: body() }), ...definitionFindings(definition)];
  return [...diagnostics, ...lint, ...(definition === undefined ? [] : builtInNotices(definition))];
}

/** Reports a built-in agent with the same name. */
function builtInNotices({ name, file = name }: AgentDefinition): Diagnostic[] {
  const same = builtInAgents().find(({ definition }) => isSameAgent(definition.name, name));
  if (same === undefined) return [];
  const message = `There is also a built-in agent "${same.definition.name}".`;
  const fix = 'To keep both, choose another name. "retinue agents list" shows which one is used.';
  return [{ severity: "notice", file, line: 1, code: "shadows", message, fix }];
}

function findAgent(name: string, loaded: AgentCatalog): CatalogAgent {
  const found = loaded.catalog.find(name);
  if (found === undefined) throw unknownAgent(name, loaded);
  return found.agent;
}

function ownAgents({ catalog }: AgentCatalog): CatalogAgent[] {
  return catalog.agents.filter(({ definition }) => definition.source !== "built-in");
}

/** Returns all findings about a loaded agent: in its file, its names and its text. */
export function lintLoaded({ definition, body }: CatalogAgent, loaded: AgentCatalog): Diagnostic[] {
  const { catalog, diagnostics } = loaded;
  const fromFile = diagnostics.filter((each) => isAbout(each, definition));
  const overrides = catalog.overrides.filter(({ winner }) => winner.definition === definition).map(overrideNotice);
  const named = [...missingSkills(definition, loaded), ...definitionFindings(definition)];
  return [...fromFile, ...named, ...overrides, ...lintAgent({ definition, body: body() })];
}

/** Returns a notice about an overridden definition. It is not a warning, because overriding is usually intended. */
function overrideNotice({ winner, loser, reason }: Override<CatalogAgent>): Diagnostic {
  const { name, source, file = source } = winner.definition;
  const hidden = loser.definition.file ?? `the ${loser.definition.source} agent`;
  const message = `"${name}" overrides ${hidden}. ${reason}`;
  return { severity: "notice", file, line: 1, code: "shadows", message };
}
