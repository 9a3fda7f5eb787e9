import {
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import {
  type CheckedFile,
  checkMarkdownFile,
  followLink,
  lintAgent,
  type Override,
  projectLevels,
  readAgentFile,
} from "../../definitions/index.ts";
import { describeError, errorCode, isWithin, UserError } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import {
  type AgentCatalog,
  type CatalogAgent,
  type CatalogOptions,
  loadAgentCatalog,
} from "../agents/agent-catalog.ts";
import { effortFindings, missingSkills, unknownAgent } from "../agents/agent-diagnostics.ts";
import type { Environment } from "../directories.ts";

export interface AgentCheck extends CheckedFile {
  /** Path relative to the given directory. If several were given, it begins with the name of the directory. */
  readonly file: string;
  /** Whether the file is meant to be a definition and does not load. */
  readonly failed: boolean;
}

/** Checks every Markdown file of the given files and directories. Throws a `UserError` if a path does not exist. */
export async function* checkAgents(paths: readonly string[]): AsyncGenerator<AgentCheck> {
  for (const given of paths) {
    for (const found of markdownFiles(given, paths.length > 1 ? given.replace(/\/+$/, "") : "")) {
      const checked = await checkFile(found);
      // A file that was given itself must be an agent; in a directory a file without frontmatter may be any text.
      const mayBeText = found.file !== given && checked.kind === "agent";
      const isText = mayBeText && checked.diagnostics.some(({ code }) => code === "no_frontmatter");
      const isOff = checked.diagnostics.some(({ code }) => code === "disabled");
      yield { file: found.file, ...checked, failed: !checked.loaded && !isText && !isOff };
    }
  }
}

/** Returns the existing directories with definitions of the project and of the user. */
export function definitionDirectories({ cwd, environment }: { cwd: string; environment: Environment }): string[] {
  const home = environment["HOME"] || homedir();
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
  if ("bytes" in read) return checkMarkdownFile({ bytes: read.bytes, file: resolve(path), source: "project" });
  return {
    kind: isSkill(path) ? "skill" : "agent",
    loaded: false,
    name: null,
    description: null,
    tools: null,
    disallowedTools: null,
    model: null,
    diagnostics: [read.problem],
  };
}

export interface LintReport {
  /** Number of agents that were checked. */
  readonly agents: number;
  readonly findings: readonly Diagnostic[];
  /** Files that were not read because the directory is not trusted. */
  readonly off: readonly string[];
}

/** Lints agents, given by names, files or directories; without targets, every agent that is not built in. */
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

/** Returns undefined for a text that is no agent. */
async function lintFile(
  { path, file, problem }: MarkdownFile,
  { isGiven }: { isGiven: boolean },
): Promise<Diagnostic[] | undefined> {
  const read = problem === undefined ? readDefinition(path, file) : { problem };
  if ("problem" in read) return [read.problem];
  const { bytes } = read;
  const { definition, body, diagnostics } = await readAgentFile({ bytes, file: resolve(path), source: "project" });
  if (!isGiven && diagnostics.some(({ code }) => code === "no_frontmatter")) return undefined;
  const lint = definition === undefined ? [] : [...lintAgent({ definition, body: body() }), ...effortFindings(definition)];
  return [...diagnostics, ...lint].map((diagnostic) => ({ ...diagnostic, file }));
}

function findAgent(name: string, loaded: AgentCatalog): CatalogAgent {
  const found = loaded.catalog.find(name);
  if (found === undefined) throw unknownAgent(name, loaded);
  return found.agent;
}

function ownAgents({ catalog }: AgentCatalog): CatalogAgent[] {
  return catalog.agents.filter(({ definition }) => definition.source !== "built-in");
}

function lintLoaded({ definition, body }: CatalogAgent, loaded: AgentCatalog): Diagnostic[] {
  const { catalog, diagnostics } = loaded;
  const fromFile = diagnostics.filter(({ file }) => file === definition.file);
  const overrides = catalog.overrides.filter(({ winner }) => winner.definition === definition).map(overrideNotice);
  const named = [...missingSkills(definition, loaded), ...effortFindings(definition)];
  return [...fromFile, ...named, ...overrides, ...lintAgent({ definition, body: body() })];
}

/** Overriding is usually intended, so this is only a notice. */
function overrideNotice({ winner, loser, reason }: Override<CatalogAgent>): Diagnostic {
  const { name, source, file = source } = winner.definition;
  const hidden = loser.definition.file ?? `the agent of ${loser.definition.source}`;
  const message = `"${name}" takes the place of ${hidden}. ${reason}`;
  return { severity: "notice", file, line: 1, code: "shadows", message };
}

function isSkill(path: string): boolean {
  return basename(path).toLowerCase() === "skill.md";
}

export interface MarkdownFile {
  readonly path: string;
  /** Path for messages, relative to the given directory. */
  readonly file: string;
  /** Set for a link that is not followed. */
  readonly problem?: Diagnostic;
}

/**
 * Yields the given file, or every Markdown file below the given directory in a stable order. Links are followed as when
 * agents are loaded: within the project, or within home for the user's own directories. Skips `.git` and `node_modules`.
 * A directory that can't be listed is yielded as if it were a file, so that reading it reports why.
 */
export function* markdownFiles(given: string, prefix = ""): Generator<MarkdownFile> {
  if (!statOf(given).isDirectory()) {
    yield { path: given, file: given };
    return;
  }
  const real = realpathSync(given);
  yield* filesBelow(given, prefix, { real, scope: linkScope(real), followed: new Set() });
}

interface Walk {
  /** Real path of the given directory. */
  readonly real: string;
  /** Directory that links may not leave. */
  readonly scope: string;
  /** Linked directories so far. Each is visited once, so that a loop of links ends. */
  readonly followed: Set<string>;
}

function* filesBelow(directory: string, prefix: string, walk: Walk): Generator<MarkdownFile> {
  const entries = listEntries(directory);
  if (entries === undefined) {
    yield { path: directory, file: prefix === "" ? directory : prefix };
    return;
  }
  for (const entry of entries) {
    const path = join(directory, entry.name);
    const file = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    const kind = kindOf(entry, { path, walk });
    if (kind === "folder" && !isSkill(entry.name)) {
      if (entry.name !== ".git" && entry.name !== "node_modules") yield* filesBelow(path, file, walk);
    } else if (kind !== "gone" && /\.(md|markdown)$/i.test(entry.name)) {
      yield typeof kind === "string" ? { path, file } : { path, file, problem: { ...kind, file } };
    }
  }
}

function kindOf(
  entry: Dirent,
  { path, walk }: { readonly path: string; readonly walk: Walk },
): "file" | "folder" | "gone" | Diagnostic {
  // Some file systems do not report the type of an entry.
  const known = entry.isFile() || entry.isDirectory() ? entry : lstatIfPresent(path);
  if (known === undefined) return "gone";
  if (!known.isSymbolicLink()) return known.isDirectory() ? "folder" : "file";
  const link = followLink(path, walk.scope);
  if ("problem" in link) return link.problem;
  if (!link.isFolder) return "file";
  if (walk.followed.has(link.target) || isWithin(walk.real, link.target)) return "gone";
  walk.followed.add(link.target);
  return "folder";
}

function linkScope(real: string): string {
  const home = homedir();
  const isUsers = [".agents", ".claude"].some((name) => isWithin(real, join(home, name)));
  return isUsers ? home : projectLevels({ cwd: real, home }).root;
}

function listEntries(directory: string): Dirent[] | undefined {
  try {
    return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return undefined;
  }
}

function lstatIfPresent(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function statOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? "does not exist" : "can't be read";
    throw new UserError(`${path} ${why}`, { code: "path", cure: "Name a file or a directory.", exitCode: 2 });
  }
}

/** One byte more than a definition may have, so that the reader can report that it is too large. */
const buffer = Buffer.allocUnsafe(256 * 1024 + 1);

/** Reads a definition, or the beginning of a file that is too large for one. */
function readDefinition(path: string, file: string): { readonly bytes: Uint8Array } | { readonly problem: Diagnostic } {
  try {
    // Opening a pipe must not block.
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!fstatSync(descriptor).isFile()) throw new Error("It is not a regular file.");
      let length = 0;
      for (;;) {
        const count = readSync(descriptor, buffer, length, buffer.length - length, null);
        if (count === 0) return { bytes: Buffer.from(buffer.subarray(0, length)) };
        length += count;
      }
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const message = `The file can't be read: ${describeError(error)}`;
    const fix = "Make it a file that you can read, or remove it.";
    return { problem: { severity: "error", file, line: 1, code: "unreadable", message, fix } };
  }
}
