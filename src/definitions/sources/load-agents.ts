import { join } from "node:path";
import type {
  AgentDefinition,
  AgentPlace,
  DefinitionSource,
  Diagnostic,
  LoadedAgent,
  Snapshot,
  UnloadedAgent,
} from "../../protocol/index.ts";
import { readAgentFile } from "../reading/read-agent.ts";
import { readAgentJson } from "../reading/read-agent-json.ts";
import { amongAgents, maxFileBytes } from "../reading/read-frontmatter.ts";
import { keepLastGood } from "./keep-last-good.ts";
import { type ListedFile, listFiles } from "./list-files.ts";
import { type ProjectLevels, realPath } from "./project-levels.ts";
import { readBounded, versionOf } from "./read-bounded.ts";
import type { SnapshotOptions, SnapshotPlugin } from "./snapshot.ts";

export interface LoadedAgents {
  readonly agents: readonly LoadedAgent[];
  readonly unloaded: readonly UnloadedAgent[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Number of bytes to read: one more than allowed, so that a file that is too large can be reported. */
const readLimit = maxFileBytes + 1;

/** Loads the agents from every source except the built-in ones, in the order they were found. */
export async function loadAgents(
  options: SnapshotOptions,
  { levels, previous }: { levels: ProjectLevels; previous: Snapshot | undefined },
): Promise<LoadedAgents> {
  const agents: LoadedAgent[] = [];
  const unloaded: UnloadedAgent[] = [];
  const diagnostics: Diagnostic[] = [];
  const found = findFiles(options, levels);
  for (const problem of found.flatMap((each) => each.diagnostics)) {
    diagnostics.push(problem);
    const hidesAgents = isMarkdown(problem.file) || problem.code === "unreadable_directory";
    if (isError(problem) && hidesAgents) unloaded.push({ file: problem.file });
  }
  const files = found.flatMap((each) => each.files.map((file) => ({ file, found: each })));
  // List and read all files before the first await, so that a snapshot shows a single point in time.
  const reads = await Promise.all(files.map((each) => readAgent(each.file, each.found)));
  for (const [index, { file }] of files.entries()) {
    const kept = keepLastGood(reads[index]!, { file: file.file, known: previous?.agents });
    if (kept.loaded) agents.push(kept.loaded);
    const about = amongAgents(kept.diagnostics, file.file);
    if (!kept.loaded && about.some(isError)) unloaded.push({ file: file.file });
    diagnostics.push(...about);
  }
  for (const given of givenAgents(options)) {
    const read = readGiven(given);
    agents.push(...read.agents);
    unloaded.push(...read.unloaded);
    diagnostics.push(...read.diagnostics);
  }
  return { agents, unloaded, diagnostics };
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}

interface FoundFiles {
  readonly source: DefinitionSource;
  readonly place: AgentPlace;
  readonly plugin?: string | undefined;
  readonly files: readonly ListedFile[];
  readonly diagnostics: readonly Diagnostic[];
}

function findFiles(options: SnapshotOptions, levels: ProjectLevels): FoundFiles[] {
  const directories = options.settings?.directories ?? "first";
  const home = realPath(options.home);
  return [
    ...(options.plugins ?? []).map(filesOfPlugin),
    ...filesBelow({ directory: home, scope: home, source: "user", distance: 0, directories }),
    ...levels.nearestFirst.flatMap((base, distance) =>
      filesBelow({ directory: base, scope: levels.root, source: "project", distance, directories }),
    ),
    ...managedFiles(options.managedDirectory),
  ];
}

function filesOfPlugin({ name, agentFiles }: SnapshotPlugin): FoundFiles {
  const files = agentFiles.map((file) => ({ file, target: file }));
  return { source: "plugin", place: nearestFile, plugin: name, files, diagnostics: [] };
}

const nearestFile: AgentPlace = { distance: 0, form: "file", directory: 0 };

interface AgentDirectories {
  /** The home directory, or one of the project's directories. */
  readonly directory: string;
  readonly scope: string;
  readonly source: "user" | "project";
  readonly distance: number;
  readonly directories: "first" | "merge";
}

/** Finds the agent files in `.agents/agents` and `.claude/agents`. */
function filesBelow({ directory: base, scope, source, distance, directories }: AgentDirectories): FoundFiles[] {
  const found: FoundFiles[] = [];
  let chosen: string | undefined;
  for (const [index, folder] of [".agents", ".claude"].entries()) {
    const directory = join(base, folder, "agents");
    const { exists, files, diagnostics } = listFiles({ directory, scope, wanted: isMarkdown });
    const place: AgentPlace = { distance, form: "file", directory: index };
    if (exists && chosen !== undefined && realPath(chosen) === realPath(directory)) continue;
    if (exists && chosen !== undefined && directories === "first") {
      found.push({ source, place, files: [], diagnostics: files.map(({ file }) => hidden(file, chosen as string)) });
      continue;
    }
    found.push({ source, place, files, diagnostics });
    if (exists) chosen ??= directory;
  }
  return found;
}

function hidden(file: string, by: string): Diagnostic {
  return {
    severity: "notice",
    file,
    line: 1,
    code: "hidden_by_directory",
    message: `This file is not read, because ${by} exists and takes precedence.`,
    fix: 'Move it there, or set "agents.directories" to "merge" in your settings.',
  };
}

function managedFiles(managedDirectory: string | undefined): FoundFiles[] {
  if (managedDirectory === undefined) return [];
  const scope = realPath(managedDirectory);
  const { files, diagnostics } = listFiles({ directory: join(scope, "agents"), scope, wanted: isMarkdown });
  return [{ source: "policy", place: nearestFile, files, diagnostics }];
}

function isMarkdown(name: string): boolean {
  return /\.(md|markdown)$/i.test(name);
}

interface AgentRead {
  readonly loaded?: LoadedAgent;
  readonly diagnostics: readonly Diagnostic[];
}

async function readAgent({ file, target }: ListedFile, found: FoundFiles): Promise<AgentRead> {
  const content = readBounded(target, readLimit);
  if ("problem" in content) return { diagnostics: content.missing ? [] : [unreadable(file, content.problem)] };
  const { bytes } = content;
  const { source, plugin, place } = found;
  const { definition, diagnostics, body } = await readAgentFile({ bytes, file, source, plugin });
  if (!definition) return { diagnostics };
  return { loaded: fileAgent({ definition: qualified(definition, plugin), place, bytes, body }), diagnostics };
}

interface FileContent {
  readonly definition: AgentDefinition;
  readonly place: AgentPlace;
  readonly bytes: Uint8Array;
  readonly body: () => string;
}

/**
 * Returns an agent from a file. The version is computed and the body is decoded on demand. Both are properties of the
 * object itself, so that they are part of its JSON.
 */
function fileAgent({ definition, place, bytes, body }: FileContent): LoadedAgent {
  let version: string | undefined;
  return {
    definition,
    place,
    get version() {
      version ??= versionOf(bytes);
      return version;
    },
    get body() {
      return body();
    },
  };
}

function qualified(definition: AgentDefinition, plugin: string | undefined): AgentDefinition {
  if (plugin === undefined || definition.name.startsWith(`${plugin}:`)) return definition;
  return { ...definition, name: `${plugin}:${definition.name}`, plugin };
}

function unreadable(file: string, problem: string): Diagnostic {
  const message = `The file can't be read: ${problem}`;
  const fix = "Replace it with a file that you can read, or remove it.";
  return { severity: "error", file, line: 1, code: "unreadable", message, fix };
}

interface GivenAgents {
  readonly value: unknown;
  readonly file: string;
  readonly lines?: Readonly<Record<string, number>> | undefined;
  readonly source: DefinitionSource;
  readonly place: AgentPlace;
}

/** Returns the agents from `--agents` and from settings files. Settings from an untrusted project are ignored. */
function givenAgents({ flags, settings, trusted }: SnapshotOptions): GivenAgents[] {
  const given: GivenAgents[] = [];
  for (const { source, file, agents, lines } of settings?.agents ?? []) {
    if (source === "project" && !trusted) continue;
    given.push({ value: agents, file, lines, source, place: { distance: 0, form: "settings", directory: 0 } });
  }
  if (flags?.agents !== undefined) {
    given.push({ value: flags.agents, file: "--agents", source: "flag", place: nearestFile });
  }
  return given;
}

function readGiven({ value, file, lines, source, place }: GivenAgents): LoadedAgents {
  const read = readAgentJson(value, { file, lines, source });
  const agents = read.agents.flatMap(({ definition, body }): LoadedAgent[] =>
    definition ? [{ definition, place, version: versionOf(JSON.stringify([definition, body()])), body: body() }] : [],
  );
  const ofEach = read.agents.flatMap(({ diagnostics }) => diagnostics);
  const unloaded = read.agents.flatMap(({ definition, diagnostics }): UnloadedAgent[] => {
    const error = definition ? undefined : diagnostics.find(isError);
    return error ? [{ file, agent: error.agent }] : [];
  });
  return { agents, unloaded, diagnostics: [...read.diagnostics, ...ofEach] };
}
