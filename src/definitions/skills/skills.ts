import { basename, dirname, join, sep } from "node:path";
import { nearest } from "../../lib/index.ts";
import type {
  DefinitionSource,
  Diagnostic,
  LoadedSkill,
  SkillDefinition,
  SkillFork,
  Snapshot,
} from "../../protocol/index.ts";
import { cappedList } from "../catalog/capped-list.ts";
import { nearestEntries } from "../catalog/nearest-entries.ts";
import { readSkillFile } from "../reading/read-skill.ts";
import { keepLastGood } from "../sources/keep-last-good.ts";
import { type ListedFile, listFiles } from "../sources/list-files.ts";
import { type ProjectLevels, realPath } from "../sources/project-levels.ts";
import { readBounded, versionOf } from "../sources/read-bounded.ts";
import type { SnapshotOptions, SnapshotPlugin } from "../sources/snapshot.ts";

const readLimit = 1024 * 1024 + 1;

/**
 * Loads the skills from all sources. The first skill with a given name is used: sources with higher precedence come
 * first, and `.agents/skills` comes before `.claude/skills`.
 */
export async function loadSkills(
  options: SnapshotOptions,
  { levels, previous }: { levels: ProjectLevels; previous: Snapshot | undefined },
): Promise<{ skills: readonly LoadedSkill[]; diagnostics: readonly Diagnostic[] }> {
  const skills = new Map<string, LoadedSkill>();
  const diagnostics: Diagnostic[] = [];
  for (const { source, plugin, files, problems, commandName } of findSkillFiles(options, levels)) {
    diagnostics.push(...problems);
    for (const { file, target } of files) {
      const read = await readSkill({ file, target }, { source, plugin, command: commandName?.(file) });
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
  /** Returns the name of a command from the path of its file. Set only for commands. */
  readonly commandName?: ((file: string) => string) | undefined;
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
    ...(options.plugins ?? []).flatMap(filesOfPlugin),
  ];
}

function filesOfPlugin({ name: plugin, root, skillFiles, commandFiles }: SnapshotPlugin): SkillFiles[] {
  const own = (paths: readonly string[]): SkillFiles => {
    const files = paths.map((file) => ({ file, target: file }));
    return { source: "plugin", plugin, files, problems: [] };
  };
  const commands = join(root, "commands") + sep;
  // The name of `commands/git/commit.md` is `git:commit`.
  const commandName = (file: string): string => {
    const path = file.startsWith(commands) ? file.slice(commands.length) : basename(file);
    return path.replace(/\.md$/, "").replaceAll(sep, ":");
  };
  return [own(skillFiles), { ...own(commandFiles), commandName }];
}

function isSkillFile(name: string): boolean {
  return name.toLowerCase() === "skill.md";
}

async function readSkill(
  { file, target }: ListedFile,
  { source, plugin, command }: { source: DefinitionSource; plugin: string | undefined; command: string | undefined },
): Promise<{ loaded?: LoadedSkill; diagnostics: readonly Diagnostic[] }> {
  const content = readBounded(target, readLimit);
  if ("problem" in content) {
    const message = `The file can't be read: ${content.problem}`;
    return { diagnostics: content.missing ? [] : [{ severity: "error", file, line: 1, code: "unreadable", message }] };
  }
  const read = await readSkillFile({ bytes: content.bytes, file, source, plugin, command });
  if (!read.definition) return { diagnostics: read.diagnostics };
  const { name } = read.definition;
  const definition =
    plugin === undefined || name.startsWith(`${plugin}:`)
      ? read.definition
      : { ...read.definition, name: `${plugin}:${name}`, plugin };
  const loaded: LoadedSkill = {
    definition,
    version: versionOf(content.bytes),
    // The body is decoded only when it is used.
    get body() {
      return read.body();
    },
  };
  return { loaded, diagnostics: read.diagnostics };
}

function overridden({ definition }: LoadedSkill, winner: LoadedSkill): Diagnostic {
  const message = `The skill "${definition.name}" is hidden by ${winner.definition.file}, which takes precedence.`;
  return { severity: "notice", file: definition.file, line: 1, code: "skill_hidden", message };
}

/** A session's skills that the Skill tool offers. */
export interface SkillCatalog {
  /** Returns the list that a model chooses from. The same skills always produce the same text. */
  list(): string;
  load(name: string): Promise<SkillLoad>;
}

export type SkillLoad =
  | {
      readonly ok: true;
      readonly name: string;
      readonly body: string;
      readonly directory: string;
      readonly fork?: SkillFork | undefined;
    }
  | { readonly ok: false; readonly message: string };

/** Creates the skill catalog. Returns undefined if there is no skill that a model may load. */
export function createSkillCatalog(skills: readonly LoadedSkill[]): SkillCatalog | undefined {
  const entries = skills.map(({ definition }) => definition).filter(({ modelInvocable }) => modelInvocable);
  if (entries.length === 0) return undefined;
  const lines = entries.map(({ name, source, ...rest }) => ({ name, source, description: descriptionOf(rest) }));
  const { text } = cappedList(lines, { maxPerLine, maxTotal });
  return {
    list: () => text,
    load: async (name) => {
      const skill = findSkill(skills, name);
      if (skill === undefined) return { ok: false, message: unknown(name, nearestEntries(name, { entries, max: 10 })) };
      if (!skill.definition.modelInvocable) return { ok: false, message: notForModels(skill.definition) };
      return {
        ok: true,
        name: skill.definition.name,
        body: skill.body,
        directory: skillDirectory(skill.definition),
        fork: skill.definition.fork,
      };
    },
  };
}

/** Returns the directory that paths in the skill are relative to. */
export function skillDirectory({ file }: SkillDefinition): string {
  return dirname(file);
}

/** Finds a skill by name, with or without a leading `/`. The bare name of a plugin skill works if it is unique. */
export function findSkill(skills: readonly LoadedSkill[], name: string): LoadedSkill | undefined {
  const wanted = name.trim().replace(/^\//, "");
  const exact = skills.find(({ definition }) => definition.name === wanted);
  if (exact) return exact;
  const [only, other] = skills.filter(
    ({ definition }) => definition.plugin !== undefined && definition.name === `${definition.plugin}:${wanted}`,
  );
  return other ? undefined : only;
}

/** Finds the skills that a definition names, each only once, and reports missing ones. */
export function findSkills(
  skills: readonly LoadedSkill[],
  names: readonly string[],
  { file }: { file: string },
): { readonly found: readonly LoadedSkill[]; readonly diagnostics: readonly Diagnostic[] } {
  const found = new Set<LoadedSkill>();
  const diagnostics: Diagnostic[] = [];
  for (const name of names) {
    const skill = findSkill(skills, name);
    if (skill) found.add(skill);
    else diagnostics.push(missing(name, { file, skills }));
  }
  return { found: [...found], diagnostics };
}

function missing(name: string, { file, skills }: { file: string; skills: readonly LoadedSkill[] }): Diagnostic {
  const [near] = nearest(
    name,
    skills.map(({ definition }) => definition.name),
  );
  return {
    severity: "warning",
    file,
    line: 1,
    code: "unknown_skill",
    message: `There is no skill "${name}".${near === undefined ? "" : ` Did you mean "${near}"?`}`,
    fix: `Create .agents/skills/${name.replace(/^\//, "")}/SKILL.md, or remove the name from "skills".`,
  };
}

const maxCharacters = 1_536;
/** Limits in tokens, for one skill and for the whole list. `maxPerLine` is enough for `maxCharacters` in any script. */
const maxPerLine = 2_000;
const maxTotal = 4_000;

function descriptionOf({ description, extra }: Pick<SkillDefinition, "description" | "extra">): string {
  const when = extra?.["whenToUse"];
  const whole = typeof when === "string" ? `${description} ${when}` : description;
  const plain = whole.replace(/\s+/g, " ").trim();
  if (plain.length <= maxCharacters) return plain;
  return `${plain.slice(0, maxCharacters - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function unknown(name: string, near: readonly string[]): string {
  return `There is no skill ${JSON.stringify(name.slice(0, 100))}. Similar names: ${near.join(", ")}.`;
}

function notForModels({ name }: SkillDefinition): string {
  return `The skill "${name}" was not loaded: its author does not let models load it (disable-model-invocation: true). Continue without it; if it would help, say so in your answer.`;
}
