import { join } from "node:path";
import type { DefinitionSource, Diagnostic } from "../../protocol/index.ts";
import { readSkillFile } from "../reading/read-skill.ts";
import { keepLastGood } from "../sources/keep-last-good.ts";
import { type ListedFile, listFiles } from "../sources/list-files.ts";
import { type ProjectLevels, realPath } from "../sources/project-levels.ts";
import { readBounded, versionOf } from "../sources/read-bounded.ts";
import type { LoadedSkill, Snapshot, SnapshotOptions } from "../sources/snapshot.ts";

const readLimit = 1024 * 1024 + 1;

/** Loads the skills of all sources. The first of a name wins: higher sources first, `.agents/skills` before `.claude/skills`. */
export async function loadSkills(
  options: SnapshotOptions,
  { levels, previous }: { levels: ProjectLevels; previous: Snapshot | undefined },
): Promise<{ skills: readonly LoadedSkill[]; diagnostics: readonly Diagnostic[] }> {
  const skills = new Map<string, LoadedSkill>();
  const diagnostics: Diagnostic[] = [];
  for (const { source, plugin, files, problems } of findSkillFiles(options, levels)) {
    diagnostics.push(...problems);
    for (const { file, target } of files) {
      const read = await readSkill({ file, target }, { source, plugin });
      const kept = keepLastGood(read, { file, known: previous?.skills });
      diagnostics.push(...kept.diagnostics);
      if (!kept.loaded) continue;
      const { name } = kept.loaded.definition;
      const winner = skills.get(name);
      if (winner) diagnostics.push(overridden(kept.loaded, winner));
      else skills.set(name, kept.loaded);
    }
  }
  const sorted = [...skills.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1));
  return { skills: sorted, diagnostics };
}

interface SkillFiles {
  readonly source: DefinitionSource;
  readonly plugin: string | undefined;
  readonly files: readonly ListedFile[];
  readonly problems: readonly Diagnostic[];
}

function findSkillFiles(options: SnapshotOptions, levels: ProjectLevels): SkillFiles[] {
  const home = realPath(options.home);
  const managed = options.managedDirectory === undefined ? undefined : realPath(options.managedDirectory);
  const pair = (base: string) => [join(base, ".agents", "skills"), join(base, ".claude", "skills")];
  const below = (directories: readonly string[], scope: string, source: DefinitionSource): SkillFiles[] =>
    directories.map((directory) => {
      const { files, diagnostics } = listFiles({ directory, scope, wanted: isSkillFile, stopAtFound: true });
      return { source, plugin: undefined, files, problems: diagnostics };
    });
  return [
    ...(managed === undefined ? [] : below([join(managed, "skills")], managed, "policy")),
    ...levels.nearestFirst.flatMap((base) => below(pair(base), levels.root, "project")),
    ...below(pair(home), home, "user"),
    ...(options.plugins ?? []).map(({ name, skillFiles }): SkillFiles => {
      const files = skillFiles.map((file) => ({ file, target: file }));
      return { source: "plugin", plugin: name, files, problems: [] };
    }),
  ];
}

function isSkillFile(name: string): boolean {
  return name.toLowerCase() === "skill.md";
}

async function readSkill(
  { file, target }: ListedFile,
  { source, plugin }: { source: DefinitionSource; plugin: string | undefined },
): Promise<{ loaded?: LoadedSkill; diagnostics: readonly Diagnostic[] }> {
  const content = readBounded(target, readLimit);
  if ("problem" in content) {
    const message = `The file can't be read: ${content.problem}`;
    return { diagnostics: content.missing ? [] : [{ severity: "error", file, line: 1, code: "unreadable", message }] };
  }
  const read = await readSkillFile({ bytes: content.bytes, file, source, plugin });
  if (!read.definition) return { diagnostics: read.diagnostics };
  const { name } = read.definition;
  const definition =
    plugin === undefined || name.startsWith(`${plugin}:`)
      ? read.definition
      : { ...read.definition, name: `${plugin}:${name}`, plugin };
  return { loaded: { definition, version: versionOf(content.bytes), body: read.body }, diagnostics: read.diagnostics };
}

function overridden({ definition }: LoadedSkill, winner: LoadedSkill): Diagnostic {
  const message = `The skill "${definition.name}" is hidden by ${winner.definition.file}, which stands above it.`;
  return { severity: "notice", file: definition.file, line: 1, code: "skill_hidden", message };
}
