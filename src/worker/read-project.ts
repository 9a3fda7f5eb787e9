import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  installedPlugins,
  loadSnapshot,
  type Plugin,
  pluginDirectory,
  type SnapshotOptions,
  skillDirectory,
} from "../definitions/index.ts";
import { hashTexts, homeDirectory, isWithin } from "../lib/index.ts";
import type { SnapshotRequest } from "../ports/index.ts";
import type {
  Approval,
  Diagnostic,
  LoadedAgent,
  LoadedSkill,
  ProjectSettings,
  ProjectSnapshot,
  Snapshot,
} from "../protocol/index.ts";
import { createTrustStore, managedDirectory, originsWithoutSecrets, type TrustStore } from "../settings/index.ts";
import { findGitPrograms } from "../workspace/index.ts";
import { type ApprovedDirectory, approvedDefinition } from "./approved-definition.ts";
import { existingPaths } from "./directories.ts";
import { pluginParts } from "./plugin-parts.ts";
import { readProjectSettings } from "./project-settings.ts";
import { readSettingsText } from "./settings-text.ts";
import { type TrustedLevels, trustedLevels, unreadFiles } from "./trusted-levels.ts";

/** Locations of a session's files. */
export interface ProjectPlace {
  /** Real path of the workspace. */
  readonly root: string;
  /** State directory. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly managedDirectory?: string | undefined;
}

export interface ReadProject {
  readonly snapshot: ProjectSnapshot;
  /** Definitions as they were read, including hooks and MCP servers that the user has not approved. */
  readonly files?: Snapshot | undefined;
}

/**
 * Reads everything that a session needs on its workspace's machine. Files that are currently incomplete keep their
 * version from `previous`.
 */
export async function readProject(
  place: ProjectPlace,
  request: SnapshotRequest,
  previous?: Snapshot | undefined,
): Promise<ReadProject> {
  if (!usesFiles(place, request)) return { snapshot: createSnapshot(place, request, noFiles(place)) };
  const { root: cwd, home, environment } = place;
  const userHome = homeDirectory(environment);
  const store = createTrustStore({ stateHome: home });
  const trust = request.trust ?? (request.trusted === true && !store.isTrusted(cwd));
  const levels = trustedLevels({ cwd, userHome, store, trust });
  const { root, trustedRoot } = levels;
  const settings = request.settings === undefined ? readSettings(place, trust) : undefined;
  const { plugins: installed, problem } = installedPlugins(home);
  const plugins = installed.flatMap(({ state, plugin }) => (state === "enabled" && plugin ? [plugin] : []));
  const files = await loadSnapshot(
    {
      cwd,
      home: userHome,
      stateHome: home,
      trusted: trustedRoot !== undefined,
      trustedRoot,
      plugins,
      settings: agentSources(request.settings ?? settings?.agents),
      managedDirectory: place.managedDirectory ?? managedDirectory,
      flags: request.agents && { agents: request.agents },
    },
    previous,
  );
  const { agents, diagnostics, approvals } = approveAgents(
    files.agents,
    approvedDirectories({ cwd, levels, store, vouchedFor: trust ? request.approvals : [] }),
  );
  const snapshot = createSnapshot(place, request, {
    agents,
    skills: files.skills,
    contextFiles: files.contextFiles,
    unloaded: files.unloaded,
    diagnostics: [
      ...(problem === undefined ? [] : [problem]),
      ...installed.filter(({ state }) => state !== "disabled").flatMap((each) => each.diagnostics),
      ...files.diagnostics,
      ...diagnostics,
    ],
    root,
    trustedRoot,
    // In the home directory, these files are the user's own.
    off: cwd === userHome ? [] : unreadFiles(levels, cwd),
    approvals,
    settings,
    enabled: plugins,
  });
  return { snapshot, files };
}

/** Returns false if there is nothing to read, so that a session without files starts quickly. */
function usesFiles({ home, environment }: ProjectPlace, { required, agents, trusted }: SnapshotRequest): boolean {
  if (required || agents !== undefined || trusted === true) return true;
  return trusted === false && hasUserFiles(home, homeDirectory(environment));
}

/** Returns true if the user may have their own instructions, skills or plugins, which need no trust. */
function hasUserFiles(home: string, userHome: string): boolean {
  return [
    join(home, "AGENTS.md"),
    join(home, "plugins.json"),
    join(userHome, ".agents/AGENTS.md"),
    join(userHome, ".agents/agents"),
    join(userHome, ".agents/skills"),
    join(userHome, ".claude/CLAUDE.md"),
    join(userHome, ".claude/agents"),
    join(userHome, ".claude/skills"),
    join(managedDirectory, "agents"),
    join(managedDirectory, "skills"),
  ].some((file) => existsSync(file));
}

/** The part of a snapshot that depends on agent files, skills, instructions and plugins. */
interface FileParts extends Omit<Snapshot, "hash"> {
  readonly root: string;
  readonly trustedRoot?: string | undefined;
  readonly off: readonly string[];
  readonly approvals: readonly Approval[];
  readonly settings?: ProjectSnapshot["settings"];
  readonly enabled: readonly Plugin[];
}

function noFiles({ root }: ProjectPlace): FileParts {
  const none = { agents: [], skills: [], contextFiles: [], unloaded: [], diagnostics: [] };
  return { ...none, root, off: [], approvals: [], enabled: [] };
}

/**
 * Creates a snapshot. Parts that most sessions do not use are read on first use, for example when the snapshot is
 * written as JSON.
 */
