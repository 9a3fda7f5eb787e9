import { dirname } from "node:path";
import type { SkillDefinition } from "../../protocol/index.ts";
import { cappedList } from "../catalog/capped-list.ts";
import { nearestEntries } from "../catalog/nearest-entries.ts";
import type { LoadedSkill } from "../sources/snapshot.ts";
import { findSkill } from "./find-skills.ts";

/** The skills of a session, as the Skill tool asks for them. */
export interface SkillShelf {
  /** What a model reads to choose one: those it may call for. The same skills give the same text. */
  list(): string;
  load(name: string): Promise<ShelfLoad>;
}

export type ShelfLoad =
  | { readonly ok: true; readonly name: string; readonly body: string; readonly directory: string }
  | { readonly ok: false; readonly message: string };

/** Undefined when there is none that a model may call for. */
export function createSkillShelf(skills: readonly LoadedSkill[]): SkillShelf | undefined {
  const entries = skills.map(({ definition }) => definition).filter(({ modelInvocable }) => modelInvocable);
  if (entries.length === 0) return undefined;
  const lines = entries.map(({ name, source, ...rest }) => ({ name, source, description: descriptionOf(rest) }));
  const { text } = cappedList(lines, { maxPerLine, maxTotal });
  return {
    list: () => text,
    load: async (name) => {
      const skill = findSkill(skills, name);
      if (skill === undefined) return { ok: false, message: unknown(name, nearestEntries(name, { entries, max: 10 })) };
      if (!skill.definition.modelInvocable) return { ok: false, message: forPeople(skill.definition) };
      return {
        ok: true,
        name: skill.definition.name,
        body: skill.body(),
        directory: skillDirectory(skill.definition),
      };
    },
  };
}

/** Where the files stand that a skill speaks of. */
export function skillDirectory({ file }: SkillDefinition): string {
  return dirname(file);
}

const maxCharacters = 1_536;
/** Tokens; a description of the full length fits in any script. */
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
  return `There is no skill ${JSON.stringify(name.slice(0, 100))}. Nearest: ${near.join(", ")}.`;
}

function forPeople({ name }: SkillDefinition): string {
  return `The skill "${name}" was not loaded: its author keeps it from models (disable-model-invocation: true). Go on without it; if it would help, say so in your answer.`;
}
