import type { Diagnostic, Snapshot } from "../../protocol/index.ts";
import { readContextFiles } from "../context/read-context-files.ts";
import { loadSkills } from "../skills/skills.ts";
import { loadAgents } from "./load-agents.ts";
import { ownDirectory, type ProjectLevels, trustedProjectLevels } from "./project-levels.ts";
import { versionOf } from "./read-bounded.ts";
import type { SnapshotOptions } from "./snapshot.ts";

/**
 * Loads all definitions from disk. With `previous`, a file that no longer loads keeps its last good version, because
 * editors leave files half-written for a moment. Never rejects because of the content of files.
 */
export async function loadSnapshot(request: SnapshotOptions, previous?: Snapshot): Promise<Snapshot> {
  const options = { ...request, home: ownDirectory(request.home), stateHome: ownDirectory(request.stateHome) };
  const levels: ProjectLevels = options.trusted ? trustedProjectLevels(options) : { root: "", nearestFirst: [] };
  const agents = await loadAgents(options, { levels, previous });
  const skills = await loadSkills(options, { levels, previous });
  const context = readContextFiles({ ...options, levels, previous: previous?.contextFiles ?? [] });
  const parts = {
    agents: agents.agents,
    skills: skills.skills,
    contextFiles: context.files,
  };
  const { unloaded } = agents;
  const diagnostics = [...agents.diagnostics, ...skills.diagnostics, ...context.diagnostics].sort(byLocation);
  for (const loaded of [...parts.agents, ...parts.skills]) {
    // Only the definition needs a deep freeze, because the other properties are strings. Some of them are computed on
    // demand, and a deep freeze would compute them now.
    deepFreeze(loaded.definition);
    Object.freeze(loaded);
  }
  Object.freeze(parts.agents);
  Object.freeze(parts.skills);
  deepFreeze(parts.contextFiles);
  deepFreeze(unloaded);
  deepFreeze(diagnostics);
  let hash: string | undefined;
  return Object.freeze({
    ...parts,
    unloaded,
    diagnostics,
    get hash() {
      hash ??= hashOf(parts);
      return hash;
    },
  });
}

function byLocation(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || (a.code < b.code ? -1 : 1);
}

function hashOf({ agents, skills, contextFiles }: Omit<Snapshot, "unloaded" | "diagnostics" | "hash">): string {
  return versionOf(
    JSON.stringify([
      agents.map(({ definition, version }) => [definition.source, definition.name, definition.file ?? "", version]),
      skills.map(({ definition, version }) => [definition.source, definition.name, definition.file, version]),
      contextFiles.map(({ file, version }) => [file, version]),
    ]),
  );
}

function deepFreeze<Value extends object>(value: Value): Value {
  if (Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  for (const key in value) {
    const part = value[key];
    if (typeof part === "object" && part !== null) deepFreeze(part);
  }
  return value;
}
