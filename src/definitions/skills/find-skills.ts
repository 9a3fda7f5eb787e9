import { nearest } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import type { LoadedSkill } from "../sources/snapshot.ts";

/** A leading `/` is dropped. A plugin's skill answers to its bare name when nobody else does. */
export function findSkill(skills: readonly LoadedSkill[], name: string): LoadedSkill | undefined {
  const wanted = name.trim().replace(/^\//, "");
  const exact = skills.find(({ definition }) => definition.name === wanted);
  if (exact) return exact;
  const [only, other] = skills.filter(
    ({ definition }) => definition.plugin !== undefined && definition.name === `${definition.plugin}:${wanted}`,
  );
  return other ? undefined : only;
}

/** The skills a definition names, each once, and what is to be said about those that are not there. */
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
    fix: `Write .agents/skills/${name.replace(/^\//, "")}/SKILL.md, or take the name out of "skills".`,
  };
}
