import path from "node:path";
import type { Diagnostic, JsonValue } from "../../protocol/index.ts";
import { type DefinitionFile, readAgentFile } from "./read-agent.ts";
import { readSkillFile } from "./read-skill.ts";

/** What `retinue agents check --jsonl` says of one Markdown file. Tools and model as written, null when not given. */
export interface CheckedFile {
  readonly kind: "agent" | "skill";
  readonly loaded: boolean;
  readonly name: string | null;
  readonly description: string | null;
  readonly tools: readonly string[] | null;
  readonly disallowedTools: readonly string[] | null;
  readonly model: JsonValue;
  readonly diagnostics: readonly Diagnostic[];
}

/** A file named SKILL.md is a skill, any other Markdown file an agent. */
export async function checkMarkdownFile(request: DefinitionFile): Promise<CheckedFile> {
  if (path.basename(request.file).toLowerCase() === "skill.md") return checkSkill(request);
  const { definition, diagnostics, written } = await readAgentFile(request);
  return {
    kind: "agent",
    loaded: definition !== undefined,
    name: definition?.name ?? null,
    description: definition?.description ?? null,
    ...written,
    diagnostics,
  };
}

async function checkSkill(request: DefinitionFile): Promise<CheckedFile> {
  const { definition, diagnostics } = await readSkillFile(request);
  return {
    kind: "skill",
    loaded: definition !== undefined,
    name: definition?.name ?? null,
    description: definition?.description ?? null,
    tools: definition?.allowedTools ?? null,
    disallowedTools: null,
    model: definition?.extra?.["model"] ?? null,
    diagnostics,
  };
}
