import { findSkills } from "../definitions/index.ts";
import type { AgentDefinition, Diagnostic } from "../protocol/index.ts";
import type { AgentCatalog } from "./agent-catalog.ts";

/** Skills that a definition names and nobody wrote. */
export function missingSkills(
  { name, file = name, skills = [] }: AgentDefinition,
  { snapshot }: AgentCatalog,
): readonly Diagnostic[] {
  return findSkills(snapshot.skills, skills, { file }).diagnostics;
}