function createSnapshot(
  { root: cwd, home }: ProjectPlace,
  { trusted, additionalDirectories: additional = [] }: SnapshotRequest,
  { enabled, ...files }: FileParts,
): ProjectSnapshot {
  const additionalDirectories = existingPaths(additional);
  const [state = home] = existingPaths([home]);
  const isInside = [cwd, ...additionalDirectories].some((directory) => isWithin(state, directory));
  const gitPrograms = once(() => (trusted === true ? undefined : findGitPrograms(cwd)));
  const settingsText = once(() => readSettingsText(home));
  const hash = once(() => hashOf(snapshot));
  const snapshot: ProjectSnapshot = Object.freeze({
    ...files,
    // If `trusted` is not set, plugins add no hooks and no MCP servers.
    plugins: pluginParts(trusted === undefined ? [] : enabled),
    skillRoots: existingPaths([...new Set(files.skills.map((skill) => rootOf(skill, home)))]),
    additionalDirectories,
    stateInWorkspace: isInside ? state : undefined,
    get gitPrograms() {
      return gitPrograms();
    },
    get settingsText() {
      return settingsText();
    },
    get hash() {
      return hash();
    },
  });
  return snapshot;
}

function once<Value>(compute: () => Value): () => Value {
  let known: { readonly value: Value } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}

/** Returns the directory that a skill may refer to: its own directory, or the directory of its plugin. */
function rootOf({ definition }: LoadedSkill, home: string): string {
  return definition.plugin === undefined ? skillDirectory(definition) : pluginDirectory(home, definition.plugin);
}

/** Hashes a snapshot, with the version of each file in place of its text. */
function hashOf(snapshot: ProjectSnapshot): string {
  const { agents, skills, contextFiles, unloaded, diagnostics, root, trustedRoot, off, approvals, settings } = snapshot;
  const { plugins, skillRoots, additionalDirectories, stateInWorkspace, gitPrograms, settingsText } = snapshot;
  const parts = [
    agents.map(({ definition, place, version }) => [definition, place, version]),
    skills.map(({ definition, version }) => [definition, version]),
    contextFiles.map(({ file, source, importedBy, version }) => [file, source, importedBy, version]),
    [unloaded, diagnostics, root, trustedRoot, off, approvals, settings, plugins],
    [skillRoots, additionalDirectories, stateInWorkspace, gitPrograms, settingsText],
  ];
  return hashTexts(parts.map((part) => JSON.stringify(part)));
}

/**
 * Reads the settings that decide which agents are available. All other settings stay on this machine, because they may
 * contain keys.
 */
function readSettings({ root: cwd, ...place }: ProjectPlace, trust: boolean): NonNullable<ProjectSnapshot["settings"]> {
  const { agents, origins, settings, problems, rules } = readProjectSettings({ ...place, cwd, trust });
  const needed = Object.entries(settings).filter(([key]) => key === "profile" || key === "subagents");
  const managed = origins.filter(({ scope }) => scope === "managed");
  return { agents, origins: originsWithoutSecrets(managed), settings: Object.fromEntries(needed), problems, rules };
}

type AgentSources = Pick<ProjectSettings["agents"], "definitions" | "directories">;

function agentSources(sources: AgentSources | undefined): SnapshotOptions["settings"] {
  if (sources === undefined) return undefined;
  const agents = sources.definitions.map(({ file = "settings", ...given }) => ({ file, ...given }));
  return { agents, directories: sources.directories };
}

interface ApprovedDirectoriesOptions {
  /** Real path of the workspace. */
  readonly cwd: string;
  readonly levels: TrustedLevels;
  readonly store: TrustStore;
  /**
   * Approvals for the workspace in addition to those in the store. If undefined, the workspace's current content counts
   * as approved.
   */
  readonly vouchedFor: readonly Approval[] | undefined;
}

/** Returns the directories of the project, from the workspace up, with the approvals for each. */
function approvedDirectories({ cwd, levels, store, vouchedFor }: ApprovedDirectoriesOptions): ApprovedDirectory[] {
  return levels.nearestFirst.map(({ path }): ApprovedDirectory => {
    const isWorkspace = path === cwd;
    if (isWorkspace && vouchedFor === undefined) return { path, isWorkspace };
    const approved = [...(isWorkspace ? (vouchedFor ?? []) : []), ...store.approvals(path)];
    const approvedHashes: ApprovedDirectory["approvedHashes"] = (kind, name) =>
      approved.flatMap((each) => (each.kind === kind && each.name === name ? [each.hash] : []));
    return { path, isWorkspace, approvedHashes };
  });
}

/** Removes hooks and MCP servers that the user did not approve from the project's agent files. */
function approveAgents(loaded: readonly LoadedAgent[], directories: readonly ApprovedDirectory[]) {
  const diagnostics: Diagnostic[] = [];
  const approvals: Approval[] = [];
  const agents = loaded.map((agent): LoadedAgent => {
    const { definition, place } = agent;
    // Agents in the project's settings are approved together with those settings.
    if (definition.source !== "project" || place.form === "settings") return agent;
    const directory = directories[place.distance]!;
    const approved = approvedDefinition(definition, directory);
    diagnostics.push(...approved.diagnostics);
    if (directory.isWorkspace) approvals.push(...approved.approvals);
    return approved.definition === definition ? agent : withDefinition(agent, approved.definition);
  });
  return { agents, diagnostics, approvals };
}

function withDefinition(agent: LoadedAgent, definition: LoadedAgent["definition"]): LoadedAgent {
  return {
    definition,
    place: agent.place,
    get version() {
      return agent.version;
    },
    get body() {
      return agent.body;
    },
  };
}
