import { join } from "node:path";
import type { AgentDefinition, DefinitionSource, Diagnostic } from "../../protocol/index.ts";
import type { Place } from "../catalog/create-catalog.ts";
import { type ReadAgent, readAgentFile } from "../reading/read-agent.ts";
import { readAgentJson } from "../reading/read-agent-json.ts";
import { maxFileBytes } from "../reading/read-frontmatter.ts";
import { FileAgent } from "./file-agent.ts";
import { keepLastGood } from "./keep-last-good.ts";
import { type ListedFile, listFiles } from "./list-files.ts";
import { type ProjectLevels, realPath } from "./project-levels.ts";
import { readBounded, versionOf } from "./read-bounded.ts";
import type { LoadedAgent, Snapshot, SnapshotOptions, SnapshotPlugin } from "./snapshot.ts";

export interface LoadedAgents {
  readonly agents: readonly LoadedAgent[];
  readonly diagnostics: readonly Diagnostic[];
}

/** One byte more than a definition may have, so that the reader can say that it is too large. */
const readLimit = maxFileBytes + 1;

/** Agents of every source but the built-in ones, in the order they were found. */
export async function loadAgents(
  options: SnapshotOptions,
  { levels, previous }: { levels: ProjectLevels; previous: Snapshot | undefined },
): Promise<LoadedAgents> {
  const agents: LoadedAgent[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const found of findFiles(options, levels)) {
    diagnostics.push(...found.diagnostics);
    for (const file of found.files) {
      const kept = keepLastGood(await readOne(file, found), { file: file.file, known: previous?.agents });
      if (kept.loaded) agents.push(kept.loaded);
      if (kept.diagnostics.length > 0) diagnostics.push(...kept.diagnostics);
    }
  }
  for (const given of givenAgents(options)) {
    const read = readGiven(given);
    agents.push(...read.agents);
    diagnostics.push(...read.diagnostics);
  }
  return { agents, diagnostics };
}

interface FoundFiles {
  readonly source: DefinitionSource;
  readonly place: Place;
  readonly plugin?: string;
  readonly files: readonly ListedFile[];
  readonly diagnostics: readonly Diagnostic[];
}

function findFiles(options: SnapshotOptions, levels: ProjectLevels): FoundFiles[] {
  const directories = options.settings?.directories ?? "first";
  const home = realPath(options.home);
  return [
    ...(options.plugins ?? []).map(filesOfPlugin),
    ...filesOfBase({ base: home, scope: home, source: "user", distance: 0, directories }),
    ...levels.nearestFirst.flatMap((base, distance) =>
      filesOfBase({ base, scope: levels.root, source: "project", distance, directories }),
    ),
    ...managedFiles(options.managedDirectory),
  ];
}

function filesOfPlugin({ name, agentFiles }: SnapshotPlugin): FoundFiles {
  const files = agentFiles.map((file) => ({ file, target: file }));
  return { source: "plugin", place: nearestFile, plugin: name, files, diagnostics: [] };
}

const nearestFile: Place = { distance: 0, form: "file", directory: 0 };

interface Base {
  readonly base: string;
  readonly scope: string;
  readonly source: "user" | "project";
  readonly distance: number;
  readonly directories: "first" | "merge";
}

/** `.agents/agents` and `.claude/agents` of one place. */
function filesOfBase({ base, scope, source, distance, directories }: Base): FoundFiles[] {
  const found: FoundFiles[] = [];
  let chosen: string | undefined;
  for (const [index, folder] of [".agents", ".claude"].entries()) {
    const directory = join(base, folder, "agents");
    const { exists, files, diagnostics } = listFiles({ directory, scope, wanted: isMarkdown });
    const place: Place = { distance, form: "file", directory: index };
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
    message: `This file is not read, since ${by} exists and stands first.`,
    fix: 'Move it there, or set "agents.directories" to "merge" in the settings.',
  };
}

function managedFiles(managedDirectory: string | undefined): FoundFiles[] {
  if (managedDirectory === undefined) return [];
  const scope = realPath(managedDirectory);
  const { files, diagnostics } = listFiles({ directory: join(scope, "agents"), scope, wanted: isMarkdown });
  return [{ source: "policy", place: nearestFile, files, diagnostics }];
}

function isMarkdown(name: string): boolean {
  return /\.md$/i.test(name);
}

interface ReadOne {
  readonly loaded?: LoadedAgent;
  readonly diagnostics: readonly Diagnostic[];
}

async function readOne({ file, target }: ListedFile, found: FoundFiles): Promise<ReadOne> {
  const content = readBounded(target, readLimit);
  if ("problem" in content) return { diagnostics: content.missing ? [] : [unreadable(file, content.problem)] };
  const { bytes } = content;
  const { source, plugin } = found;
  const request = plugin === undefined ? { bytes, file, source } : { bytes, file, source, plugin };
  return toLoaded(await readAgentFile(request), { bytes, found });
}

function toLoaded(read: ReadAgent, { bytes, found }: { bytes: Uint8Array; found: FoundFiles }): ReadOne {
  const { diagnostics, body } = read;
  if (!read.definition) return { diagnostics };
  const definition = qualified(read.definition, found.plugin);
  return { loaded: new FileAgent({ definition, place: found.place, bytes, body }), diagnostics };
}

function qualified(definition: AgentDefinition, plugin: string | undefined): AgentDefinition {
  if (plugin === undefined || definition.name.startsWith(`${plugin}:`)) return definition;
  return { ...definition, name: `${plugin}:${definition.name}`, plugin };
}

function unreadable(file: string, problem: string): Diagnostic {
  const message = `The file can't be read: ${problem}`;
  const fix = "Make it a file that you can read, or remove it.";
  return { severity: "error", file, line: 1, code: "unreadable", message, fix };
}

interface GivenAgents {
  readonly value: unknown;
  readonly file: string;
  readonly source: DefinitionSource;
  readonly place: Place;
}

/** From `--agents` and from settings files. What a project's settings say counts only when it is trusted. */
function givenAgents({ flags, settings, trusted }: SnapshotOptions): GivenAgents[] {
  const given: GivenAgents[] = [];
  for (const { source, file, agents } of settings?.agents ?? []) {
    if (source === "project" && !trusted) continue;
    given.push({ value: agents, file, source, place: { distance: 0, form: "settings", directory: 0 } });
  }
  if (flags?.agents !== undefined) {
    given.push({ value: flags.agents, file: "--agents", source: "flag", place: nearestFile });
  }
  return given;
}

function readGiven({ value, file, source, place }: GivenAgents): LoadedAgents {
  const read = readAgentJson(value, { file, source });
  const agents = read.agents.flatMap(({ definition, body }): LoadedAgent[] =>
    definition ? [{ definition, place, version: versionOf(JSON.stringify([definition, body()])), body }] : [],
  );
  const ofEach = read.agents.flatMap(({ diagnostics }) => diagnostics);
  return { agents, diagnostics: [...read.diagnostics, ...ofEach] };
}
